//! A transfer over the link: namespaces, server, client, and what became of them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use petra_lab::testbed::{self, Priority, Process, Role, Testbed};
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

/// Replaces this process by one that does the job in a sandbox.
pub(crate) fn run(job: &Path) -> Result<()> {
    let program = std::env::current_exe().context("cannot tell where this program is")?;
    let mut sandbox = testbed::sandbox();
    let error = sandbox.arg(program).arg("inside").arg(job).exec();
    Err(error).context("cannot run `setpriv`")
}

/// Does a job in the sandbox that this process is in.
pub(crate) fn inside(job: &Path) -> Result<()> {
    let context = || format!("cannot read the job {}", job.display());
    let file = File::open(job).with_context(context)?;
    let job: Job = serde_json::from_reader(io::BufReader::new(file)).with_context(context)?;
    let record = job.transfer()?;
    println!("{}", serde_json::to_string(&record)?);
    Ok(())
}

impl Job {
    fn transfer(&self) -> Result<Record> {
        let Words { options } = Words::try_parse_from(&self.link)?;
        let mut testbed = Testbed::new(&["client", "server"])?;
        let mut link = Link::open(&options)?;
        for (end, addresses) in &self.addresses {
            attach(&mut testbed, end, addresses)?;
        }
        let stop = AtomicBool::new(false);
        let (ends, report) = thread::scope(|scope| {
            let carrying = scope.spawn(|| {
                Role::Link.take();
                link.run(&stop)?;
                anyhow::Ok(link.report())
            });
            let ends = self.ends(&mut testbed);
            stop.store(true, Ordering::Relaxed);
            let carried = carrying.join().expect("the link does not panic");
            let report = carried.context("the link failed")?;
            anyhow::Ok((ends?, report))
        })?;
        let qlogs = self.qlogs.as_ref().filter(|_| ends.client == Some(0));
        let figures = qlogs.map(|qlogs| Figures::read(qlogs, &report));
        Ok(Record {
            ends,
            figures: figures.transpose()?,
            link: report,
        })
    }

    /// Runs the programs of the transfer.
    fn ends(&self, testbed: &mut Testbed) -> Result<Ends> {
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
            let ended = client.wait(Duration::from_secs_f64(self.patience))?;
            ends.client = ended.and_then(code);
            ends.server_seconds = server.processor_seconds().ok();
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
            folder: self.log.parent().unwrap_or(Path::new(".")),
            log: &self.log,
        })
    }
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
