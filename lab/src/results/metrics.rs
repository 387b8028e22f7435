//! Metrics by name: the columns of results, the names in plans and expectations, and the labels and
//! meanings in reports.

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
    /// One sentence, line by line as it is written.
    meaning: &'static str,
    /// Digits after the point that a table shows.
    pub digits: usize,
    /// The better direction.
    pub sense: Sense,
    /// Returns the value from a simulated flow's report.
    value: fn(&FlowReport, &Report) -> Option<f64>,
}

impl Metric {
    /// The meaning for people, a sentence in one line.
    pub fn meaning(&self) -> String {
        let words: Vec<&str> = self.meaning.split_whitespace().collect();
        words.join(" ")
    }
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

/// Declares a table of metrics: the doc comment of each is its meaning.
macro_rules! metrics {
    (
        $(#[$of:meta])*
        $table:ident:
        $($(#[doc = $meaning:literal])*
        ($name:literal, $title:literal, $unit:literal), $digits:literal, $sense:ident, $value:expr;)*
    ) => {
        $(#[$of])*
        pub const $table: &[Metric] = &[$(Metric {
            name: $name,
            title: $title,
            unit: $unit,
            meaning: concat!($($meaning, "\n",)*),
            digits: $digits,
            sense: $sense,
            value: $value,
        }),*];
    };
}

metrics! {
    /// All metrics, in the order of their columns.
    METRICS:
    /// Body bits per second, from the client's start to its completion, its stop or the end.
    ("goodput_mbps", "Goodput", "Mbit/s"), 3, More, |flow, _| Some(flow.goodput / 1e6);
    /// Bits of IP packets per second that arrived at the client in the time of the goodput.
    ("throughput_mbps", "Throughput of IP packets", "Mbit/s"), 3, More, |flow, _| Some(flow.throughput / 1e6);
    /// Bytes of bodies that the client received.
    ("received_mb", "Body received", "MB"), 2, More, |flow, _| Some(flow.body_bytes as f64 / 1e6);
    /// Goodput over what the narrowest link can carry in that time, after losses and headers, for a
    /// sender that knows the rate of every moment.
    ("share_of_limit", "Share of the goodput limit", ""), 3, More, |flow, _| flow.share;
    /// The flow's share of the goodput of all flows.
    ("share_of_flows", "Share of all flows' goodput", ""), 3, Neither, share_of_flows;
    /// Share of the capacity of the run's busiest link that was used.
    ("utilisation", "Utilisation of the busiest link", ""), 3, More, |_, run| utilisation(run);
    /// Fairness of the flows' goodputs: 1 for equal shares, 1/n if one of n flows has all.
    ("jain", "Jain's index of the run", ""), 3, More, |_, run| run.fairness;
    /// Time from the last start to when every goodput over 2 s stays within 20 % of their mean.
    ("convergence_s", "Convergence of the run", "s"), 1, Less, |_, run| run.convergence;
    /// Time from a change of the path to the first second with 90 % of what it can carry, of the
    /// slowest change.
    ("recovery_s", "Recovery from the path's changes, slowest", "s"), 2, Less, |flow, _| flow.recovery;
    /// Time from the start to the last byte of a body of known size, or of the last of several.
    ("completion_s", "Completion", "s"), 3, Less, |flow, _| flow.completion;
    /// Number of web-like objects, or of several bodies, that arrived as a whole.
    ("objects", "Web objects", ""), 1, More, |flow, _| Some(flow.objects?.count as f64);
    /// Time from the request for an object to its last byte, mean over the objects.
    ("object_mean_s", "Time of a web object, mean", "s"), 3, Less, |flow, _| flow.objects?.mean;
    /// Time from the request for an object to its last byte, which 95 % of the objects do not
    /// exceed.
    ("object_p95_s", "Time of a web object, 95th percentile", "s"), 3, Less, |flow, _| flow.objects?.p95;
    /// Share of the video frames that arrived after their deadline or never.
    ("frames_late_percent", "Video frames late", "%"), 2, Less, |flow, _| Some(100.0 * flow.video?.late?);
    /// Time from the capture of a frame to its last byte, median of the frames that arrived.
    ("frame_p50_ms", "Age of a video frame, median", "ms"), 1, Less, |flow, _| Some(flow.video?.delay?.p50);
    /// Time from the capture of a frame to its last byte, which 95 % of those that arrived do not
    /// exceed.
    ("frame_p95_ms", "Age of a video frame, 95th percentile", "ms"), 1, Less, |flow, _| Some(flow.video?.delay?.p95);
    /// Time from the capture of a frame to its last byte, which 99 % of those that arrived do not
    /// exceed.
    ("frame_p99_ms", "Age of a video frame, 99th percentile", "ms"), 1, Less, |flow, _| Some(flow.video?.delay?.p99);
    /// Share of the server's packets that its loss detection declared lost.
    ("loss_percent", "Packets declared lost", "%"), 2, Less, |flow, _| percent(flow.packets_lost as f64, flow.packets_sent as f64);
    /// Share of the server's packets that it declared lost although the path had not lost them.
    ("spurious_percent", "Packets declared lost that were not", "%"), 2, Less, |flow, _| percent(flow.packets_spurious as f64, flow.packets_sent as f64);
    /// Share of the server's datagrams that the path lost, in queues and elsewhere.
    ("path_loss_percent", "Datagrams that the path lost", "%"), 2, Less, |flow, _| Some(100.0 * flow.loss);
    /// Share of the server's datagrams that were dropped because a queue was full.
    ("tail_drop_percent", "Datagrams that found a queue full", "%"), 2, Less, |flow, _| percent(flow.tail_drops as f64, flow.datagrams as f64);
    /// Share of the server's datagrams that a queue's management dropped, such as CoDel's.
    ("aqm_drop_percent", "Datagrams dropped by queue management", "%"), 2, Less, |flow, _| percent(flow.aqm_drops as f64, flow.datagrams as f64);
    /// Bytes of streams that the server sent again.
    ("retransmitted_kb", "Retransmitted", "kB"), 1, Less, |flow, _| Some(flow.retransmitted_bytes as f64 / 1e3);
    /// Number of times that the server's probe timer expired without an acknowledgment (RFC 9002).
    ("ptos", "Probe timeouts", ""), 1, Less, |flow, _| Some(flow.ptos as f64);
    /// Share of the server's datagrams with less than 600 bytes of payload.
    ("runts_percent", "Datagrams under 600 bytes", "%"), 1, Less, |flow, _| Some(100.0 * flow.runts);
    /// One-way delay of the datagrams from the server to the client, mean.
    ("delay_mean_ms", "Delay to the client, mean", "ms"), 1, Less, |flow, _| flow.delay;
    /// Interarrival jitter of the datagrams at the client, mean of RFC 3550's estimate over the
    /// arrivals.
    ("jitter_ms", "Jitter (RFC 3550)", "ms"), 2, Less, |flow, _| flow.jitter;
    /// Time that the server's datagrams waited in the queues of the path, mean.
    ("queue_mean_ms", "Queueing delay, mean", "ms"), 1, Less, |flow, _| Some(flow.queue?.mean);
    /// Time that the server's datagrams waited in the queues of the path, median.
    ("queue_p50_ms", "Queueing delay, median", "ms"), 1, Less, |flow, _| Some(flow.queue?.p50);
    /// Time that the server's datagrams waited in the queues of the path, which 95 % do not exceed.
    ("queue_p95_ms", "Queueing delay, 95th percentile", "ms"), 1, Less, |flow, _| Some(flow.queue?.p95);
    /// Time that the server's datagrams waited in the queues of the path, which 99 % do not exceed.
    ("queue_p99_ms", "Queueing delay, 99th percentile", "ms"), 1, Less, |flow, _| Some(flow.queue?.p99);
    /// Time that the server's datagrams waited in the queues of the path, the longest.
    ("queue_max_ms", "Queueing delay, largest", "ms"), 1, Less, |flow, _| Some(flow.queue?.max);
    /// The smallest round-trip time (RTT) that the server has seen.
    ("rtt_min_ms", "RTT, smallest", "ms"), 1, Neither, |flow, _| flow.min_rtt;
    /// The server's smoothed round-trip time, mean over time.
    ("rtt_mean_ms", "Smoothed RTT, mean", "ms"), 1, Less, |flow, _| flow.mean_rtt;
    /// The server's smoothed round-trip time, median over time.
    ("rtt_p50_ms", "Smoothed RTT, median", "ms"), 1, Less, |flow, _| Some(flow.rtt?.p50);
    /// The server's smoothed round-trip time, which it does not exceed for 95 % of the time.
    ("rtt_p95_ms", "Smoothed RTT, 95th percentile", "ms"), 1, Less, |flow, _| Some(flow.rtt?.p95);
    /// The server's smoothed round-trip time, which it does not exceed for 99 % of the time.
    ("rtt_p99_ms", "Smoothed RTT, 99th percentile", "ms"), 1, Less, |flow, _| Some(flow.rtt?.p99);
    /// The server's congestion window, mean over time.
    ("cwnd_mean_kb", "Congestion window, mean", "kB"), 1, Neither, |flow, _| Some(flow.mean_cwnd? / 1e3);
}

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
    fn a_meaning_is_one_sentence_of_its_own() {
        let meanings: BTreeSet<String> = METRICS.iter().map(Metric::meaning).collect();
        assert_eq!(meanings.len(), METRICS.len());
        for meaning in meanings {
            assert!(
                meaning.ends_with('.') && !meaning.contains(". "),
                "{meaning}"
            );
            assert!((3..=25).contains(&meaning.split(' ').count()), "{meaning}");
        }
    }

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
