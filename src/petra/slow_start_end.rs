//! The end of slow start in hindsight: a delay that ended it, and was no queue.
//!
//! A queue of the connection's own follows its window. If the path was full at the end of slow
//! start, its rate was that window in that RTT, and a later window takes as much longer or shorter:
//!
//! ```text
//!                                   least window since
//! predicted RTT = RTT at the end x ────────────────────
//!                                   window at the end
//! ```
//!
//! Where the delay is far below that, it was jitter, or the queue of others that have left. Slow
//! start ended too early then, and is resumed.

use std::time::Duration;

use super::standing_queue::rtt_threshold;

/// Round trips after the end of slow start that can show this. Of 8, 16, 32 and no limit, the best
/// in `lab/plans/varying/lasting-jitter.toml` and `crowds.toml`.
const MAX_ROUNDS: u32 = 16;

/// Largest share of the predicted queueing delay that shows no queue.
const MAX_SHARE: f64 = 0.5;

/// Largest number of resumptions. Where the rate varies, a delay falls with each rise of the rate:
/// more of them lengthen the queue in `lab/plans/varying/cells.toml`.
const MAX_RESUMPTIONS: u32 = 2;

/// The queue that ended slow start, by the RTT.
#[derive(Clone, Copy, Debug)]
struct Queue {
    /// The window at the end of slow start, in bytes.
    window: f64,
    rtt: Duration,
    /// Round trips since then.
    rounds: u32,
}

/// Compares the delays after slow start with the one that ended it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SlowStartEnd {
    queue: Option<Queue>,
    resumptions: u32,
}

impl SlowStartEnd {
    /// Slow start ends at a delay, with this window in bytes and this RTT.
    pub(super) fn at_queue(&mut self, window: f64, rtt: Duration, min_rtt: Duration) {
        let queued = rtt.saturating_sub(min_rtt) >= rtt_threshold(min_rtt);
        self.queue = queued.then_some(Queue {
            window,
            rtt,
            rounds: 0,
        });
    }

    /// Slow start ends for another reason, or begins.
    pub(super) fn forget(&mut self) {
        self.queue = None;
    }

    /// Ends a round trip with this minimum RTT. `least_window`: of the last round trips, in bytes.
    /// Returns true if slow start is to be resumed: the path was not full at its end.
    pub(super) fn end_round(
        &mut self,
        rtt: Duration,
        least_window: f64,
        min_rtt: Duration,
    ) -> bool {
        let Some(queue) = &mut self.queue else {
            return false;
        };
        queue.rounds += 1;
        if queue.rounds > MAX_ROUNDS || self.resumptions >= MAX_RESUMPTIONS {
            self.queue = None;
            return false;
        }
        // A larger window beside a delay that stays is another matter, that of `path_change`.
        let growth = (least_window / queue.window).min(1.0);
        let predicted = queue.rtt.mul_f64(growth).saturating_sub(min_rtt);
        let was_none = predicted >= rtt_threshold(min_rtt)
            && rtt.saturating_sub(min_rtt) < predicted.mul_f64(MAX_SHARE);
        if was_none {
            self.queue = None;
            self.resumptions += 1;
        }
        was_none
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::events::ms;
    use super::*;

    /// Slow start has ended at 140 ms. Without a queue there are 100 ms, of which an eighth is 12.5.
    fn end() -> SlowStartEnd {
        let mut end = SlowStartEnd::default();
        end.at_queue(100e3, ms(140), ms(100));
        end
    }

    #[test]
    fn a_delay_that_does_not_follow_the_window_was_no_queue() {
        for (rtt, window, was_none) in [
            // 140 ms are predicted.
            (119, 100e3, true),
            (120, 100e3, false),
            (140, 100e3, false),
            // 126 ms.
            (112, 90e3, true),
            (113, 90e3, false),
            // 112 ms are too few to tell.
            (100, 80e3, false),
            // No more than 140 ms.
            (119, 150e3, true),
            (120, 150e3, false),
        ] {
            let shown = end().end_round(ms(rtt), window, ms(100));
            assert_eq!(shown, was_none, "{rtt} ms, {window} bytes");
        }
    }

    #[test]
    fn it_is_shown_within_sixteen_round_trips() {
        for before in [15, 16] {
            let mut end = end();
            for _ in 0..before {
                assert!(!end.end_round(ms(140), 100e3, ms(100)));
            }
            assert_eq!(end.end_round(ms(100), 100e3, ms(100)), before == 15);
        }
    }

    #[test]
    fn slow_start_is_resumed_twice_at_most() {
        let mut end = end();
        for resumed in [true, true, false] {
            end.at_queue(100e3, ms(140), ms(100));
            assert_eq!(end.end_round(ms(100), 100e3, ms(100)), resumed);
            // Once for each end.
            assert!(!end.end_round(ms(100), 100e3, ms(100)));
        }
    }

    #[test]
    fn an_end_without_a_queue_shows_nothing() {
        for (rtt, shows) in [(112, false), (113, true)] {
            let mut end = end();
            end.at_queue(100e3, ms(rtt), ms(100));
            assert_eq!(end.end_round(ms(100), 100e3, ms(100)), shows, "{rtt} ms");
        }
        let mut end = end();
        end.forget();
        assert!(!end.end_round(ms(100), 100e3, ms(100)));
    }
}
