//! Starts the built examples and collects what they say.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::relay::relay;

/// The path of a built example, which is built first: `cargo test --test` alone
/// would not.
pub(crate) fn example(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        // This is target/<profile>/deps/examples-<hash>.
        let test = std::env::current_exe().expect("a test has a path");
        let profile = test
            .ancestors()
            .nth(2)
            .expect("deps is in a profile's folder");
        let target = profile.parent().expect("a profile is in the target folder");
        // Whoever has built the workspace in one says so: built by itself, the
        // package has quiche with other features, under the same file name.
        if std::env::var_os("PETRA_EXAMPLES_BUILT").is_some() {
            return profile.join("examples");
        }
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--examples", "--package", "petra"]);
        cargo.arg("--target-dir").arg(target);
        cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
        if profile.ends_with("release") {
            cargo.arg("--release");
        }
        assert!(cargo.status().expect("cargo runs").success());
        profile.join("examples")
    });
    folder.join(name)
}

/// A running server and the folder that it, and its test, may use. Is killed
/// when it is dropped.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) folder: TempDir,
}

impl Server {
    /// A server with these arguments that serves the folder's `root`.
    pub(crate) fn start(args: &[&str]) -> Server {
        Server::start_at("127.0.0.1:0", args)
    }

    /// The same, listening at `address`.
    pub(crate) fn start_at(address: &str, args: &[&str]) -> Server {
        Server::spawn(address, args, Stdio::inherit())
    }

    /// The same, whose warnings go to `stderr`.
    pub(crate) fn spawn(address: &str, args: &[&str], stderr: Stdio) -> Server {
        let mut command = Command::new(example("http3-server"));
        command.args(["--listen", address]).stderr(stderr);
        Server::of(command, args)
    }

    /// A server that `prefix`, a command, runs.
    #[allow(dead_code, reason = "for tests/load alone")]
    pub(crate) fn under(prefix: &[&str], args: &[&str]) -> Server {
        let mut command = Command::new(prefix[0]);
        command.args(&prefix[1..]).arg(example("http3-server"));
        command.args(["--listen", "127.0.0.1:0"]);
        Server::of(command, args)
    }

    fn of(mut command: Command, args: &[&str]) -> Server {
        let folder = TempDir::new().expect("a temporary folder");
        std::fs::create_dir(folder.path().join("root")).expect("a folder");
        let mut child = command
            .args(["--root", "root"])
            .args(args)
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("it is piped");
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("the server speaks");
        let address = line.trim().strip_prefix("listening on ");
        let address = address.expect("it says where it listens").parse();
        Server {
            child,
            address: address.expect("an address"),
            folder,
        }
    }

    /// A server at the other end of a path of 40 ms, that sends 2 Mbit/s: what
    /// it sends is under way for long enough to do something to it.
    pub(crate) fn slow(args: &[&str]) -> Server {
        let mut server = Server::start(&[&["--max-pacing-rate", "2"], args].concat());
        server.address = relay(server.address, Duration::from_millis(20));
        server
    }

    /// A path in the server's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Puts a file under the root.
    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path("root").join(name), content).expect("a file");
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    /// A client that trusts the server, runs in its folder and prints JSON. It has the patience
    /// that a hundred of them take on a busy machine.
    pub(crate) fn client(&self, args: &[&str]) -> Command {
        let mut client = client(args);
        client.args(["--json", "--ca", "certs/ca.pem"]);
        if !args.contains(&"--connect-timeout") {
            client.args(["--connect-timeout", "60s"]);
        }
        client.current_dir(self.folder.path());
        client
    }

    /// Downloads `path`; returns the summary of a client that had to succeed.
    pub(crate) fn download(&self, path: &str, args: &[&str]) -> Value {
        let output = self.client(args).arg(self.url(path)).output();
        let output = output.expect("the client runs");
        assert!(output.status.success(), "{output:?}");
        summary(&output)
    }

    /// Waits until some of a download that goes to the folder `out` has come.
    pub(crate) fn wait_for_first_bytes(&self) {
        wait_for("the first bytes", || {
            let files = std::fs::read_dir(self.path("out"))
                .into_iter()
                .flatten()
                .flatten();
            let mut sizes = files
                .filter_map(|file| file.metadata().ok())
                .map(|m| m.len());
            sizes.any(|size| size > 0)
        });
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    /// The most memory, in bytes, that the server ever had resident.
    pub(crate) fn memory(&self) -> u64 {
        self.status("VmHWM:")
    }

    /// The memory, in bytes, that the server has resident.
    #[allow(dead_code, reason = "for tests/load alone")]
    pub(crate) fn resident(&self) -> u64 {
        self.status("VmRSS:")
    }

    fn status(&self, field: &str) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).expect("the server runs");
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
        1024 * kib.and_then(|kib| kib.parse::<u64>().ok()).expect("a size")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client with these arguments, whose output is piped.
pub(crate) fn client(args: &[&str]) -> Command {
    let mut client = Command::new(example("http3-client"));
    client
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    client
}

/// Parses the summary that a client printed with `--json`.
pub(crate) fn summary(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

/// Asserts that a program ended with this code and said this on standard error.
pub(crate) fn assert_fails(output: &Output, code: i32, message: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(
        said.contains(message) || printed.contains(message),
        "{said}{printed}"
    );
    assert!(!said.contains("panicked"), "{said}");
}

pub(crate) fn signal(child: &Child, name: &str) {
    let kill = Command::new("kill")
        .args(["-s", name, &child.id().to_string()])
        .status();
    assert!(kill.expect("kill runs").success());
}

/// The time within which what must not hang ends, on a machine however busy.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// Waits for the end of a program that must not hang.
pub(crate) fn ended(child: &mut Child) -> ExitStatus {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            return status;
        }
        assert!(begun.elapsed() < MAX_WAIT, "it hangs");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns the output of a program that has ended.
pub(crate) fn output(mut child: Child) -> Output {
    let status = ended(&mut child);
    let mut output = Output {
        status,
        stdout: vec![],
        stderr: vec![],
    };
    if let Some(mut pipe) = child.stdout {
        pipe.read_to_end(&mut output.stdout).expect("a pipe");
    }
    if let Some(mut pipe) = child.stderr {
        pipe.read_to_end(&mut output.stderr).expect("a pipe");
    }
    output
}

/// Waits for something that will come, or the test has failed.
pub(crate) fn wait_for(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < MAX_WAIT, "waiting for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The names of the files in a folder.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<_> = names
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
