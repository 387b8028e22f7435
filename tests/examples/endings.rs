//! Early ends of transfers and programs.

use std::time::{Duration, Instant};

use super::harness::{assert_fails, ended, names, output, signal, summary, Server};

#[test]
fn a_time_limit_ends_the_download_without_failing_it() {
    let server = Server::slow(&["--grace", "1h"]);
    let summary = server.download("/bytes/100000000", &["--time-limit", "1s", "-o", "out"]);
    assert_eq!(summary["complete"], false);
    assert!(summary["bytes"].as_u64().unwrap() > 0);
    assert!(summary["seconds"].as_f64().unwrap() >= 1.0);
    let download = &summary["downloads"][0];
    assert_eq!(download["verified"], false);
    assert_eq!(download["error"], serde_json::Value::Null);
    assert!(
        names(&server.path("out")).is_empty(),
        "half a file was left"
    );
    // It told the server to stop, which then has nothing left to finish.
    let mut server = server;
    server.signal("TERM");
    assert!(ended(&mut server.child).success());
}

#[test]
fn the_second_that_a_server_has_for_its_goodbye_does_not_count() {
    let server = Server::slow(&[]);
    let url = server.url("/bytes/100000000");
    let args = ["--time-limit", "1s", "-o", "out", &url];
    let begun = Instant::now();
    let client = server.client(&args).spawn().unwrap();
    server.wait_for_first_bytes();
    signal(&server.child, "STOP");
    let output = output(client);
    let all = begun.elapsed().as_secs_f64();
    signal(&server.child, "CONT");
    let seconds = summary(&output)["seconds"].as_f64().unwrap();
    assert!(seconds >= 1.0 && all >= seconds + 1.0, "{seconds} of {all}");
}

/// However short the round trips are: on loopback most packets find nothing in flight.
#[test]
fn the_highest_pacing_rate_holds() {
    let server = Server::start(&["--max-pacing-rate", "10"]);
    let summary = server.download("/bytes/100000000", &["--time-limit", "1s"]);
    let [bytes, seconds] = ["bytes", "seconds"].map(|name| summary[name].as_f64().unwrap());
    let initial_window = 13_500.0;
    assert!(bytes > 0.0);
    let most = 10e6 / 8.0 * seconds + initial_window;
    assert!(bytes <= most, "{bytes} bytes in {seconds} s");
}

#[test]
fn a_client_that_is_interrupted_says_what_it_has() {
    for name in ["INT", "TERM"] {
        let server = Server::slow(&[]);
        let url = server.url("/bytes/100000000");
        let client = server.client(&["-o", "out", &url]).spawn().unwrap();
        server.wait_for_first_bytes();
        signal(&client, name);
        let output = output(client);
        assert_eq!(output.status.code(), Some(1));
        assert!(summary(&output)["bytes"].as_u64().unwrap() > 0);
        assert!(
            names(&server.path("out")).is_empty(),
            "half a file was left"
        );
    }
}

#[test]
fn a_server_that_is_killed_fails_the_download() {
    let mut server = Server::slow(&[]);
    let url = server.url("/bytes/100000000");
    let args = ["--idle-timeout", "1s", "-o", "out", &url];
    let client = server.client(&args).spawn().unwrap();
    server.wait_for_first_bytes();
    server.child.kill().unwrap();
    assert_fails(&output(client), 1, "idle timeout");
    assert!(
        names(&server.path("out")).is_empty(),
        "half a file was left"
    );
}

#[test]
fn a_server_that_shuts_down_finishes_what_it_began() {
    for name in ["INT", "TERM"] {
        let mut server = Server::slow(&["--grace", "1h"]);
        let url = server.url("/bytes/400000");
        // The second waits for the first, and is not begun in time.
        let client = server.client(&["-o", "out", &url, &server.url("/bytes/1")]);
        let client = { client }.spawn().unwrap();
        server.wait_for_first_bytes();
        server.signal(name);
        let output = output(client);
        assert_fails(&output, 1, "shutting down");
        assert_eq!(summary(&output)["bytes"], 400_000);
        assert_eq!(names(&server.path("out")), ["400000"]);
        assert!(ended(&mut server.child).success());
    }
}

#[test]
fn a_server_that_shuts_down_does_not_wait_for_ever() {
    let mut server = Server::slow(&["--grace", "500ms"]);
    let url = server.url("/bytes/100000000");
    let client = server.client(&["-o", "out", &url]).spawn().unwrap();
    server.wait_for_first_bytes();
    let asked = Instant::now();
    server.signal("TERM");
    assert!(ended(&mut server.child).success());
    assert!(asked.elapsed() < Duration::from_secs(10), "the default");
    assert_fails(&output(client), 1, "shutting down");
    assert!(
        names(&server.path("out")).is_empty(),
        "half a file was left"
    );
}

#[test]
fn a_second_signal_ends_a_server_at_once() {
    let mut server = Server::slow(&["--grace", "1h"]);
    let url = server.url("/bytes/100000000");
    let mut client = server.client(&["-o", "out", &url]).spawn().unwrap();
    server.wait_for_first_bytes();
    server.signal("INT");
    std::thread::sleep(Duration::from_millis(100));
    assert!(
        server.child.try_wait().unwrap().is_none(),
        "it did not wait"
    );
    server.signal("INT");
    assert!(ended(&mut server.child).success());
    client.kill().unwrap();
    client.wait().unwrap();
}
