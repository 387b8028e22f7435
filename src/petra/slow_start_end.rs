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

/// The window at the end of slow start, and the RTT that ended it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlowStartEnd {
    /// In bytes.
    window: f64,
    rtt: Duration,
    rounds: u32,
}

impl SlowStartEnd {
    /// The end of slow start with this window and RTT, or `None` if that shows no queue.
    pub(super) fn at_queue(window: f64, rtt: Duration, min_rtt: Duration) -> Option<Self> {
        let queued = rtt.saturating_sub(min_rtt) >= rtt_threshold(min_rtt);
        queued.then_some(Self {
            window,
            rtt,
            rounds: 0,
        })
    }

    /// Ends a round trip with this minimum RTT. `least_window`: of the last round trips, in bytes.
    /// Returns true if its delay shows that the path was not full.
    pub(super) fn end_round(
        &mut self,
        rtt: Duration,
        least_window: f64,
        min_rtt: Duration,
    ) -> bool {
        self.rounds = self.rounds.saturating_add(1);
        let predicted = self.rtt.mul_f64(least_window / self.window);
        let queue = predicted.saturating_sub(min_rtt);
        self.rounds <= MAX_ROUNDS
            && queue >= rtt_threshold(min_rtt)
            && rtt.saturating_sub(min_rtt) < queue.mul_f64(MAX_SHARE)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::events::ms;
    use super::*;

    /// 100 ms without a queue, of which an eighth is 12.5 ms, and 140 ms at the end.
    fn end() -> SlowStartEnd {
        SlowStartEnd::at_queue(100e3, ms(140), ms(100)).unwrap()
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
            // 154 ms.
            (126, 110e3, true),
            (127, 110e3, false),
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
    fn an_end_without_a_queue_shows_nothing() {
        assert!(SlowStartEnd::at_queue(100e3, ms(112), ms(100)).is_none());
        assert!(SlowStartEnd::at_queue(100e3, ms(113), ms(100)).is_some());
    }
}
