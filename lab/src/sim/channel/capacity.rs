//! Capacity of a bottleneck over time, and transmission times of packets.

use std::time::Duration;

use anyhow::Result;
use rand_pcg::Pcg64;

use super::lte::Cell;
use super::schedule::Schedule;
use super::trace::Trace;
use super::{nanos, Nanos};
use crate::link::Direction;

/// End of a packet's transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    /// The next packet may begin.
    pub(super) free: Nanos,
    /// The last bit is out.
    pub(super) out: Nanos,
}

/// The transmitter of a bottleneck. Packets go over it one after the other.
#[derive(Clone, Debug)]
pub(in crate::sim) enum Capacity {
    Unlimited(Outages),
    Constant(u64),
    Steps(Steps),
    Trace(Trace),
    Cell(Box<Cell>),
}

impl Capacity {
    /// # Errors
    ///
    /// A trace that cannot be read.
    pub(super) fn new(direction: &Direction, random: Pcg64) -> Result<Self> {
        let outages = Outages::new(direction);
        if let Some(path) = &direction.trace {
            return Ok(Capacity::Trace(Trace::read(path, outages)?));
        }
        if let Some(lte) = &direction.lte {
            return Ok(Capacity::Cell(Box::new(Cell::new(lte, outages, random))));
        }
        Ok(match direction.rate {
            None => Capacity::Unlimited(outages),
            Some(rate)
                if direction.steps.iter().all(|step| step.rate.is_none())
                    && outages.spans.is_empty() =>
            {
                Capacity::Constant(rate)
            }
            Some(rate) => Capacity::Steps(Steps::new(rate, direction, &outages)),
        })
    }

    /// The rate that stands for it where one is needed: the constant one, the
    /// first one or the mean, in bits per second.
    pub(in crate::sim) fn nominal(&self) -> Option<u64> {
        match self {
            Capacity::Unlimited(_) => None,
            Capacity::Constant(rate) => Some(*rate),
            Capacity::Steps(steps) => Some(steps.first),
            Capacity::Trace(trace) => Some(trace.mean()),
            Capacity::Cell(cell) => Some(cell.mean()),
        }
    }

    /// Highest sustained rate in bits per second.
    pub(super) fn peak(&self) -> Option<u64> {
        /// Traces and cells that carry more than this times their mean do so
        /// for moments only.
        const PEAK: u64 = 4;
        match self {
            Capacity::Unlimited(_) => None,
            Capacity::Constant(rate) => Some(*rate),
            Capacity::Steps(steps) => steps.rates.values().copied().max(),
            Capacity::Trace(trace) => Some(PEAK * trace.mean()),
            Capacity::Cell(cell) => Some(PEAK * cell.mean()),
        }
    }

    /// A packet of `bytes` begins at `start`, which is neither before an
    /// earlier packet's start nor before its [`Sent::free`].
    pub(super) fn transmit(&mut self, start: Nanos, bytes: u64) -> Sent {
        let out = match self {
            Capacity::Unlimited(outages) => outages.after(start),
            Capacity::Constant(rate) => start + transmission(bytes, *rate),
            Capacity::Steps(steps) => steps.transmit(start, bytes),
            Capacity::Trace(trace) => trace.transmit(start, bytes),
            Capacity::Cell(cell) => return cell.transmit(start, bytes),
        };
        Sent { free: out, out }
    }

    /// Bits that it could have carried until `at`; `None` when it has no limit.
    /// To be asked in the order of time, of an own copy: asking moves it on.
    pub(in crate::sim) fn offered(&mut self, at: Nanos) -> Option<f64> {
        match self {
            Capacity::Unlimited(_) => None,
            Capacity::Constant(rate) => Some(*rate as f64 * at as f64 / 1e9),
            Capacity::Steps(steps) => Some(steps.rates.integral(at, |rate| *rate as f64)),
            Capacity::Trace(trace) => Some(trace.offered(at)),
            Capacity::Cell(cell) => Some(cell.offered(at)),
        }
    }
}

/// Nanoseconds that `bytes` take at `rate` bits per second.
pub(super) fn transmission(bytes: u64, rate: u64) -> Nanos {
    match bytes.checked_mul(8_000_000_000) {
        Some(bits) => bits / rate,
        None => {
            let time = u128::from(bytes) * 8_000_000_000 / u128::from(rate);
            Nanos::try_from(time).unwrap_or(Nanos::MAX)
        }
    }
}

/// Times when nothing moves, in order.
#[derive(Clone, Debug, Default)]
pub(in crate::sim) struct Outages {
    /// From, to.
    spans: Vec<(Nanos, Nanos)>,
    /// Period after which they repeat.
    period: Option<Nanos>,
}

impl Outages {
    pub(super) fn new(direction: &Direction) -> Self {
        let span = |at: Duration, lasts| (nanos(at), nanos(at) + nanos(lasts));
        let spans = direction.outages.iter();
        Outages {
            spans: spans.map(|outage| span(outage.at, outage.lasts)).collect(),
            period: direction.repeat.map(nanos),
        }
    }

    /// `at`, or the end of the outage that it is in.
    pub(super) fn after(&self, at: Nanos) -> Nanos {
        let begun = self.period.map_or(0, |period| at / period * period);
        let phase = at - begun;
        let next = self.spans.partition_point(|(_, to)| *to <= phase);
        match self.spans.get(next) {
            Some((from, to)) if *from <= phase => begun + to,
            _ => at,
        }
    }
}

/// One rate after another, 0 in an outage.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Steps {
    first: u64,
    rates: Schedule<u64>,
    /// The piece that the last transmission ended in.
    current: usize,
}

