//! A server sends little to an address that nobody has shown to be theirs, and goes on when
//! a client's address changes.

use std::process::Output;
use std::time::Duration;

use quiche::MIN_CLIENT_INITIAL_LEN;

use super::harness::{summary, Server};
use super::relay::{relay_that_changes, Change};
use super::stranger::Stranger;

/// An Initial packet of a version that nobody has.
fn of_unknown_version(len: usize) -> Vec<u8> {
    let mut datagram = vec![0; len];
    datagram[..8].copy_from_slice(&[0xc0, 0xfa, 0xfa, 0xfa, 0xfa, 8, 1, 2]);
    datagram
}

#[test]
fn version_negotiation_is_for_datagrams_that_could_begin_a_connection() {
    let server = Server::start(&[]);
    let stranger = Stranger::to(server.address);
    let send = |len| stranger.socket.send(&of_unknown_version(len)).unwrap();
    send(MIN_CLIENT_INITIAL_LEN - 1);
    let none: Vec<Vec<u8>> = Vec::new();
    assert_eq!(stranger.answer(), none);
    send(MIN_CLIENT_INITIAL_LEN);
    let answers = stranger.answer();
    assert_eq!(answers.len(), 1);
    // A long header with version 0.
    assert_eq!(answers[0][0] & 0x80, 0x80);
    assert_eq!(answers[0][1..5], [0; 4]);
}

#[test]
fn initial_packets_in_small_datagrams_are_not_answered() {
    let server = Server::start(&[]);
    let mut stranger = Stranger::to(server.address);
    let flight = stranger.flight();
    // What is cut off the last one is padding, so the packet in it is whole.
    let last = flight.last().unwrap();
    let small = &last[..MIN_CLIENT_INITIAL_LEN - 1];
    stranger.socket.send(small).unwrap();
    let none: Vec<Vec<u8>> = Vec::new();
    assert_eq!(stranger.answer(), none);
    for datagram in &flight {
        stranger.socket.send(datagram).unwrap();
    }
    assert!(!stranger.answer().is_empty());
}

#[test]
fn a_client_that_falls_silent_gets_three_times_what_it_sent() {
    let server = Server::start(&[]);
    let mut stranger = Stranger::to(server.address);
    let flight = stranger.flight();
    for datagram in &flight {
        stranger.socket.send(datagram).unwrap();
    }
    let sent: usize = flight.iter().map(Vec::len).sum();
    // Probes leave 1, 3 and 7 s after the beginning.
    let received = stranger.received(Duration::from_secs(8));
    let received: usize = received.iter().map(Vec::len).sum();
    assert!(received > 0);
    assert!(received <= 3 * sent, "{received} bytes for {sent}");
}

/// A download of 3 MB at 20 Mbit/s, over a path that changes after 500 datagrams.
fn download_over_a_change(cc: &str, args: &[&str], change: Change) -> Output {
    let args = [&["--max-pacing-rate", "20", "--cc", cc], args].concat();
    let mut server = Server::start(&args);
    server.address = relay_that_changes(server.address, Duration::from_millis(20), 500, change);
    // A handshake that loses its larger datagrams takes some probes.
    let patient = ["--connect-timeout", "40s", "--idle-timeout", "30s"];
    let mut client = server.client(&[&["--time-limit", "80s"], &patient[..]].concat());
    client.arg(server.url("/bytes/3000000")).output().unwrap()
}

fn assert_complete(output: &Output, what: &str) {
    let summary = summary(output);
    assert_eq!(summary["bytes"], 3_000_000, "{what}");
    assert_eq!(summary["complete"], true, "{what}");
}

#[test]
fn a_download_survives_a_nat_that_forgets_its_binding() {
    for cc in ["petra", "cubic", "bbr2"] {
        for address in ["127.0.0.1", "127.0.0.2"] {
            let output = download_over_a_change(cc, &[], Change::Address(address));
            assert_complete(&output, &format!("{cc}, {address}"));
        }
    }
}

/// The server's datagrams of 1350 bytes are lost from then on. A path of QUIC carries 1200
/// (RFC 9000, Section 14).
#[test]
fn a_download_survives_a_path_with_a_smaller_mtu() {
    for cc in ["petra", "cubic", "bbr2"] {
        let change = Change::LargestDatagram(usize::MAX, 1_200);
        assert_complete(&download_over_a_change(cc, &[], change), cc);
    }
}

/// They are lost until then.
#[test]
fn a_download_survives_a_path_with_a_larger_mtu() {
    for cc in ["petra", "cubic", "bbr2"] {
        let change = Change::LargestDatagram(1_200, usize::MAX);
        assert_complete(&download_over_a_change(cc, &[], change), cc);
    }
}

/// A packet that does not decrypt, or was there before, is as if it never came.
#[test]
fn a_download_survives_copies_and_wrong_bits() {
    for cc in ["petra", "cubic", "bbr2"] {
        let output = download_over_a_change(cc, &[], Change::Noise);
        assert_complete(&output, cc);
    }
}
