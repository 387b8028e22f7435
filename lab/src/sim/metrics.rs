//! Measurements of a simulation.

use std::time::Duration;

use petra_http3::Connection;
use serde::Serialize;

use super::channel::Nanos;
use super::fairness;
use super::media::Player;
use super::meter::{Delays, Meter};
use crate::scenario::{Flow, Traffic};

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
    /// Per link of the path, the way of the data.
    pub links: Vec<LinkReport>,
    /// Per sender of cross traffic.
    pub cross: Vec<CrossReport>,
    /// Jain's index of the flows' goodputs: 1 is equal shares, 1 / n is all for
    /// one of n. `None` for one flow alone.
    pub fairness: Option<f64>,
    /// Seconds from the last flow's start to the time from which on every
    /// flow's goodput over 2 s is within 20 % of their mean until the first of
    /// them ends; `None` when it never is, or for one flow alone.
    pub convergence: Option<f64>,
}

impl Report {
    pub(super) fn new(
        seed: u64,
        seconds: f64,
        flows: Vec<FlowReport>,
        links: Vec<LinkReport>,
        cross: Vec<CrossReport>,
    ) -> Self {
        let goodputs: Vec<f64> = flows.iter().map(|flow| flow.goodput).collect();
        Report {
            seed,
            seconds,
            links,
            cross,
            fairness: fairness::jain(&goodputs),
            convergence: fairness::convergence(&flows),
            flows,
        }
    }
}

/// A link's results, the way of the data.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkReport {
    /// Bytes of IP packets that went over the bottleneck.
    pub bytes: u64,
    /// Share of what the bottleneck could have carried; `None` when it has no
    /// limit.
    pub utilisation: Option<f64>,
}

/// Cross traffic's results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CrossReport {
    /// Packets that were sent.
    pub sent: u64,
    /// Packets that went over their link.
    pub arrived: u64,
}

/// One flow's results.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FlowReport {
    /// The controller, as it was asked for.
    pub cc: String,
    /// Time at which the client connected, in seconds.
    pub start: f64,
    /// From its start to its completion, its stop or the end, in seconds.
    pub active: f64,
    /// Arrival time of the last byte of a body of known size, in seconds after `start`.
    pub completion: Option<f64>,
    /// Of web-like traffic: the objects that the client got as a whole.
    pub objects: Option<Objects>,
    /// Of video: how the frames came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub video: Option<Video>,
    /// Bytes of bodies that the client received.
    pub body_bytes: u64,
    /// Body bits per second of the active time.
    pub goodput: f64,
    /// Bits of IP packets per second of the active time that came to the
    /// client.
    pub throughput: f64,
    /// `goodput` over the path's [limit](crate::link::goodput_limit), that of
    /// what its narrowest link could have carried meanwhile; `None` when no
    /// link has a rate.
    pub share: Option<f64>,
    /// QUIC packets that the server sent.
    pub packets_sent: usize,
    /// QUIC packets that the server took for lost.
    pub packets_lost: usize,
    /// Those of them that the path did not lose, and that are acknowledged afterwards:
    /// nothing of them had to be sent again.
    pub packets_spurious: usize,
    /// Datagrams that the server put on the link.
    pub datagrams: u64,
    /// Datagrams of the server that found a queue full.
    pub tail_drops: u64,
    /// Datagrams of the server that a queue's management dropped.
    pub aqm_drops: u64,
    /// Datagrams of the server that the link lost.
    pub random_losses: u64,
    /// Share of the datagrams that the path lost, in whatever way.
    pub loss: f64,
    /// Share of datagrams with less than 600 bytes of payload.
    pub runts: f64,
    /// Bytes of STREAM data that the server sent again.
    pub retransmitted_bytes: u64,
    /// Seconds of the slowest recovery from a change of the path: until 90 % of what it
    /// can carry comes to the client for a second. 0 where nothing changes; `None` where
    /// the flow does not recover.
    pub recovery: Option<f64>,
    /// Number of expiries of the server's PTO.
    pub ptos: usize,
    /// Delay of the flow's packets in queues, in milliseconds, where any left
    /// them.
    pub queue: Option<Delays>,
    /// Mean delay of the datagrams from the server to the client, in
    /// milliseconds, where any came.
    pub delay: Option<f64>,
    /// Jitter of the datagrams at the client in milliseconds: the estimate of
    /// RFC 3550, Section 6.4.1, mean over the arrivals, where there were two.
    pub jitter: Option<f64>,
    /// The server's smoothed RTT over time, where it was measured.
    pub rtt: Option<Delays>,
    /// Smallest round trip that the server measured, in milliseconds.
    pub min_rtt: Option<f64>,
    /// Mean over time of the server's smoothed RTT, in milliseconds, where it was measured.
    pub mean_rtt: Option<f64>,
    /// Mean over time of the server's congestion window, in bytes, where it was
    /// sampled.
    pub mean_cwnd: Option<f64>,
    /// Reason for which the connection ended early, if it did.
    pub failure: Option<String>,
    /// The server's state over time.
    #[serde(skip)]
    pub samples: Vec<Sample>,
}

