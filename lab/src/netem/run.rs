//! One run, inside of its sandbox: network, calibration, transfer.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use anyhow::{ensure, Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::calibration::{Calibration, Spread};
use super::counters::{Processor, Qdiscs};
use super::network::{self, DOWN_BOTTLENECK};
use super::pair::Pair;
use super::queue::{Meter, Waiting};
use super::Job;
use crate::testbed::{Lateness, Watch};

/// The part of a run's folder for the exchange between host and sandbox.
pub(super) const EXCHANGE: &str = "sandbox";
/// The job that the sandbox is given, in [`EXCHANGE`].
pub(super) const JOB: &str = "job.json";
/// File in [`EXCHANGE`] with the record of a run. It is written as a whole or not at all.
pub(super) const RECORD: &str = "record.json";
/// The reason why there is no record, in [`EXCHANGE`].
pub(super) const ERROR: &str = "error.txt";

/// Record of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    /// The kernel that the packets went through: release and version.
    pub kernel: String,
    /// Output of `tc -V`.
    pub iproute2: String,
    /// The link before the transfer.
    pub calibration: Calibration,
    /// Every command of the run, in its order.
    pub commands: Vec<String>,
    /// The client's summary of the transfer.
    pub client: Value,
    /// The wait at the data's bottleneck, where it has a rate.
    pub bottleneck_queue: Option<Waiting>,
    /// The same over time: milliseconds at seconds since the transfer began.
    /// Not for a summary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backlog: Vec<(f64, f64)>,
    /// Counters of the qdiscs during the transfer.
    pub qdiscs: Qdiscs,
    /// Load of the processors during the transfer, 0 to 1. The processors of a user-mode Linux do
    /// not see the other load of the host.
    pub processor_busy: f64,
    /// Late wake-ups during the transfer.
    pub lateness: Lateness,
    /// The calibration's sleeps of 1 ms again, after the transfer.
    pub sleep_of_1ms_ms_after: Spread,
}

/// Does the job of a folder and leaves `Record` there, or the reason why not.
///
/// # Errors
///
/// What the reason says.
pub fn inside(folder: &Path) -> Result<()> {
    let outcome = job(folder);
    if let Err(error) = &outcome {
        fs::write(folder.join(EXCHANGE).join(ERROR), format!("{error:#}"))?;
    }
    outcome
}

fn job(folder: &Path) -> Result<()> {
    let exchange = folder.join(EXCHANGE);
    let job: Job = serde_json::from_reader(File::open(exchange.join(JOB))?)?;
    let testbed = network::build(&job.link)?;
    let calibration = Calibration::measure(&job.link).context("cannot calibrate the link")?;

    let mut pair = Pair {
        job: &job,
        folder,
        testbed,
    };
    let mut server = pair.serve()?;
    let qdiscs = Qdiscs::read()?;
    let processor = Processor::read()?;
    let rate = job.link.down.rate;
    let meter = rate.map(|_| Meter::start(DOWN_BOTTLENECK)).transpose()?;
    let watch = Watch::start();
    let client = pair.download()?;
    let lateness = watch.stop();
    let queue = meter.zip(rate).map(|(meter, rate)| meter.stop(rate));
    let queue = queue.transpose()?;
    let processor_busy = processor.busy_since()?;
    let qdiscs = Qdiscs::read()?.since(&qdiscs);
    let status = server.stop().context("cannot stop the server")?;
    ensure!(
        status.success(),
        "the server ended with {status}: {}",
        server.tail()
    );

    let record = Record {
        kernel: kernel()?,
        iproute2: output("tc", "-V")?,
        calibration,
        commands: pair.testbed.commands,
        client,
        bottleneck_queue: queue.as_ref().map(|queue| queue.waiting),
        backlog: queue.map_or_else(Vec::new, |queue| queue.over_time),
        qdiscs,
        processor_busy,
        lateness,
        sleep_of_1ms_ms_after: Spread::of_sleeps(),
    };
    let partial = exchange.join("record.partial");
    fs::write(&partial, serde_json::to_vec(&record)?)?;
    fs::rename(partial, exchange.join(RECORD))?;
    Ok(())
}

fn kernel() -> Result<String> {
    let [release, version] = ["osrelease", "version"]
        .map(|name| fs::read_to_string(Path::new("/proc/sys/kernel").join(name)));
    Ok(format!("{} {}", release?.trim(), version?.trim()))
}

fn output(program: &str, argument: &str) -> Result<String> {
    let output = Command::new(program).arg(argument).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
