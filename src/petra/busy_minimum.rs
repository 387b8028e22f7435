//! The minimum RTT of busy round trips.
//!
//! Where the delay jitters and packets keep their order, each waits for the slower ones before it.
//! A round trip of few packets, such as one of the first, then has a smaller minimum RTT than any
//! of many, and a busy path seems to have a queue that never empties.

use std::time::Duration;

/// Smallest window of a busy round trip, in datagrams. Of 32 and 64, the better, as several flows
/// stay fair; with more, the queue of a slow path becomes part of it (docs/attempts.md, "Jitter on
/// fast paths").
const MIN_DATAGRAMS: f64 = 64.0;

/// Largest excess over the minimum RTT, in multiples of the noise, so that a queue without jitter
/// is no part of it.
const MAX_EXCESS_NOISE: u32 = 2;

/// The least minimum RTT of round trips with a large window, of the whole connection. On a path
/// that has become longer it is below the minimum RTT, and has no effect.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BusyMinimum {
    /// The window of the last round trip was large.
    is_busy: bool,
    min: Option<Duration>,
}

impl BusyMinimum {
    /// Takes the window in datagrams.
    pub(super) fn on_window(&mut self, datagrams: f64) {
        self.is_busy = datagrams >= MIN_DATAGRAMS;
    }

    /// Takes the minimum RTT of a round trip.
    pub(super) fn on_round(&mut self, min: Duration) {
        if self.is_busy {
            self.min = Some(self.min.map_or(min, |known| known.min(min)));
        }
    }

    /// Returns the excess over the minimum RTT, as far as jitter explains it. An excess within half
    /// of the noise is in that already. Without this limit, flows whose noise hides most of the
    /// queue take more from others (docs/attempts.md, "Jitter on fast paths").
    pub(super) fn excess(&self, min_rtt: Duration, noise: Duration) -> Duration {
        let excess = self
            .min
            .map_or(Duration::ZERO, |it| it.saturating_sub(min_rtt));
        if excess > noise / 2 {
            excess.min(noise.saturating_mul(MAX_EXCESS_NOISE))
        } else {
            Duration::ZERO
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::events::ms;
    use super::*;

    /// After round trips with these windows in datagrams and minimum RTTs, on a path of 50 ms.
    fn excess(rounds: &[(f64, u64)], noise: u64) -> Duration {
        let mut minimum = BusyMinimum::default();
        for (datagrams, min) in rounds {
            minimum.on_window(*datagrams);
            minimum.on_round(ms(*min));
        }
        minimum.excess(ms(50), ms(noise))
    }

    #[test]
    fn it_is_the_least_of_round_trips_with_many_packets() {
        assert_eq!(excess(&[(63.0, 50), (63.0, 60)], 8), ms(0));
        let rounds = [(63.0, 50), (64.0, 65), (70.0, 61), (99.0, 70)];
        assert_eq!(excess(&rounds, 8), ms(11));
        assert_eq!(excess(&[(64.0, 61), (63.0, 53)], 8), ms(11));
        // The path has become longer, and this is of before.
        assert_eq!(excess(&[(64.0, 49)], 8), ms(0));
    }

    #[test]
    fn it_counts_from_half_of_the_noise_to_twice_the_noise() {
        let of = |min| excess(&[(64.0, min)], 8);
        assert_eq!([of(54), of(55), of(66), of(67)], [0, 5, 16, 16].map(ms));
        assert_eq!(excess(&[(64.0, 70)], 0), ms(0));
        let mut minimum = BusyMinimum::default();
        minimum.on_window(64.0);
        minimum.on_round(Duration::MAX);
        assert_eq!(minimum.excess(ms(0), Duration::MAX), Duration::MAX);
    }
}