/// Durations of objects, from the request to the last byte.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Objects {
    /// Number of objects.
    pub count: usize,
    /// Seconds in the mean; `None` of no object.
    pub mean: Option<f64>,
    /// The 95th percentile, in seconds; `None` of no object.
    pub p95: Option<f64>,
}

impl Objects {
    fn of(times: &[Duration]) -> Objects {
        let micros = |time: &Duration| u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
        let millis = Delays::of(times.iter().map(micros).collect());
        Objects {
            count: times.len(),
            mean: millis.map(|millis| millis.mean / 1e3),
            p95: millis.map(|millis| millis.p95 / 1e3),
        }
    }
}

/// Delays and losses of video frames.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Video {
    /// The share that came after its deadline or not at all; `None` of no
    /// frame.
    pub late: Option<f64>,
    /// Milliseconds from a frame's capture to its last byte, of those that
    /// came.
    pub delay: Option<Delays>,
}

impl Video {
    fn of(player: &Player, active: Nanos) -> Video {
        let micros = |(_, age): &(u64, Duration)| u32::try_from(age.as_micros());
        let ages = player.frames.iter();
        Video {
            late: player.late(active),
            delay: Delays::of(ages.map(|it| micros(it).unwrap_or(u32::MAX)).collect()),
        }
    }
}

/// A flow at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Seconds since the simulation began.
    pub time: f64,
    /// The server's congestion window in bytes.
    pub cwnd: usize,
    /// Its slow start threshold in bytes, once there is one.
    pub ssthresh: Option<usize>,
    /// Its bytes in flight.
    pub in_flight: usize,
    /// Its pacing rate in bits per second, where it has one.
    pub pacing_rate: Option<u64>,
    /// Its estimate of the bandwidth in bits per second, where it has one.
    pub estimate: Option<u64>,
    /// The server's smoothed RTT in milliseconds, once it has measured one.
    pub rtt: Option<f64>,
    /// Body bytes that the client has received.
    pub body_bytes: u64,
    /// Bytes of IP packets that the client has received.
    pub arrived_bytes: u64,
    /// Queueing delay on the flow's links of a packet that enters now, in milliseconds.
    pub queue: f64,
    /// Capacity of the flow's narrowest link since the last sample, in bits per second; `None` if
    /// no link has a rate.
    pub capacity: Option<f64>,
}

/// State of a flow at its end, from which its results follow.
pub(super) struct Outcome<'a> {
    pub(super) flow: &'a Flow,
    /// Nanoseconds from its start to its completion, its stop or the end.
    pub(super) active: Nanos,
    pub(super) body_bytes: u64,
    /// Durations of web objects.
    pub(super) objects: &'a [Duration],
    /// Player of video frames.
    pub(super) player: Option<&'a Player>,
    /// The path's goodput limit in bits per second.
    pub(super) limit: Option<f64>,
    pub(super) server: &'a Connection,
    /// Counters of the packets that the server sent.
    pub(super) meter: Meter,
    pub(super) failure: Option<String>,
    pub(super) samples: Vec<Sample>,
}

