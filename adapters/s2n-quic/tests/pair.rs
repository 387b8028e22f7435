//! The example runs with each controller, and refuses those that s2n-quic cannot have.

use std::process::{Command, Output};

/// Runs the example, which `cargo test` has built.
fn pair(controller: &str) -> Output {
    let test = std::env::current_exe().expect("a path");
    let built = test.ancestors().nth(2).expect("the folder of the build");
    let mut command = Command::new(built.join("examples/s2n-quic-pair"));
    command.arg(controller).output().expect("the example")
}

#[test]
fn the_example_downloads_with_each_controller() {
    for name in petra_s2n_quic::controllers() {
        let output = pair(name);
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(text, format!("{name}: 5000000 bytes\n"), "{output:?}");
    }
}

#[test]
fn the_example_says_what_is_wrong() {
    let probes = "highbrow: early probes: not supported (got stack s2n-quic)";
    for (name, problem) in [
        ("highbrow", probes),
        ("petra:alpha=7", "petra: alpha: invalid value (got \"7\")"),
        ("nonesuch", "controller: unknown name (got \"nonesuch\")"),
    ] {
        let output = pair(name);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains(problem), "{text}");
    }
}
