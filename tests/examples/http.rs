//! The server's responses to each kind of request.

use std::net::UdpSocket;
use std::os::unix::fs::symlink;
use std::time::Duration;

use super::harness::Server;
use super::raw::request;

#[test]
fn get_and_head_are_answered_and_nothing_else_is() {
    let server = Server::start(&[]);
    server.put("file", "twelve bytes");
    for path in ["/bytes/12", "/file", "/file?query"] {
        let get = request(server.address, "GET", path, b"");
        assert_eq!((get.status(), get.body.len()), ("200", 12));
        let head = request(server.address, "HEAD", path, b"");
        assert_eq!((head.status(), head.body.len()), ("200", 0));
        for answer in [get, head] {
            assert_eq!(answer.field("content-length"), Some("12"), "{path}");
        }
    }
    let file = request(server.address, "GET", "/file", b"");
    assert_eq!(file.body, b"twelve bytes");
    // printf 'twelve bytes' | openssl dgst -sha256 -binary | base64
    let digest = "sha-256=:1M4sUnr+Z0x6CGvXTiVgGePV3Nsx7rbqre9a2oxDg7k=:";
    assert_eq!(file.field("content-digest"), Some(digest));
    for body in [&b""[..], &[0; 10_000]] {
        let post = request(server.address, "POST", "/file", body);
        assert_eq!(post.status(), "405");
        assert_eq!(post.field("allow"), Some("GET, HEAD"));
    }
}

#[test]
fn what_is_not_there_is_404() {
    let server = Server::start(&[]);
    std::fs::create_dir(server.path("root/folder")).unwrap();
    let paths = [
        "/",
        "/none",
        "/folder",
        "/bytes/",
        "/bytes/-1",
        "/bytes/x",
        "/bytes/99999999999999999999",
        "",
        "*",
    ];
    for path in paths {
        assert_eq!(
            request(server.address, "GET", path, b"").status(),
            "404",
            "{path}"
        );
    }
    assert_eq!(request(server.address, "GET", "/%ff", b"").status(), "400");
}

#[test]
fn nothing_outside_of_the_root_is_served() {
    let server = Server::start(&[]);
    let secret = server.path("secret");
    std::fs::write(&secret, "secret").unwrap();
    std::fs::create_dir(server.path("root/folder")).unwrap();
    symlink(&secret, server.path("root/link")).unwrap();
    server.put("file", "");
    let absolute = format!("/{}", secret.display());
    let paths = [
        "/../secret",
        "/%2e%2e/secret",
        "/..%2fsecret",
        "/folder/../../secret",
        "/link",
        "../secret",
        &absolute,
    ];
    for path in paths {
        assert_eq!(
            request(server.address, "GET", path, b"").status(),
            "404",
            "{path}"
        );
    }
    // Dots that stay inside are nothing bad.
    assert_eq!(
        request(server.address, "GET", "/folder/../file", b"").status(),
        "200"
    );
}

#[test]
fn a_version_that_is_unknown_is_negotiated() {
    let server = Server::start(&[]);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    // A long header of a version reserved for this, with two connection IDs of
    // eight bytes (RFC 8999, 5.1).
    let mut packet = vec![0xc0, 0x1a, 0x2a, 0x3a, 0x4a];
    packet.extend([&[8][..], &[1; 8], &[8], &[2; 8]].concat());
    packet.resize(1200, 0);
    socket.send_to(&packet, server.address).unwrap();
    let mut answer = [0; 1500];
    let len = socket.recv(&mut answer).unwrap();
    let expected = [&[0, 0, 0, 0, 8][..], &[2; 8], &[8], &[1; 8], &[0, 0, 0, 1]].concat();
    assert_eq!(answer[1..len], expected);
}

#[test]
fn datagrams_that_are_no_quic_are_ignored() {
    let server = Server::start(&[]);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for length in [0, 1, 7, 20, 1200, 9000] {
        for first in [0x00, 0x40, 0x80, 0xc0, 0xff] {
            let mut datagram = vec![first; length];
            socket.send_to(&datagram, server.address).unwrap();
            // The same as QUIC version 1.
            if length > 5 {
                datagram[1..5].copy_from_slice(&[0, 0, 0, 1]);
                socket.send_to(&datagram, server.address).unwrap();
            }
        }
    }
    assert_eq!(server.download("/bytes/1000", &[])["complete"], true);
}