impl FlowReport {
    pub(super) fn new(outcome: Outcome) -> Self {
        let Outcome {
            flow,
            mut meter,
            samples,
            body_bytes,
            ..
        } = outcome;
        let stats = outcome.server.stats();
        let path = outcome.server.path_stats().next();
        let seconds = outcome.active.max(1) as f64 / SECOND;
        let goodput = body_bytes as f64 * 8.0 / seconds;
        let complete = match flow.traffic {
            Traffic::Size(size) => body_bytes >= size,
            Traffic::Bodies { size, count, .. } => body_bytes >= size * u64::from(count),
            _ => false,
        };
        let in_objects = matches!(flow.traffic, Traffic::Web(_) | Traffic::Bodies { .. });
        let rtts = samples.iter().filter_map(|sample| sample.rtt);
        FlowReport {
            cc: flow.cc.clone(),
            start: flow.start.as_secs_f64(),
            active: seconds,
            completion: complete.then_some(seconds),
            objects: in_objects.then(|| Objects::of(outcome.objects)),
            video: outcome
                .player
                .map(|player| Video::of(player, outcome.active)),
            body_bytes,
            goodput,
            throughput: meter.arrived_bytes() as f64 * 8.0 / seconds,
            share: outcome.limit.map(|limit| goodput / limit),
            packets_sent: stats.sent,
            packets_lost: stats.lost,
            packets_spurious: spurious(&stats, &meter),
            datagrams: meter.datagrams,
            tail_drops: meter.tail_drops,
            aqm_drops: meter.aqm_drops,
            random_losses: meter.random_losses,
            loss: meter.loss(),
            runts: meter.runts as f64 / meter.datagrams.max(1) as f64,
            retransmitted_bytes: stats.stream_retrans_bytes,
            // The path's changes are the scenario's.
            recovery: None,
            ptos: path.as_ref().map_or(0, |path| path.total_pto_count),
            queue: meter.queue(),
            delay: meter.delay(),
            jitter: meter.jitter(),
            rtt: Delays::of(rtts.clone().map(|rtt| (rtt * 1e3) as u32).collect()),
            min_rtt: path
                .and_then(|path| path.min_rtt)
                .map(|rtt| rtt.as_secs_f64() * 1e3),
            mean_rtt: mean(rtts),
            mean_cwnd: mean(samples.iter().map(|sample| sample.cwnd as f64)),
            failure: outcome.failure,
            samples,
        }
    }
}

/// Packets that were declared lost, and were not. quiche counts those of them that it
/// still knows when they are acknowledged, and BBR2 soon forgets them. Nor can the path
/// have lost more packets than datagrams, and those that share one with another packet.
fn spurious(stats: &quiche::Stats, meter: &Meter) -> usize {
    let sharing = stats.sent.saturating_sub(meter.datagrams as usize);
    let truly = meter.lost() as usize + sharing;
    stats.spurious_lost.max(stats.lost.saturating_sub(truly))
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0u64, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / count as f64)
}

#[cfg(test)]
mod tests {
    use super::super::channel::PacketOutcome;
    use super::*;

    #[test]
    fn a_loss_is_spurious_where_the_path_lost_nothing_or_an_ack_says_so() {
        let mut meter = Meter::default();
        (0..10).for_each(|_| meter.sent(1350));
        meter.count(PacketOutcome::Lost { queued: 0 }, 0);
        meter.count(PacketOutcome::TailDropped, 0);
        // Two of the packets share a datagram with another, of which one may be lost.
        let mut stats = quiche::Stats::default();
        let mut of = |lost, acknowledged| {
            (stats.sent, stats.lost, stats.spurious_lost) = (12, lost, acknowledged);
            spurious(&stats, &meter)
        };
        assert_eq!(of(4, 0), 0);
        assert_eq!(of(9, 0), 5);
        assert_eq!(of(9, 6), 6);
        // What the path lost may not have been declared lost yet.
        assert_eq!(of(1, 1), 1);
    }
}
