//! Jitter that lasts: all packets of some time have the same delay.
//!
//! Such a round trip has a small RTT range, and the next one has another minimum RTT. A rise looks
//! like a standing queue. A fall does not: a queue drains at the rate of the link. Jitter ends at
//! once, and where packets keep their order, those that it delayed arrive in a row. The RTT then
//! falls from packet to packet within one aggregate of ACKs.

use std::time::Duration;

use super::super::bandwidth::GRANULARITY;
use super::super::controller::{Ack, Time};
use super::ack_aggregation::AckAggregation;
use super::standing_queue::transmission_time;

/// Noise in multiples of the largest fall, which is a part of the jitter. Of 1, 1.5 and 2, the best
/// in `petra-lab run lab/plans/varying/lasting-jitter.toml`; the queue of cells is the same.
const FALL_TO_NOISE: u32 = 2;

/// Divisor of the fall that gives what a round trip takes from it. Of 16, 32 and 64, the best in an
/// earlier form (docs/attempts.md, "Jitter that lasts").
const DECAY_DIVISOR: u32 = 64;

/// Largest fall that counts, in multiples of the minimum RTT. The noise may become a queue. Of 1, 2
/// and 4 in an earlier form, the smallest with nearly the full effect.
const MAX_OVER_MIN_RTT: u32 = 2;

/// Measures the jitter by the largest fall of the RTT.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LastingJitter {
    /// The time of the first ACK of the present aggregate.
    began: Time,
    /// The RTT before it.
    before: Duration,
    /// The last RTT of it.
    last: Duration,
    /// The minimum RTT of the path before it. A fall to less shows a shorter path.
    floor: Duration,
    /// The fall in it so far.
    fall: Duration,
    /// The minimum RTT of the path as of the last ACK.
    min_rtt: Duration,
    /// The largest fall, which decays.
    largest: Duration,
}

impl LastingJitter {
    /// Takes an ACK with an RTT sample, the minimum RTT of the path, and its highest rate so far in
    /// bytes per second. `standing`: the least RTT of the last two round trips so far, if they are
    /// known.
    pub(super) fn on_ack(
        &mut self,
        ack: &Ack,
        min_rtt: Duration,
        standing: Option<Duration>,
        max_rate: f64,
        aggregation: &AckAggregation,
    ) {
        let rtt = ack.rtt.latest;
        if ack.now.saturating_sub(self.began) >= GRANULARITY {
            self.began = ack.now;
            self.before = standing.unwrap_or_default();
            // The oldest packet may already be one that was delayed less.
            self.last = ack.now.saturating_sub(ack.first_sent);
            self.floor = self.min_rtt;
            self.fall = Duration::ZERO;
        }
        let fall = self
            .before
            .min(self.last)
            .saturating_sub(rtt.max(self.floor));
        if fall > Duration::ZERO {
            // The rest is of a pause of the sender, in which a queue drains.
            let sent = transmission_time(ack.bytes as f64, max_rate);
            self.fall = self.fall.saturating_add(fall.min(sent));
            // Where ACKs are always held, the RTT falls within each aggregate.
            let held = transmission_time(aggregation.typical_bytes(), max_rate);
            let fall = self.fall.saturating_sub(held);
            if fall >= GRANULARITY {
                let most = min_rtt.saturating_mul(MAX_OVER_MIN_RTT);
                self.largest = self.largest.max(fall.min(most));
            }
        }
        self.last = rtt;
        self.min_rtt = min_rtt;
    }

    /// Ends a round trip.
    pub(super) fn end_round(&mut self) {
        self.largest -= self.largest / DECAY_DIVISOR;
    }

