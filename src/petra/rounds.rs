//! Round trips, and filters over the last few of them.

use super::super::controller::{Ack, Time};

/// Round trips of one half of a [`WindowedFilter`]: a value is remembered for five to ten
/// round trips. BBR remembers its maximum bandwidth for ten.
pub(super) const FILTER_ROUNDS: u32 = 5;

/// Counts round trips. A round trip ends with the acknowledgment of a packet that was sent
/// after the round trip began.
#[derive(Clone, Debug, Default)]
pub(super) struct RoundCounter {
    began: Option<Time>,
}

impl RoundCounter {
    /// Returns true if this ACK ends a round trip.
    pub(super) fn ends(&mut self, ack: &Ack) -> bool {
        let ends = self.began.is_none_or(|began| ack.last_sent >= began);
        if ends {
            self.began = Some(ack.now);
        }
        ends
    }
}

/// The best value, largest or least, of the current [`FILTER_ROUNDS`] round trips and of
/// those before.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowedFilter<T> {
    better: fn(T, T) -> T,
    current: Option<T>,
    previous: Option<T>,
    /// The better one of both.
    best: Option<T>,
    rounds: u32,
}

impl<T: Copy> WindowedFilter<T> {
    /// `better` returns the better one of two values.
    pub(super) fn new(better: fn(T, T) -> T) -> Self {
        Self {
            better,
            current: None,
            previous: None,
            best: None,
            rounds: 0,
        }
    }

    pub(super) fn add(&mut self, value: T) {
        self.current = self.better(self.current, Some(value));
        self.best = self.better(self.best, Some(value));
    }

    /// Ends a round trip.
    pub(super) fn end_round(&mut self) {
        self.rounds += 1;
        if self.rounds >= FILTER_ROUNDS {
            self.previous = self.current.take();
            self.best = self.previous;
            self.rounds = 0;
        }
    }

    pub(super) fn get(&self) -> Option<T> {
        self.best
    }

    fn better(&self, one: Option<T>, other: Option<T>) -> Option<T> {
        match (one, other) {
            (Some(one), Some(other)) => Some((self.better)(one, other)),
            (one, other) => one.or(other),
        }
    }
}

#[cfg(kani)]
mod proofs {
    use super::*;

    impl WindowedFilter<f64> {
        /// Any values, and the largest of them.
        fn arbitrary(value: impl Fn() -> Option<f64>) -> Self {
            let mut filter = Self::new(f64::max);
            (filter.current, filter.previous) = (value(), value());
            filter.best = filter.better(filter.current, filter.previous);
            filter.rounds = kani::any_where(|rounds| *rounds < FILTER_ROUNDS);
            filter
        }

        /// Checks that the best value is one of those that are remembered.
        fn assert_valid(&self) {
            assert!(self.rounds < FILTER_ROUNDS);
            assert!(self.best == self.better(self.current, self.previous));
        }
    }

    #[kani::proof]
    fn the_best_value_is_one_of_those_remembered() {
        let value = || kani::any::<bool>().then_some(kani::any_where(|x: &f64| !x.is_nan()));
        let mut filter = WindowedFilter::arbitrary(value);
        let added = kani::any_where(|x: &f64| !x.is_nan());
        filter.add(added);
        filter.assert_valid();
        assert!(filter.get().is_some_and(|best| best >= added));
        filter.end_round();
        filter.assert_valid();
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::events::{ack, ms};
    use super::*;

    #[test]
    fn a_round_trip_ends_with_a_packet_sent_after_it_began() {
        let mut rounds = RoundCounter::default();
        assert!(rounds.ends(&ack(100, 1_200)));
        // Sent at 99 and 100 ms.
        assert!(!rounds.ends(&ack(189, 1_200)));
        assert!(rounds.ends(&ack(190, 1_200)));
        assert!(!rounds.ends(&ack(279, 1_200)));
    }

    #[test]
    fn old_packets_end_no_round_trip() {
        let mut rounds = RoundCounter::default();
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
        for (mut filter, other) in [
            (WindowedFilter::new(f64::max), 1.0),
            (WindowedFilter::new(f64::min), 3.0),
        ] {
            assert_eq!(filter.get(), None);
            filter.add(2.0);
            for _ in 0..9 {
                filter.add(other);
                filter.end_round();
                assert_eq!(filter.get(), Some(2.0));
            }
            filter.end_round();
            assert_eq!(filter.get(), Some(other));
        }
    }
}
