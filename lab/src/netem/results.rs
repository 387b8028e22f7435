//! Results of the runs: a folder with `summary.json` and the logs.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{ensure, Context, Result};
use serde::Serialize;
use serde_json::{json, Value};
use tempfile::TempDir;

use super::processor;
use super::qlog::Transport;
use super::run::Record;
use super::sandbox::Sandbox;
use super::{Job, MAX_DATAGRAM_SIZE};
use crate::link::{goodput_limit, Direction, Link};

/// A folder of results in the making. It has its name only when it is whole;
/// before, it goes when this value goes.
#[derive(Debug)]
pub(super) struct Folder {
    partial: TempDir,
    target: PathBuf,
}

impl Folder {
    /// Makes a place for `target`, by default a new folder in `results`, which
    /// must not exist.
    pub(super) fn create(target: Option<&Path>) -> Result<Self> {
        let now = humantime::format_rfc3339_seconds(SystemTime::now());
        let target = target.map_or_else(
            || Path::new("results").join(format!("netem-{now}").replace(':', "")),
            Path::to_path_buf,
        );
        // With the whole path, for those who work in another folder.
        let target = std::path::absolute(target)?;
        ensure!(
            !target.exists(),
            "{} exists; results go into a new folder",
            target.display()
        );
        let parent = target.parent().context("results need a folder")?;
        let partial = fs::create_dir_all(parent)
            .and_then(|()| {
                tempfile::Builder::new()
                    .prefix(".netem-")
                    .tempdir_in(parent)
            })
            .with_context(|| format!("cannot write into {}", parent.display()))?;
        Ok(Folder { partial, target })
    }

    /// Temporary path, until the folder is complete.
    pub(super) fn path(&self) -> &Path {
        self.partial.path()
    }

    /// Adds the summary and gives the folder its name, which is returned.
    pub(super) fn complete(self, summary: &Summary) -> Result<PathBuf> {
        let json = serde_json::to_vec_pretty(summary)?;
        fs::write(self.path().join("summary.json"), json)?;
        let readable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(self.path(), readable)?;
        fs::rename(self.path(), &self.target)
            .with_context(|| format!("cannot make {}", self.target.display()))?;
        // Nothing is there any more that could be removed.
        let _ = self.partial.keep();
        Ok(self.target)
    }
}

/// `summary.json`.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    /// Time of completion, in UTC (RFC 3339).
    finished: String,
    versions: Value,
    backend: String,
    /// Processors of this machine, and processes that wanted one over the last
    /// minute: the load average, without what only keeps processors awake.
    processors: usize,
    load: f64,
    /// The link as asked for. Each run has it as measured.
    link: Value,
    pub(super) runs: Vec<RunSummary>,
}

/// One run in `summary.json`.
#[derive(Debug, Serialize)]
pub(super) struct RunSummary {
    pub(super) cc: String,
    /// Folder of the run's logs.
    folder: String,
    pub(super) goodput_bps: f64,
    /// The most that the link as asked for can carry.
    goodput_limit_bps: Option<f64>,
    pub(super) share_of_limit: Option<f64>,
    /// True if the whole body arrived in time.
    pub(super) complete: bool,
    /// To the last byte, or to the end of the time.
    pub(super) seconds: f64,
    pub(super) bytes: u64,
    /// Figures from the server's qlog.
    #[serde(flatten)]
    pub(super) transport: Transport,
    /// Base of the queueing delays.
    base_rtt_ms: f64,
    #[serde(flatten)]
    pub(super) record: Record,
    /// The queue over time: milliseconds at seconds.
    #[serde(skip)]
    pub(super) backlog: Vec<(f64, f64)>,
}

