//! Metrics by name: the columns of results, the names in plans and expectations, and the labels in
//! reports.

use std::collections::BTreeMap;

use crate::sim::{FlowReport, Report};

/// Figures by the names of [`METRICS`]. What could not be measured is not in
/// it.
pub type Figures = BTreeMap<String, f64>;

/// Something that a run measures of a flow.
pub struct Metric {
    /// The column's head: lower case, with the unit.
    pub name: &'static str,
    /// For people, without the unit.
    pub title: &'static str,
    /// The unit; `""` of a pure number.
    pub unit: &'static str,
    /// Digits after the point that a table shows.
    pub digits: usize,
    /// The better direction.
    pub sense: Sense,
    /// Returns the value from a simulated flow's report.
    value: fn(&FlowReport, &Report) -> Option<f64>,
}

/// The better direction of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// The larger the better.
    More,
    /// The smaller the better.
    Less,
    /// It depends.
    Neither,
}

use Sense::{Less, More, Neither};

/// Shortens a line of the table.
const fn metric_of(
    (name, title, unit): (&'static str, &'static str, &'static str),
    digits: usize,
    sense: Sense,
    value: fn(&FlowReport, &Report) -> Option<f64>,
) -> Metric {
    Metric {
        name,
        title,
        unit,
        digits,
        sense,
        value,
    }
}

/// All metrics, in the order of their columns.
#[rustfmt::skip]
pub const METRICS: &[Metric] = &[
    metric_of(("goodput_mbps", "Goodput", "Mbit/s"), 3, More, |flow, _| Some(flow.goodput / 1e6)),
    metric_of(("throughput_mbps", "Throughput of IP packets", "Mbit/s"), 3, More, |flow, _| Some(flow.throughput / 1e6)),
    metric_of(("received_mb", "Body received", "MB"), 2, More, |flow, _| Some(flow.body_bytes as f64 / 1e6)),
    metric_of(("share_of_limit", "Share of the goodput limit", ""), 3, More, |flow, _| flow.share),
    metric_of(("share_of_flows", "Share of all flows' goodput", ""), 3, Neither, share_of_flows),
    metric_of(("utilisation", "Utilisation of the busiest link", ""), 3, More, |_, run| utilisation(run)),
    metric_of(("jain", "Jain's index of the run", ""), 3, More, |_, run| run.fairness),
    metric_of(("convergence_s", "Convergence of the run", "s"), 1, Less, |_, run| run.convergence),
    metric_of(("recovery_s", "Recovery from the path's changes, slowest", "s"), 2, Less, |flow, _| flow.recovery),
    metric_of(("completion_s", "Completion", "s"), 3, Less, |flow, _| flow.completion),
    metric_of(("objects", "Web objects", ""), 1, More, |flow, _| Some(flow.objects?.count as f64)),
    metric_of(("object_mean_s", "Time of a web object, mean", "s"), 3, Less, |flow, _| flow.objects?.mean),
    metric_of(("object_p95_s", "Time of a web object, 95th percentile", "s"), 3, Less, |flow, _| flow.objects?.p95),
    metric_of(("frames_late_percent", "Video frames late", "%"), 2, Less, |flow, _| Some(100.0 * flow.video?.late?)),
    metric_of(("frame_p50_ms", "Age of a video frame, median", "ms"), 1, Less, |flow, _| Some(flow.video?.delay?.p50)),
    metric_of(("frame_p95_ms", "Age of a video frame, 95th percentile", "ms"), 1, Less, |flow, _| Some(flow.video?.delay?.p95)),
    metric_of(("frame_p99_ms", "Age of a video frame, 99th percentile", "ms"), 1, Less, |flow, _| Some(flow.video?.delay?.p99)),
    metric_of(("loss_percent", "Packets declared lost", "%"), 2, Less, |flow, _| percent(flow.packets_lost as f64, flow.packets_sent as f64)),
    metric_of(("spurious_percent", "Packets declared lost that were not", "%"), 2, Less, |flow, _| percent(flow.packets_spurious as f64, flow.packets_sent as f64)),
    metric_of(("path_loss_percent", "Datagrams that the path lost", "%"), 2, Less, |flow, _| Some(100.0 * flow.loss)),
    metric_of(("tail_drop_percent", "Datagrams that found a queue full", "%"), 2, Less, |flow, _| percent(flow.tail_drops as f64, flow.datagrams as f64)),
    metric_of(("aqm_drop_percent", "Datagrams dropped by queue management", "%"), 2, Less, |flow, _| percent(flow.aqm_drops as f64, flow.datagrams as f64)),
    metric_of(("retransmitted_kb", "Retransmitted", "kB"), 1, Less, |flow, _| Some(flow.retransmitted_bytes as f64 / 1e3)),
    metric_of(("ptos", "Probe timeouts", ""), 1, Less, |flow, _| Some(flow.ptos as f64)),
    metric_of(("runts_percent", "Datagrams under 600 bytes", "%"), 1, Less, |flow, _| Some(100.0 * flow.runts)),
    metric_of(("delay_mean_ms", "Delay to the client, mean", "ms"), 1, Less, |flow, _| flow.delay),
    metric_of(("jitter_ms", "Jitter (RFC 3550)", "ms"), 2, Less, |flow, _| flow.jitter),
    metric_of(("queue_mean_ms", "Queueing delay, mean", "ms"), 1, Less, |flow, _| Some(flow.queue?.mean)),
    metric_of(("queue_p50_ms", "Queueing delay, median", "ms"), 1, Less, |flow, _| Some(flow.queue?.p50)),
    metric_of(("queue_p95_ms", "Queueing delay, 95th percentile", "ms"), 1, Less, |flow, _| Some(flow.queue?.p95)),
    metric_of(("queue_p99_ms", "Queueing delay, 99th percentile", "ms"), 1, Less, |flow, _| Some(flow.queue?.p99)),
    metric_of(("queue_max_ms", "Queueing delay, largest", "ms"), 1, Less, |flow, _| Some(flow.queue?.max)),
    metric_of(("rtt_min_ms", "RTT, smallest", "ms"), 1, Neither, |flow, _| flow.min_rtt),
    metric_of(("rtt_mean_ms", "Smoothed RTT, mean", "ms"), 1, Less, |flow, _| flow.mean_rtt),
    metric_of(("rtt_p50_ms", "Smoothed RTT, median", "ms"), 1, Less, |flow, _| Some(flow.rtt?.p50)),
    metric_of(("rtt_p95_ms", "Smoothed RTT, 95th percentile", "ms"), 1, Less, |flow, _| Some(flow.rtt?.p95)),
    metric_of(("rtt_p99_ms", "Smoothed RTT, 99th percentile", "ms"), 1, Less, |flow, _| Some(flow.rtt?.p99)),
    metric_of(("cwnd_mean_kb", "Congestion window, mean", "kB"), 1, Neither, |flow, _| Some(flow.mean_cwnd? / 1e3)),
];

/// Former names of metrics, which plans may have for one more release.
const FORMER_METRICS: [(&str, &str); 2] = [
    ("overflow_percent", "tail_drop_percent"),
    ("dropped_percent", "aqm_drop_percent"),
];

/// Returns the metric that a plan has by its present or its former name.
pub(crate) fn present_metric(name: &str) -> Option<&'static Metric> {
    let renamed = FORMER_METRICS.iter().find(|(former, _)| *former == name);
    metric(renamed.map_or(name, |(_, present)| present))
}