impl Steps {
    fn new(first: u64, direction: &Direction, outages: &Outages) -> Self {
        let steps = Schedule::new(direction, |stage| stage.rate.unwrap_or(first));
        let in_outage = |at: Nanos| outages.after(at) > at;
        let mut pieces: Vec<(Nanos, u64)> = steps
            .pieces()
            .iter()
            .filter(|(from, _)| !in_outage(*from))
            .copied()
            .collect();
        for (from, to) in &outages.spans {
            pieces.push((*from, 0));
            pieces.push((*to, *steps.at(*to)));
        }
        // A step in the moment when an outage ends is said twice, and the same.
        pieces.sort_by_key(|(from, _)| *from);
        Steps {
            first,
            rates: Schedule::of(pieces, direction.repeat),
            current: 0,
        }
    }

    fn transmit(&mut self, start: Nanos, bytes: u64) -> Nanos {
        let mut at = start;
        // In bits times nanoseconds per second, where rate and time multiply.
        let mut left = u128::from(bytes) * 8_000_000_000;
        loop {
            let rate = self.rates.piece(self.current).map_or(0, |(_, rate)| *rate);
            let rate = u128::from(rate);
            let Some((end, _)) = self.rates.piece(self.current + 1) else {
                return at + (left / rate) as Nanos;
            };
            let carried = rate * u128::from(end.saturating_sub(at));
            if left <= carried && rate > 0 {
                return at + (left / rate) as Nanos;
            }
            left -= carried;
            at = at.max(end);
            self.current += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::generator;
    use crate::link::{Outage, Step};

    const MS: Nanos = 1_000_000;

    fn capacity(direction: &Direction) -> Capacity {
        Capacity::new(direction, generator(1, 1)).unwrap()
    }

    fn step(at: u64, rate: u64) -> Step {
        step_at(Duration::from_millis(at), rate)
    }

    fn step_at(at: Duration, rate: u64) -> Step {
        let rate = Some(rate);
        Step {
            at,
            rate,
            ..Step::default()
        }
    }

    fn outage(at: u64, lasts: u64) -> Outage {
        let [at, lasts] = [at, lasts].map(Duration::from_millis);
        Outage { at, lasts }
    }

    /// Returns the times, in milliseconds, at which back-to-back packets of 1000 bytes have been
    /// transmitted.
    fn sent(direction: &Direction, count: usize) -> Vec<f64> {
        let mut capacity = capacity(direction);
        let mut free = 0;
        let mut next = || {
            let sent = capacity.transmit(free, 1000);
            free = sent.free;
            sent.out as f64 / MS as f64
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn a_step_counts_from_its_time_on_even_within_a_packet() {
        // 1 ms a packet, from 2.5 ms on 2 ms, from 10 ms on 0.5 ms.
        let direction = Direction {
            rate: Some(8_000_000),
            steps: vec![
                step_at(Duration::from_micros(2_500), 4_000_000),
                step(10, 16_000_000),
            ],
            ..Direction::default()
        };
        let expected = [1.0, 2.0, 3.5, 5.5, 7.5, 9.5, 10.375, 10.875];
        assert_eq!(sent(&direction, 8), expected);
        let mut capacity = capacity(&direction);
        // 2.5 ms at 8 bits per us, 7.5 at 4, 2 at 16.
        assert_eq!(capacity.offered(12 * MS), Some(20e3 + 30e3 + 32e3));
    }

    #[test]
    fn an_outage_stops_the_packet_that_is_being_sent() {
        let direction = Direction {
            rate: Some(8_000_000),
            steps: vec![step(5, 4_000_000)],
            outages: vec![
                Outage {
                    at: Duration::from_micros(1_500),
                    lasts: Duration::from_millis(1),
                },
                outage(4, 2),
            ],
            ..Direction::default()
        };
        assert_eq!(sent(&direction, 5), [1.0, 3.0, 4.0, 8.0, 10.0]);
        assert_eq!(
            capacity(&direction).offered(8 * MS),
            Some(12e3 + 12e3 + 8e3)
        );
    }

    #[test]
    fn a_schedule_starts_over_and_so_does_the_first_rate() {
        // Every 10 ms: 4 at 1 ms a packet, 4 at 2 ms, 2 without any.
        let direction = Direction {
            rate: Some(8_000_000),
            steps: vec![step(4, 4_000_000)],
            outages: vec![outage(8, 2)],
            repeat: Some(Duration::from_millis(10)),
            ..Direction::default()
        };
        let expected = [1, 2, 3, 4, 6, 8, 11, 12, 13, 14, 16, 18, 21].map(f64::from);
        assert_eq!(sent(&direction, 13), expected);
        let mut all = capacity(&direction);
        assert_eq!(all.offered(25 * MS), Some(2.0 * 48e3 + 32e3 + 4e3));
        assert_eq!(all.peak(), Some(8_000_000));
        // After a pause of many periods it is where it would have been.
        assert_eq!(all.transmit(1_007 * MS, 1000).out, 1_011 * MS - MS / 2);
        let waits = Direction {
            rate: None,
            steps: Vec::new(),
            ..direction
        };
        let mut waits = capacity(&waits);
        let out = [7, 8, 10, 19, 20].map(|at| waits.transmit(at * MS, 1000).out / MS);
        assert_eq!(out, [7, 10, 10, 20, 20]);
    }

    #[test]
    fn without_a_rate_an_outage_is_all_that_takes_time() {
        let direction = Direction {
            outages: vec![outage(1, 2), outage(5, 1)],
            ..Direction::default()
        };
        let mut capacity = capacity(&direction);
        let out = [0, 1, 2, 3, 5, 6].map(|at| capacity.transmit(at * MS, 1000).out / MS);
        assert_eq!(out, [0, 3, 3, 3, 6, 6]);
        assert_eq!(capacity.offered(MS), None);
    }
}
