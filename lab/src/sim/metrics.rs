//! What a simulation measured.

use serde::Serialize;

use super::channel::{Fate, Nanos};
use crate::scenario::{Flow, Traffic};

/// A datagram with less UDP payload than this is a runt.
const RUNT: usize = 600;

const SECOND: f64 = 1e9;

/// One simulation's results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The seed it ran with.
    pub seed: u64,
    /// Its length in virtual seconds.
    pub seconds: f64,
    /// Per flow, in the scenario's order.
    pub flows: Vec<FlowReport>,
}

/// One flow's results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowReport {
    /// The controller, as it was asked for.
    pub cc: String,
    /// When the client connected, in seconds.
    pub start: f64,
    /// When the last byte of a body of known size was there, in seconds after
    /// `start`.
    pub completion: Option<f64>,
    /// Bytes of the body that the client received.
    pub body_bytes: u64,
    /// Body bits per second, from `start` to completion or to the end.
    pub goodput: f64,
    /// `goodput` over the link's [limit](crate::link::goodput_limit); `None`
    /// when the link has no rate.
    pub share: Option<f64>,
    /// QUIC packets that the server sent.
    pub packets_sent: usize,
    /// QUIC packets that the server took for lost.
    pub packets_lost: usize,
    /// Datagrams that the server put on the link.
    pub datagrams: u64,
    /// Datagrams of the server that found the queue full.
    pub overflowed: u64,
    /// Datagrams of the server that the link lost.
    pub corrupted: u64,
    /// Share of datagrams with less than 600 bytes of payload.
    pub runts: f64,
    /// Bytes of STREAM data that the server sent again.
    pub retransmitted_bytes: u64,
    /// How often the server's probe timeout expired.
    pub ptos: usize,
    /// Delay of the flow's packets in the queue, in milliseconds.
    pub queue: Delays,
    /// Smallest round trip that the server measured, in milliseconds.
    pub min_rtt: Option<f64>,
    /// Mean over time of the server's smoothed RTT, in milliseconds.
    pub mean_rtt: f64,
    /// Mean over time of the server's congestion window, in bytes.
    pub mean_cwnd: f64,
    /// Why the connection ended early, when it did.
    pub failure: Option<String>,
    /// The server's state over time.
    #[serde(skip)]
    pub samples: Vec<Sample>,
}

/// A distribution of delays, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Delays {
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The largest.
    pub max: f64,
}

/// A flow at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Seconds since the simulation began.
    pub time: f64,
    /// The server's congestion window in bytes.
    pub cwnd: usize,
    /// The server's smoothed RTT in milliseconds.
    pub rtt: f64,
    /// Body bytes that the client has received.
    pub body_bytes: u64,
    /// What a packet that enters the link now waits, in milliseconds.
    pub queue: f64,
}

/// Counts a flow's datagrams on their way from the server.
#[derive(Debug, Default)]
pub(super) struct Meter {
    datagrams: u64,
    runts: u64,
    overflowed: u64,
    corrupted: u64,
    /// Microseconds in the queue, of every datagram that left it.
    queued: Vec<u32>,
}

impl Meter {
    pub(super) fn count(&mut self, payload: usize, fate: Fate) {
        self.datagrams += 1;
        self.runts += u64::from(payload < RUNT);
        match fate {
            Fate::Overflowed => self.overflowed += 1,
            Fate::Lost { queued } => {
                self.corrupted += 1;
                self.waited(queued);
            }
            Fate::Arrives { queued, .. } => self.waited(queued),
        }
    }

    fn waited(&mut self, queued: Nanos) {
        let micros = u32::try_from(queued / 1000).unwrap_or(u32::MAX);
        self.queued.push(micros);
    }
}

/// How a flow ended, from which its results follow.
pub(super) struct Outcome<'a> {
    pub(super) flow: &'a Flow,
    /// Nanoseconds from its start to its completion, or to the end.
    pub(super) active: Nanos,
    pub(super) body_bytes: u64,
    /// The link's goodput limit in bits per second.
    pub(super) limit: Option<f64>,
    pub(super) server: &'a quiche::Connection,
    /// What the server sent.
    pub(super) meter: Meter,
    pub(super) failure: Option<String>,
    pub(super) samples: Vec<Sample>,
}

impl FlowReport {
    pub(super) fn new(outcome: Outcome) -> Self {
        let Outcome {
            flow,
            meter,
            samples,
            body_bytes,
            ..
        } = outcome;
        let stats = outcome.server.stats();
        let path = outcome.server.path_stats().next();
        let seconds = outcome.active.max(1) as f64 / SECOND;
        let goodput = body_bytes as f64 * 8.0 / seconds;
        let complete = matches!(flow.traffic, Traffic::Size(size) if body_bytes >= size);
        FlowReport {
            cc: flow.cc.clone(),
            start: flow.start.as_secs_f64(),
            completion: complete.then_some(seconds),
            body_bytes,
            goodput,
            share: outcome.limit.map(|limit| goodput / limit),
            packets_sent: stats.sent,
            packets_lost: stats.lost,
            datagrams: meter.datagrams,
            overflowed: meter.overflowed,
            corrupted: meter.corrupted,
            runts: meter.runts as f64 / meter.datagrams.max(1) as f64,
            retransmitted_bytes: stats.stream_retrans_bytes,
            ptos: path.as_ref().map_or(0, |path| path.total_pto_count),
            queue: delays(meter.queued),
            min_rtt: path
                .and_then(|path| path.min_rtt)
                .map(|rtt| rtt.as_secs_f64() * 1e3),
            mean_rtt: mean(samples.iter().map(|sample| sample.rtt)),
            mean_cwnd: mean(samples.iter().map(|sample| sample.cwnd as f64)),
            failure: outcome.failure,
            samples,
        }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0u64, 0.0), |(count, sum), value| (count + 1, sum + value));
    sum / count.max(1) as f64
}

/// The distribution of `micros`, by nearest rank.
fn delays(mut micros: Vec<u32>) -> Delays {
    if micros.is_empty() {
        return Delays::default();
    }
    micros.sort_unstable();
    let millis = |micros: u32| f64::from(micros) / 1e3;
    let rank = |percent: usize| millis(micros[(micros.len() * percent).div_ceil(100) - 1]);
    Delays {
        mean: mean(micros.iter().map(|micros| millis(*micros))),
        p50: rank(50),
        p95: rank(95),
        p99: rank(99),
        max: rank(100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let delays = delays((1..=200).rev().map(|i| i * 1000).collect());
        assert_eq!(delays.mean, 100.5);
        assert_eq!(delays.p50, 100.0);
        assert_eq!(delays.p95, 190.0);
        assert_eq!(delays.p99, 198.0);
        assert_eq!(delays.max, 200.0);
    }

    #[test]
    fn lost_packets_have_waited_and_rejected_ones_have_not() {
        let mut meter = Meter::default();
        meter.count(599, Fate::Overflowed);
        meter.count(600, Fate::Lost { queued: 4_000 });
        meter.count(
            1350,
            Fate::Arrives {
                at: 0,
                queued: 2_000,
            },
        );
        assert_eq!((meter.datagrams, meter.runts), (3, 1));
        assert_eq!((meter.overflowed, meter.corrupted), (1, 1));
        assert_eq!(meter.queued, [4, 2]);
    }
}
