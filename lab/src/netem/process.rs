//! Watching over the process that a sandbox is.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use nix::sys::signal::{kill, killpg, Signal};
use nix::unistd::Pid;

/// Time within which a process must clean up after SIGTERM.
const CLEANUP: Duration = Duration::from_secs(1);

/// Interval of checks for a request to stop.
const TICK: Duration = Duration::from_millis(50);

/// Runs `command` to its end, in a process group of its own so that a Ctrl-C
/// reaches it only from here, and hands each line that it prints to `line`.
///
/// Whoever sends SIGKILL to this process takes the command along.
///
/// # Errors
///
/// When it cannot be started, takes longer than `patience`, or `stop` gets
/// true. No process is left then.
pub(super) fn supervise(
    command: &mut Command,
    patience: Duration,
    stop: &AtomicBool,
    mut line: impl FnMut(&str),
) -> Result<ExitStatus> {
    let program = command.get_program().to_string_lossy().into_owned();
    let child = command
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run `{program}`"))?;
    let mut group = Group(child);
    let lines = lines(&mut group.0);
    let start = Instant::now();
    loop {
        match lines.recv_timeout(TICK) {
            Ok(text) => line(&text),
            Err(RecvTimeoutError::Timeout) => {}
            // The outputs are closed: nothing runs any more.
            Err(RecvTimeoutError::Disconnected) => return Ok(group.0.wait()?),
        }
        if stop.load(Ordering::Relaxed) {
            bail!("interrupted");
        }
        if start.elapsed() > patience {
            bail!("no end after {} s; stopped", patience.as_secs());
        }
    }
}

/// Both outputs of a child, line by line.
fn lines(child: &mut Child) -> mpsc::Receiver<String> {
    fn forward(output: impl std::io::Read + Send + 'static, sender: mpsc::Sender<String>) {
        thread::spawn(move || {
            let mut reader = BufReader::new(output);
            let mut line = Vec::new();
            while matches!(reader.read_until(b'\n', &mut line), Ok(n) if n > 0) {
                let text = String::from_utf8_lossy(&line).trim_end().to_owned();
                line.clear();
                if sender.send(text).is_err() {
                    break;
                }
            }
        });
    }
    let (sender, receiver) = mpsc::channel();
    forward(
        child.stdout.take().expect("the output is piped"),
        sender.clone(),
    );
    forward(child.stderr.take().expect("the errors are piped"), sender);
    receiver
}

/// A process group, which does not outlive this value.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        if let Ok(Some(_)) = self.0.try_wait() {
            return;
        }
        let id = Pid::from_raw(self.0.id() as i32);
        // User-mode Linux ends its helper processes on SIGTERM. Signals fail
        // when there is nobody left, which is what they are for.
        let _ = kill(id, Signal::SIGTERM);
        let asked = Instant::now();
        while asked.elapsed() < CLEANUP && matches!(self.0.try_wait(), Ok(None)) {
            thread::sleep(TICK);
        }
        let _ = killpg(id, Signal::SIGKILL);
        let _ = self.0.wait();
    }
}

/// The end of a log file, for an error message.
pub(super) fn tail(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let last = lines[lines.len().saturating_sub(10)..].join("\n");
    if last.is_empty() {
        format!("{} is empty", path.display())
    } else {
        last
    }
}
