//! Jitter that lasts: all packets of some time have the same delay.
//!
//! A round trip then has a small RTT range, and the next one another minimum RTT. A rise looks like
//! a standing queue. A fall does not: a queue drains at the rate of the link. Jitter ends at once,
//! and where packets keep their order, those that it delayed arrive in a row. The RTT then falls
//! from packet to packet within one aggregate of ACKs.

use std::time::Duration;

use super::super::bandwidth::GRANULARITY;
use super::super::controller::Time;
use super::gathered_acks::Gathered;
use super::rtt_interval::IntervalMinimum;
use super::standing_queue::transmission_time;

/// Noise in multiples of the second largest fall, which is a part of the jitter. Of 1.5, 2 and 3,
/// the second: 3 has more goodput, but leaves less to other flows (docs/attempts.md, "Jitter that
/// changes within a round trip").
const FALL_TO_NOISE: u32 = 2;

/// Divisor of the fall that gives what a round trip takes from it. Of 16, 32 and 64, the best in an
/// earlier form (docs/attempts.md, "Jitter that lasts").
const DECAY_DIVISOR: u32 = 64;

/// Largest fall that counts, in multiples of the minimum RTT. The noise may become a queue, and so
/// may the base RTT that it raises. Of 1, 2 and 4 in an earlier form, the smallest with nearly the
/// full effect.
const MAX_OVER_MIN_RTT: u32 = 2;

/// Parts of a round trip. The RTT before a fall is the least of the present and the previous part:
/// a retransmission of a radio link delays packets for less. Of 2 and 4, the one with fewer losses
/// (docs/attempts.md, "Jitter that changes within a round trip").
const PARTS_OF_ROUND_TRIP: u32 = 2;

/// ACKs within [`GRANULARITY`], and the fall of the RTT in them.
#[derive(Clone, Copy, Debug, Default)]
struct Aggregate {
    began: Time,
    /// The RTT that the packets before it had, at least. Zero if that is the minimum, or if ACKs
    /// may have been held.
    before: Duration,
    /// The minimum RTT of the path before it. A fall to less shows a shorter path.
    floor: Duration,
    /// The last RTT in it.
    last: Duration,
    fall: Duration,
}

/// Measures the jitter by the falls of the RTT.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LastingJitter {
    current: Aggregate,
    /// The time of the last ACK with an RTT sample, and the minimum RTT of the path as of then.
    last_ack: Time,
    min_rtt: Duration,
    /// The least RTT of the present and the previous part of a round trip.
    recent: IntervalMinimum,
    /// The largest fall of the present round trip, beyond two datagrams.
    fall: Duration,
    /// The last round trip had a fall that counts.
    has_fallen: bool,
    /// The largest and the second largest fall of earlier round trips, which decay. A path that
    /// changes once has one. So has a queue that drains as the rate rises, though it may take parts
    /// of two round trips.
    falls: [Duration; 2],
}

impl LastingJitter {
    /// Takes ACKs with an RTT sample, the minimum RTT of the path, and the present estimate of its
    /// rate in bytes per second. `two_datagrams`: the time that two take at the highest rate so
    /// far.
    pub(super) fn on_acks(
        &mut self,
        acks: &Gathered,
        min_rtt: Duration,
        rate: f64,
        two_datagrams: Duration,
    ) {
        let ack = &acks.ack;
        let rtt = ack.rtt.latest;
        // Most ACKs need no division.
        let sent = || transmission_time(ack.bytes as f64, rate);
        if ack.now.saturating_sub(self.current.began) >= GRANULARITY {
            self.end_aggregate(two_datagrams);
            let gap = acks.began.saturating_sub(self.last_ack);
            let counts = |standing: &Duration| {
                *standing >= self.min_rtt.saturating_add(GRANULARITY)
                    && gap <= two_datagrams.saturating_add(GRANULARITY)
            };
            self.current = Aggregate {
                began: acks.began,
                before: self.recent.standing().filter(counts).unwrap_or_default(),
                floor: self.min_rtt,
                // The oldest packet may already be one that was delayed less.
                last: acks.began.saturating_sub(ack.first_sent),
                fall: Duration::ZERO,
            };
        }
        let aggregate = &mut self.current;
        let fall = aggregate.before.min(aggregate.last);
        let fall = fall.saturating_sub(rtt.max(aggregate.floor));
        if fall > Duration::ZERO {
            // The rest is of a pause of the sender, in which a queue drains.
            aggregate.fall = aggregate.fall.saturating_add(fall.min(sent()));
        }
        aggregate.last = rtt;
        let part = ack.rtt.smoothed / PARTS_OF_ROUND_TRIP;
        self.recent.on_sample(ack.now, rtt, part);
        self.last_ack = ack.now;
        self.min_rtt = min_rtt;
    }