impl RunSummary {
    /// Puts together what is known of a run.
    pub(super) fn new(job: &Job, folder: &Path, mut record: Record) -> Result<Self> {
        let client = |name: &str| {
            let value = record.client.get(name);
            value.with_context(|| format!("the client does not tell `{name}`"))
        };
        let number = |name| {
            client(name)?
                .as_f64()
                .with_context(|| format!("`{name}` is no number"))
        };
        let goodput_bps = number("goodput_bps")?;
        let base_rtt_ms = record.calibration.rtt_ms.median;
        let down = &job.link.down;
        let limit = down
            .rate
            .map(|rate| goodput_limit(rate, down.loss, MAX_DATAGRAM_SIZE));
        let base_rtt = Duration::from_secs_f64(base_rtt_ms / 1e3);
        Ok(RunSummary {
            cc: job.congestion_control.clone(),
            folder: folder
                .file_name()
                .map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            goodput_bps,
            goodput_limit_bps: limit,
            share_of_limit: limit.map(|limit| goodput_bps / limit),
            complete: client("complete")? == true,
            seconds: number("seconds")?,
            bytes: client("bytes")?.as_u64().context("`bytes` is no number")?,
            transport: Transport::read(&folder.join("server"), base_rtt)?,
            base_rtt_ms,
            backlog: std::mem::take(&mut record.backlog),
            record,
        })
    }

    /// The share of packets that were declared lost.
    pub(super) fn loss(&self) -> f64 {
        self.transport.packets_lost as f64 / self.transport.packets_sent.max(1) as f64
    }
}

impl fmt::Display for RunSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, seconds, .. } = self;
        let goodput = self.goodput_bps / 1e6;
        write!(f, "{bytes} bytes in {seconds:.1} s, {goodput:.2} Mbit/s")
    }
}

impl Summary {
    /// Summarizes runs, of which `at_a_time` ran concurrently, for `time` in all.
    pub(super) fn new(
        sandbox: &Sandbox,
        link: &Link,
        runs: Vec<RunSummary>,
        at_a_time: usize,
        time: Duration,
    ) -> Self {
        // As much of them as an average over a minute has seen.
        let seen = 1.0 - (-time.as_secs_f64() / 60.0).exp();
        let awake = seen * sandbox.awake(at_a_time) as f64;
        Summary {
            finished: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            versions: json!({
                "petra": env!("CARGO_PKG_VERSION"),
                "git": git(),
                "quiche": quiche_version(),
            }),
            backend: sandbox.to_string(),
            processors: processor::count(),
            load: (load() - awake).max(0.0),
            link: json!({
                "down": direction(&link.down, link),
                "up": direction(&link.up, link),
            }),
            runs,
        }
    }
}

impl Summary {
    /// Returns the reason for which the figures are doubtful, if any.
    pub(super) fn doubt(&self) -> Option<String> {
        let busy = self.runs.iter().find(|run| run.record.processor_busy > 0.9);
        if let Some(run) = busy {
            return Some(format!(
                "the processor was busy for {:.0} % of the run of {}: its figures may tell of \
                 the processor rather than of the link",
                100.0 * run.record.processor_busy,
                run.cc
            ));
        }
        // The runs themselves want less than one each.
        (self.load > 1.5 * self.processors as f64).then(|| {
            format!(
                "this machine had {:.1} processes for {} processors: what delayed the pair is \
                 in its figures",
                self.load, self.processors
            )
        })
    }
}

/// The load average of the last minute; 0 where there is none.
fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first = text.split(' ').next();
    first.and_then(|load| load.parse().ok()).unwrap_or(0.0)
}

fn direction(direction: &Direction, link: &Link) -> Value {
    let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
    let queue = |rate| direction.queue.bytes(rate, link.round_trip());
    json!({
        "rate_bps": direction.rate,
        "queue_bytes": direction.rate.map(queue),
        "delay_ms": ms(direction.delay),
        "jitter_ms": ms(direction.jitter),
        "loss": direction.loss,
        "loss_run": direction.loss_run,
        "reorder": direction.reorder,
        "grid_ms": ms(direction.grid),
    })
}

/// The commit that this program was built from, if it is still in its
/// repository.
fn git() -> Option<String> {
    let program = std::env::current_exe().ok()?;
    let output = Command::new("git")
        .arg("-C")
        .arg(program.parent()?)
        .args(["describe", "--always", "--dirty"])
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// quiche's version from the lock file, as quiche does not report it.
fn quiche_version() -> Option<&'static str> {
    let (_, rest) =
        include_str!("../../../Cargo.lock").split_once("name = \"quiche\"\nversion = \"")?;
    Some(rest.split_once('"')?.0)
}
