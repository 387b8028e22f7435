//! Single transfers in sandboxes, for those who know themselves which ones.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{bail, ensure, Context, Result};

use super::counters::Processor;
use super::facts::{self, Facts};
use super::qlog::trace;
use super::run::{Record, ERROR, EXCHANGE, JOB, RECORD};
use super::sandbox::Sandbox;
use super::{series, tc, Job, Means};
use crate::link::Link;
use crate::sim::Sample;
use crate::testbed::Process;

/// Longest overhead of a run besides its transfer: booting, calibration of a slow link, and a busy
/// machine.
const MAX_OVERHEAD: Duration = Duration::from_secs(120);

/// Interval of checks for a request to stop.
const TICK: Duration = Duration::from_millis(50);

/// Netem and the pair of programs, found and ready.
pub struct Bench {
    sandbox: Sandbox,
    blank: Job,
    /// Time at which it was ready.
    begun: Instant,
}

/// A transfer.
#[derive(Clone, Copy, Debug)]
pub struct Transfer<'a> {
    /// The link of the transfer.
    pub link: &'a Link,
    /// The server's controller, options included.
    pub cc: &'a str,
    /// The length of the body; `None` is more than comes in the time.
    pub bytes: Option<u64>,
    /// Latest end of the transfer.
    pub time_limit: Duration,
    /// Time between two samples.
    pub sample_every: Duration,
    /// Folders of the server's and the client's qlogs and their copies for qvis.
    pub qlogs: Option<[&'a Path; 2]>,
}

/// Measurements of a transfer.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Body bits per second.
    pub goodput_bps: f64,
    /// Goodput over the link's [limit](crate::link::goodput_limit).
    pub share_of_limit: Option<f64>,
    /// Bytes of the body that the client received.
    pub bytes: u64,
    /// From the client's connection to the last byte; `None` of a body that
    /// was not whole in its time.
    pub completion_s: Option<f64>,
    /// Share of the server's packets that it took for lost.
    pub loss: f64,
    /// Wait at the bottleneck, mean and 95th percentile, in milliseconds.
    pub queue_ms: Option<(f64, f64)>,
    /// The server's RTT samples: median and 95th percentile, in milliseconds.
    pub rtt_ms: Option<(f64, f64)>,
    /// The transfer over time.
    pub series: Vec<Sample>,
    /// All that is known of the run.
    pub facts: serde_json::Value,
    /// The reason to doubt the figures, if any.
    pub doubt: Option<String>,
}

impl Bench {
    /// Finds netem and the pair of programs.
    ///
    /// # Errors
    ///
    /// What this machine lacks, and how to get it.
    pub fn find(means: &Means) -> Result<Self> {
        let mut blank = blank(means.programs.as_deref())?;
        let sandbox = Sandbox::find(means.sandbox)?;
        blank.uml_clock = sandbox.clock()?;
        Ok(Bench {
            sandbox,
            blank,
            begun: Instant::now(),
        })
    }

    /// Makes a transfer over a new network.
    ///
    /// # Errors
    ///
    /// Why there is nothing measured; also when `stop` is set meanwhile.
    pub fn measure(&self, transfer: &Transfer, stop: &AtomicBool) -> Result<Measured> {
        let Transfer {
            link, time_limit, ..
        } = *transfer;
        let job = Job {
            link: link.clone(),
            congestion_control: transfer.cc.to_owned(),
            bytes: transfer.bytes.unwrap_or_else(|| endless(link, time_limit)),
            time_limit,
            ..self.blank.clone()
        };
        let folder = tempfile::tempdir().context("cannot make a folder for a run")?;
        let (record, load, stolen) = {
            let _processor = self.sandbox.processor();
            let before = Processor::read()?;
            let record = sandboxed(&self.sandbox, &job, folder.path(), stop)?;
            let load = facts::load(self.begun.elapsed());
            (record, load, before.stolen_since()?)
        };
        let queue_ms = record.bottleneck_queue.as_ref();
        let queue_ms = queue_ms.map(|queue| (queue.mean_ms, queue.p95_ms));
        let run = Facts::new(&self.sandbox, &job, folder.path(), record, load, stolen)?;
        let traces = ["server", "client"].map(|side| trace(&folder.path().join(side)));
        let [server, client] = traces;
        let (server, client) = (server?, client?);
        let series = series::samples(
            [File::open(&server)?, File::open(&client)?],
            transfer.sample_every,
            &run.backlog,
            link.down.rate.map(|rate| rate as f64),
        )?;
        if let Some(targets) = transfer.qlogs {
            keep(&server, targets[0])?;
            keep(&client, targets[1])?;
        }
        Ok(Measured {
            goodput_bps: run.goodput_bps,
            share_of_limit: run.share_of_limit,
            bytes: run.bytes,
            completion_s: run.complete.then_some(run.seconds),
            loss: run.loss(),
            queue_ms,
            rtt_ms: run.transport.rtt_ms.map(|rtt| (rtt.p50, rtt.p95)),
            series,
            doubt: run.doubt(),
            facts: serde_json::to_value(&run)?,
        })
    }
}

