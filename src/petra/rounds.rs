//! Round trips, and what is remembered over the last few of them.

use super::super::controller::{Ack, Time};

/// Round trips of a stretch. A peak is remembered for five at least and ten at
/// most; BBR remembers ten.
pub(super) const STRETCH: u32 = 5;

/// Counts round trips: one ends when a packet is acknowledged that was sent
/// after it began.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounds {
    began: Option<Time>,
}

impl Rounds {
    /// Whether this ACK ends a round trip.
    pub(super) fn ends(&mut self, ack: &Ack) -> bool {
        let ends = self.began.is_none_or(|began| ack.last_sent >= began);
        if ends {
            self.began = Some(ack.now);
        }
        ends
    }
}

/// The best value, the largest or the least, of the present stretch of rounds and
/// of the one before, so that a value is remembered for one stretch at least and
/// two at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recent<T> {
    better: fn(T, T) -> T,
    now: Option<T>,
    before: Option<T>,
    rounds: u32,
}

impl<T: Copy> Recent<T> {
    /// What `better` returns of two values is the better one.
    pub(super) fn new(better: fn(T, T) -> T) -> Self {
        Self {
            better,
            now: None,
            before: None,
            rounds: 0,
        }
    }

    pub(super) fn add(&mut self, value: T) {
        self.now = Some(self.now.map_or(value, |now| (self.better)(now, value)));
    }

    /// A round trip ended.
    pub(super) fn end_round(&mut self) {
        self.rounds += 1;
        if self.rounds >= STRETCH {
            self.before = self.now.take();
            self.rounds = 0;
        }
    }

    pub(super) fn get(&self) -> Option<T> {
        match (self.now, self.before) {
            (Some(now), Some(before)) => Some((self.better)(now, before)),
            (now, before) => now.or(before),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::events::{ack, ms};
    use super::*;

    #[test]
    fn a_round_trip_ends_with_a_packet_that_left_after_it_began() {
        let mut rounds = Rounds::default();
        assert!(rounds.ends(&ack(100, 1_200)));
        // Sent at 99 and 100 ms.
        assert!(!rounds.ends(&ack(189, 1_200)));
        assert!(rounds.ends(&ack(190, 1_200)));
        assert!(!rounds.ends(&ack(279, 1_200)));
    }

    #[test]
    fn packets_of_the_past_end_none() {
        let mut rounds = Rounds::default();
        assert!(rounds.ends(&ack(100, 1_200)));
        let late = Ack {
            first_sent: ms(1),
            last_sent: ms(50),
            ..ack(500, 1_200)
        };
        assert!(!rounds.ends(&late));
    }

    #[test]
    fn the_best_is_remembered_for_five_to_ten_rounds() {
        for (mut recent, other) in [(Recent::new(f64::max), 1.0), (Recent::new(f64::min), 3.0)] {
            assert_eq!(recent.get(), None);
            recent.add(2.0);
            for _ in 0..9 {
                recent.add(other);
                recent.end_round();
                assert_eq!(recent.get(), Some(2.0));
            }
            recent.end_round();
            assert_eq!(recent.get(), Some(other));
        }
    }
}
