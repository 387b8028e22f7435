//! Cubic growth: the growth of the window while competing flows keep the queue full.
//!
//! After `t` seconds without a loss, CUBIC's window has `C (t - K)^3 + W_max` datagrams (RFC 9438,
//! Section 4.2, <https://www.rfc-editor.org/rfc/rfc9438#section-4.2>). `W_max` is the window at the
//! last loss, and `K` the time until the window is there again. In a long queue, a sender that adds
//! one datagram each round trip leaves such flows most of the room that a loss has made.

use super::super::controller::{Rtt, Time};
use super::congestion_response::BETA;

/// `C` of RFC 9438, Section 5.1 (<https://www.rfc-editor.org/rfc/rfc9438#section-5.1>), in
/// datagrams per cubic second.
const C: f64 = 0.4;

/// Datagrams that the Reno-friendly window gains per round trip until it is back at `W_max`, so
/// that it is as fast as Reno's with reductions to a half (RFC 9438, Section 4.3,
/// <https://www.rfc-editor.org/rfc/rfc9438#section-4.3>).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// Largest increase per round trip, as a share of the window (RFC 9438, Section 4.2).
const MAX_INCREASE_SHARE: f64 = 0.5;

/// A period of growth since a loss, or since competing flows were found. Windows in datagrams.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Epoch {
    /// `t`: the time for which the window could grow, in seconds.
    seconds: f64,
    /// `K` in seconds.
    k: f64,
    /// `W_max`.
    max: f64,
    /// `W_est`: the Reno-friendly window.
    reno: f64,
}

impl Epoch {
    /// An epoch that begins with a reduction from `max` to `window`, or with none.
    fn new(max: f64, window: f64) -> Self {
        Self {
            seconds: 0.0,
            k: ((max - window).max(0.0) / C).cbrt(),
            max,
            reno: window,
        }
    }
}

/// Derives the increase of the window from the time since the last loss.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct CubicGrowth {
    epoch: Option<Epoch>,
    last_growth: Time,
}

impl CubicGrowth {
    /// Starts an epoch at a reduction of the window from `max` to `window` datagrams.
    pub(super) fn on_reduction(&mut self, max: f64, window: f64) {
        self.epoch = Some(Epoch::new(max, window));
    }

    /// Leaves out the time since the last growth: the application did not use the window (RFC 9438,
    /// Section 4.2).
    pub(super) fn pass_over(&mut self, now: Time) {
        self.last_growth = now;
    }

    /// Datagrams to add to the window per round trip, at an ACK for `acked` datagrams. A pause
    /// counts for one round trip (RFC 9438, Section 5.8).
    pub(super) fn datagrams(&mut self, now: Time, rtt: &Rtt, window: f64, acked: f64) -> f64 {
        let pause = now.saturating_sub(self.last_growth).min(rtt.smoothed);
        self.last_growth = now;
        let epoch = self.epoch.get_or_insert(Epoch::new(window, window));
        epoch.seconds += pause.as_secs_f64();
        let alpha = if epoch.reno < epoch.max { ALPHA } else { 1.0 };
        epoch.reno += alpha * acked / window;
        let after = epoch.seconds + rtt.smoothed.as_secs_f64() - epoch.k;
        let cubic = C * after.powi(3) + epoch.max;
        let reno = epoch.reno + alpha;
        (cubic.max(reno) - window).clamp(0.0, MAX_INCREASE_SHARE * window)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::events::ms;
    use super::*;

    /// A round-trip time of 100 ms.
    fn rtt() -> Rtt {
        Rtt {
            latest: ms(100),
            smoothed: ms(100),
            variation: ms(0),
            min: ms(100),
        }
    }

    /// The windows after each of `rounds` round trips, with one ACK in each.
    fn windows(growth: &mut CubicGrowth, mut window: f64, rounds: u64) -> Vec<f64> {
        let grow = |round| {
            window += growth.datagrams(ms(100 * round), &rtt(), window, window);
            window
        };
        (1..=rounds).map(grow).collect()
    }

    fn near(window: f64, expected: f64) {
        assert!((window - expected).abs() < 0.1, "{window}");
    }

    /// A loss at 1000 datagrams that leaves 700: K is 9.086 s.
    #[test]
    fn the_window_is_back_at_the_last_loss_after_k() {
        let mut growth = CubicGrowth::default();
        growth.on_reduction(1000.0, 700.0);
        let windows = windows(&mut growth, 700.0, 182);
        // C (1 s - K)^3 + W_max; a window is that of a round trip later.
        near(windows[8], 788.6);
        near(windows[89], 1000.0);
        near(windows[181], 1312.9);
    }

    /// A loss at 20 datagrams that leaves 14, in a round trip too short for the curve.
    #[test]
    fn the_window_is_at_least_the_reno_friendly_one() {
        let mut growth = CubicGrowth::default();
        growth.on_reduction(20.0, 14.0);
        let windows = windows(&mut growth, 14.0, 20);
        // After 12 round trips with 0.53 of a datagram each it is at W_max, and gains one in each.
        assert!(windows[10] < 20.9 && windows[11] > 20.3, "{windows:?}");
        near(windows[19] - windows[18], 1.0);
    }

    #[test]
    fn without_a_loss_the_curve_begins_at_the_window() {
        let mut growth = CubicGrowth::default();
        let windows = windows(&mut growth, 50.0, 60);
        near(windows[0], 52.0);
        // Six seconds and a round trip, of 0.4 t^3.
        near(windows[59], 50.0 + 90.8);
    }

    #[test]
    fn the_increase_is_at_most_half_of_the_window_per_round_trip() {
        let mut growth = CubicGrowth::default();
        growth.on_reduction(1e6, 4.0);
        assert_eq!(growth.datagrams(ms(100), &rtt(), 4.0, 1.0), 2.0);
        growth.on_reduction(4.0, 8.0);
        assert_eq!(growth.datagrams(ms(200), &rtt(), 20.0, 1.0), 0.0);
    }

    #[test]
    fn time_in_which_the_window_was_not_used_is_left_out() {
        // On the steep part of the curve, where 50 ms are several datagrams.
        let mut growth = CubicGrowth::default();
        growth.on_reduction(1000.0, 700.0);
        growth.datagrams(ms(100), &rtt(), 700.0, 1.0);
        let mut used = growth;
        for now in (150..60_000).step_by(50) {
            growth.pass_over(ms(now));
        }
        let left_out = growth.datagrams(ms(60_000), &rtt(), 700.0, 1.0);
        assert_eq!(left_out, used.datagrams(ms(150), &rtt(), 700.0, 1.0));
        assert!(left_out > 0.0);
    }

    #[test]
    fn a_pause_counts_for_a_round_trip() {
        let mut growth = CubicGrowth::default();
        growth.datagrams(ms(100), &rtt(), 50.0, 1.0);
        assert!(growth.datagrams(ms(60_000), &rtt(), 50.0, 1.0) < 1.1);
    }
}