/// A qlog with its copy for qvis, from a folder that goes.
fn keep(trace: &Path, target: &Path) -> Result<()> {
    for (from, to) in [
        (trace.to_owned(), target.to_owned()),
        (petra_qlog::beside(trace), petra_qlog::beside(target)),
    ] {
        fs::copy(&from, &to)
            .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    }
    Ok(())
}

/// Checks that netem supports the link.
///
/// # Errors
///
/// The unsupported feature.
pub fn check(link: &Link) -> Result<()> {
    tc::check(&link.down)?;
    tc::check(&link.up)
}

/// A job without link, controller and length, which uses the pair in
/// `programs` or beside this program.
fn blank(programs: Option<&Path>) -> Result<Job> {
    let folder = match programs {
        Some(folder) => folder.to_owned(),
        None => std::env::current_exe()?.with_file_name("examples"),
    };
    Ok(Job {
        link: Link::default(),
        congestion_control: String::new(),
        bytes: 0,
        time_limit: Duration::ZERO,
        server: program(&folder, "http3-server")?,
        client: program(&folder, "http3-client")?,
        uml_clock: None,
    })
}

/// More bytes than the link carries in the time: what passes at its rate
/// without any header, or 10 Gbit/s.
fn endless(link: &Link, duration: Duration) -> u64 {
    let rate = link.down.rate.unwrap_or(10_000_000_000);
    (rate as f64 / 8.0 * duration.as_secs_f64()) as u64 + 1
}

fn program(folder: &Path, name: &str) -> Result<PathBuf> {
    let path = folder.join(name);
    path.canonicalize().with_context(|| {
        format!(
            "{name}: missing (got {}); expected the output of \
             `cargo build --release --examples`",
            path.display()
        )
    })
}

/// Has `job` done in `folder`.
fn sandboxed(sandbox: &Sandbox, job: &Job, folder: &Path, stop: &AtomicBool) -> Result<Record> {
    let exchange = folder.join(EXCHANGE);
    fs::create_dir_all(&exchange)
        .and_then(|()| fs::write(exchange.join(JOB), serde_json::to_vec(job)?))
        .with_context(|| format!("cannot write into {}", folder.display()))?;
    let mut command = sandbox.command(folder)?;
    let mut process = Process::start(&mut command, &folder.join("sandbox.log"))?;
    let patience = job.time_limit + MAX_OVERHEAD;
    let start = Instant::now();
    while process.wait(TICK)?.is_none() {
        ensure!(!stop.load(Ordering::Relaxed), "interrupted");
        ensure!(
            start.elapsed() < patience,
            "no end after {} s; stopped",
            patience.as_secs()
        );
    }
    if let Ok(error) = fs::read_to_string(exchange.join(ERROR)) {
        bail!("{error}");
    }
    let Ok(record) = fs::read(exchange.join(RECORD)) else {
        bail!(
            "the sandbox ended early, saying:\n{}",
            process.output().trim()
        );
    };
    fs::remove_dir_all(exchange)?;
    Ok(serde_json::from_slice(&record)?)
}
