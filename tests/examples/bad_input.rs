//! Bad input gives a clear message and an exit code, and never hangs.

use std::net::UdpSocket;
use std::process::{Command, Output};

use super::harness::{assert_fails, client, ended, example, output, summary, Server};

fn server(args: &[&str]) -> Output {
    let mut server = Command::new(example("http3-server"));
    let folder = tempfile::TempDir::new().unwrap();
    server
        .args(args)
        .current_dir(folder.path())
        .output()
        .unwrap()
}

#[test]
fn unknown_controllers_and_options_are_usage_errors() {
    let mut names = petra::registry::NAMES;
    names.sort_unstable();
    for known in ["reno, cubic, bbr2", &names.join(", ")] {
        assert_fails(&server(&["--cc", "nope"]), 2, known);
    }
    assert_fails(
        &server(&["--cc", "petra:nope=1"]),
        2,
        "petra: unknown option (got \"nope\")",
    );
    assert_fails(
        &server(&["--cc", "petra:alpha=2"]),
        2,
        "alpha: invalid value (got \"2\"); expected a number",
    );
    assert_fails(
        &server(&["--cc", "petra", "--cc-options", "alpha"]),
        2,
        "key=value",
    );
    assert_fails(
        &server(&["--cc", "cubic:alpha=1"]),
        2,
        "cubic: unknown options",
    );
    assert_fails(
        &server(&["--cc", "petra:alpha=0.5", "--cc-options", "alpha=0.5"]),
        2,
        "--cc-options: duplicate options",
    );
    let url = "https://127.0.0.1/";
    assert_fails(
        &client(&["--cc", "nope", url]).output().unwrap(),
        2,
        "reno, cubic, bbr2",
    );
}

#[test]
fn malformed_arguments_are_usage_errors() {
    for args in [
        &["http://127.0.0.1/"][..],
        &["https://"],
        &[],
        &["https://127.0.0.1/", "--parallel", "0"],
        &["https://127.0.0.1/", "--repeat", "1000001"],
        &["https://127.0.0.1/", "--time-limit", "soon"],
        &["https://127.0.0.1/", "--connect-timeout", "500000000000y"],
        &["https://127.0.0.1/", "--max-datagram-size", "100"],
        &["https://127.0.0.1/", "--ca", "x", "--insecure"],
    ] {
        assert_fails(&client(args).output().unwrap(), 2, "error: ");
    }
    let twice = ["https://a/x", "https://b/x", "-o", "out"];
    assert_fails(&client(&twice).output().unwrap(), 2, "duplicate file");
    assert_fails(&server(&["--listen", "localhost"]), 2, "--listen");
    assert_fails(&server(&["--max-pacing-rate", "0"]), 2, "--max-pacing-rate");
    assert_fails(&server(&["--max-handshakes", "-5"]), 2, "-5 is not in 1..");
}

#[test]
fn a_port_in_use_is_reported() {
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    assert_fails(
        &server(&["--listen", &address]),
        1,
        &format!("cannot listen on {address}"),
    );
}

#[test]
fn files_that_are_missing_or_wrong_are_reported() {
    let missing = ["--cert", "none.pem", "--key", "none.pem"];
    assert_fails(&server(&missing), 1, "none.pem");
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    assert_fails(
        &server(&["--cert", manifest, "--key", manifest]),
        1,
        "cannot load a certificate",
    );
    assert_fails(&server(&["--cert", manifest]), 2, "--key");
    assert_fails(&server(&["--root", "none"]), 1, "cannot serve none");
    assert_fails(
        &server(&["--cert-dir", manifest]),
        1,
        "cannot make a certificate",
    );
    assert_fails(
        &server(&["--qlog", manifest]),
        1,
        "cannot make the qlog folder",
    );
    let url = "https://127.0.0.1/";
    let missing = client(&[url, "--ca", "none.pem"]).output().unwrap();
    assert_fails(&missing, 1, "cannot load certificates from none.pem");
    let no_folder = client(&[url, "-o", manifest]).output().unwrap();
    assert_fails(&no_folder, 1, "cannot write into");
}

#[test]
fn a_certificate_that_nobody_vouches_for_is_refused() {
    let server = Server::start(&[]);
    let other = Server::start(&[]);
    let url = server.url("/bytes/1");
    let trusting_other = other.client(&[&url]).output().unwrap();
    assert_fails(&trusting_other, 1, "does not verify");
    let trusting_system = client(&[&url]).output().unwrap();
    assert_fails(&trusting_system, 1, "does not verify");
    // Behind a wildcard, the certificate names the loopback address, and no other.
    let anywhere = Server::start_at("0.0.0.0:0", &[]);
    let url = |host: &str| format!("https://{host}:{}/bytes/1", anywhere.address.port());
    let other_name = anywhere.client(&[&url("127.0.0.2")]).output().unwrap();
    assert_fails(&other_name, 1, "does not verify");
    for name in ["127.0.0.1", "localhost"] {
        assert!(anywhere
            .client(&[&url(name)])
            .output()
            .unwrap()
            .status
            .success());
    }
}

#[test]
fn a_server_that_is_not_there_is_reported_at_once() {
    let nobody = UdpSocket::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let output = client(&[&format!("https://{nobody}/")]).output().unwrap();
    assert_fails(&output, 1, &format!("cannot reach {nobody}"));
    let output = client(&["https://no-such-host.invalid/"]).output().unwrap();
    assert_fails(&output, 1, "no-such-host.invalid");
}

#[test]
fn a_host_without_an_address_leaves_the_other_downloads() {
    let server = Server::start(&[]);
    let urls = ["https://no-such-host.invalid/x", &server.url("/bytes/10")];
    let output = server.client(&urls).output().unwrap();
    let summary = summary(&output);
    let downloads = summary["downloads"].as_array().unwrap();
    let of = |host: &str| {
        downloads
            .iter()
            .find(|it| it["url"].as_str().unwrap().contains(host))
    };
    assert!(
        of("no-such-host").unwrap()["error"].is_string(),
        "{summary}"
    );
    assert_eq!(of("bytes/10").unwrap()["verified"], true, "{summary}");
    assert_fails(&output, 1, "");
}

#[test]
fn a_server_that_does_not_answer_is_given_up() {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let url = format!("https://{address}/");
    let mut client = client(&[&url, "--connect-timeout", "500ms"])
        .spawn()
        .unwrap();
    ended(&mut client);
    assert_fails(
        &output(client),
        1,
        &format!("{address}: no response within the timeout"),
    );
}
