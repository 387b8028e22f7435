//! A transfer over the link: namespaces, server, client, and what became of them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{bail, ensure, Context, Result};
use clap::Parser;
use petra_lab::testbed::{self, Lateness, Priority, Process, Role, Testbed, Watch};
use serde::{Deserialize, Serialize};

use crate::figures::Figures;
use crate::link::{self, Link};

/// The UDP port of the server.
const PORT: u16 = 443;

/// Time between the start of a program beside the transfer and whatever follows.
const HEAD_START: Duration = Duration::from_millis(500);

/// A transfer, as `petra-link run` reads it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Job {
    /// The link's arguments, as on the command line.
    link: Vec<String>,
    /// Addresses with prefix lengths of the namespaces `client` and `server`.
    addresses: BTreeMap<String, Vec<String>>,
    /// Listens on port 443 and is stopped at the end.
    server: Program,
    /// Runs to its end.
    client: Program,
    /// Time for the client, in seconds.
    patience: f64,
    /// Programs beside the transfer, each with its namespace, in the order of their start.
    #[serde(default)]
    beside: Vec<(String, Program)>,
    /// Folder of the server's qlogs, if figures are wanted.
    qlogs: Option<PathBuf>,
}

/// A program of a transfer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Program {
    /// The program and its arguments.
    command: Vec<String>,
    /// File for its output.
    log: PathBuf,
}

/// Outcome of a transfer, as `petra-link run` prints it.
#[derive(Debug, Serialize)]
struct Record {
    #[serde(flatten)]
    ends: Ends,
    link: link::Report,
    /// Late wake-ups during the transfer.
    lateness: Lateness,
    /// Figures of a transfer that succeeded, from the server's qlog.
    figures: Option<Figures>,
}

/// Outcome at both ends.
#[derive(Debug, Default, Serialize)]
struct Ends {
    /// The server came to listen. Otherwise there was no client.
    listening: bool,
    /// Exit codes, or signals as negative numbers; none of a program that took too long.
    server: Option<i32>,
    client: Option<i32>,
    /// Processor time of the server until the client's end.
    server_seconds: Option<f64>,
}

/// The link's arguments without a command.
#[derive(Parser)]
#[command(no_binary_name = true)]
struct Words {
    #[command(flatten)]
    options: link::Options,
}

/// Stops the link when it is dropped, also by a panic.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Replaces this process by one that does the job in a sandbox. A Ctrl-C ends the job. This
/// process becomes unshare(1), which blocks SIGTERM: send it to the process group.
pub(crate) fn run(job: &Path) -> Result<()> {
    let program = std::env::current_exe().context("cannot tell where this program is")?;
    let mut sandbox = testbed::sandbox();
    let error = sandbox.arg(program).arg("inside").arg(job).exec();
    Err(error).context("cannot run `setpriv`")
}

/// Does a job in the sandbox that this process is in.
pub(crate) fn inside(job: &Path) -> Result<()> {
    // This is process 1, which signals end only through a handler.
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let at_once = Arc::new(AtomicBool::new(true));
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, at_once)?;
    }
    let context = || format!("cannot read the job {}", job.display());
    let file = File::open(job).with_context(context)?;
    let job: Job = serde_json::from_reader(io::BufReader::new(file)).with_context(context)?;
    let record = job.transfer()?;
    println!("{}", serde_json::to_string(&record)?);
    Ok(())
}

impl Job {
    fn transfer(&self) -> Result<Record> {
        let patience = Duration::try_from_secs_f64(self.patience).context("patience")?;
        let Words { options } = Words::try_parse_from(&self.link)?;
        let mut testbed = Testbed::new(&["client", "server"])?;
        self.qlogs.as_deref().map_or(Ok(()), clear)?;
        let mut link = Link::open(&options)?;
        for (end, addresses) in &self.addresses {
            attach(&mut testbed, end, addresses)?;
        }
        let stop = AtomicBool::new(false);
        let watch = Watch::start();
        let (ends, report) = thread::scope(|scope| {
            let carrying = scope.spawn(|| {
                Role::Link.take();
                link.run(&stop)?;
                anyhow::Ok(link.report())
            });
            let ends = {
                let _stop = Stop(&stop);
                self.ends(&mut testbed, patience)
            };
            let carried = carrying.join().expect("the link does not panic");
            let report = carried.context("the link failed")?;
            anyhow::Ok((ends?, report))
        })?;
        let lateness = watch.stop();
        let qlogs = self.qlogs.as_ref().filter(|_| ends.client == Some(0));
        let figures = qlogs.map(|qlogs| {
            // Otherwise its qlog may lack the end.
            ensure!(
                ends.server == Some(0),
                "the server did not end well (got {:?}); expected 0",
                ends.server
            );
            Figures::read(qlogs, &report)
        });
        Ok(Record {
            figures: figures.transpose()?,
            ends,
            link: report,
            lateness,
        })
    }

