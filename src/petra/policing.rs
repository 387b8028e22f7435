//! Policing: do losses without a queue follow the rate of the sender?
//!
//! ```text
//!        heavy losses without a queue: the window goes below the BDP
//!     Unknown ──────────────────────────────────────▶ Testing ──┐
//!      ▲   ▲           about as many losses             │       │ hardly any loss
//!      │   └────────────────────────────────────────────┘       ▼
//!      └──────────────────────────────────────────────────── Policed
//!       after 64, 128, ... 1024 round trips, or where losses go on at the safe window
//! ```
//!
//! A policer drops what exceeds its rate, so that nothing waits. A radio link that loses as much
//! looks the same, until the sender is slower than the policer. Where losses are the link's, a test
//! costs goodput, and the next one comes after twice as many round trips, 32 to 256.
//!
//! The window of the test is safe: it lost hardly anything. A loss above it is the policer's. Below
//! it, losses of more than 2 % are, as other flows send through the policer as well.

use std::ops::RangeInclusive;

use super::super::controller::Time;

/// Reductions at heavy losses after which the next one is a test. An outage has one or two.
const MIN_REDUCTIONS: u32 = 2;

/// Round trips without such a reduction after which they are forgotten.
const MAX_CALM_ROUNDS: u32 = 32;

/// Round trips until a reduction shows in the losses: the one with the reduction, and the one in
/// which packets leave the reduced window.
const SETTLING_ROUNDS: u32 = 2;

/// Datagrams that a test loses at least if the reduction has no effect. If each is lost by itself,
/// at most a quarter of them is lost with a probability of 1 %.
const EXPECTED_LOST_DATAGRAMS: f64 = 8.0;

/// Round trips that a test lasts. Losses may come in bursts, several round trips apart.
const TEST_ROUNDS: u32 = 12;

/// Round trips after which a test ends without having counted enough.
const MAX_TEST_ROUNDS: u32 = 64;

/// Share of the losses that remains at most where they follow the rate of the sender.
const MAX_REMAINING_SHARE: f64 = 0.25;

/// Share of the safe window below which losses do not follow the rate after all.
const MIN_SAFE_SHARE: f64 = 0.25;

/// Round trips from a test without effect to the next one, the first time and at most.
const RETEST_ROUNDS: RangeInclusive<u32> = 32..=256;

/// Round trips until a policer is forgotten, the first time and at most.
const POLICED_ROUNDS: RangeInclusive<u32> = 64..=1024;

#[derive(Clone, Copy, Debug)]
enum State {
    /// The next test begins after this many round trips.
    Unknown { rounds: u32 },
    /// The window was reduced while `rate` of the bytes was lost.
    Testing {
        rate: f64,
        began: Time,
        rounds: u32,
        acked: f64,
        lost: f64,
        restore: f64,
    },
    /// A window of `safe` bytes has hardly any losses. Forgotten after so many round trips, or
    /// if losses reduce the window to much less.
    Policed { safe: f64, rounds: u32 },
}

/// Detects policers by the losses after a reduction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policing {
    state: State,
    /// Round trips until the next test, if the losses are not a policer's.
    waits: u32,
    /// Round trips that the next detection lasts.
    lasts: u32,
    /// Reductions at heavy losses, and the round trips since the last one.
    reductions: u32,
    calm_rounds: u32,
}

impl Default for Policing {
    fn default() -> Self {
        Self {
            state: State::Unknown { rounds: 0 },
            waits: *RETEST_ROUNDS.start(),
            lasts: *POLICED_ROUNDS.start(),
            reductions: 0,
            calm_rounds: 0,
        }
    }
}

impl Policing {
    /// Counts bytes acknowledged.
    pub(super) fn on_ack(&mut self, bytes: u64) {
        if let Some((acked, _)) = self.counts() {
            *acked += bytes as f64;
        }
    }

    /// Counts bytes declared lost, unless they were sent before the reduction.
    pub(super) fn on_loss(&mut self, bytes: u64, last_sent: Time) {
        if matches!(self.state, State::Testing { began, .. } if last_sent <= began) {
            return;
        }
        if let Some((_, lost)) = self.counts() {
            *lost += bytes as f64;
        }
    }

    /// The bytes that a test counts, once the reduction shows.
    fn counts(&mut self) -> Option<(&mut f64, &mut f64)> {
        match &mut self.state {
            State::Testing {
                rounds,
                acked,
                lost,
                ..
            } if *rounds >= SETTLING_ROUNDS => Some((acked, lost)),
            _ => None,
        }
    }

    /// Tells of a reduction at heavy losses that no queue explains.
    pub(super) fn on_heavy_losses(&mut self) {
        self.reductions = self.reductions.saturating_add(1);
        self.calm_rounds = 0;
    }

    /// Returns true if a test may begin.
    pub(super) fn may_test(&self) -> bool {
        match self.state {
            State::Unknown { rounds } => rounds == 0 && self.reductions >= MIN_REDUCTIONS,
            State::Testing { .. } | State::Policed { .. } => false,
        }
    }

