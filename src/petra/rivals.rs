//! Whose queue it is that stands: the connection's own, or that of rivals who
//! fill any queue there is.
//!
//! ```text
//!                  a reduction, under a queue
//!     unknown ───────────────────────────────▶ test ──┐
//!      ▲   ▲   delivery holds, or the queue went │    │ delivery falls, the queue
//!      │   └─────────────────────────────────────┘    ▼ stays
//!      └────────────────────────────────────────── rivals
//!               a round trip without a queue
//! ```
//!
//! A connection that drains its own queue delivers as much as before. Where rivals
//! keep the queue, it delivers less by what it took out: it has only made room for
//! them. Where delivery falls and the queue is gone, there was none, or none so long:
//! then the window is restored as well. A round trip without a queue does not end the
//! test: rivals that reduce empty a short queue for a round, and so does jitter.

use super::super::controller::Time;

/// The part of its rate that a connection keeps in the first case: all, but for
/// the noise of a measurement over a round trip.
const KEPT: f64 = 0.95;

/// Round trips after which the reduced window shows in what is delivered: that in
/// which it was reduced, that in which the packets leave, that in which they are
/// acknowledged.
const ROUNDS: u32 = 3;

/// What a round trip may deliver less by where it began and ended, in datagrams. A
/// whole one would hide a drain of 15 % from windows below seven.
const SLACK: f64 = 0.25;

#[derive(Clone, Copy, Debug, Default)]
enum Whose {
    #[default]
    Unknown,
    /// The window was reduced, when delivery was at this rate.
    Test {
        rate: f64,
        rounds: u32,
        restore: Option<f64>,
    },
    Rivals,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rivals {
    whose: Whose,
    round_began: Time,
    delivered: u64,
    /// Delivery in the last whole round trip.
    rate: f64,
}

impl Rivals {
    pub(super) fn on_ack(&mut self, bytes: u64) {
        self.delivered = self.delivered.saturating_add(bytes);
    }

    /// The window was reduced while a queue stood. `restore`: what it shall be
    /// again, should that only have made room for rivals.
    pub(super) fn on_reduction(&mut self, restore: Option<f64>) {
        self.whose = Whose::Test {
            rate: self.rate,
            rounds: 0,
            restore,
        };
    }

    /// A round trip ended. Returns the window to restore, if any.
    pub(super) fn end_round(&mut self, now: Time, queued: bool, datagram: f64) -> Option<f64> {
        let elapsed = now.saturating_sub(self.round_began).as_secs_f64();
        let delivered = self.delivered as f64;
        self.round_began = now;
        self.delivered = 0;
        if elapsed > 0.0 {
            self.rate = delivered / elapsed;
        }
        let mut restored = None;
        self.whose = match self.whose {
            Whose::Rivals if !queued => Whose::Unknown,
            Whose::Test {
                rate,
                rounds,
                restore,
            } if rounds + 1 < ROUNDS => Whose::Test {
                rate,
                rounds: rounds + 1,
                restore,
            },
            Whose::Test { rate, restore, .. } => {
                let falls = delivered + SLACK * datagram < KEPT * rate * elapsed;
                restored = restore.filter(|_| falls);
                if falls && queued {
                    Whose::Rivals
                } else {
                    Whose::Unknown
                }
            }
            whose => whose,
        };
        restored
    }

    /// Whether it is not known yet what the last reduction did.
    pub(super) fn are_tested(&self) -> bool {
        matches!(self.whose, Whose::Test { .. })
    }

    /// Whether rivals keep the queue: to yield to it is to leave them the path.
    pub(super) fn are_there(&self) -> bool {
        matches!(self.whose, Whose::Rivals)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::events::ms;
    use super::*;

    /// Round trips of 100 ms, each with so many datagrams of 1200 bytes, under a
    /// queue. Returns what was restored.
    fn rounds(rivals: &mut Rivals, from: u64, datagrams: &[u64]) -> Option<f64> {
        let mut restored = None;
        for (round, datagrams) in (1..).zip(datagrams) {
            rivals.on_ack(1_200 * datagrams);
            let ended = rivals.end_round(ms(from + 100 * round), true, 1_200.0);
            restored = restored.or(ended);
        }
        restored
    }

    fn drained_at_100() -> Rivals {
        let mut rivals = Rivals::default();
        rounds(&mut rivals, 0, &[100]);
        rivals.on_reduction(Some(150_000.0));
        rivals
    }

    #[test]
    fn delivery_that_falls_is_rivals() {
        let mut rivals = drained_at_100();
        assert_eq!(rounds(&mut rivals, 100, &[100, 95]), None);
        assert!(rivals.are_tested());
        // 94 and a quarter are below 0.95 x 100.
        assert_eq!(rounds(&mut rivals, 300, &[94]), Some(150_000.0));
        assert!(rivals.are_there());
        // Once, and they stay as long as the queue does.
        assert_eq!(rounds(&mut rivals, 400, &[80, 120, 120, 120]), None);
        assert!(rivals.are_there());
    }

    #[test]
    fn delivery_that_holds_is_none() {
        let mut rivals = drained_at_100();
        assert_eq!(rounds(&mut rivals, 100, &[50, 50, 95]), None);
        assert!(!rivals.are_there() && !rivals.are_tested());
    }

    /// A drain by 15 % of six datagrams: one of them.
    #[test]
    fn small_windows_find_rivals_too() {
        let mut rivals = Rivals::default();
        rounds(&mut rivals, 0, &[6]);
        rivals.on_reduction(Some(7_200.0));
        assert_eq!(rounds(&mut rivals, 100, &[6, 5, 5]), Some(7_200.0));
        assert!(rivals.are_there());
    }

    #[test]
    fn a_queue_that_goes_is_ones_own() {
        let mut rivals = drained_at_100();
        rounds(&mut rivals, 100, &[100, 95]);
        rivals.on_ack(1_200 * 95);
        assert_eq!(rivals.end_round(ms(400), false, 1_200.0), None);
        assert!(!rivals.are_there() && !rivals.are_tested());
    }

    #[test]
    fn delivery_that_goes_with_the_queue_is_given_back() {
        let mut rivals = drained_at_100();
        rounds(&mut rivals, 100, &[50, 50]);
        rivals.on_ack(1_200 * 50);
        let restored = rivals.end_round(ms(400), false, 1_200.0);
        assert_eq!(restored, Some(150_000.0));
        assert!(!rivals.are_there() && !rivals.are_tested());
    }

    /// CUBIC's own reduction empties a short queue for a round.
    #[test]
    fn a_round_without_a_queue_does_not_end_the_test() {
        let mut rivals = drained_at_100();
        rivals.on_ack(1_200 * 100);
        assert_eq!(rivals.end_round(ms(200), false, 1_200.0), None);
        assert!(rivals.are_tested());
        assert_eq!(rounds(&mut rivals, 200, &[90, 90]), Some(150_000.0));
        assert!(rivals.are_there());
    }

    #[test]
    fn rivals_are_gone_when_the_queue_is() {
        let mut rivals = drained_at_100();
        rounds(&mut rivals, 100, &[50, 50, 50]);
        rivals.end_round(ms(500), false, 1_200.0);
        assert!(!rivals.are_there());
    }

    #[test]
    fn a_loss_tests_as_well_but_restores_nothing() {
        let mut rivals = drained_at_100();
        rivals.on_reduction(None);
        assert_eq!(rounds(&mut rivals, 100, &[50, 50, 50]), None);
        assert!(rivals.are_there());
        rivals.on_reduction(None);
        rounds(&mut rivals, 400, &[50, 50, 50]);
        assert!(!rivals.are_there());
    }
}
