//! Slow start: how fast, and how long. Mechanisms 1 and 2.

use std::time::Duration;

use super::super::bandwidth::{AckRate, Estimator, Smoothing, GRANULARITY};
use super::super::controller::Ack;

/// Section 4.1.2.1: `EBW div BytesInFlight() > 2`.
const ROOM: f64 = 2.0;

/// Most bytes that the window grows by for a byte acknowledged. The estimate
/// comes from the gaps within a flight, which compression can close; this bounds
/// what that does to four times the window in a round trip.
const MOST_GAIN: f64 = 3.0;

/// By how much delivery grows in a round trip while the window limits it, and
/// for how many round trips less than that is taken for the path's limit: BBR's
/// test for a full pipe.
const GROWTH: f64 = 1.25;
const FLAT_ROUNDS: u32 = 3;

#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    /// Equations 4.3 and 4.4 as they stand: nearly all that the first flight
    /// tells of the path is in the gaps between its ACKs.
    train: AckRate<Smoothing>,
    best: f64,
    flat_rounds: u32,
}

impl Start {
    pub(super) fn new(alpha: f64) -> Self {
        Self {
            train: AckRate::new(Smoothing::new(alpha)).spanning(GRANULARITY),
            best: 0.0,
            flat_rounds: 0,
        }
    }

    pub(super) fn on_ack(&mut self, ack: &Ack) {
        self.train.on_ack(ack.now, ack.bytes);
    }

    /// A round trip of slow start ended, with delivery estimated at `rate`.
    pub(super) fn end_round(&mut self, rate: f64, app_limited: bool) {
        if rate >= GROWTH * self.best {
            self.best = rate;
            self.flat_rounds = 0;
        } else if !app_limited {
            self.flat_rounds += 1;
        }
    }

    /// Whether delivery no longer grows although the window does: the path is
    /// full, even if no queue shows it.
    pub(super) fn is_flat(&self) -> bool {
        self.flat_rounds >= FLAT_ROUNDS
    }

    /// Section 4.1.2.1: bytes to grow by for each byte acknowledged.
    pub(super) fn gain(&self, in_flight: f64, min_rtt: Duration) -> f64 {
        let room = self
            .train
            .window(min_rtt)
            .map_or(0.0, |ebw| ebw / in_flight);
        if room > ROOM {
            room.min(MOST_GAIN)
        } else {
            1.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::events::{ack, MIN_RTT};
    use super::*;

    /// The gaps of the first flight show 100 000 bytes a second, 9000 in 90 ms.
    fn start() -> Start {
        let mut start = Start::new(0.9);
        start.on_ack(&ack(100, 1_000));
        start.on_ack(&ack(110, 1_000));
        start
    }

    #[test]
    fn with_room_it_grows_by_the_quotient_up_to_three() {
        assert_eq!(start().gain(4_500.0, MIN_RTT), 1.0);
        // 9000 / 3600
        assert_eq!(start().gain(3_600.0, MIN_RTT), 2.5);
        assert_eq!(start().gain(1_200.0, MIN_RTT), 3.0);
    }

    #[test]
    fn without_an_estimate_it_doubles() {
        assert_eq!(Start::new(0.9).gain(1_200.0, MIN_RTT), 1.0);
    }

    #[test]
    fn three_rounds_without_growth_are_a_full_path() {
        let mut start = start();
        start.end_round(100.0, false);
        start.end_round(125.0, false);
        // 1.25 x 125 = 156.25
        for rate in [156.0, 150.0] {
            start.end_round(rate, false);
            assert!(!start.is_flat());
        }
        start.end_round(156.0, false);
        assert!(start.is_flat());
    }

    #[test]
    fn growth_or_an_idle_application_say_nothing_of_the_path() {
        let mut start = start();
        start.end_round(100.0, false);
        for _ in 0..10 {
            start.end_round(100.0, true);
        }
        assert!(!start.is_flat());
        for _ in 0..2 {
            start.end_round(100.0, false);
        }
        start.end_round(200.0, false);
        assert!(!start.is_flat());
    }
}
