//! Competition: is the standing queue self-inflicted, or kept full by competing flows?
//!
//! ```text
//!                        reduction under a queue
//!     Unknown ──────────────────────────────────────▶ Testing ──┐
//!      ▲   ▲   delivery rate holds, or the queue is gone   │    │ delivery rate falls,
//!      │   └───────────────────────────────────────────────┘    ▼ the queue persists
//!      └─────────────────────────────────────────────────── Competing
//!                   round trip without a queue
//! ```
//!
//! | delivery rate after a reduction | queue    | conclusion                             |
//! |---------------------------------|----------|----------------------------------------|
//! | holds                           | either   | the queue was self-inflicted           |
//! | falls                           | persists | competing flows took the room          |
//! | falls                           | gone     | the reduction was too large: undone    |
//!
//! A round trip without a queue does not end the test: competing flows that reduce their
//! windows empty a short queue for one round trip, and so does jitter.

use super::super::controller::Time;

/// Share of the delivery rate that remains after the drain of a self-inflicted queue: all
/// of it, except for the measurement noise of one round trip.
const MIN_KEPT_RATE_SHARE: f64 = 0.95;

/// Round trips until a reduction shows in the delivery rate: the one with the reduction,
/// the one in which packets leave the reduced window, and the one that acknowledges them.
const TEST_ROUNDS: u32 = 3;

/// Datagrams by which a round trip may deliver less because of when it began and ended. A
/// whole datagram would hide a drain of 15 % from windows below seven datagrams.
const ROUND_EDGE_DATAGRAMS: f64 = 0.25;

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Unknown,
    /// The window was reduced while the delivery rate was `rate`.
    Testing {
        rate: f64,
        rounds: u32,
        restore: Option<f64>,
    },
    Competing,
}

/// Detects competing flows by the delivery rate after reductions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Competition {
    state: State,
    round_began: Time,
    delivered: u64,
    /// The delivery rate of the last whole round trip.
    rate: f64,
}

impl Competition {
    pub(super) fn on_ack(&mut self, bytes: u64) {
        self.delivered = self.delivered.saturating_add(bytes);
    }

    /// Starts a test: the window was reduced under a queue. `restore`: the window to return
    /// to if the reduction only makes room for competing flows.
    pub(super) fn on_reduction(&mut self, restore: Option<f64>) {
        self.state = State::Testing {
            rate: self.rate,
            rounds: 0,
            restore,
        };
    }

    /// Forgets what was concluded, but not the round trip in progress.
    pub(super) fn restart(&mut self) {
        self.state = State::Unknown;
    }

    /// Ends a round trip. Returns the window to restore, if any.
    pub(super) fn end_round(&mut self, now: Time, queued: bool, datagram: f64) -> Option<f64> {
        let elapsed = now.saturating_sub(self.round_began).as_secs_f64();
        let delivered = self.delivered as f64;
        self.round_began = now;
        self.delivered = 0;
        if elapsed > 0.0 {
            self.rate = delivered / elapsed;
        }
        let mut restored = None;
        self.state = match self.state {
            State::Competing if !queued => State::Unknown,
            State::Testing {
                rate,
                rounds,
                restore,
            } if rounds + 1 < TEST_ROUNDS => State::Testing {
                rate,
                rounds: rounds + 1,
                restore,
            },
            State::Testing { rate, restore, .. } => {
                let expected = MIN_KEPT_RATE_SHARE * rate * elapsed;
                let falls = delivered + ROUND_EDGE_DATAGRAMS * datagram < expected;
                restored = restore.filter(|_| falls);
                if falls && queued {
                    State::Competing
                } else {
                    State::Unknown
                }
            }
            state => state,
        };
        restored
    }

    /// Returns true until the effect of the last reduction is known.
    pub(super) fn is_testing(&self) -> bool {
        matches!(self.state, State::Testing { .. })
    }

