//! A full queue, by the skewness of the RTT.
//!
//! ```text
//!            mean of (RTT - mean)^3
//! skewness = ──────────────────────    below 0: most RTTs are near the largest
//!             standard deviation^3
//! ```
//!
//! Where competing flows keep a queue full, most packets wait for as long as it can hold them, and
//! few for less. Otherwise most packets are fast and few are slow, whatever delays these: a queue
//! of the connection's own, or jitter. So the skewness also shows a full queue to a flow that came
//! later than the others, whose minimum RTT is that of the queue.

use std::time::Duration;

/// Round trips over which the skewness is measured. Of 8 and 16, the better for 32 `petra` in
/// `lab/plans/varying/crowds.toml`.
const ROUNDS: u32 = 16;

/// Fewest RTT samples that have a skewness.
const MIN_SAMPLES: u32 = 16;

/// Skewness below which the queue is full. In `crowds.toml` it is -1.5 in the mean and never above
/// -0.5. Alone on a path that loses 2 % at random, `petra` has 0.5 to 0.9, and never below -0.2.
const MAX_SKEWNESS: f64 = -0.5;

/// Least standard deviation of the RTT in milliseconds: a quarter of the granularity of timers
/// (RFC 9002, Section 6.1.2). A smaller one is that of timers.
const MIN_DEVIATION_MS: f64 = 0.25;

/// Measures the skewness of the RTT over the last whole number of round trips.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullQueue {
    /// The first sample, from which the others are counted.
    first: Option<Duration>,
    samples: u32,
    /// Sums of the differences from it, in milliseconds, of their squares and cubes.
    sums: [f64; 3],
    rounds: u32,
    is_full: bool,
}

impl FullQueue {
    /// Takes the RTT of an ACK.
    pub(super) fn on_rtt(&mut self, rtt: Duration) {
        let first = self.first.get_or_insert(rtt).as_secs_f64();
        let difference = 1e3 * (rtt.as_secs_f64() - first);
        self.samples = self.samples.saturating_add(1);
        let mut power = 1.0;
        for sum in &mut self.sums {
            power *= difference;
            *sum += power;
        }
    }

    /// Ends a round trip.
    pub(super) fn end_round(&mut self) {
        self.rounds += 1;
        if self.rounds == ROUNDS {
            *self = Self {
                is_full: self.samples >= MIN_SAMPLES && self.is_skewed(),
                ..Self::default()
            };
        }
    }

    fn is_skewed(&self) -> bool {
        let [mean, square, cube] = self.sums.map(|sum| sum / f64::from(self.samples));
        let variance = (square - mean * mean).max(0.0);
        let third_moment = cube - mean * (3.0 * square - 2.0 * mean * mean);
        let deviation = variance.sqrt();
        deviation >= MIN_DEVIATION_MS && third_moment < MAX_SKEWNESS * variance * deviation
    }

    /// Returns true if the queue was full in the last round trips that were measured.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// A queue that is full.
    #[cfg(test)]
    pub(super) fn full() -> Self {
        Self {
            is_full: true,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::events::ms;
    use super::*;

    /// Ends as many round trips as are measured, with these RTTs in milliseconds in each.
    fn measure(queue: &mut FullQueue, rtts: &[u64]) -> bool {
        for _ in 0..ROUNDS {
            rtts.iter().for_each(|rtt| queue.on_rtt(ms(*rtt)));
            queue.end_round();
        }
        queue.is_full()
    }

    fn is_full(rtts: &[u64]) -> bool {
        measure(&mut FullQueue::default(), rtts)
    }

    #[test]
    fn most_packets_wait_for_long_where_a_queue_is_full() {
        assert!(is_full(&[80, 80, 80, 79, 75]));
        assert!(!is_full(&[75, 75, 75, 76, 80]));
        // As many are fast as are slow.
        assert!(!is_full(&[74, 75, 79, 80]));
    }

    /// Where one of three differs, it is -0.71. Three of seven: -0.29, and four of eleven: -0.57.
    #[test]
    fn the_skewness_is_that_of_the_textbooks() {
        assert!(is_full(&[80, 80, 70]));
        assert!(!is_full(&[80, 80, 80, 80, 70, 70, 70]));
        let mut rtts = [80; 11];
        rtts[..4].fill(70);
        assert!(is_full(&rtts));
    }

    #[test]
    fn an_rtt_that_hardly_varies_shows_no_queue() {
        let mut queue = FullQueue::default();
        // A standard deviation of 0.4 times the difference.
        let mut full_with = |micros| {
            let fast = ms(80) - Duration::from_micros(micros);
            for _ in 0..ROUNDS {
                [ms(80), ms(80), ms(80), ms(80), fast].map(|rtt| queue.on_rtt(rtt));
                queue.end_round();
            }
            queue.is_full()
        };
        assert!(!full_with(600));
        assert!(full_with(650));
        assert!(!full_with(0));
    }

    #[test]
    fn few_samples_show_no_queue() {
        let mut queue = FullQueue::default();
        assert!(measure(&mut queue, &[80, 80, 70]));
        // One in each round trip, and one that has none.
        for round in 0..ROUNDS {
            if round > 0 {
                queue.on_rtt(ms(if round == 1 { 70 } else { 80 }));
            }
            assert!(queue.is_full());
            queue.end_round();
        }
        assert!(!queue.is_full());
    }

    #[test]
    fn a_queue_is_full_until_other_round_trips_are_measured() {
        let mut queue = FullQueue::default();
        assert!(measure(&mut queue, &[80, 80, 70]));
        for _ in 1..ROUNDS {
            [70, 70, 80].map(|rtt| queue.on_rtt(ms(rtt)));
            queue.end_round();
            assert!(queue.is_full());
        }
        queue.end_round();
        assert!(!queue.is_full());
    }
}
