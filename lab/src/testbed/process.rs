//! Processes that do not outlive who started them.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use nix::errno::Errno;
use nix::sys::signal::{kill, killpg, Signal};
use nix::sys::wait::{waitid, Id, WaitPidFlag};
use nix::unistd::{sysconf, Pid, SysconfVar};

/// Time within which a server must start, and end when it is asked to, on a busy machine as well.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// Time to clean up for a process that nobody needs any more.
const CLEANUP: Duration = Duration::from_secs(1);

/// Interval of looks for a socket.
const TICK: Duration = Duration::from_millis(10);

/// A process and its children, which are a process group: a Ctrl-C reaches them only from here.
#[derive(Debug)]
pub struct Process {
    /// Not waited for until its group is ended: till then nobody else gets its id.
    child: Child,
    id: Pid,
    log: PathBuf,
    /// Reports the end of the process.
    ended: mpsc::Receiver<()>,
    status: Option<ExitStatus>,
}

impl Process {
    /// Starts a command whose output and errors go to `log`.
    ///
    /// # Errors
    ///
    /// A log that cannot be written, or a missing program.
    pub fn start(command: &mut Command, log: &Path) -> Result<Self> {
        let file = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        let child = command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .with_context(|| format!("cannot run `{}`", command.get_program().display()))?;
        let id = Pid::from_raw(child.id() as i32);
        let (sender, ended) = mpsc::channel();
        thread::spawn(move || {
            let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
            while waitid(Id::Pid(id), flags) == Err(Errno::EINTR) {}
            // Nobody may listen any more.
            let _ = sender.send(());
        });
        Ok(Process {
            child,
            id,
            log: log.to_owned(),
            ended,
            status: None,
        })
    }

    /// Waits for the end, and returns the status; `None` if it takes longer than `patience`. Ends
    /// the children of a process that has ended.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn wait(&mut self, patience: Duration) -> Result<Option<ExitStatus>> {
        if self.status.is_none() {
            match self.ended.recv_timeout(patience) {
                Ok(()) => {
                    self.end_group();
                    self.status = Some(self.child.wait()?);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => bail!("a process ended without a status"),
            }
        }
        Ok(self.status)
    }