    fn end_aggregate(&mut self, two_datagrams: Duration) {
        // An ACK of two packets falls by as much where a queue drains.
        let fall = self.current.fall.saturating_sub(two_datagrams);
        if fall >= GRANULARITY {
            self.fall = self.fall.max(fall);
        }
    }

    /// Ends a round trip.
    pub(super) fn end_round(&mut self) {
        let [largest, second] = self.falls.map(|fall| fall - fall / DECAY_DIVISOR);
        let mut fall = std::mem::take(&mut self.fall);
        if self.has_fallen {
            // It may be the rest of the one before.
            fall = Duration::ZERO;
        }
        self.has_fallen = fall > Duration::ZERO;
        self.falls = if fall > largest {
            [fall, largest]
        } else {
            [largest, second.max(fall)]
        };
    }

    /// The RTT variation that such jitter explains.
    pub(super) fn noise(&self) -> Duration {
        let most = self.min_rtt.saturating_mul(MAX_OVER_MIN_RTT);
        self.falls[1].min(most).saturating_mul(FALL_TO_NOISE)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::controller::Ack;
    use super::super::super::events::{measured, ms, DATAGRAM, MIN_RTT};
    use super::*;

    /// A datagram in 10 ms, in bytes per second.
    const RATE: f64 = 100.0 * DATAGRAM as f64;

    /// On a path of 90 ms, on which 120 ms were the least for a round trip. Its last ACK comes at
    /// 990 ms.
    struct Path {
        jitter: LastingJitter,
        rate: f64,
    }

    impl Path {
        fn new(rate: f64) -> Self {
            let mut path = Self {
                jitter: LastingJitter::default(),
                rate,
            };
            path.delayed(990, 11);
            path
        }

        /// ACKs every 20 ms until this one, with an RTT of 120 ms: a part of a round trip has four.
        fn delayed(&mut self, until: u64, acks: u64) {
            for n in (0..acks).rev() {
                self.ack(measured(until - 20 * n, 120));
            }
        }

        fn ack(&mut self, ack: Ack) {
            let min_rtt = MIN_RTT.min(ack.rtt.latest);
            let two_datagrams = transmission_time(2.0 * DATAGRAM as f64, self.rate);
            self.jitter
                .on_acks(&Gathered::one(&ack), min_rtt, self.rate, two_datagrams);
        }

        /// ACKs with these times and RTT samples in microseconds, each of a datagram. Returns the
        /// fall in the last aggregate.
        fn fall(mut self, acks: impl IntoIterator<Item = (u64, u64)>) -> Duration {
            for (now, latest) in acks {
                let (now, latest) = (Duration::from_micros(now), Duration::from_micros(latest));
                let mut ack = measured(1_000, 120);
                (ack.now, ack.first_sent, ack.rtt.latest) = (now, now - latest, latest);
                self.ack(ack);
            }
            self.jitter.current.fall
        }

        /// A fall at this time, and by two datagrams more.
        fn fall_by(&mut self, at: u64, fall: u64) {
            self.delayed(at - 2, 11);
            self.ack(Ack {
                first_sent: ms(at - 120),
                bytes: 100 * DATAGRAM,
                ..measured(at, 120 - fall - 2)
            });
            self.ack(measured(at + 2, 120));
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
        let acks = (0..20).map(|n| (990_500 + 500 * n, 120_000 - 1_000 * n));
        assert!(Path::new(20.0 * RATE).fall(acks) < GRANULARITY);
    }

    #[test]
    fn a_pause_of_the_sender_is_no_jitter() {
        // 30 ms between two datagrams, of which each takes 0.1 ms.
        let acks = [(990_900, 120_000), (991_000, 120_000), (991_100, 90_000)];
        assert!(Path::new(100.0 * RATE).fall(acks) < GRANULARITY);
    }

    #[test]
    fn the_acks_of_one_slot_are_no_jitter() {
        // The newest packet has the RTT of the round trips before.
        let acks = [0, 10, 20, 30].map(|held| (1_000_000 + held, 150_000 - 1_000 * held));
        assert_eq!(Path::new(RATE).fall(acks), ms(0));
        // It has less, as a queue drains. No ACK came for longer than two datagrams take.
        let acks = [(1_011_000, 120_000), (1_011_100, 110_000)];
        assert_eq!(Path::new(RATE).fall(acks), ms(10));
        let acks = [(1_011_001, 120_000), (1_011_100, 110_000)];
        assert_eq!(Path::new(RATE).fall(acks), ms(0));
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
            assert_eq!(path.jitter.current.fall, ms(fall), "{oldest}");
        }
    }

    #[test]
    fn gathered_acks_show_the_oldest_packet_as_its_own_ack_does() {
        let mut path = Path::new(RATE);
        let gathered = Gathered {
            began: ms(999),
            ..Gathered::one(&Ack {
                first_sent: ms(999 - 110),
                bytes: 10 * DATAGRAM,
                ..measured(1_000, 90)
            })
        };
        path.jitter.on_acks(&gathered, MIN_RTT, RATE, ms(20));
        assert_eq!(path.jitter.current.fall, ms(20));
    }

    #[test]
    fn a_fall_below_the_minimum_is_a_shorter_path() {
        let acks = [(1_000_000, 95_000), (1_000_100, 60_000)];
        assert_eq!(Path::new(RATE).fall(acks), ms(5));
        let acks = [(1_000_000, 80_000), (1_000_100, 60_000)];
        assert_eq!(Path::new(RATE).fall(acks), ms(0));
    }

    #[test]
    fn without_a_complete_part_of_a_round_trip_there_is_no_jitter() {
        let mut jitter = LastingJitter::default();
        for (now, latest) in [(990, 120), (1_000, 120), (1_000, 90)] {
            let acks = Gathered::one(&measured(now, latest));
            jitter.on_acks(&acks, MIN_RTT, RATE, ms(20));
        }
        assert_eq!(jitter.current.fall, ms(0));
    }

    /// ACKs every 5 ms, with a smoothed RTT of 120 ms. A part of it that ends begins the next one.
    #[test]
    fn a_delay_counts_that_lasts_for_two_parts_of_a_round_trip() {
        for (lasts, fall) in [(60, 0), (120, 10)] {
            let mut path = Path::new(RATE);
            for before in (5..=240).rev().step_by(5) {
                let latest = if before <= lasts { 120 } else { 110 };
                let mut ack = measured(2_000 - before, latest);
                ack.rtt.smoothed = ms(120);
                path.ack(ack);
            }
            let acks = [(2_001_000, 120_000), (2_001_100, 110_000)];
            assert_eq!(path.fall(acks), ms(fall), "{lasts} ms");
        }
    }

    #[test]
    fn the_second_largest_fall_is_noise_twice() {
        let mut path = Path::new(10.0 * RATE);
        let mut noise = |at, fall| {
            path.jitter.end_round();
            path.fall_by(at, fall);
            path.jitter.end_round();
            path.jitter.noise()
        };
        assert_eq!(noise(2_000, 10), ms(0));
        assert_eq!(noise(3_000, 8), ms(2 * 8));
        assert_eq!(noise(4_000, 9), ms(2 * 9));
        // Of the first fall, 63 of 64 parts are left after each of six round trips.
        let first = noise(5_000, 20);
        assert!((ms(18)..ms(19)).contains(&first), "{first:?}");
        let second = noise(6_000, 5);
        assert!(second < first && second > first * 15 / 16, "{second:?}");
    }

    /// A queue that drains at a rate which has risen falls in several aggregates.
    #[test]
    fn the_falls_of_two_round_trips_in_a_row_count_as_one() {
        let mut path = Path::new(10.0 * RATE);
        path.fall_by(2_000, 20);
        path.fall_by(2_300, 10);
        path.jitter.end_round();
        assert_eq!(path.jitter.noise(), ms(0));
        path.fall_by(2_600, 10);
        path.jitter.end_round();
        assert_eq!(path.jitter.noise(), ms(0));
        path.fall_by(2_900, 10);
        path.jitter.end_round();
        assert_eq!(path.jitter.noise(), ms(2 * 10));
    }

    #[test]
    fn a_fall_counts_from_a_millisecond_on() {
        for (fall, noise) in [(999, 0), (1_000, 2_000)] {
            let mut jitter = Path::new(RATE).jitter;
            jitter.falls = [ms(100), ms(0)];
            jitter.current.fall = ms(20) + Duration::from_micros(fall);
            jitter.end_aggregate(ms(20));
            jitter.end_round();
            assert_eq!(jitter.noise(), Duration::from_micros(noise));
        }
    }

    #[test]
    fn the_present_rate_limits_a_fall() {
        let acks = [(1_000_000, 120_000), (1_000_100, 90_000)];
        assert_eq!(Path::new(RATE / 2.0).fall(acks), ms(20));
        assert_eq!(Path::new(RATE).fall(acks), ms(10));
    }

    #[test]
    fn noise_decays_and_is_limited_by_the_minimum_rtt() {
        let mut path = Path::new(10.0 * RATE);
        for at in [2_000, 3_000] {
            path.fall_by(at, 20);
            path.jitter.end_round();
            path.jitter.end_round();
        }
        let noise = path.jitter.noise();
        // A half remains after 44 round trips: 64 times the logarithm of two.
        for _ in 0..44 {
            path.jitter.end_round();
        }
        let share = path.jitter.noise().div_duration_f64(noise);
        assert!((0.49..0.51).contains(&share), "{share}");
        // The path becomes shorter.
        let shorter = measured(9_000, 90);
        path.jitter
            .on_acks(&Gathered::one(&shorter), ms(3), RATE, ms(2));
        assert_eq!(path.jitter.noise(), ms(2 * 2 * 3));
    }
}
