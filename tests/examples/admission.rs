//! First packets that a server refuses or answers by a Retry packet, and what it lacks.

use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::time::Duration;

use quiche::Type;

use super::harness::{assert_fails, names, output, wait_for, Server};
use super::initial::Initial;
use super::stranger::{packet_type, Stranger};

/// An address with a port of the kernel's choice.
const ANY: &str = "127.0.0.1:0";

/// The types of the first packets of datagrams.
fn types(mut datagrams: Vec<Vec<u8>>) -> Vec<Type> {
    let types = datagrams.iter_mut().map(|it| packet_type(it));
    types.map(|ty| ty.expect("a header")).collect()
}

/// The types of the packets with which the server answers a first flight.
fn answers(stranger: &mut Stranger) -> Vec<Type> {
    stranger.send();
    types(stranger.answer())
}

#[test]
fn addresses_are_validated_always_or_never() {
    let server = Server::start(&["--retry", "always"]);
    let types = answers(&mut Stranger::to(server.address));
    assert!(!types.is_empty());
    assert!(types.iter().all(|ty| *ty == Type::Retry), "{types:?}");
    assert_eq!(server.download("/bytes/100000", &[])["complete"], true);
    let server = Server::start(&["--retry", "never", "--max-handshakes", "1"]);
    let types = answers(&mut Stranger::to(server.address));
    assert_eq!(types.first(), Some(&Type::Initial));
}

#[test]
fn addresses_are_validated_under_load() {
    let server = Server::start(&["--max-handshakes", "4"]);
    let mut strangers = [(); 3].map(|()| Stranger::to(server.address));
    let first = strangers.each_mut().map(|stranger| answers(stranger)[0]);
    assert_eq!(first, [Type::Initial, Type::Initial, Type::Retry]);
    assert_eq!(server.download("/bytes/100000", &[])["complete"], true);
}

#[test]
fn silent_clients_make_room() {
    let server = Server::start(&["--max-handshakes", "2", "--retry", "never"]);
    let mut strangers = [(); 3].map(|()| Stranger::to(server.address));
    let answered = strangers
        .each_mut()
        .map(|stranger| !answers(stranger).is_empty());
    assert_eq!(answered, [true, true, false]);
    // The client repeats its first packets until the strangers are forgotten.
    assert_eq!(server.download("/bytes/100000", &[])["complete"], true);
}

/// A first datagram with these frames and no ClientHello.
fn first_datagram(frames: &[u8]) -> Vec<u8> {
    Initial::to(vec![9; 8]).seal(frames)
}

/// First frames that end a handshake: CONNECTION_CLOSE, and one that no Initial may have.
const FATAL: [&[u8]; 2] = [&[PING, 0x1c, 0, 0, 0], &[PING, 0x1e]];
const PING: u8 = 0x01;

#[test]
fn handshakes_that_fail_hold_no_place() {
    for frames in FATAL {
        let server = Server::start(&["--max-connections", "1", "--retry", "never"]);
        let mut stranger = Stranger::to(server.address);
        let first = first_datagram(frames);
        stranger.socket.send(&first).unwrap();
        // The server may answer that, too.
        stranger.received(Duration::from_millis(200));
        assert_eq!(answers(&mut stranger).first(), Some(&Type::Initial));
    }
}

#[test]
fn handshakes_that_fail_are_a_load_for_a_time() {
    let server = Server::start(&["--max-handshakes", "2"]);
    let stranger = Stranger::to(server.address);
    stranger.socket.send(&first_datagram(FATAL[0])).unwrap();
    let validates = || answers(&mut Stranger::to(server.address))[0] == Type::Retry;
    assert!(validates());
    wait_for("the failure to be forgotten", || !validates());
}

#[test]
fn the_last_places_for_connections_are_not_for_strangers() {
    let server = Server::start(&["--max-connections", "2"]);
    let mut strangers = [(); 2].map(|()| Stranger::to(server.address));
    assert_eq!(answers(&mut strangers[0])[0], Type::Initial);
    strangers[1].send();
    assert!(strangers[1].answer_retry(Duration::from_secs(2)));
    assert_eq!(server.download("/bytes/100000", &[])["complete"], true);
}

