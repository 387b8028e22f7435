//! Every way to select a controller, told by what a connection's qlog then shows.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use boring::pkey::PKey;
use boring::ssl::{ClientHello, NameType, SslContextBuilder, SslMethod};
use boring::x509::X509;
use quiche::{Config, Connection, ConnectionId, Error, RecvInfo};

const CLIENT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 1);
const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 2);

/// A qlog in memory.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn tls() -> SslContextBuilder {
    let identity = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PKey::private_key_from_pem(identity.signing_key.serialize_pem().as_bytes()).unwrap();
    let certificate = X509::from_pem(identity.cert.pem().as_bytes()).unwrap();
    let mut tls = SslContextBuilder::new(SslMethod::tls()).unwrap();
    tls.set_private_key(&key).unwrap();
    tls.set_certificate(&certificate).unwrap();
    tls
}

fn config(tls: SslContextBuilder) -> Config {
    let mut config = Config::with_boring_ssl_ctx_builder(quiche::PROTOCOL_VERSION, tls).unwrap();
    config.set_application_protos(&[b"test"]).unwrap();
    config.set_initial_max_data(1 << 20);
    config.set_initial_max_stream_data_bidi_local(1 << 20);
    config.set_initial_max_stream_data_bidi_remote(1 << 20);
    config.set_initial_max_streams_bidi(1);
    config
}

/// Has a server with this configuration send 200 kB; returns its qlog.
fn transfer(mut server: Config) -> String {
    let mut client = config(SslContextBuilder::new(SslMethod::tls()).unwrap());
    client.verify_peer(false);

    let id = ConnectionId::from_ref(&[7; 16]);
    let mut client = quiche::connect(Some("localhost"), &id, CLIENT, SERVER, &mut client).unwrap();
    let mut server = quiche::accept(&id, None, SERVER, CLIENT, &mut server).unwrap();
    let log = Log::default();
    server.set_qlog(Box::new(log.clone()), "test".into(), "test".into());

    let body = [1; 200_000];
    let mut buffer = [0; 65_536];
    let (mut asked, mut written, mut read) = (false, 0, 0);
    while read < body.len() {
        if client.is_established() && !asked {
            client.stream_send(0, b"please", true).unwrap();
            asked = true;
        }
        if server.stream_readable(0) || written > 0 {
            let rest = &body[written..];
            written += server.stream_send(0, rest, true).unwrap_or(0);
        }
        let moved = pass(&mut client, &mut server) + pass(&mut server, &mut client);
        while let Ok((bytes, _)) = client.stream_recv(0, &mut buffer) {
            read += bytes;
        }
        if moved == 0 {
            // What is left waits for the pacer or for a timer.
            std::thread::sleep(std::time::Duration::from_millis(1));
            client.on_timeout();
            server.on_timeout();
        }
    }
    drop(server);
    let bytes = log.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

/// Delivers what one end has to send; returns the number of datagrams.
fn pass(from: &mut Connection, to: &mut Connection) -> usize {
    let mut datagram = [0; 1500];
    let mut moved = 0;
    while let Ok((size, sent)) = from.send(&mut datagram) {
        let info = RecvInfo {
            from: sent.from,
            to: sent.to,
        };
        to.recv(&mut datagram[..size], info).unwrap();
        moved += 1;
    }
    moved
}

fn is_ours(qlog: &str) -> bool {
    qlog.contains("petra_phase")
}

#[test]
fn by_name() {
    petra::register();
    for name in petra::catalogue::NAMES {
        let mut server = config(tls());
        server.set_cc_algorithm_name(name).unwrap();
        assert!(is_ours(&transfer(server)), "{name}");
    }

    let mut server = config(tls());
    server.set_cc_algorithm_name("cubic").unwrap();
    assert!(!is_ours(&transfer(server)));
}

#[test]
fn by_name_and_options() {
    petra::register();
    let mut server = config(tls());
    server
        .set_cc_algorithm_name("petra:alpha=0.8,faster_start=off")
        .unwrap();
    assert!(is_ours(&transfer(server)));
}

#[test]
fn by_typed_configuration() {
    petra::register();
    let mut server = config(tls());
    petra::select(&mut server, petra::WestwoodConfig::default()).unwrap();
    assert!(is_ours(&transfer(server)));
}

#[test]
fn in_the_handshake() {
    petra::register();
    let mut tls = tls();
    tls.set_select_certificate_callback(|mut hello: ClientHello| {
        assert!(hello.servername(NameType::HOST_NAME).is_some());
        <Connection>::set_cc_algorithm_name_in_handshake(hello.ssl_mut(), "petra:alpha=0.8")
            .unwrap();
        Ok(())
    });
    assert!(is_ours(&transfer(config(tls))));
}

#[test]
fn what_is_wrong_is_said() {
    petra::register();
    let mut server = config(tls());
    for (name, wants) in [
        ("nonesuch", "petra-thesis"),
        ("petra:alpha=7", "alpha"),
        ("petra:nonesuch=1", "faster_start"),
        ("cubic:fast=1", "`cubic` takes no options"),
    ] {
        assert_eq!(
            server.set_cc_algorithm_name(name),
            Err(Error::CongestionControl)
        );
        let message = quiche::congestion_control::check(name).unwrap_err();
        assert!(message.contains(wants), "{message}");
    }
}
