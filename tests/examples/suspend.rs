//! Processes that stand still in the middle of a download, as on a computer that is suspended.

use std::process::{Child, Output};
use std::thread::sleep;
use std::time::Duration;

use super::harness::{assert_fails, names, output, signal, summary, Server};

/// An idle timeout. Three PTOs are longer where the machine is busy (RFC 9000, section 10.1).
const SHORT: [&str; 2] = ["--idle-timeout", "1s"];

#[derive(Clone, Copy)]
enum Victim {
    Client,
    Server,
}

/// Pauses one end of a download of `bytes` at 2 Mbit/s. Returns the output of the client.
fn paused(server: &Server, args: &[&str], bytes: usize, victim: Victim, pause: u64) -> Output {
    let url = server.url(&format!("/bytes/{bytes}"));
    let mut client = server.client(&[args, &["-o", "out", &url]].concat());
    let client = client.spawn().unwrap();
    server.wait_for_first_bytes();
    let stopped: &Child = match victim {
        Victim::Client => &client,
        Victim::Server => &server.child,
    };
    signal(stopped, "STOP");
    sleep(Duration::from_secs(pause));
    signal(stopped, "CONT");
    output(client)
}

#[test]
fn a_download_survives_a_pause_of_either_end() {
    for victim in [Victim::Client, Victim::Server] {
        let server = Server::slow(&[]);
        let output = paused(&server, &[], 1_000_000, victim, 3);
        assert!(output.status.success(), "{output:?}");
        let summary = summary(&output);
        assert_eq!(summary["downloads"][0]["verified"], true);
    }
}

/// The download takes minutes by itself: a test that runs late still pauses it.
#[test]
fn a_pause_beyond_the_idle_timeout_ends_the_download_and_nothing_else() {
    let ends = |victim| {
        let server = Server::slow(&SHORT);
        let output = paused(&server, &SHORT, 100_000_000, victim, 10);
        assert_fails(&output, 1, "idle timeout");
        let left = names(&server.path("out"));
        assert!(left.is_empty(), "half a file was left: {left:?}");
        assert_eq!(server.download("/bytes/1000", &[])["complete"], true);
    };
    std::thread::scope(|scope| {
        scope.spawn(|| ends(Victim::Client));
        scope.spawn(|| ends(Victim::Server));
    });
}