    /// Starts a test: the window was reduced while `rate` of the bytes was lost. `restore`: the
    /// window to return to if that has no effect.
    pub(super) fn begin_test(&mut self, now: Time, rate: f64, restore: f64) {
        self.state = State::Testing {
            rate,
            began: now,
            rounds: 0,
            acked: 0.0,
            lost: 0.0,
            restore,
        };
    }

    /// Tells of a reduction at a loss, with the windows before and after it. `heavy`: more than a
    /// policer drops of what is not above the safe window.
    pub(super) fn on_reduction(&mut self, before: f64, after: f64, heavy: bool) {
        if let State::Policed { safe, .. } = self.state {
            if heavy && before <= safe || after < MIN_SAFE_SHARE * safe {
                self.wait();
            }
        }
    }

    /// Ends a test without a conclusion, at another reduction.
    pub(super) fn abandon_test(&mut self) {
        if self.is_testing() {
            self.wait();
        }
    }

    fn wait(&mut self) {
        self.state = State::Unknown { rounds: self.waits };
        self.waits = (2 * self.waits).min(*RETEST_ROUNDS.end());
    }

    /// Ends a round trip with this window. Returns the window to restore, if any. An application
    /// that held back ends a test without a conclusion. The window is restored once it is used.
    pub(super) fn end_round(
        &mut self,
        window: f64,
        datagram: f64,
        app_limited: bool,
    ) -> Option<f64> {
        self.calm_rounds = self.calm_rounds.saturating_add(1);
        if self.calm_rounds > MAX_CALM_ROUNDS {
            self.reductions = 0;
        }
        match &mut self.state {
            State::Unknown { rounds } => *rounds = rounds.saturating_sub(1),
            State::Policed { rounds, .. } if *rounds > 1 => *rounds -= 1,
            State::Policed { .. } => {
                // Nothing spoke against it.
                self.waits = *RETEST_ROUNDS.start();
                self.lasts = (2 * self.lasts).min(*POLICED_ROUNDS.end());
                self.state = State::Unknown { rounds: 0 };
            }
            State::Testing {
                rate,
                rounds,
                acked,
                lost,
                restore,
                ..
            } => {
                if app_limited {
                    *rounds = MAX_TEST_ROUNDS;
                    return None;
                }
                *rounds += 1;
                let expected = *rate * (*acked + *lost);
                let enough = EXPECTED_LOST_DATAGRAMS * datagram;
                let most = expected.max(enough);
                if *lost > MAX_REMAINING_SHARE * most || *rounds >= MAX_TEST_ROUNDS {
                    let restore = *restore;
                    self.wait();
                    return Some(restore);
                }
                if expected < enough || *rounds < TEST_ROUNDS {
                    return None;
                }
                self.state = State::Policed {
                    safe: window,
                    rounds: self.lasts,
                };
            }
        }
        None
    }

    /// Returns true until the effect of the reduction is known.
    pub(super) fn is_testing(&self) -> bool {
        matches!(self.state, State::Testing { .. })
    }

    /// The largest window that is known to lose hardly anything behind a policer.
    pub(super) fn safe_window(&self) -> Option<f64> {
        match self.state {
            State::Policed { safe, .. } => Some(safe),
            _ => None,
        }
    }

