//! Reports on traces.

use std::fmt;
use std::path::Path;

use petra_qlog::check::Report;
use petra_qlog::qvis::Summary;
use petra_qlog::stats::{Percentiles, Stats, Traffic};
use petra_qlog::End;

use crate::note::note;

/// Says on the standard error that a trace does not go to its end.
pub(super) fn warn_of_end(path: &Path, end: End) {
    let path = path.display();
    if let Some(record) = end.truncated {
        note!("{path}: warning: it breaks off in record {record}, which is left out");
    } else if end.cut {
        note!("{path}: warning: the end of the compressed trace is missing");
    }
}

/// Files written for qvis.
pub(super) struct Written<'a> {
    pub(super) summary: &'a Summary,
    /// Interval in milliseconds whose packets were merged.
    pub(super) width_ms: f64,
}

impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Written { summary, width_ms } = self;
        write!(
            f,
            "{} bytes of {} events",
            summary.size.bytes, summary.events
        )?;
        match (summary.logged, summary.inferred) {
            (0, 0) => write!(f, ", no lost packets")?,
            (logged, 0) => write!(f, ", {logged} lost packets as logged")?,
            (0, inferred) => write!(f, ", {inferred} lost packets inferred")?,
            (logged, inferred) => {
                write!(
                    f,
                    ", {logged} lost packets as logged and {inferred} inferred"
                )?;
            }
        }
        if let Some(counted) = summary.counted {
            write!(f, " (the connection counted {counted})")?;
        }
        if *width_ms > 0.0 {
            write!(f, ", packets of {width_ms} ms taken together")?;
        }
        Ok(())
    }
}

/// A trace that is right.
pub(super) struct Checked<'a>(pub(super) &'a Report);

impl fmt::Display for Checked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let report = self.0;
        let kind = match report.for_qvis {
            true => "for qvis",
            false => "a raw trace, which qvis does not open",
        };
        match report.end {
            End {
                truncated: Some(record),
                ..
            } => write!(f, "cut off in record {record}, right before it, ")?,
            End { cut: true, .. } => write!(f, "cut off in its compression, right before it, ")?,
            _ => write!(f, "right, ")?,
        }
        write!(
            f,
            "{kind}: {} events, {} packets sent, ",
            report.events, report.sent
        )?;
        match report.counted {
            Some(counted) => write!(f, "{} of {counted} losses logged", report.lost)?,
            None => write!(f, "{} losses logged, not counted", report.lost)?,
        }
        if report.out_of_order > 0 {
            write!(f, ", {} events out of order", report.out_of_order)?;
        }
        Ok(())
    }
}

/// Statistics of a trace.
pub(super) struct Figures<'a>(pub(super) &'a Stats);

impl fmt::Display for Figures<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let stats = self.0;
        let whose = stats.vantage_point.as_deref().unwrap_or("unknown");
        writeln!(
            f,
            "  {:<12}{whose}, {:.3} s, {} events",
            "trace", stats.seconds, stats.events
        )?;
        traffic(f, "sent", &stats.sent)?;
        traffic(f, "received", &stats.received)?;
        let share = 100.0 * stats.packets_lost as f64 / stats.sent.packets.max(1) as f64;
        writeln!(
            f,
            "  {:<12}{} packets, {share:.2} % of those sent",
            "lost", stats.packets_lost
        )?;
        percentiles(f, "rtt", "ms", 1.0, stats.rtt_ms)?;
        percentiles(f, "window", "kB", 1e-3, stats.window_bytes)?;
        let reductions: Vec<_> = stats
            .reductions
            .iter()
            .map(|(reason, count)| format!("{count} {reason}"))
            .collect();
        let reductions = match reductions.is_empty() {
            true => "none".to_owned(),
            false => reductions.join(", "),
        };
        write!(f, "  {:<12}{reductions}", "reductions")
    }
}

fn traffic(f: &mut fmt::Formatter, name: &str, traffic: &Traffic) -> fmt::Result {
    write!(
        f,
        "  {name:<12}{} packets, {} bytes, {} of streams",
        traffic.packets, traffic.bytes, traffic.stream_bytes
    )?;
    if let Some(goodput) = traffic.goodput_bps {
        write!(f, ", {:.3} Mbit/s", goodput / 1e6)?;
    }
    writeln!(f)
}

fn percentiles(
    f: &mut fmt::Formatter,
    name: &str,
    unit: &str,
    scale: f64,
    values: Option<Percentiles>,
) -> fmt::Result {
    let Some(Percentiles {
        p5,
        p50,
        p95,
        p99,
        max,
    }) = values
    else {
        return writeln!(f, "  {name:<12}none");
    };
    let [p5, p50, p95, p99, max] = [p5, p50, p95, p99, max].map(|value| value * scale);
    writeln!(
        f,
        "  {name:<12}p5 {p5:.1}, median {p50:.1}, p95 {p95:.1}, p99 {p99:.1}, max {max:.1} {unit}"
    )
}