#[test]
fn an_address_with_many_handshakes_makes_room_for_others() {
    let server = Server::start(&["--max-handshakes", "5", "--retry", "always"]);
    let other = Ipv4Addr::new(127, 0, 0, 2);
    let mut config = Stranger::config();
    let mut strangers = [(); 5].map(|()| Stranger::from(other, server.address, &mut config));
    for stranger in &mut strangers {
        stranger.send();
        assert!(stranger.answer_retry(Duration::from_secs(2)));
    }
    // Strangers that are not silent keep their places for 10 s.
    let repeat = || strangers.iter().for_each(Stranger::repeat);
    // Another handshake of this address has to wait. It gets Retry packets, and no more.
    let mut another = Stranger::from(other, server.address, &mut config);
    another.send();
    assert!(another.answer_retry(Duration::from_secs(2)));
    repeat();
    let received = another.received(Duration::from_millis(500));
    assert!(types(received).iter().all(|it| *it == Type::Retry));
    repeat();
    let mut client = server.client(&["--connect-timeout", "6s", &server.url("/bytes/1")]);
    let mut client = client.spawn().unwrap();
    while client.try_wait().unwrap().is_none() {
        repeat();
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(client.wait().unwrap().success());
}

#[test]
fn a_connection_beyond_the_limit_waits_for_a_place() {
    // Not behind the relay, which has one client.
    let server = Server::start(&["--max-connections", "1", "--max-pacing-rate", "2"]);
    let url = server.url("/bytes/400000");
    let first = server.client(&["-o", "out", &url]).spawn().unwrap();
    server.wait_for_first_bytes();
    let url = server.url("/bytes/1");
    let hasty = server.client(&["--connect-timeout", "300ms", &url]);
    assert_fails(
        &{ hasty }.output().unwrap(),
        1,
        "no response within the timeout",
    );
    let second = server.client(&[&url]).spawn().unwrap();
    for client in [first, second] {
        let output = output(client);
        assert!(output.status.success(), "{output:?}");
    }
}

#[test]
fn noise_takes_no_place_and_leaves_no_qlog() {
    let server = Server::start(&["--max-connections", "1", "--qlog", "qlog"]);
    let mut stranger = Stranger::to(server.address);
    for mut datagram in stranger.flight() {
        datagram[100] ^= 1;
        stranger.socket.send(&datagram).unwrap();
    }
    let none: Vec<Vec<u8>> = vec![];
    assert_eq!(stranger.answer(), none);
    assert_eq!(server.download("/bytes/100000", &[])["complete"], true);
    // The only qlog is that of the download, with its copy.
    assert_eq!(names(&server.path("qlog")).len(), 2);
}

/// A first packet without a ClientHello, and with a frame that no Initial may have.
#[test]
fn what_decrypts_and_is_refused_has_a_qlog() {
    let server = Server::start(&["--retry", "never", "--qlog", "qlog"]);
    let stranger = Stranger::to(server.address);
    stranger.socket.send(&first_datagram(FATAL[1])).unwrap();
    assert_eq!(server.download("/bytes/100000", &[])["complete"], true);
    // Each qlog has a copy.
    assert_eq!(names(&server.path("qlog")).len(), 4);
}

#[test]
fn logs_that_cannot_be_made_are_reported_once() {
    let mut server = Server::spawn(ANY, &["--qlog", "qlog"], Stdio::piped());
    std::fs::remove_dir(server.path("qlog")).unwrap();
    for _ in 0..3 {
        assert_eq!(server.download("/bytes/100000", &[])["complete"], true);
    }
    server.signal("TERM");
    assert!(server.child.wait().unwrap().success());
    let said = std::io::read_to_string(server.child.stderr.take().unwrap()).unwrap();
    assert_eq!(said.matches("cannot make the qlog").count(), 1, "{said}");
}

/// All output goes to a full disk, and that of the qlogs to a folder that is gone.
#[test]
fn a_warning_that_cannot_be_written_does_not_end_the_server() {
    let full = std::fs::File::options().write(true).open("/dev/full");
    let server = Server::spawn(ANY, &["--qlog", "qlog"], full.unwrap().into());
    std::fs::remove_dir(server.path("qlog")).unwrap();
    assert_eq!(server.download("/bytes/100000", &[])["complete"], true);
}

/// The table of files is full: four are open for each connection with a file and a qlog.
#[test]
fn a_lack_of_file_descriptors_does_not_end_the_server() {
    let mut server = Server::start(&["--qlog", "qlog"]);
    server.put("file", "twelve bytes");
    let limit = |files: &str| {
        let pid = server.child.id().to_string();
        let prlimit = Command::new("prlimit")
            .args(["--pid", &pid, &format!("--nofile={files}:")])
            .status();
        assert!(prlimit.expect("prlimit runs").success());
    };
    limit("3");
    assert_eq!(server.download("/bytes/100000", &[])["complete"], true);
    let refused = server.client(&[&server.url("/file")]).output().unwrap();
    assert_fails(&refused, 1, "got 503");
    limit("64");
    assert_eq!(server.download("/file", &[])["bytes"], 12);
    assert!(server.child.try_wait().unwrap().is_none());
}
