//! The plan that a command line is.

use std::time::Duration;

use anyhow::{bail, ensure, Result};
use serde::Serialize;
use toml::{Table, Value};

use super::command::Quick;
use crate::backend::Backend;
use crate::link::{Direction, Link};
use crate::scenario::{Flow, Pacing, Traffic};
use crate::units::format_duration;

/// Default time between two samples.
const SAMPLE: Duration = Duration::from_millis(20);

/// Metrics that are shown of a simulated run.
const SIM: [&str; 10] = [
    "goodput_mbps",
    "share_of_limit",
    "loss_percent",
    "queue_mean_ms",
    "queue_p95_ms",
    "rtt_mean_ms",
    "rtt_min_ms",
    "cwnd_mean_kb",
    "runts_percent",
    "ptos",
];

/// Metrics that are shown of a run on netem.
const NETEM: [&str; 6] = [
    "goodput_mbps",
    "share_of_limit",
    "loss_percent",
    "queue_mean_ms",
    "rtt_p50_ms",
    "rtt_p95_ms",
];

/// The plan, as a file would have it.
///
/// # Errors
///
/// A link that cannot be, or flows that take a link in common.
pub(super) fn text(quick: &Quick, backend: Backend) -> Result<String> {
    let link = quick.link.link()?;
    let usual = Duration::from_secs(match backend {
        Backend::Sim => 60,
        Backend::Netem => 20,
    });
    let duration = quick.duration.unwrap_or(usual);
    if let Some(sample) = quick.sample.filter(|_| !duration.is_zero()) {
        ensure!(
            sample <= duration,
            "--sample: longer than the run (got {}); expected at most its duration, {}",
            format_duration(sample),
            format_duration(duration)
        );
    }
    let duration = format_duration(duration);
    let pacing = match (quick.no_pacing, quick.hold) {
        (true, _) => Pacing::Off,
        (_, true) => Pacing::Hold,
        _ => Pacing::Release,
    };
    let last = quick.seed + quick.seeds - 1;
    let seeds = Table::from_iter([
        ("from".to_owned(), value(quick.seed)?),
        ("to".to_owned(), value(last)?),
    ]);
    let mut plan = Table::new();
    let mut put = |key: &str, value: Value| drop(plan.insert(key.to_owned(), value));
    put("title", title(quick, &link, &duration)?.into());
    put("backend", backend.name().into());
    put("seeds", seeds.into());
    put("duration", duration.into());
    put("max_datagram_size", value(quick.datagram)?);
    put("pacing", value(pacing)?);
    put(
        "sample_every",
        format_duration(quick.sample.unwrap_or(SAMPLE)).into(),
    );
    put("metrics", value(metrics(quick, backend))?);
    put("series", quick.series.into());
    put("qlog", quick.qlog.into());
    put("link", value(quick.link.table())?);
    match quick.share {
        true => together(quick, &mut put)?,
        false => alone(quick, &mut put)?,
    }
    Ok(plan.to_string())
}

fn value(from: impl Serialize) -> Result<Value> {
    Ok(Value::try_from(from)?)
}

fn metrics(quick: &Quick, backend: Backend) -> Vec<&str> {
    if !quick.metrics.is_empty() {
        return quick.metrics.iter().map(String::as_str).collect();
    }
    let mut metrics = match backend {
        Backend::Sim => SIM.to_vec(),
        Backend::Netem => NETEM.to_vec(),
    };
    metrics.extend(quick.size.map(|_| "completion_s"));
    metrics.extend(quick.share.then_some("jain"));
    metrics
}

/// Description of the runs, defaults included.
fn title(quick: &Quick, link: &Link, duration: &str) -> Result<String> {
    let flows = match quick.share {
        true => "together",
        false => "each alone",
    };
    let (down, up) = (words(&link.down)?, words(&link.up)?);
    Ok(format!("{flows} for {duration}; down: {down}; up: {up}"))
}

/// A direction as a plan has it, without what is as always.
fn words(direction: &Direction) -> Result<String> {
    let mut keys = Table::try_from(direction)?;
    // A trace or a cell has the rate.
    if direction.is_limited() && direction.rate.is_none() {
        keys.remove("rate");
    }
    let word = |(key, value): (&String, &Value)| format!("{key} {value}").replace('"', "");
    Ok(keys.iter().map(word).collect::<Vec<_>>().join(", "))
}

/// A flow as the options have it.
fn flow(quick: &Quick, flow: &Flow) -> Result<Table> {
    Ok(Table::try_from(Flow {
        traffic: quick.size.map_or(Traffic::Bulk, Traffic::Size),
        silly_window_avoidance: quick.silly_window_avoidance,
        cubic_spurious_undo: quick.cubic_spurious_undo,
        ack_every: quick.ack_every,
        ..flow.clone()
    })?)
}

/// One flow, which has each controller in turn.
fn alone(quick: &Quick, put: &mut impl FnMut(&str, Value)) -> Result<()> {
    let first = &quick.cc[0];
    if let Some(late) = quick.cc.iter().find(|flow| !flow.start.is_zero()) {
        bail!(
            "--cc {}: a start of its own (got @{}); expected --share with it",
            late.cc,
            format_duration(late.start)
        );
    }
    let names: Vec<&str> = quick.cc.iter().map(|flow| flow.cc.as_str()).collect();
    for (index, name) in names.iter().enumerate() {
        ensure!(
            !names[..index].contains(name),
            "--cc: duplicate controller (got {name}); expected it once, with --seeds N to run it N \
             times or --share for two flows on one link"
        );
    }
    put("flow", flow(quick, first)?.into());
    if names.len() > 1 {
        let sweep = Table::from_iter([("flow.cc".to_owned(), value(names)?)]);
        put("sweep", sweep.into());
    }
    Ok(())
}

/// A flow for each, under a name of its own.
fn together(quick: &Quick, put: &mut impl FnMut(&str, Value)) -> Result<()> {
    let (mut controllers, mut flows) = (Table::new(), Vec::new());
    for one in &quick.cc {
        let typed = match one.start.is_zero() {
            true => one.cc.clone(),
            false => format!("{}@{}", one.cc, format_duration(one.start)),
        };
        let numbers = (2..).map(|number| format!("{typed} {number}"));
        let name = std::iter::once(typed.clone())
            .chain(numbers)
            .find(|name| !controllers.contains_key(name))
            .expect("numbers have no end");
        let mut written = flow(quick, one)?;
        written.insert("cc".to_owned(), name.clone().into());
        flows.push(Value::from(written));
        controllers.insert(name, one.cc.clone().into());
    }
    put("controllers", controllers.into());
    put("flow", flows.into());
    Ok(())
}
