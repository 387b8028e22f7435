//! `petra-lab qlog compare`: the connections of two folders.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{ensure, Result};
use clap::Args;
use comfy_table::{presets, CellAlignment, Table};
use petra_qlog::stats::Stats;

use super::{report, say, Count, Traces};
use crate::note::note;
use crate::results::{difference, Summary};
use crate::units::parse_size;

/// Compare the connections of two folders: means, their difference, and how sure it is.
///
/// Each trace is one sample. Traces whose end received more than it sent are left out,
/// because their controller decided little. So are connections that sent less than --min-bytes,
/// and invalid traces.
#[derive(Args, Clone, Debug)]
pub(super) struct Compare {
    /// The traces of one side: a folder, or a single trace.
    #[arg(value_name = "A")]
    a: PathBuf,
    /// Those of the other side.
    #[arg(value_name = "B")]
    b: PathBuf,
    /// Fewest bytes of streams that a connection has sent.
    #[arg(long, alias = "least", value_name = "SIZE", default_value = "100kB",
        value_parser = parse_size, allow_hyphen_values = true)]
    min_bytes: u64,
}

/// A quantity of a connection.
struct Quantity {
    title: &'static str,
    digits: usize,
    of: fn(&Stats) -> Option<f64>,
}

const fn quantity(title: &'static str, digits: usize, of: fn(&Stats) -> Option<f64>) -> Quantity {
    Quantity { title, digits, of }
}

/// Number of quantities.
const COUNT: usize = 7;

const QUANTITIES: [Quantity; COUNT] = [
    quantity("goodput, Mbit/s", 3, |stats| {
        Some(stats.sent.goodput_bps? / 1e6)
    }),
    quantity("RTT, median, ms", 1, |stats| Some(stats.rtt_ms?.p50)),
    quantity("RTT, p95, ms", 1, |stats| Some(stats.rtt_ms?.p95)),
    quantity("RTT above the minimum, median, ms", 1, |stats| {
        Some(stats.rtt_ms?.p50 - stats.rtt_samples.first()?)
    }),
    quantity("lost packets, %", 2, |stats| {
        Some(100.0 * stats.packets_lost as f64 / stats.sent.packets.max(1) as f64)
    }),
    quantity("window, median, kB", 1, |stats| {
        Some(stats.window_bytes?.p50 / 1e3)
    }),
    quantity("bytes sent, MB", 2, |stats| {
        Some(stats.sent.stream_bytes as f64 / 1e6)
    }),
];

/// The quantities of a connection. Its RTT samples, as many as ACKs, are not kept.
struct Connection {
    controller: Option<String>,
    values: [Option<f64>; COUNT],
}

/// The connections of a side.
#[derive(Default)]
struct Side {
    connections: Vec<Connection>,
    /// Connections that sent too little.
    left_out: usize,
}

impl Compare {
    pub(super) fn execute(&self) -> Result<()> {
        let sides = [self.read(&self.a)?, self.read(&self.b)?];
        let mut text = String::new();
        for ((name, path), side) in [("A", &self.a), ("B", &self.b)].iter().zip(&sides) {
            let (count, left) = (side.connections.len(), side.left_out);
            ensure!(
                count > 0,
                "{}: no connection that sent {} bytes (got {left} others); expected some",
                path.display(),
                self.min_bytes
            );
            let connections = if count == 1 {
                "connection"
            } else {
                "connections"
            };
            let _ = write!(text, "{name}: {}, {count} {connections}", path.display());
            let names = controllers(&side.connections);
            let _ = match names.is_empty() {
                true => Ok(()),
                false => write!(text, " with {}", names.join(", ")),
            };
            let _ = match left {
                0 => writeln!(text),
                left => writeln!(text, ", {left} left out"),
            };
        }
        say(format_args!("{text}\n{}", table(&sides).trim_fmt()))?;
        for (name, side) in ["A", "B"].iter().zip(&sides) {
            if let [first, second, ..] = controllers(&side.connections)[..] {
                say(format_args!(
                    "\n{name} mixes controllers, such as {first} and {second}: its means are of \
                     neither. A folder for each controller keeps them apart."
                ))?;
            }
        }
        if sides.iter().any(|side| side.connections.len() < 2) {
            say(format_args!(
                "\nOne connection of a side has no interval: a difference may be chance."
            ))?;
        }
        Ok(())
    }

    fn read(&self, path: &Path) -> Result<Side> {
        let mut side = Side::default();
        let traces = Traces {
            paths: vec![path.to_owned()],
        };
        let read = |input| Ok(Stats::read(input)?);
        let Count { all, invalid } = traces.each_valid(read, |path, stats| {
            report::warn_of_end(path, stats.end);
            let sent = stats.sent.stream_bytes;
            match sent >= self.min_bytes && sent > stats.received.stream_bytes {
                true => side.connections.push(Connection {
                    values: QUANTITIES.map(|quantity| (quantity.of)(&stats)),
                    controller: stats.controller,
                }),
                false => side.left_out += 1,
            }
            Ok(())
        })?;
        if invalid > 0 {
            note!(
                "{}: left out {invalid} invalid traces of {all}",
                path.display()
            );
        }
        Ok(side)
    }
}

/// The controllers that the traces of a side name.
fn controllers(connections: &[Connection]) -> Vec<&str> {
    let mut names: Vec<&str> = connections
        .iter()
        .filter_map(|it| it.controller.as_deref())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn table(sides: &[Side; 2]) -> Table {
    let mut text = Table::new();
    text.load_preset(presets::NOTHING);
    text.set_header(["mean ± 95 % interval", "A", "B", "B - A", ""]);
    for column in text.column_iter_mut().skip(1).take(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for (index, Quantity { title, digits, .. }) in QUANTITIES.into_iter().enumerate() {
        let summary = |side: &Side| {
            let values = side.connections.iter().filter_map(|it| it.values[index]);
            let values: Vec<f64> = values.collect();
            Summary::new(&values)
        };
        let (Some(a), Some(b)) = (summary(&sides[0]), summary(&sides[1])) else {
            continue;
        };
        let change = difference(&b, &a);
        let half = change.interval.map(|(low, high)| (high - low) / 2.0);
        let verdict = match (change.interval, change.excludes(0.0)) {
            (None, _) => "no interval",
            (_, true) => "differs",
            (_, false) => "undecided",
        };
        text.add_row([
            title.to_owned(),
            cell(a.mean, a.interval, digits),
            cell(b.mean, b.interval, digits),
            cell(change.value, half, digits),
            verdict.to_owned(),
        ]);
    }
    text
}

fn cell(mean: f64, half: Option<f64>, digits: usize) -> String {
    match half {
        Some(half) => format!("{mean:.digits$} ± {half:.digits$}"),
        None => format!("{mean:.digits$}"),
    }
}
