//! The pair of programs between which the transfer is.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure, Context, Result};
use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use serde_json::Value;

use super::network::SERVER;
use super::process::tail;
use super::Job;

/// Where the server makes itself a certificate: in the sandbox, where it goes
/// with the network.
const CERTIFICATES: &str = "/run/certs";

/// How long the server may take to get ready, and to end.
const PATIENCE: Duration = Duration::from_secs(15);

/// The pair of a run, which keeps its logs in the run's folder.
pub(super) struct Pair<'a> {
    pub(super) job: &'a Job,
    pub(super) folder: &'a Path,
    /// Every command that was run.
    pub(super) commands: Vec<String>,
}

impl Pair<'_> {
    /// Starts the server and waits until it says that it is listening.
    pub(super) fn serve(&mut self) -> Result<Server> {
        let listen = format!("{SERVER}:4433");
        let mut arguments = vec!["--listen", &listen, "--qlog", "server"];
        arguments.extend(["--cc", &self.job.congestion_control]);
        arguments.extend(["--cert-dir", CERTIFICATES]);
        let (mut child, log) = self.start("server", &self.job.server, &arguments)?;
        let ready = first_line(child.stdout.take().expect("the output is piped"));
        let mut server = Server { child, log };
        match ready.recv_timeout(PATIENCE) {
            Ok(line) if line.contains("listening") => Ok(server),
            // The channel closes when the server ends.
            Ok(_) | Err(mpsc::RecvTimeoutError::Disconnected) => {
                server.child.wait()?;
                bail!("the server did not start: {}", tail(&server.log))
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {
                bail!("the server was not listening after {PATIENCE:?}")
            }
        }
    }

    /// Runs the client to its end and returns what it prints.
    pub(super) fn download(&mut self) -> Result<Value> {
        let url = format!("https://{SERVER}:4433/bytes/{}", self.job.bytes);
        let limit = format!("{}ms", self.job.time_limit.as_millis());
        let mut arguments = vec![url.as_str(), "--insecure", "--json"];
        arguments.extend(["--time-limit", &limit, "--qlog", "client"]);
        let (child, log) = self.start("client", &self.job.client, &arguments)?;
        let output = child.wait_with_output()?;
        ensure!(
            output.status.success(),
            "the client ended with {}: {}",
            output.status,
            tail(&log)
        );
        serde_json::from_slice(&output.stdout).context("the client did not print JSON")
    }

    /// Starts a program in its namespace and in the run's folder, with its
    /// messages in a log.
    fn start(
        &mut self,
        namespace: &str,
        program: &Path,
        arguments: &[&str],
    ) -> Result<(Child, PathBuf)> {
        fs::create_dir_all(self.folder.join(namespace))?;
        let log = self.folder.join(format!("{namespace}.log"));
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{namespace}"));
        if let Some(clock) = &self.job.uml_clock {
            // On the one processor that there is, a program may have to wait
            // for another until the next tick, 10 ms. The server's is the
            // timing that counts; the threads that write qlogs come last.
            let priority = if namespace == "server" { "2" } else { "1" };
            command.args(["chrt", "--reset-on-fork", "--fifo", priority, "env"]);
            command.arg(format!("LD_PRELOAD={}", clock.display()));
        }
        command.arg(program).args(arguments);
        let words: Vec<_> = command
            .get_args()
            .map(|word| word.to_string_lossy())
            .collect();
        self.commands.push(format!("nsenter {}", words.join(" ")));
        let child = command
            .current_dir(self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&log)?)
            .spawn()
            .context("cannot run `nsenter`")?;
        Ok((child, log))
    }
}

/// The server, until it is dropped.
pub(super) struct Server {
    child: Child,
    log: PathBuf,
}

impl Server {
    /// Asks the server to end, which completes its qlog.
    pub(super) fn stop(mut self) -> Result<()> {
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM)?;
        let asked = Instant::now();
        while asked.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait()? {
                ensure!(
                    status.success(),
                    "the server ended with {status}: {}",
                    tail(&self.log)
                );
                return Ok(());
            }
            thread::sleep(Duration::from_millis(20));
        }
        bail!("the server did not end {PATIENCE:?} after SIGTERM")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail when it has ended, which is as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The first line of a program's output; the rest is read and dropped, so that
/// the program is never held up.
fn first_line(output: ChildStdout) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        if let Some(line) = lines.next() {
            // Nobody listens any more when the time is up.
            let _ = sender.send(line);
        }
        drop(sender);
        lines.for_each(drop);
    });
    receiver
}
