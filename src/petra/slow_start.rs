//! Slow start: its growth and its end. Mechanisms 1 and 2.

use std::time::Duration;

use super::super::bandwidth::{AckRate, Estimator, Smoothing, GRANULARITY};
use super::super::controller::Ack;

/// Smallest quotient of the estimated BDP and the bytes in flight that speeds growth up:
/// `EBW div BytesInFlight() > 2` of the thesis's Section 4.1.2.1.
const MIN_QUOTIENT: f64 = 2.0;

/// Largest growth of the window per byte acknowledged. The estimate comes from the gaps
/// between the ACKs of a flight, and ACK compression can close those gaps. This limit keeps
/// growth below four times the window per round trip.
const MAX_GAIN: f64 = 3.0;

/// Growth of the delivery rate per round trip below which a round trip is flat: the test
/// for a full pipe in BBR, as is [`MAX_FLAT_ROUNDS`].
const MIN_RATE_GROWTH: f64 = 1.25;

/// Flat round trips after which the path is full.
const MAX_FLAT_ROUNDS: u32 = 3;

/// The state of slow start.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlowStart {
    /// Equations 4.3 and 4.4 of the thesis, unchanged. The gaps between the ACKs of the
    /// first flight are nearly all that is known of the path.
    ack_rate: AckRate<Smoothing>,
    /// The highest rate of ACKs so far, in bytes per second. Later flights are paced at twice
    /// the window per round trip, and their ACKs show no more.
    fastest_acks: f64,
    best_rate: f64,
    flat_rounds: u32,
    /// The window has grown in this round trip.
    grew: bool,
}

impl SlowStart {
    pub(super) fn new(alpha: f64) -> Self {
        Self {
            ack_rate: AckRate::new(Smoothing::new(alpha)).with_min_interval(GRANULARITY),
            fastest_acks: 0.0,
            best_rate: 0.0,
            flat_rounds: 0,
            grew: false,
        }
    }

    pub(super) fn on_ack(&mut self, ack: &Ack) {
        self.ack_rate.on_ack(ack.now, ack.bytes);
        let rate = self.ack_rate.rate().unwrap_or(0.0);
        self.fastest_acks = self.fastest_acks.max(rate);
    }

    pub(super) fn on_growth(&mut self) {
        self.grew = true;
    }

    /// Ends a round trip of slow start with this estimate of the delivery rate. `hidden`: the RTT
    /// varies by so much that the rate may not grow although the path has room and the window
    /// grows. If the window does not grow either, slow start must end by itself.
    pub(super) fn end_round(&mut self, rate: f64, app_limited: bool, hidden: bool) {
        let hidden = std::mem::take(&mut self.grew) && hidden;
        if rate >= MIN_RATE_GROWTH * self.best_rate {
            self.best_rate = rate;
            self.flat_rounds = 0;
        } else if !app_limited && !hidden {
            self.flat_rounds += 1;
        }
    }

    /// Returns true if the delivery rate no longer grows although the window does: the path
    /// is full, even if no queue shows.
    pub(super) fn is_flat(&self) -> bool {
        self.flat_rounds >= MAX_FLAT_ROUNDS
    }

    /// Bytes to grow by per byte acknowledged (Section 4.1.2.1 of the thesis).
    pub(super) fn gain(&self, in_flight: f64, min_rtt: Duration) -> f64 {
        let quotient = self.fastest_acks * min_rtt.as_secs_f64() / in_flight;
        if quotient > MIN_QUOTIENT {
            quotient.min(MAX_GAIN)
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
    fn slow_start() -> SlowStart {
        let mut slow_start = SlowStart::new(0.9);
        slow_start.on_ack(&ack(100, 1_000));
        slow_start.on_ack(&ack(110, 1_000));
        slow_start
    }

    #[test]
    fn with_room_the_window_grows_by_the_quotient_up_to_three() {
        assert_eq!(slow_start().gain(4_500.0, MIN_RTT), 1.0);
        // 9000 / 3600
        assert_eq!(slow_start().gain(3_600.0, MIN_RTT), 2.5);
        assert_eq!(slow_start().gain(1_200.0, MIN_RTT), 3.0);
    }

    #[test]
    fn slower_acks_of_a_paced_flight_do_not_end_faster_growth() {
        let mut slow_start = slow_start();
        for now in (200..1_000).step_by(100) {
            slow_start.on_ack(&ack(now, 1_000));
        }
        assert_eq!(slow_start.gain(3_600.0, MIN_RTT), 2.5);
    }

    #[test]
    fn without_an_estimate_the_window_doubles() {
        assert_eq!(SlowStart::new(0.9).gain(1_200.0, MIN_RTT), 1.0);
    }

    /// Ends a round trip that shows the rate.
    fn end_round(slow_start: &mut SlowStart, rate: f64) {
        slow_start.end_round(rate, false, false);
    }

    #[test]
    fn three_rounds_without_growth_are_a_full_path() {
        let mut slow_start = slow_start();
        end_round(&mut slow_start, 100.0);
        end_round(&mut slow_start, 125.0);
        // 1.25 x 125 = 156.25
        for rate in [156.0, 150.0] {
            end_round(&mut slow_start, rate);
            assert!(!slow_start.is_flat());
        }
        end_round(&mut slow_start, 156.0);
        assert!(slow_start.is_flat());
    }

    #[test]
    fn growing_app_limited_and_hidden_rounds_are_not_flat() {
        let mut slow_start = slow_start();
        end_round(&mut slow_start, 100.0);
        for (app_limited, hidden) in [(true, false), (false, true), (true, true)] {
            for _ in 0..10 {
                slow_start.on_growth();
                slow_start.end_round(100.0, app_limited, hidden);
            }
            assert!(!slow_start.is_flat());
        }
        for _ in 0..2 {
            end_round(&mut slow_start, 100.0);
        }
        end_round(&mut slow_start, 200.0);
        assert!(!slow_start.is_flat());
    }

    #[test]
    fn hidden_rounds_without_growth_of_the_window_are_flat() {
        let mut slow_start = slow_start();
        end_round(&mut slow_start, 100.0);
        for flat in [false, false, true] {
            slow_start.end_round(100.0, false, true);
            assert_eq!(slow_start.is_flat(), flat);
        }
    }
}