    /// Waits until the UDP port is open in the namespace of the process. Returns false if the
    /// process ends before, or takes too long.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn listens(&mut self, port: u16) -> Result<bool> {
        let socket = format!(":{port:04X} ");
        let start = Instant::now();
        while start.elapsed() < MAX_WAIT && self.wait(TICK)?.is_none() {
            let open = |table: &str| {
                // There is no table of a process that has just ended.
                fs::read_to_string(format!("/proc/{}/net/{table}", self.id))
                    .is_ok_and(|sockets| sockets.contains(&socket))
            };
            if open("udp") || open("udp6") {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the processor time of the process so far, in seconds.
    ///
    /// # Errors
    ///
    /// A process that has ended and been waited for.
    pub fn processor_seconds(&self) -> Result<f64> {
        let path = format!("/proc/{}/stat", self.id);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        // The name in parentheses may have spaces. Behind it, `utime` and `stime` are the 12th
        // and 13th of the fields (proc(5)).
        let (_, fields) = text.rsplit_once(')').context("a process without a name")?;
        let fields = fields.split_whitespace().skip(11).take(2);
        let ticks: u64 = fields.map(str::parse::<u64>).sum::<Result<_, _>>()?;
        let per_second = sysconf(SysconfVar::CLK_TCK)?.context("a clock without ticks")?;
        Ok(ticks as f64 / per_second as f64)
    }

    /// Asks the process to end, which completes its logs, and ends its children.
    ///
    /// # Errors
    ///
    /// A process that had to be killed.
    pub fn stop(&mut self) -> Result<ExitStatus> {
        self.end(MAX_WAIT)?
            .with_context(|| format!("no end {MAX_WAIT:?} after SIGTERM: {}", self.tail()))
    }

    /// Returns the log so far. Bytes that are not UTF-8 are replaced.
    pub fn output(&self) -> String {
        let bytes = fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Returns the end of the log, for an error message.
    pub fn tail(&self) -> String {
        let text = self.output();
        let lines: Vec<&str> = text.lines().collect();
        let last = lines[lines.len().saturating_sub(10)..].join("\n");
        if last.is_empty() {
            format!("{} is empty", self.log.display())
        } else {
            last
        }
    }

    /// Ends the group. Returns the status, unless the process had to be killed.
    fn end(&mut self, patience: Duration) -> Result<Option<ExitStatus>> {
        if let Some(status) = self.wait(Duration::ZERO)? {
            return Ok(Some(status));
        }
        // User-mode Linux ends its helper processes on SIGTERM.
        let _ = kill(self.id, Signal::SIGTERM);
        let status = self.wait(patience)?;
        if status.is_none() {
            self.end_group();
            self.wait(CLEANUP)?;
        }
        Ok(status)
    }

    /// Kills whoever is left of the group. The process itself must not be waited for before.
    fn end_group(&self) {
        // It fails when there is nobody left, which is what it is for.
        let _ = killpg(self.id, Signal::SIGKILL);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.end(CLEANUP);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    /// More than any machine needs, however busy.
    const LONG: Duration = Duration::from_secs(300);

    fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
        let start = Instant::now();
        while !holds() {
            assert!(start.elapsed() < LONG, "{what}");
            thread::sleep(TICK);
        }
    }

    /// A shell, once it has printed its first line; and that line.
    fn shell(folder: &Path, script: &str) -> (Process, String) {
        let log = folder.join("log");
        let process = Process::start(Command::new("sh").args(["-c", script]), &log).unwrap();
        let mut text = String::new();
        eventually("the shell says nothing", || {
            text = fs::read_to_string(&log).unwrap();
            text.contains('\n')
        });
        let line = text.lines().next().unwrap().to_owned();
        (process, line)
    }

    #[test]
    fn a_process_that_ignores_sigterm_ends_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let script = "trap '' TERM; sleep 1000 & echo $!; wait";
        let (process, child) = shell(folder.path(), script);
        let state = || fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        eventually("there is no child", || state().contains("(sleep) S"));
        drop(process);
        // Its heir may not have asked for its status yet.
        eventually("the child is still there", || {
            state().is_empty() || state().contains("(sleep) Z")
        });
    }

    #[test]
    fn a_process_that_has_ended_keeps_its_id_until_its_children_end() {
        let folder = tempfile::tempdir().unwrap();
        let (mut process, child) = shell(folder.path(), "sleep 1000 & echo $!");
        let state = |id: &str| fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let id = process.id.to_string();
        eventually("the id is free", || state(&id).contains(") Z"));
        assert!(process.wait(MAX_WAIT).unwrap().unwrap().success());
        assert_eq!(state(&id), "");
        eventually("the child is still there", || {
            state(&child).is_empty() || state(&child).contains(") Z")
        });
        // There is nobody left to be asked.
        assert!(process.stop().unwrap().success());
    }

    #[test]
    fn a_process_that_is_stopped_may_clean_up() {
        let folder = tempfile::tempdir().unwrap();
        let script = "trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.01; done";
        let (mut process, _) = shell(folder.path(), script);
        assert_eq!(process.wait(Duration::ZERO).unwrap(), None);
        assert_eq!(process.stop().unwrap().code(), Some(3));
        let log = fs::read_to_string(folder.path().join("log")).unwrap();
        assert_eq!(log, "ready\nbye\n");
    }

    #[test]
    fn a_server_listens_once_its_port_is_open_and_not_when_it_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let (mut process, _) = shell(folder.path(), "echo ready; exec sleep 1000");
        // The shell has the sockets of the same namespace.
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        assert!(process.listens(port).unwrap());
        process.stop().unwrap();
        let (mut ended, _) = shell(folder.path(), "echo over");
        assert!(ended.wait(MAX_WAIT).unwrap().is_some());
        assert!(!ended.listens(port).unwrap());
    }

    #[test]
    fn the_processor_time_is_that_of_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let (busy, _) = shell(folder.path(), "echo ready; while :; do :; done");
        let idle_folder = tempfile::tempdir().unwrap();
        let (idle, _) = shell(idle_folder.path(), "echo ready; exec sleep 1000");
        eventually("no time passes", || busy.processor_seconds().unwrap() > 0.5);
        assert!(idle.processor_seconds().unwrap() < 0.2);
    }
}
