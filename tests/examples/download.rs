//! Downloaded bodies equal the server's, or the client reports an error.

use serde_json::json;

use super::harness::{assert_fails, client, names, output, summary, Server};

#[test]
fn bodies_are_verified_and_times_end_with_the_last_byte() {
    let server = Server::start(&[]);
    let summary = server.download("/bytes/5000000", &[]);
    assert_eq!(summary["complete"], true);
    assert_eq!(summary["bytes"], 5_000_000);
    let download = &summary["downloads"][0];
    assert_eq!(download["status"], 200);
    assert_eq!(download["verified"], true);
    assert_eq!(download["error"], json!(null));
    let seconds = summary["seconds"].as_f64().unwrap();
    let goodput = summary["goodput_bps"].as_f64().unwrap();
    assert!((goodput - 40e6 / seconds).abs() < 1.0);
    assert!(summary["handshake_seconds"].as_f64().unwrap() > 0.0);
}

#[test]
fn files_arrive_with_their_digest_and_get_their_name_when_whole() {
    let server = Server::start(&[]);
    let content: Vec<u8> = (0..3_000_000u32).map(|i| (i ^ (i >> 7)) as u8).collect();
    server.put("a file.bin", &content);
    server.put("empty", "");
    let summary = server.download("/a%20file.bin", &["-o", "out", &server.url("/empty")]);
    assert_eq!(summary["bytes"], 3_000_000);
    assert!(summary["downloads"]
        .as_array()
        .unwrap()
        .iter()
        .all(|d| d["verified"] == true));
    assert_eq!(names(&server.path("out")), ["a%20file.bin", "empty"]);
    assert_eq!(
        std::fs::read(server.path("out/a%20file.bin")).unwrap(),
        content
    );
    assert_eq!(std::fs::read(server.path("out/empty")).unwrap(), b"");
}

#[test]
fn every_controller_carries_a_download() {
    let quiche = ["reno", "cubic", "bbr2", "petra:alpha=0.8,faster_start=off"];
    for controller in quiche.into_iter().chain(petra::registry::NAMES) {
        let server = Server::start(&["--cc", controller]);
        let summary = server.download("/bytes/2000000", &["--cc", controller]);
        assert_eq!(summary["complete"], true, "{controller}");
    }
}

#[test]
fn every_transport_option_carries_a_download() {
    let options: [&[&str]; 6] = [
        &["--no-pacing"],
        &["--initial-window", "32"],
        &["--max-datagram-size", "1200"],
        &["--max-datagram-size", "9000"],
        &["--silly-window-avoidance", "false"],
        &["--cc", "cubic", "--cubic-spurious-undo"],
    ];
    for options in options {
        let server = Server::start(options);
        let summary = server.download("/bytes/2000000", options);
        assert_eq!(summary["complete"], true, "{options:?}");
    }
}

#[test]
fn the_pacing_rate_is_respected_from_user_space() {
    let server = Server::slow(&[]);
    let summary = server.download("/bytes/1000000", &[]);
    // Nothing else would hold it below hundreds of megabits per second.
    let goodput = summary["goodput_bps"].as_f64().unwrap();
    assert!(goodput < 2.1e6, "{goodput}");
}

#[test]
fn a_download_fails_when_its_status_is_not_200() {
    let server = Server::start(&[]);
    let urls = [server.url("/no-such-file"), server.url("/bytes/1000")];
    let output = server
        .client(&["-o", "out", &urls[0], &urls[1]])
        .output()
        .unwrap();
    assert_fails(&output, 1, "404");
    let summary = summary(&output);
    assert_eq!(summary["complete"], false);
    assert_eq!(summary["bytes"], 1000);
    assert_eq!(names(&server.path("out")), ["1000"]);
}

#[test]
fn a_file_that_shrinks_under_way_is_not_passed_off_as_whole() {
    let server = Server::slow(&[]);
    server.put("shrinking", vec![7; 4_000_000]);
    let client = server
        .client(&["-o", "out", &server.url("/shrinking")])
        .spawn()
        .unwrap();
    server.wait_for_first_bytes();
    server.put("shrinking", vec![7; 1000]);
    assert_fails(&output(client), 1, "reset by the server");
    assert!(names(&server.path("out")).is_empty());
}

#[test]
fn two_servers_are_downloaded_from_at_once() {
    let servers = [Server::start(&[]), Server::start(&[])];
    let urls = [
        servers[0].url("/bytes/1000000"),
        servers[1].url("/bytes/1000000"),
    ];
    let mut client = client(&["--json", "--insecure", &urls[0], &urls[1]]);
    let summary = summary(&client.output().unwrap());
    assert_eq!(summary["complete"], true);
    assert_eq!(summary["bytes"], 2_000_000);
}
