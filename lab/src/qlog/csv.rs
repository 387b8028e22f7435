//! Traces over time, as CSV.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use petra_qlog::qvis::RTT_FIELDS;
use petra_qlog::{Fields, Kind, Trace};

use super::{is_broken_pipe, name, report, Traces};
use crate::results::{check_target, write_whole};

/// Metrics of quiche and of PETRA's controllers, by their names in traces: bytes, milliseconds and
/// bytes per second.
const METRICS: [&str; 12] = [
    "bytes_in_flight",
    "ssthresh",
    "min_rtt",
    "smoothed_rtt",
    "latest_rtt",
    "rtt_variance",
    "pacing_rate",
    "petra_bandwidth_sample",
    "petra_bandwidth_estimate",
    "petra_base_rtt",
    "petra_reductions",
    "pto_count",
];

/// Words of PETRA's controllers.
const WORDS: [&str; 4] = [
    "petra_phase",
    "petra_reduction_reason",
    "petra_loss_response",
    "petra_queue_response",
];

/// Writes a line for each event with metrics. A cell is empty where nothing changed. RTTs before
/// the first sample, which are quiche's initial 333 ms, are left out.
///
/// # Errors
///
/// A trace that is not right, or a file that cannot be written.
pub(super) fn write(traces: &Traces, target: Option<&Path>) -> Result<()> {
    match target {
        Some(target) => {
            check_target(target)?;
            write_whole(target, |out| rows(traces, out))
        }
        None => match rows(traces, &mut BufWriter::new(io::stdout().lock())) {
            // Somebody has seen enough, such as `head`.
            Err(error) if is_broken_pipe(&error) => Ok(()),
            written => written,
        },
    }
}

/// Returns the path of a trace below its folder, without the ending. If there are several folders,
/// it includes the folder.
fn label(path: &Path, given: &[PathBuf]) -> String {
    let mut folders = given.iter().filter(|path| path.is_dir());
    let below = folders.clone().find_map(|it| path.strip_prefix(it).ok());
    let shown = match below {
        None => return name(path),
        Some(below) if folders.nth(1).is_none() => below,
        Some(_) => path,
    };
    let shown = shown.with_file_name(name(shown));
    shown.to_string_lossy().into_owned()
}

fn rows(traces: &Traces, out: &mut dyn Write) -> Result<()> {
    let mut out = ::csv::Writer::from_writer(out);
    let head = ["trace", "controller", "time_s", "congestion_window"];
    let head = head.into_iter().chain(METRICS).chain(["lost_packets"]);
    out.write_record(head.chain(WORDS))?;
    traces.each(|path, input| {
        let mut trace = Trace::open(input)?;
        let label = label(path, &traces.paths);
        let mut sampled = false;
        let controller = trace.header().controller().unwrap_or_default().to_owned();
        while let Some(event) = trace.next_event()? {
            if event.kind != Kind::Metrics {
                continue;
            }
            let metrics: Fields = event.read()?;
            sampled |= metrics.number("latest_rtt").is_some_and(|rtt| rtt > 0.0);
            let number = |name| {
                let is_sample = sampled || !RTT_FIELDS.contains(&name);
                let number = metrics.number(name).filter(|_| is_sample);
                number.and_then(|_| metrics.get(name))
            };
            let mut cells = vec![label.clone(), controller.clone()];
            cells.push(((event.time * 1e3).round() / 1e6).to_string());
            cells.push(metrics.window().unwrap_or_default().to_owned());
            cells.extend(METRICS.map(|name| number(name).unwrap_or_default().to_owned()));
            let lost = metrics.newly_lost().filter(|lost| *lost > 0);
            cells.push(lost.map_or_else(String::new, |lost| lost.to_string()));
            cells.extend(WORDS.map(|name| metrics.word(name).unwrap_or_default().to_owned()));
            out.write_record(&cells)?;
        }
        report::warn_of_end(path, trace.end());
        Ok(())
    })?;
    out.flush().context("cannot be written")
}
