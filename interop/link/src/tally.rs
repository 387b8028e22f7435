//! Counters of a direction: packets, bytes, losses and bursts.

use std::collections::VecDeque;

use petra_lab::results::quantile;
use petra_lab::sim::{Nanos, PacketOutcome};
use serde::Serialize;

/// The spans of time in which packets count as one burst.
const SPANS: [Nanos; 2] = [100_000, 1_000_000];

/// Counts packets as they enter, and as their outcome is decided.
#[derive(Default)]
pub(crate) struct Tally {
    packets: u64,
    bytes: u64,
    tail_drops: u64,
    aqm_drops: u64,
    lost: u64,
    waits: Vec<Nanos>,
    delays: Vec<Nanos>,
    bursts: [Bursts; 2],
}

/// Burst sizes: packets that enter within an interval.
#[derive(Default)]
struct Bursts {
    /// Entry times of the packets within the interval.
    recent: VecDeque<Nanos>,
    /// For each packet, how many entered within the span that ends with it.
    lengths: Vec<usize>,
}

/// The figures.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// Packets that entered, and their bytes with IP's headers.
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    /// Those that found the queue full.
    pub(crate) tail_drops: u64,
    /// Those that queue management, a policer or thinning dropped.
    pub(crate) aqm_drops: u64,
    /// Those that were lost behind the bottleneck.
    pub(crate) lost: u64,
    /// Time in the queue, in milliseconds: mean and 95th percentile.
    pub(crate) queue_ms: f64,
    pub(crate) queue_ms_p95: f64,
    /// Time by which packets left after they were due, in milliseconds: the 99th percentile. It
    /// shows if the machine kept time.
    pub(crate) late_ms_p99: f64,
    /// Packets that entered within 100 us: the most, and the 95th percentile over packets.
    pub(crate) burst_100us: usize,
    pub(crate) burst_100us_p95: usize,
    /// The same within 1 ms.
    pub(crate) burst_1ms: usize,
    pub(crate) burst_1ms_p95: usize,
}

impl Report {
    /// Packets that entered and did not arrive.
    pub(crate) fn missing(&self) -> u64 {
        self.tail_drops + self.aqm_drops + self.lost
    }
}

impl Bursts {
    fn count(&mut self, now: Nanos, span: Nanos) {
        self.recent.push_back(now);
        while self.recent.front().is_some_and(|at| at + span < now) {
            self.recent.pop_front();
        }
        self.lengths.push(self.recent.len());
    }

    /// The longest, and the 95th percentile.
    fn report(&mut self) -> (usize, usize) {
        self.lengths.sort_unstable();
        (p(&self.lengths, 1.0), p(&self.lengths, 0.95))
    }
}

/// A quantile; nothing where no packet was.
fn p<T: Copy + Default>(sorted: &[T], share: f64) -> T {
    match sorted {
        [] => T::default(),
        sorted => quantile(sorted, share),
    }
}

impl Tally {
    /// A packet enters.
    pub(crate) fn enter(&mut self, now: Nanos) {
        for (bursts, span) in self.bursts.iter_mut().zip(SPANS) {
            bursts.count(now, span);
        }
    }

    pub(crate) fn count(&mut self, bytes: usize, outcome: PacketOutcome) {
        self.packets += 1;
        self.bytes += bytes as u64;
        match outcome {
            PacketOutcome::TailDropped => self.tail_drops += 1,
            PacketOutcome::AqmDropped | PacketOutcome::Thinned => self.aqm_drops += 1,
            PacketOutcome::Lost { queued } => {
                self.lost += 1;
                self.waits.push(queued);
            }
            PacketOutcome::Arrives { queued, .. } => self.waits.push(queued),
        }
    }

    /// A packet leaves, this long after it was due.
    pub(crate) fn leave(&mut self, delay: Nanos) {
        self.delays.push(delay);
    }

    /// One that was counted as arriving did not.
    pub(crate) fn lose(&mut self) {
        self.lost += 1;
    }

    pub(crate) fn report(&mut self) -> Report {
        self.waits.sort_unstable();
        self.delays.sort_unstable();
        let ms = |nanos: Nanos| nanos as f64 / 1e6;
        let (count, sum) = (self.waits.len(), self.waits.iter().sum::<Nanos>());
        let [short, long] = self.bursts.each_mut().map(Bursts::report);
        Report {
            packets: self.packets,
            bytes: self.bytes,
            tail_drops: self.tail_drops,
            aqm_drops: self.aqm_drops,
            lost: self.lost,
            queue_ms: ms(sum) / count.max(1) as f64,
            queue_ms_p95: ms(p(&self.waits, 0.95)),
            late_ms_p99: ms(p(&self.delays, 0.99)),
            burst_100us: short.0,
            burst_100us_p95: short.1,
            burst_1ms: long.0,
            burst_1ms_p95: long.1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_what_enters_within_its_span() {
        let mut tally = Tally::default();
        for at in [0, 50_000, 100_000, 250_000, 5_000_000] {
            tally.enter(at);
        }
        let report = tally.report();
        assert_eq!((report.burst_100us, report.burst_1ms), (3, 4));
    }

    #[test]
    fn packets_that_do_not_arrive_are_counted_by_cause() {
        let mut tally = Tally::default();
        for outcome in [
            PacketOutcome::TailDropped,
            PacketOutcome::AqmDropped,
            PacketOutcome::Thinned,
            PacketOutcome::Lost { queued: 0 },
            PacketOutcome::Arrives { at: 0, queued: 0 },
        ] {
            tally.count(100, outcome);
        }
        let report = tally.report();
        assert_eq!((report.tail_drops, report.aqm_drops), (1, 2));
        assert_eq!((report.lost, report.missing(), report.packets), (1, 4, 5));
    }
}
