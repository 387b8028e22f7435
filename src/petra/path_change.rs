//! A longer path: a delay that does not follow the window.
//!
//! After a change of route every packet takes longer than the minimum RTT, as it would behind a
//! standing queue. But a queue that the connection fills follows the window, and the delay of a
//! longer path stays. The two are told apart over the round trips of such a delay:
//!
//! ```text
//!           (largest window - least window) / rate
//! quotient = ───────────────────────────────────────    1 for a queue, large for a longer path
//!              largest minimum RTT - least one
//! ```

use std::time::Duration;

use super::super::bandwidth::GRANULARITY;

/// Quotient from which a path counts as longer.
const MIN_QUOTIENT: f64 = 4.0;

/// Growth of the delay's range in one round trip above which the comparison begins anew.
const MAX_JUMP: f64 = 2.0;

/// Round trips after which the comparison begins anew, so that one outlier does not spoil it.
const MAX_ROUNDS: u32 = 16;

/// Round trips until a window shows in the delay: that in which its packets leave, and that
/// in which they are acknowledged.
const LAG: usize = 2;

/// The extremes of window and delay over some round trips.
#[derive(Clone, Copy, Debug)]
struct Comparison {
    rounds: u32,
    min_delay: Duration,
    max_delay: Duration,
    min_window: f64,
    max_window: f64,
    /// The highest rate, in bytes per second: the queue is at most as long as it says.
    max_rate: f64,
}

/// Compares the minimum RTTs of round trips with the windows that caused them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PathChange {
    /// The windows at the end of the last round trips, newest first.
    windows: [Option<f64>; LAG],
    comparison: Option<Comparison>,
    /// The estimated rate of the last round trip without a queue, in bytes per second.
    unqueued_rate: f64,
}

/// A path that has become longer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LongerPath {
    /// The minimum RTT of the path now.
    pub(super) min_rtt: Duration,
    /// The rate of the path before its change, in bytes per second.
    pub(super) rate: f64,
}

impl PathChange {
    /// Ends a round trip. `delay`: its minimum RTT, if a queue seems to stand and the
    /// application keeps the window full. `window` and `datagram` are in bytes, `rate` in
    /// bytes per second.
    pub(super) fn end_round(
        &mut self,
        delay: Option<Duration>,
        window: f64,
        rate: f64,
        datagram: f64,
    ) -> Option<LongerPath> {
        let [previous, cause] = self.windows;
        self.windows = [Some(window), previous];
        let Some(delay) = delay else {
            self.unqueued_rate = rate;
            self.comparison = None;
            return None;
        };
        let cause = cause?;
        let minimum = datagram / self.unqueued_rate;
        let mut compared = Comparison::of(delay, cause, rate);
        if let Some(so_far) = self.comparison {
            compared = so_far.and(compared);
            if compared.varied(minimum) > MAX_JUMP * so_far.varied(minimum) {
                // Another path, or another queue.
                self.comparison = None;
                self.windows = [None; LAG];
                return None;
            }
        }
        self.comparison = Some(compared).filter(|it| it.rounds < MAX_ROUNDS);
        let longer = compared.quotient(minimum) >= MIN_QUOTIENT;
        if longer {
            self.comparison = None;
        }
        longer.then_some(LongerPath {
            min_rtt: compared.min_delay,
            rate: self.unqueued_rate,
        })
    }
}

impl Comparison {
    fn of(delay: Duration, window: f64, rate: f64) -> Self {
        Self {
            rounds: 1,
            min_delay: delay,
            max_delay: delay,
            min_window: window,
            max_window: window,
            max_rate: rate,
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            rounds: self.rounds + other.rounds,
            min_delay: self.min_delay.min(other.min_delay),
            max_delay: self.max_delay.max(other.max_delay),
            min_window: self.min_window.min(other.min_window),
            max_window: self.max_window.max(other.max_window),
            max_rate: self.max_rate.max(other.max_rate),
        }
    }

    /// Seconds by which the delay varied: at least the granularity of timers and `minimum`,
    /// the time that the path takes for a datagram.
    fn varied(&self, minimum: f64) -> f64 {
        let varied = (self.max_delay - self.min_delay).max(GRANULARITY);
        varied.as_secs_f64().max(minimum)
    }

    fn quotient(&self, minimum: f64) -> f64 {
        (self.max_window - self.min_window) / self.max_rate / self.varied(minimum)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::events::ms;
    use super::*;

    /// 1 MB/s: a datagram of 1000 bytes takes a millisecond.
    const RATE: f64 = 1e6;

    /// Round trips with these delays in milliseconds and windows in datagrams.
    fn rounds(delays: &[u64], windows: &[u32]) -> Option<LongerPath> {
        let mut change = PathChange::default();
        change.end_round(None, 100e3, RATE, 1e3);
        let rounds = delays.iter().zip(windows);
        rounds.fold(None, |found, (delay, datagrams)| {
            let window = 1e3 * f64::from(*datagrams);
            found.or(change.end_round(Some(ms(*delay)), window, RATE, 1e3))
        })
    }

    #[test]
    fn a_delay_that_stays_while_the_window_changes_is_of_the_path() {
        // The window of the second round trip shows in the fourth.
        let longer = LongerPath {
            min_rtt: ms(180),
            rate: RATE,
        };
        assert_eq!(rounds(&[180; 3], &[100, 96, 97]), None);
        assert_eq!(rounds(&[180; 4], &[100, 96, 97, 98]), Some(longer));
        // Growth by a datagram per round trip, and a delay that jitters by 1 ms.
        let windows: Vec<u32> = (100..112).collect();
        let delays = [181, 180, 180, 181, 180, 181, 180, 180, 181, 180, 180, 181];
        assert_eq!(rounds(&delays, &windows), Some(longer));
    }

    #[test]
    fn a_delay_that_follows_the_window_is_of_a_queue() {
        let windows: Vec<u32> = (100..120).collect();
        let delays: Vec<u64> = (180..200).collect();
        assert_eq!(rounds(&delays, &windows), None);
        // A drain of 15 datagrams, two round trips before the delay shows it.
        assert_eq!(
            rounds(&[180, 180, 165, 165, 165], &[85, 85, 85, 85, 85]),
            None
        );
    }

    #[test]
    fn a_delay_that_stays_with_the_window_shows_nothing() {
        assert_eq!(rounds(&[180; 40], &[100; 40]), None);
        // Nor does one that jitters.
        let windows: Vec<u32> = (100..140).collect();
        let delays: Vec<u64> = (0..40).map(|round| 180 + round % 2 * 5).collect();
        assert_eq!(rounds(&delays, &windows), None);
    }

    #[test]
    fn a_round_trip_without_a_queue_begins_a_new_comparison() {
        let mut change = PathChange::default();
        for round in 0..40 {
            let delay = (round % 3 != 0).then_some(ms(180));
            let window = 100e3 + 1e3 * f64::from(round);
            assert_eq!(change.end_round(delay, window, RATE, 1e3), None);
        }
    }
}
