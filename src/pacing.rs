//! The pacing rate of a window-based controller.

use super::controller::Rtt;
use super::options::{Entry, Gain};
use super::window::Window;

/// Default pacing gain: the example of RFC 9002, Section 7.7
/// (<https://www.rfc-editor.org/rfc/rfc9002#section-7.7>).
pub(crate) const GAIN: Gain = Gain::thousandths(1_250);

/// The option that sets the gain.
pub(crate) fn entry(gain: &mut Gain) -> Entry<'_> {
    Entry::new(
        "pacing_gain",
        "pacing rate, in multiples of cwnd / smoothed RTT",
        gain,
    )
}

/// Minimum gain in slow start. It spreads a window over half a round trip, so that the window
/// can double in one: `tcp_pacing_ss_ratio` of Linux, 200 %, under the same condition.
const SLOW_START_GAIN: f64 = 2.0;

/// Returns the pacing rate of RFC 9002, Section 7.7, `N x congestion_window / smoothed_rtt`, in
/// bytes per second and never zero. It is `None` before the first RTT sample, while the
/// initial window limits the sender.
///
/// The last sample replaces the smoothed RTT if it is lower. After a queue has drained, the
/// smoothed RTT includes the queue's delay for many ACKs. A small window would then be sent
/// at a fraction of a window per round trip.
pub(crate) fn rate(window: &Window, rtt: Option<&Rtt>, gain: f64) -> Option<u64> {
    let rtt = rtt?;
    let round_trip = rtt.smoothed.min(rtt.latest).as_secs_f64().max(1e-9);
    let far_below = window
        .ssthresh()
        .is_none_or(|ssthresh| window.bytes() < ssthresh / 2.0);
    let gain = if far_below {
        gain.max(SLOW_START_GAIN)
    } else {
        gain
    };
    Some(((gain * window.bytes() / round_trip) as u64).max(1))
}

#[cfg(kani)]
mod proofs;
#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::controller::Settings;
    use super::super::events::{rtt, settings};
    use super::*;

    #[test]
    fn before_a_round_trip_there_is_no_rate() {
        assert_eq!(rate(&Window::new(settings()), None, 1.25), None);
    }

    #[test]
    fn it_is_the_gain_times_a_window_a_round_trip() {
        let mut window = Window::new(settings());
        window.set_ssthresh(12_000.0);
        // 1.25 x 12 000 / 0.1
        assert_eq!(rate(&window, Some(&rtt(100, 100)), 1.25), Some(150_000));
    }

    #[test]
    fn a_shorter_sample_takes_the_place_of_the_smoothed_rtt() {
        let mut window = Window::new(settings());
        window.set_ssthresh(12_000.0);
        // 1.25 x 12 000 / 0.05
        assert_eq!(rate(&window, Some(&rtt(50, 100)), 1.25), Some(300_000));
        assert_eq!(rate(&window, Some(&rtt(200, 100)), 1.25), Some(150_000));
    }

    #[test]
    fn far_below_ssthresh_it_is_twice_that_at_least() {
        let mut window = Window::new(settings());
        // 2 x 12 000 / 0.1
        assert_eq!(rate(&window, Some(&rtt(100, 100)), 1.25), Some(240_000));
        assert_eq!(rate(&window, Some(&rtt(100, 100)), 3.0), Some(360_000));
        window.set_ssthresh(24_000.0);
        assert_eq!(rate(&window, Some(&rtt(100, 100)), 1.25), Some(150_000));
        window.set_ssthresh(24_001.0);
        assert_eq!(rate(&window, Some(&rtt(100, 100)), 1.25), Some(240_000));
    }

    #[test]
    fn it_is_positive_and_finite_at_the_ends() {
        let window = Window::new(Settings {
            max_datagram_size: 1,
            initial_window: 1,
        });
        let mut slow = rtt(90, 90);
        slow.smoothed = Duration::MAX;
        slow.latest = Duration::MAX;
        assert_eq!(rate(&window, Some(&slow), 1.0), Some(1));
        slow.smoothed = Duration::ZERO;
        assert!(rate(&window, Some(&slow), 4.0).is_some());
    }
}