/// The metric of this name.
pub fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

/// The name of a metric, for the command line.
///
/// # Errors
///
/// Another name, with those of all metrics.
pub(crate) fn parse_metric(name: &str) -> Result<String, String> {
    match metric(name) {
        Some(metric) => Ok(metric.name.to_owned()),
        None => {
            let known: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
            Err(format!("unknown; expected one of {}", known.join(", ")))
        }
    }
}

/// All that a simulation measured of one of its flows.
pub(crate) fn figures(flow: &FlowReport, run: &Report) -> Figures {
    let figure = |metric: &Metric| {
        let value = (metric.value)(flow, run).filter(|value| value.is_finite())?;
        Some((metric.name.to_owned(), value))
    };
    METRICS.iter().filter_map(figure).collect()
}

fn percent(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| 100.0 * part / whole)
}

/// The flow's part of what all flows of the run had together; `None` of one
/// flow alone.
fn share_of_flows(flow: &FlowReport, run: &Report) -> Option<f64> {
    let sum: f64 = run.flows.iter().map(|flow| flow.goodput).sum();
    (run.flows.len() > 1 && sum > 0.0).then(|| flow.goodput / sum)
}

/// That of the link that comes closest to its physical limit.
fn utilisation(run: &Report) -> Option<f64> {
    let links = run.links.iter().filter_map(|link| link.utilisation);
    links.max_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_fit_a_column() {
        let names: BTreeSet<&str> = METRICS.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), METRICS.len());
        for name in names {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(name.chars().all(plain), "{name}");
        }
        assert_eq!(metric("goodput_mbps").unwrap().unit, "Mbit/s");
        assert!(metric("goodput").is_none());
        let former = present_metric("overflow_percent").unwrap();
        assert_eq!(former.name, "tail_drop_percent");
        assert!(present_metric("goodput").is_none());
    }
}
