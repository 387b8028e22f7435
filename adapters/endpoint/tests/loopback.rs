//! The program itself: a short download over loopback, with a controller of each kind.

use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

const PROGRAM: &str = env!("CARGO_BIN_EXE_stacks-endpoint");

/// Ends the server with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn run(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().unwrap()
}

#[test]
fn each_stack_sends_with_our_controller_and_with_its_own() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let identity = rcgen::generate_simple_self_signed(["server".into()]).unwrap();
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| folder.join(name));
    std::fs::write(&cert, identity.cert.pem()).unwrap();
    std::fs::write(&key, identity.signing_key.serialize_pem()).unwrap();
    let [cert, key] = [&cert, &key].map(|path| path.to_str().unwrap());
    for (stack, controller) in [
        ("quinn", "petra"),
        ("quinn", "bbr"),
        ("noq", "petra:alpha=0.8"),
        ("noq", "bbr3"),
        ("s2n-quic", "petra"),
        ("s2n-quic", "bbr"),
    ] {
        // A port that was free a moment ago.
        let free = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap().to_string();
        drop(free);
        let server = Command::new(PROGRAM)
            .args([stack, "server", controller, &address, cert, key])
            .stdout(Stdio::null())
            .spawn();
        let _server = Server(server.unwrap());
        std::thread::sleep(Duration::from_millis(500));
        let output = run(&[stack, "client", &address, cert, "0.2"]);
        let text = String::from_utf8_lossy(&output.stdout);
        let shown = format!("{stack}, {controller}: {output:?}");
        assert!(output.status.success(), "{shown}");
        let goodput = text.trim().strip_prefix("{\"goodput_bps\": ");
        let goodput = goodput.and_then(|rest| rest.strip_suffix('}'));
        let goodput: f64 = goodput.expect(&shown).parse().expect(&shown);
        assert!(goodput > 0.0, "{shown}");
    }
}

#[test]
fn errors_name_the_problem() {
    for (arguments, problem) in [
        (&["quinn"][..], "arguments: invalid"),
        (
            &["quinn", "client", "there", "ca", "1"],
            "address: invalid (got \"there\")",
        ),
        (
            &["tcp", "client", "127.0.0.1:1", "ca", "1"],
            "stack: unknown name (got \"tcp\")",
        ),
    ] {
        let output = run(arguments);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains(problem), "{text}");
    }
}