    /// Runs the programs of the transfer.
    fn ends(&self, testbed: &mut Testbed, patience: Duration) -> Result<Ends> {
        let mut server = self.server.start(testbed, "server")?;
        let mut ends = Ends {
            listening: server.listens(PORT)?,
            ..Ends::default()
        };
        if ends.listening {
            let mut beside = Vec::new();
            for (namespace, program) in &self.beside {
                beside.push(program.start(testbed, namespace)?);
                thread::sleep(HEAD_START);
            }
            let mut client = self.client.start(testbed, "client")?;
            let ended = client.wait(patience)?;
            ends.client = ended.and_then(code);
            ends.server_seconds = server.processor_seconds().ok();
            for (process, (_, program)) in beside.iter_mut().zip(&self.beside) {
                if let Some(status) = process.wait(Duration::ZERO)? {
                    let (command, tail) = (program.command.join(" "), process.tail());
                    bail!("`{command}` ended before the transfer, with {status}: {tail}");
                }
            }
        }
        ends.server = server.stop().ok().and_then(code);
        Ok(ends)
    }
}

impl Program {
    fn start(&self, testbed: &mut Testbed, namespace: &str) -> Result<Process> {
        let role = match namespace {
            "server" => Role::Server,
            _ => Role::Client,
        };
        testbed.start(testbed::Program {
            namespace,
            priority: Priority::Everything(role),
            command: &self.command,
            folder: parent(&self.log),
            log: &self.log,
        })
    }
}

/// Removes the qlogs that an earlier run has left in a folder.
fn clear(qlogs: &Path) -> Result<()> {
    let context = || format!("cannot clear the folder of qlogs {}", qlogs.display());
    let entries = match qlogs.read_dir() {
        // The server makes it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.with_context(context)?,
    };
    for entry in entries {
        let path = entry.with_context(context)?.path();
        if path.extension().is_some_and(|kind| kind == "sqlog") {
            fs::remove_file(path).with_context(context)?;
        }
    }
    Ok(())
}

/// Returns the folder of a file.
fn parent(file: &Path) -> &Path {
    let folder = file.parent().filter(|folder| *folder != Path::new(""));
    folder.unwrap_or(Path::new("."))
}

/// Gives a namespace its end of the link: the device of the same name, with addresses and routes.
fn attach(testbed: &mut Testbed, end: &str, addresses: &[String]) -> Result<()> {
    testbed.run(&format!("ip link set {end} netns {end}"))?;
    testbed.run_in(end, "ip link set lo up")?;
    for address in addresses {
        // Nobody else has the address, so that nothing is gained by asking.
        let sure = if address.contains(':') { " nodad" } else { "" };
        testbed.run_in(end, &format!("ip addr add {address} dev {end}{sure}"))?;
    }
    testbed.run_in(end, &format!("ip link set {end} up"))?;
    for family in ["-4", "-6"] {
        testbed.run_in(end, &format!("ip {family} route add default dev {end}"))?;
    }
    Ok(())
}

fn code(status: ExitStatus) -> Option<i32> {
    status.code().or(status.signal().map(|signal| -signal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patience_that_is_not_a_time_is_an_error() {
        for patience in ["-1", "1e300"] {
            let program = r#"{"command": ["true"], "log": "log"}"#;
            let job = format!(
                r#"{{"link": [], "addresses": {{}}, "server": {program}, "client": {program},
                "patience": {patience}}}"#
            );
            let job: Job = serde_json::from_str(&job).unwrap();
            assert_eq!(job.transfer().unwrap_err().to_string(), "patience");
        }
    }

    #[test]
    fn a_panic_stops_the_link() {
        let stop = AtomicBool::new(false);
        let outcome = std::panic::catch_unwind(|| {
            let _stop = Stop(&stop);
            panic!("no transfer");
        });
        assert!(outcome.is_err() && stop.into_inner());
    }

    #[test]
    fn only_qlogs_of_an_earlier_run_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.sqlog", "a.qvis.sqlog", "keys.log"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        clear(folder.path()).unwrap();
        let left = folder.path().read_dir().unwrap();
        let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["keys.log"]);
        clear(&folder.path().join("none")).unwrap();
    }

    #[test]
    fn a_file_without_a_folder_is_in_the_present_one() {
        assert_eq!(parent(Path::new("s.log")), Path::new("."));
        assert_eq!(parent(Path::new("logs/s.log")), Path::new("logs"));
    }
}
