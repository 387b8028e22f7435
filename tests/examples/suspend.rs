//! Processes that stand still in the middle of a download, as on a computer that is suspended.

use std::process::{Child, Output};
use std::thread::sleep;
use std::time::Duration;

use super::harness::{assert_fails, names, output, signal, summary, Server};

/// Longer than [`SHORT`], and shorter than the default.
const PAUSE: Duration = Duration::from_secs(3);

/// An idle timeout.
const SHORT: [&str; 2] = ["--idle-timeout", "1s"];

#[derive(Clone, Copy)]
enum Victim {
    Client,
    Server,
}

/// Pauses one end of a download of some 4 s. Returns the output of the client.
fn paused(server: &Server, args: &[&str], victim: Victim) -> Output {
    let url = server.url("/bytes/1000000");
    let mut client = server.client(&[args, &["-o", "out", &url]].concat());
    let client = client.spawn().unwrap();
    server.wait_for_first_bytes();
    let stopped: &Child = match victim {
        Victim::Client => &client,
        Victim::Server => &server.child,
    };
    signal(stopped, "STOP");
    sleep(PAUSE);
    signal(stopped, "CONT");
    output(client)
}

#[test]
fn a_download_survives_a_pause_of_either_end() {
    for victim in [Victim::Client, Victim::Server] {
        let server = Server::slow(&[]);
        let output = paused(&server, &[], victim);
        assert!(output.status.success(), "{output:?}");
        let summary = summary(&output);
        assert_eq!(summary["downloads"][0]["verified"], true);
    }
}

#[test]
fn a_pause_beyond_the_idle_timeout_ends_the_download_and_nothing_else() {
    for victim in [Victim::Client, Victim::Server] {
        let server = Server::slow(&SHORT);
        assert_fails(&paused(&server, &SHORT, victim), 1, "idle timeout");
        let left = names(&server.path("out"));
        assert!(left.is_empty(), "half a file was left: {left:?}");
        assert_eq!(server.download("/bytes/1000", &[])["complete"], true);
    }
}