    /// Returns true while losses follow the rate of the sender.
    pub(super) fn is_detected(&self) -> bool {
        matches!(self.state, State::Policed { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::events::ms;
    use super::*;

    const DATAGRAM: u64 = 1_200;
    const WINDOW: f64 = 40.0 * DATAGRAM as f64;

    /// Ends a round trip with so many datagrams. Returns the window to restore, if any.
    fn round(policing: &mut Policing, acked: u64, lost: u64) -> Option<f64> {
        policing.on_ack(acked * DATAGRAM);
        policing.on_loss(lost * DATAGRAM, ms(200));
        policing.end_round(WINDOW, DATAGRAM as f64, false)
    }

    /// Round trips of a test that loses nothing. Returns the last window to restore, if any.
    fn calm(policing: &mut Policing, rounds: u32) -> Option<f64> {
        (0..rounds).find_map(|_| round(policing, 40, 0))
    }

    /// A test that began with a tenth lost, after the round trips that do not show its effect.
    fn begun() -> Policing {
        let mut policing = Policing::default();
        policing.begin_test(ms(100), 0.1, 60_000.0);
        assert_eq!(round(&mut policing, 30, 10), None);
        assert_eq!(round(&mut policing, 30, 10), None);
        policing
    }

    /// Round trips until the next test, with heavy losses in each.
    fn lasts(policing: &mut Policing) -> u32 {
        let mut rounds = 0;
        while !policing.may_test() {
            policing.on_heavy_losses();
            round(policing, 40, 0);
            rounds += 1;
        }
        rounds
    }

    #[test]
    fn the_third_reduction_in_a_row_is_a_test() {
        let mut policing = Policing::default();
        policing.on_heavy_losses();
        assert!(!policing.may_test());
        policing.on_heavy_losses();
        assert!(policing.may_test());
        calm(&mut policing, 32);
        assert!(policing.may_test());
        calm(&mut policing, 1);
        assert!(!policing.may_test());
    }

    #[test]
    fn losses_that_end_are_a_policers() {
        let mut policing = begun();
        assert_eq!(calm(&mut policing, 9), None);
        assert!(policing.is_testing());
        // 400 datagrams would lose 40: ten remain.
        assert_eq!(round(&mut policing, 30, 10), None);
        assert!(policing.is_detected() && !policing.is_testing());
        assert_eq!(policing.safe_window(), Some(WINDOW));
    }

    #[test]
    fn losses_that_go_on_restore_the_window() {
        let mut policing = begun();
        // 40 would lose four, and a quarter of eight is two.
        assert_eq!(round(&mut policing, 37, 3), Some(60_000.0));
        assert!(!policing.is_detected() && !policing.is_testing() && !policing.may_test());
        assert_eq!(policing.safe_window(), None);
        // It is restored once.
        assert_eq!(round(&mut policing, 37, 3), None);
    }

    #[test]
    fn what_left_before_the_test_does_not_count() {
        let mut policing = begun();
        policing.on_loss(10 * DATAGRAM, ms(100));
        assert_eq!(calm(&mut policing, 10), None);
        assert!(policing.is_detected());
    }

    /// Four datagrams, of which a sixteenth was lost, need 32 round trips for eight lost ones.
    #[test]
    fn a_small_window_is_tested_for_longer_but_not_for_ever() {
        let mut policing = Policing::default();
        policing.begin_test(ms(100), 1.0 / 16.0, 60_000.0);
        let ended = (1..100).find(|_| {
            round(&mut policing, 4, 0);
            policing.is_detected()
        });
        assert_eq!(ended, Some(34));

        let mut policing = Policing::default();
        policing.begin_test(ms(100), 1.0 / 16.0, 60_000.0);
        let ended = (1..100).find(|_| round(&mut policing, 1, 0).is_some());
        assert_eq!(ended, Some(64));
        assert!(!policing.is_detected());
    }

    #[test]
    fn a_test_without_effect_is_repeated_ever_more_rarely() {
        let mut policing = Policing::default();
        let waits = [(); 5].map(|()| {
            policing.begin_test(ms(100), 0.1, WINDOW);
            while policing.is_testing() {
                round(&mut policing, 30, 10);
            }
            lasts(&mut policing)
        });
        assert_eq!(waits, [32, 64, 128, 256, 256]);
    }

    fn detected(policing: &mut Policing) {
        policing.begin_test(ms(100), 0.1, WINDOW);
        calm(policing, 12);
        assert_eq!(policing.safe_window(), Some(WINDOW));
    }

    #[test]
    fn a_policer_is_tested_again_ever_more_rarely() {
        let mut policing = Policing::default();
        let found = [(); 6].map(|()| {
            detected(&mut policing);
            lasts(&mut policing)
        });
        assert_eq!(found, [64, 128, 256, 512, 1024, 1024]);
    }

    #[test]
    fn losses_that_go_on_at_a_smaller_window_are_no_policers() {
        let mut policing = Policing::default();
        detected(&mut policing);
        policing.on_reduction(1.1 * WINDOW, 0.8 * WINDOW, true);
        policing.on_reduction(0.8 * WINDOW, 0.25 * WINDOW, false);
        assert!(policing.is_detected());
        policing.on_reduction(0.8 * WINDOW, 0.6 * WINDOW, true);
        assert!(!policing.is_detected());

        detected(&mut policing);
        policing.on_reduction(0.28 * WINDOW, 0.24 * WINDOW, false);
        assert!(!policing.is_detected());
        // Both were mistakes, and so the next test comes later.
        assert_eq!(lasts(&mut policing), 64);
    }

    #[test]
    fn an_application_that_holds_back_ends_a_test_without_a_conclusion() {
        let mut policing = begun();
        assert_eq!(calm(&mut policing, 9), None);
        policing.on_ack(100 * DATAGRAM);
        assert_eq!(policing.end_round(WINDOW, DATAGRAM as f64, true), None);
        assert!(policing.is_testing());
        assert_eq!(round(&mut policing, 100, 0), Some(60_000.0));
        assert!(!policing.is_testing() && !policing.is_detected());
    }

    #[test]
    fn an_abandoned_test_concludes_nothing() {
        let mut policing = begun();
        policing.abandon_test();
        assert_eq!(round(&mut policing, 0, 400), None);
        assert!(!policing.is_detected() && !policing.is_testing() && !policing.may_test());
        // What was found stays.
        detected(&mut policing);
        policing.abandon_test();
        assert!(policing.is_detected());
    }
}
