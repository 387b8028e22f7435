//! Every way to select a controller, told by what a connection's qlog then shows.

use super::pair::{config, tls, Pair};
use boring::ssl::{ClientHello, NameType};
use quiche::{Config, Connection, Error};

/// Has a server with this configuration send 200 kB; returns its qlog.
fn transfer(server: Config) -> String {
    let mut pair = Pair::new(server);
    pair.transfer(200_000);
    pair.into_qlog()
}

fn is_ours(qlog: &str) -> bool {
    qlog.contains("petra_phase")
}

#[test]
fn by_name() {
    petra::register();
    for name in petra::registry::NAMES {
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
        (
            "cubic:fast=1",
            "cubic: unexpected options (got `fast=1`); expected none",
        ),
    ] {
        assert_eq!(
            server.set_cc_algorithm_name(name),
            Err(Error::CongestionControl)
        );
        let message = quiche::congestion_control::check(name).unwrap_err();
        assert!(message.contains(wants), "{message}");
    }
}