    /// Returns true while competing flows keep the queue full. A drain would only leave
    /// them the path.
    pub(super) fn is_detected(&self) -> bool {
        matches!(self.state, State::Competing)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::events::ms;
    use super::*;

    /// Round trips of 100 ms under a queue, each with this many datagrams of 1200 bytes.
    /// Returns the window that was restored.
    fn rounds(competition: &mut Competition, from: u64, datagrams: &[u64]) -> Option<f64> {
        let mut restored = None;
        for (round, datagrams) in (1..).zip(datagrams) {
            competition.on_ack(1_200 * datagrams);
            let ended = competition.end_round(ms(from + 100 * round), true, 1_200.0);
            restored = restored.or(ended);
        }
        restored
    }

    fn drained_at_100() -> Competition {
        let mut competition = Competition::default();
        rounds(&mut competition, 0, &[100]);
        competition.on_reduction(Some(150_000.0));
        competition
    }

    #[test]
    fn a_delivery_rate_that_falls_shows_competition() {
        let mut competition = drained_at_100();
        assert_eq!(rounds(&mut competition, 100, &[100, 95]), None);
        assert!(competition.is_testing());
        // 94 and a quarter are below 0.95 x 100.
        assert_eq!(rounds(&mut competition, 300, &[94]), Some(150_000.0));
        assert!(competition.is_detected());
        // The window is restored once; competition lasts as long as the queue.
        assert_eq!(rounds(&mut competition, 400, &[80, 120, 120, 120]), None);
        assert!(competition.is_detected());
    }

    #[test]
    fn one_that_holds_shows_none() {
        let mut competition = drained_at_100();
        assert_eq!(rounds(&mut competition, 100, &[50, 50, 95]), None);
        assert!(!competition.is_detected() && !competition.is_testing());
    }

    /// A drain by 15 % of six datagrams: one of them.
    #[test]
    fn small_windows_detect_competition_too() {
        let mut competition = Competition::default();
        rounds(&mut competition, 0, &[6]);
        competition.on_reduction(Some(7_200.0));
        assert_eq!(rounds(&mut competition, 100, &[6, 5, 5]), Some(7_200.0));
        assert!(competition.is_detected());
    }

    #[test]
    fn a_queue_that_a_drain_empties_is_self_inflicted() {
        let mut competition = drained_at_100();
        rounds(&mut competition, 100, &[100, 95]);
        competition.on_ack(1_200 * 95);
        assert_eq!(competition.end_round(ms(400), false, 1_200.0), None);
        assert!(!competition.is_detected() && !competition.is_testing());
    }

    #[test]
    fn a_delivery_rate_that_falls_with_the_queue_restores_the_window() {
        let mut competition = drained_at_100();
        rounds(&mut competition, 100, &[50, 50]);
        competition.on_ack(1_200 * 50);
        let restored = competition.end_round(ms(400), false, 1_200.0);
        assert_eq!(restored, Some(150_000.0));
        assert!(!competition.is_detected() && !competition.is_testing());
    }

    /// CUBIC's own reduction empties a short queue for a round.
    #[test]
    fn a_round_without_a_queue_does_not_end_the_test() {
        let mut competition = drained_at_100();
        competition.on_ack(1_200 * 100);
        assert_eq!(competition.end_round(ms(200), false, 1_200.0), None);
        assert!(competition.is_testing());
        assert_eq!(rounds(&mut competition, 200, &[90, 90]), Some(150_000.0));
        assert!(competition.is_detected());
    }

    #[test]
    fn competition_ends_with_the_queue() {
        let mut competition = drained_at_100();
        rounds(&mut competition, 100, &[50, 50, 50]);
        competition.end_round(ms(500), false, 1_200.0);
        assert!(!competition.is_detected());
    }

    #[test]
    fn a_loss_starts_a_test_but_restores_nothing() {
        let mut competition = drained_at_100();
        competition.on_reduction(None);
        assert_eq!(rounds(&mut competition, 100, &[50, 50, 50]), None);
        assert!(competition.is_detected());
        competition.on_reduction(None);
        rounds(&mut competition, 400, &[50, 50, 50]);
        assert!(!competition.is_detected());
    }
}
