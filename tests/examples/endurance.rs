//! Many downloads against one server: every body right, and no growth.

use super::harness::{summary, Server};

/// Largest growth of a server's peak memory in bytes, after a first load. The allocator's noise is
/// smaller; a leak of 4000 responses or 200 connections is larger.
const SLACK: u64 = 1 << 20;

/// The same where downloads run in parallel. How many of them meet in the server,
/// and with it the peak, is up to the scheduler; bodies that are not freed are
/// more, 60 MB or 40 MB.
const PARALLEL_SLACK: u64 = 8 << 20;

/// Puts a first load on a server, then more, and compares.
fn assert_no_growth(server: &Server, slack: u64, load: impl Fn(usize), first: usize, more: usize) {
    load(first);
    let before = server.memory();
    load(more);
    let after = server.memory();
    assert!(after <= before + slack, "from {before} to {after} bytes");
}

#[test]
fn a_thousand_downloads_in_sequence_leave_nothing_behind() {
    let server = Server::start(&[]);
    let load = |count: usize| {
        let summary = server.download("/bytes/20000", &["--repeat", &count.to_string()]);
        assert_eq!(summary["bytes"], 20_000 * count);
        assert_eq!(summary["complete"], true);
        let downloads = summary["downloads"].as_array().unwrap();
        assert_eq!(downloads.len(), count);
        assert!(downloads.iter().all(|d| d["verified"] == true));
    };
    assert_no_growth(&server, SLACK, load, 1000, 4000);
}

#[test]
fn hundreds_of_connections_in_sequence_leave_nothing_behind() {
    let server = Server::start(&[]);
    let load = |count| {
        for _ in 0..count {
            assert_eq!(server.download("/bytes/20000", &[])["complete"], true);
        }
    };
    assert_no_growth(&server, SLACK, load, 20, 200);
}

#[test]
fn a_hundred_streams_in_parallel_leave_nothing_behind() {
    let server = Server::start(&[]);
    server.put("file", vec![42; 100_000]);
    let file = server.url("/file");
    let load = |times| {
        for _ in 0..times {
            let args = ["--parallel", "100", "--repeat", "50", &file];
            let summary = server.download("/bytes/100000", &args);
            assert_eq!(summary["bytes"], 10_000_000);
            assert_eq!(summary["complete"], true);
        }
    };
    assert_no_growth(&server, PARALLEL_SLACK, load, 2, 6);
}

#[test]
fn a_hundred_connections_in_parallel_leave_nothing_behind() {
    let server = Server::start(&[]);
    let url = server.url("/bytes/100000");
    let load = |times| {
        for _ in 0..times {
            let clients = (0..100).map(|_| server.client(&[&url]).spawn().unwrap());
            let clients: Vec<_> = clients.collect();
            for client in clients {
                let summary = summary(&client.wait_with_output().unwrap());
                assert_eq!(summary["complete"], true, "{summary}");
                assert_eq!(summary["bytes"], 100_000);
            }
        }
    };
    assert_no_growth(&server, PARALLEL_SLACK, load, 2, 4);
}
