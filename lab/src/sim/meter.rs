//! Counts a flow's datagrams on their way from the server to the client.

use serde::Serialize;

use super::channel::{Nanos, PacketOutcome};
use crate::results::quantile;

/// A datagram with less UDP payload than this is a runt.
const RUNT: usize = 600;

/// Counters of a flow's datagrams.
#[derive(Debug, Default)]
pub(super) struct Meter {
    pub(super) datagrams: u64,
    pub(super) runts: u64,
    pub(super) tail_drops: u64,
    pub(super) aqm_drops: u64,
    pub(super) random_losses: u64,
    /// Microseconds in queues, of every datagram that left the last one.
    queued: Vec<u32>,
    arrivals: Arrivals,
    /// Bytes that had come when the client had all that it wanted.
    done: Option<u64>,
}

/// Datagrams that arrived at the client.
#[derive(Debug, Default)]
struct Arrivals {
    count: u64,
    /// Bytes of IP packets.
    bytes: u64,
    /// Sum of the one-way delays.
    delays: u128,
    last_delay: Nanos,
    /// RFC 3550's estimate, and the sum of its values.
    jitter: f64,
    jitters: f64,
}

impl Meter {
    /// The server sends a datagram.
    pub(super) fn sent(&mut self, payload: usize) {
        self.datagrams += 1;
        self.runts += u64::from(payload < RUNT);
    }

    /// One has met its outcome after so much time in queues.
    pub(super) fn count(&mut self, outcome: PacketOutcome, queued: Nanos) {
        match outcome {
            PacketOutcome::TailDropped => self.tail_drops += 1,
            PacketOutcome::AqmDropped | PacketOutcome::Thinned => self.aqm_drops += 1,
            PacketOutcome::Lost { .. } => {
                self.random_losses += 1;
                self.waited(queued);
            }
            PacketOutcome::Arrives { .. } => self.waited(queued),
        }
    }

    fn waited(&mut self, queued: Nanos) {
        let micros = u32::try_from(queued / 1000).unwrap_or(u32::MAX);
        self.queued.push(micros);
    }

    /// The client gets an IP packet of `bytes` after `delay`.
    pub(super) fn arrived(&mut self, delay: Nanos, bytes: usize) {
        let arrivals = &mut self.arrivals;
        if arrivals.count > 0 {
            // RFC 3550, Section 6.4.1: what the spacing has changed on the way.
            let change = delay.abs_diff(arrivals.last_delay) as f64;
            arrivals.jitter += (change - arrivals.jitter) / 16.0;
            arrivals.jitters += arrivals.jitter;
        }
        arrivals.count += 1;
        arrivals.bytes += bytes as u64;
        arrivals.delays += u128::from(delay);
        arrivals.last_delay = delay;
    }

    /// The client has all that it wants: what comes now is of no use to it.
    pub(super) fn finish(&mut self) {
        self.done.get_or_insert(self.arrivals.bytes);
    }

    /// Bytes of IP packets that the client got until it had finished.
    pub(super) fn arrived_bytes(&self) -> u64 {
        self.done.unwrap_or(self.arrivals.bytes)
    }

    /// Mean one-way delay in milliseconds; `None` when nothing came.
    pub(super) fn delay(&self) -> Option<f64> {
        let Arrivals { count, delays, .. } = self.arrivals;
        (count > 0).then(|| delays as f64 / 1e6 / count as f64)
    }

    /// RFC 3550's jitter in milliseconds, mean over the arrivals after the first.
    pub(super) fn jitter(&self) -> Option<f64> {
        let Arrivals { count, jitters, .. } = self.arrivals;
        (count > 1).then(|| jitters / 1e6 / (count - 1) as f64)
    }

    /// Datagrams that the path lost.
    pub(super) fn lost(&self) -> u64 {
        self.tail_drops + self.aqm_drops + self.random_losses
    }

    /// Share of the datagrams that the path lost.
    pub(super) fn loss(&self) -> f64 {
        self.lost() as f64 / self.datagrams.max(1) as f64
    }

    /// Delay in queues.
    pub(super) fn queue(&mut self) -> Option<Delays> {
        Delays::of(std::mem::take(&mut self.queued))
    }
}

/// A distribution of delays, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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

impl Delays {
    /// The distribution of `micros`, by nearest rank; `None` of nothing.
    pub(super) fn of(mut micros: Vec<u32>) -> Option<Delays> {
        if micros.is_empty() {
            return None;
        }
        micros.sort_unstable();
        let millis = |micros: u32| f64::from(micros) / 1e3;
        let rank = |share: f64| millis(quantile(&micros, share));
        let sum: f64 = micros.iter().map(|micros| millis(*micros)).sum();
        Some(Delays {
            mean: sum / micros.len() as f64,
            p50: rank(0.5),
            p95: rank(0.95),
            p99: rank(0.99),
            max: rank(1.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        // As in whole numbers, whatever the fractions of a share are.
        let ranks: Vec<usize> = (1..=20_000).collect();
        for count in 1..=ranks.len() {
            for percent in [50, 95, 99, 100] {
                let rank = quantile(&ranks[..count], percent as f64 / 100.0);
                assert_eq!(rank, (count * percent).div_ceil(100));
            }
        }
        let delays = Delays::of((1..=200).rev().map(|i| i * 1000).collect()).unwrap();
        assert_eq!(delays.mean, 100.5);
        assert_eq!(delays.p50, 100.0);
        assert_eq!(delays.p95, 190.0);
        assert_eq!(delays.p99, 198.0);
        assert_eq!(delays.max, 200.0);
    }

    #[test]
    fn lost_packets_have_waited_and_rejected_ones_have_not() {
        let mut meter = Meter::default();
        for payload in [599, 600, 1350, 1350] {
            meter.sent(payload);
        }
        meter.count(PacketOutcome::TailDropped, 0);
        meter.count(PacketOutcome::AqmDropped, 0);
        meter.count(PacketOutcome::Lost { queued: 4_000 }, 4_000);
        meter.count(PacketOutcome::Arrives { at: 0, queued: 0 }, 2_000);
        assert_eq!((meter.datagrams, meter.runts), (4, 1));
        assert_eq!(
            (meter.tail_drops, meter.aqm_drops, meter.random_losses),
            (1, 1, 1)
        );
        assert_eq!(meter.loss(), 0.75);
        assert_eq!(meter.queued, [4, 2]);
    }

    #[test]
    fn jitter_is_rfc_3550s() {
        let mut meter = Meter::default();
        assert_eq!((meter.delay(), meter.jitter()), (None, None));
        for delay in [10, 26, 26, 10] {
            meter.arrived(delay * 1_000_000, 1000);
        }
        assert_eq!(meter.delay(), Some(18.0));
        // 16 / 16, less a 16th, less a 16th plus 16 / 16.
        let [one, two] = [1.0, 1.0 - 1.0 / 16.0];
        let three = two + (16.0 - two) / 16.0;
        assert!((meter.jitter().unwrap() - (one + two + three) / 3.0).abs() < 1e-12);
        assert_eq!(meter.arrived_bytes(), 4000);
        meter.finish();
        meter.arrived(10_000_000, 1000);
        assert_eq!(meter.arrived_bytes(), 4000);
    }
}
