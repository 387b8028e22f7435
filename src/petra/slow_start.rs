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
pub(super) const MAX_GAIN: f64 = 3.0;

/// Growth of the window per byte acknowledged where a queue may be building. Conservative Slow
/// Start has the same divisor (`CSS_GROWTH_DIVISOR` of RFC 9406, Section 4.3,
/// <https://www.rfc-editor.org/rfc/rfc9406#section-4.3>), but begins at the whole threshold. If the
/// window stayed where the delay is of the path, the rate would stay as well, and end slow start.
pub(super) const CONSERVATIVE_GAIN: f64 = 0.25;

/// Growth of the delivery rate per round trip below which a round trip is flat: the test
/// for a full pipe in BBR, as is [`MAX_FLAT_ROUNDS`].
const MIN_RATE_GROWTH: f64 = 1.25;

/// Smallest growth of the window in a round trip that excuses a flat rate. Where ACKs come in
/// slots, the window may grow by less for many round trips.
const MIN_WINDOW_GROWTH: f64 = 1.1;

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
    /// The window of the packets that showed it.
    best_window: f64,
    /// The window at the end of the last round trip: that of the packets of this one.
    sent_window: f64,
    flat_rounds: u32,
    /// The window has grown in this round trip.
    grew: bool,
}

impl SlowStart {
    /// `window`: that of the packets in flight, in bytes.
    pub(super) fn new(alpha: f64, window: f64) -> Self {
        let smoothing = Smoothing::new(alpha);
        Self::with_acks(
            AckRate::new(smoothing).with_min_interval(GRANULARITY),
            0.0,
            window,
        )
    }

    fn with_acks(ack_rate: AckRate<Smoothing>, fastest_acks: f64, window: f64) -> Self {
        Self {
            ack_rate,
            fastest_acks,
            best_rate: 0.0,
            best_window: 0.0,
            sent_window: window,
            flat_rounds: 0,
            grew: false,
        }
    }

    /// Goes on with this window on a longer path, on which ACKs come at the same rate.
    pub(super) fn go_on(&mut self, window: f64) {
        *self = Self::with_acks(self.ack_rate, self.fastest_acks, window);
    }

    pub(super) fn on_ack(&mut self, ack: &Ack) {
        self.ack_rate.on_ack(ack.now, ack.bytes);
        let rate = self.ack_rate.rate().unwrap_or(0.0);
        self.fastest_acks = self.fastest_acks.max(rate);
    }

    /// The highest rate of ACKs so far, in bytes per second.
    pub(super) fn fastest_acks(&self) -> f64 {
        self.fastest_acks
    }

    pub(super) fn on_growth(&mut self) {
        self.grew = true;
    }

    /// Ends a round trip of slow start with this estimate of the delivery rate and this window.
    /// `hidden`: the RTT varies by so much that the rate may not grow although the path has room
    /// and the window grows. If the window does not grow either, slow start must end by itself.
    pub(super) fn end_round(&mut self, rate: f64, window: f64, app_limited: bool, hidden: bool) {
        let hidden = std::mem::take(&mut self.grew) && hidden;
        let sent_window = std::mem::replace(&mut self.sent_window, window);
        // Where the window paused, or grew by little, the rate cannot have grown.
        let resumed = sent_window < MIN_RATE_GROWTH * self.best_window
            && window >= MIN_WINDOW_GROWTH * sent_window;
        if rate >= MIN_RATE_GROWTH * self.best_rate {
            self.best_rate = rate;
            self.best_window = sent_window;
            self.flat_rounds = 0;
        } else if !app_limited && !hidden && !resumed {
            self.flat_rounds = self.flat_rounds.saturating_add(1);
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

#[cfg(kani)]
mod proofs {
    use super::super::super::proofs::any_between;
    use super::*;

    /// Slow start goes on for as long as mechanism 1 is off and nothing is lost.
    #[kani::proof]
    fn any_number_of_flat_rounds_is_flat() {
        let mut slow_start = SlowStart::new(0.9, any_between(2.0, 1e16));
        slow_start.flat_rounds = kani::any();
        slow_start.best_rate = any_between(0.0, 1e31);
        let flat = slow_start.flat_rounds;
        slow_start.end_round(any_between(0.0, 1e31), 2.0, kani::any(), kani::any());
        assert!(slow_start.flat_rounds >= flat || slow_start.flat_rounds == 0);
        kani::cover!(slow_start.flat_rounds > flat);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::events::{ack, MIN_RTT};
    use super::*;

    const WINDOW: f64 = 12_000.0;

    /// The gaps of the first flight show 100 000 bytes a second, 9000 in 90 ms.
    fn slow_start() -> SlowStart {
        let mut slow_start = SlowStart::new(0.9, WINDOW);
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
        assert_eq!(SlowStart::new(0.9, WINDOW).gain(1_200.0, MIN_RTT), 1.0);
    }

    /// Ends a round trip that shows the rate, with a window that stays.
    fn end_round(slow_start: &mut SlowStart, rate: f64) {
        slow_start.end_round(rate, WINDOW, false, false);
    }

    /// The index of the round trip that shows a full path. All have the same rate.
    /// `windows` are those at the end of each, in multiples of the first one's packets.
    fn full_path(windows: &[f64]) -> Option<usize> {
        let mut slow_start = slow_start();
        windows.iter().position(|window| {
            slow_start.end_round(100.0, window * WINDOW, false, false);
            slow_start.is_flat()
        })
    }

    /// The rate is that of the window one round trip before.
    #[test]
    fn a_round_trip_after_a_pause_of_the_window_is_not_flat() {
        assert_eq!(full_path(&[2.0, 4.0, 8.0, 16.0]), Some(3));
        assert_eq!(full_path(&[1.25, 2.5, 5.0, 10.0]), Some(3));
        assert_eq!(full_path(&[1.0, 1.0, 1.0, 1.0]), Some(3));
        assert_eq!(full_path(&[1.0, 1.0, 1.2, 2.4, 4.8, 9.6]), Some(5));
        assert_eq!(full_path(&[1.0, 1.05, 1.1, 1.15]), Some(3));
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
                slow_start.end_round(100.0, WINDOW, app_limited, hidden);
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
            slow_start.end_round(100.0, WINDOW, false, true);
            assert_eq!(slow_start.is_flat(), flat);
        }
    }
}
