//! Facts about a run in addition to its figures: the contents of `netem/KEY.json`.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;

use super::processor;
use super::qlog::Transport;
use super::run::Record;
use super::sandbox::Sandbox;
use super::timekeeping::Timekeeping;
use super::Job;
use crate::link::Link;
use crate::testbed::MAX_DATAGRAM_SIZE;

/// A run.
#[derive(Debug, Serialize)]
pub(super) struct Facts {
    pub(super) cc: String,
    /// The owner of the kernel: this machine or user-mode Linux.
    sandbox: String,
    /// Processors of this machine, and processes that wanted one over the last
    /// minute: the load average, without what only keeps processors awake.
    processors: usize,
    load: f64,
    /// Share of the run's time that this machine's hypervisor gave to others (steal), 0 to 1.
    stolen: f64,
    /// False if this machine was late, so that the figures are not the link's.
    kept_time: bool,
    /// The link as asked for.
    link: Link,
    pub(super) goodput_bps: f64,
    /// The most that the link as asked for can carry.
    goodput_limit_bps: Option<f64>,
    pub(super) share_of_limit: Option<f64>,
    /// True if the whole body came within the time.
    pub(super) complete: bool,
    /// To the last byte, or to the end of the time.
    pub(super) seconds: f64,
    pub(super) bytes: u64,
    /// The figures of the server's qlog.
    #[serde(flatten)]
    pub(super) transport: Transport,
    /// The RTT from which queueing delays count.
    base_rtt_ms: f64,
    #[serde(flatten)]
    pub(super) record: Record,
    /// The queue over time: milliseconds at seconds.
    #[serde(skip)]
    pub(super) backlog: Vec<(f64, f64)>,
}

impl Facts {
    /// Puts together what is known of a run, at the end of which this was the load, and in which
    /// this share of the time was stolen.
    pub(super) fn new(
        sandbox: &Sandbox,
        job: &Job,
        folder: &Path,
        mut record: Record,
        load: f64,
        stolen: f64,
    ) -> Result<Self> {
        let client = |name: &str| {
            let value = record.client.get(name);
            value.with_context(|| format!("result of the client: missing `{name}`"))
        };
        let number = |name| {
            client(name)?
                .as_f64()
                .with_context(|| format!("result of the client: `{name}`: not a number"))
        };
        let goodput_bps = number("goodput_bps")?;
        let base_rtt_ms = record.calibration.rtt_ms.median;
        let limit = job.link.down.goodput_limit(MAX_DATAGRAM_SIZE);
        let base_rtt = Duration::from_secs_f64(base_rtt_ms / 1e3);
        let mut facts = Facts {
            cc: job.congestion_control.clone(),
            sandbox: sandbox.to_string(),
            processors: processor::count(),
            load,
            stolen,
            kept_time: true,
            link: job.link.clone(),
            goodput_bps,
            goodput_limit_bps: limit,
            share_of_limit: limit.map(|limit| goodput_bps / limit),
            complete: client("complete")? == true,
            seconds: number("seconds")?,
            bytes: client("bytes")?
                .as_u64()
                .context("result of the client: `bytes`: not a whole number")?,
            transport: Transport::read(&folder.join("server"), base_rtt)?,
            base_rtt_ms,
            backlog: std::mem::take(&mut record.backlog),
            record,
        };
        facts.kept_time = facts.late().is_none();
        Ok(facts)
    }

    /// The reason to doubt the figures, if any.
    pub(super) fn doubt(&self) -> Option<String> {
        let busy = self.record.processor_busy;
        if busy > 0.9 {
            return Some(format!(
                "the processor was busy for {:.0} % of the run of {}: its figures may tell of \
                 the processor rather than of the link",
                100.0 * busy,
                self.cc
            ));
        }
        self.late()
    }

    /// The cause that delayed the pair on this machine, if any.
    fn late(&self) -> Option<String> {
        let record = &self.record;
        let before = record.calibration.sleep_of_1ms_ms.median;
        let machine = Timekeeping {
            lateness: record.lateness,
            stolen: self.stolen,
            sleeps_ms: [before, record.sleep_of_1ms_ms_after.median],
            load: self.load,
            processors: self.processors,
        };
        machine.fault(&self.cc)
    }

    /// The share of packets that were declared lost.
    pub(super) fn loss(&self) -> f64 {
        self.transport.packets_lost as f64 / self.transport.packets_sent.max(1) as f64
    }
}

/// The load average of the last minute without the processors that runs keep awake,
/// as far as it has seen them: for so long this program `worked`. 0 where there is none.
pub(super) fn load(worked: Duration) -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first = text.split(' ').next();
    let load: f64 = first.and_then(|load| load.parse().ok()).unwrap_or(0.0);
    let seen = 1.0 - (-worked.as_secs_f64() / 60.0).exp();
    (load - seen * processor::awake() as f64).max(0.0)
}