    /// The RTT variation that such jitter explains.
    pub(super) fn noise(&self) -> Duration {
        self.largest.saturating_mul(FALL_TO_NOISE)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::events::{ack, measured, ms, DATAGRAM, MIN_RTT};
    use super::*;

    /// A datagram in 10 ms, in bytes per second.
    const RATE: f64 = 100.0 * DATAGRAM as f64;

    /// On a path of 90 ms, whose last round trips had at least 120 ms.
    struct Path {
        jitter: LastingJitter,
        rate: f64,
        aggregation: AckAggregation,
    }

    impl Path {
        fn new(rate: f64) -> Self {
            let mut path = Self {
                jitter: LastingJitter::default(),
                rate,
                aggregation: AckAggregation::default(),
            };
            path.ack(measured(900, 120));
            path
        }

        fn ack(&mut self, ack: Ack) {
            let min_rtt = MIN_RTT.min(ack.rtt.latest);
            let standing = Some(ms(120));
            self.jitter
                .on_ack(&ack, min_rtt, standing, self.rate, &self.aggregation);
        }

        /// ACKs with these times and RTT samples in microseconds, each of a datagram.
        fn fall(mut self, acks: impl IntoIterator<Item = (u64, u64)>) -> Duration {
            for (now, latest) in acks {
                let (now, latest) = (Duration::from_micros(now), Duration::from_micros(latest));
                let mut ack = measured(1_000, 120);
                (ack.now, ack.first_sent, ack.rtt.latest) = (now, now - latest, latest);
                self.ack(ack);
            }
            self.jitter.largest
        }
    }

    #[test]
    fn packets_that_arrive_in_a_row_show_the_end_of_jitter() {
        let acks = [
            (1_000_000, 120_000),
            (1_000_100, 110_000),
            (1_000_200, 100_000),
        ];
        assert_eq!(Path::new(RATE).fall(acks), ms(20));
    }

    #[test]
    fn a_queue_that_drains_is_no_jitter() {
        // An ACK every 0.5 ms, and a sender at a third of that rate.
        let acks = (0..20).map(|n| (1_000_000 + 500 * n, 120_000 - 1_000 * n));
        assert_eq!(Path::new(20.0 * RATE).fall(acks), ms(0));
    }

    #[test]
    fn a_pause_of_the_sender_is_no_jitter() {
        // 30 ms between two datagrams, of which each takes 0.1 ms.
        let acks = [(1_000_000, 120_000), (1_000_100, 90_000)];
        assert_eq!(Path::new(100.0 * RATE).fall(acks), ms(0));
    }

    #[test]
    fn the_acks_of_one_slot_are_no_jitter() {
        // The newest packet has the RTT of the round trips before.
        let acks = [0, 10, 20, 30].map(|held| (1_000_000 + held, 150_000 - 1_000 * held));
        assert_eq!(Path::new(RATE).fall(acks), ms(0));
        // It has less, as the queue was drained; all slots are of 10 ms.
        let acks = [(1_000_000, 120_000), (1_000_100, 110_000)];
        let mut path = Path::new(RATE);
        path.aggregation.on_ack(&ack(500, DATAGRAM), None);
        path.aggregation.on_ack(&ack(600, DATAGRAM), None);
        assert_eq!(path.fall(acks), ms(0));
    }

    #[test]
    fn one_ack_of_all_delayed_packets_shows_the_oldest_of_them() {
        for (oldest, fall) in [(120, 30), (200, 30), (110, 20)] {
            let mut path = Path::new(RATE);
            path.ack(Ack {
                first_sent: ms(1_000 - oldest),
                bytes: 10 * DATAGRAM,
                ..measured(1_000, 90)
            });
            assert_eq!(path.jitter.noise(), ms(2 * fall), "{oldest}");
        }
    }

    #[test]
    fn a_fall_below_the_minimum_is_a_shorter_path() {
        let acks = [(1_000_000, 95_000), (1_000_100, 60_000)];
        assert_eq!(Path::new(RATE).fall(acks), ms(5));
        let acks = [(1_000_000, 80_000), (1_000_100, 60_000)];
        assert_eq!(Path::new(RATE).fall(acks), ms(0));
    }

    #[test]
    fn without_a_complete_interval_there_is_no_jitter() {
        let mut jitter = LastingJitter::default();
        let aggregation = AckAggregation::default();
        for (now, latest) in [(900, 120), (1_000, 120), (1_000, 90)] {
            let ack = measured(now, latest);
            jitter.on_ack(&ack, MIN_RTT, None, RATE, &aggregation);
        }
        assert_eq!(jitter.noise(), ms(0));
    }

    #[test]
    fn a_fall_counts_up_to_twice_the_minimum_rtt_and_decays() {
        let mut jitter = LastingJitter::default();
        let aggregation = AckAggregation::default();
        for (now, latest) in [(900, 500), (1_000, 500), (1_000, 100)] {
            let mut ack = measured(now, latest);
            ack.bytes = 100 * DATAGRAM;
            let standing = Some(ms(500));
            jitter.on_ack(&ack, MIN_RTT, standing, RATE, &aggregation);
        }
        assert_eq!(jitter.largest, ms(180));
        // A half remains after 44 round trips: 64 times the logarithm of two.
        for _ in 0..44 {
            jitter.end_round();
        }
        assert!((ms(89)..ms(91)).contains(&jitter.largest));
    }
}
