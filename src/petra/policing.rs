//! Policing: do losses without a queue follow the rate of the sender?
//!
//! ```text
//!        heavy losses without a queue: the window dips
//!     Unknown ──────────────────────────────────────▶ Dip ──┐
//!      ▲   ▲   losses go on, or too few to tell        │    │ hardly any loss
//!      │   └───────────────────────────────────────────┘    ▼
//!      └────────────────────────────────────────────── Policed ⟲ dips
//!       losses go on in dips or at a much smaller window, or are too rare for dips
//! ```
//!
//! A policer drops what exceeds its rate, so that nothing waits. A radio link that loses as much
//! looks the same, until the sender is slower than the policer. A dip is short: other flows behind
//! the policer, `petra` too, soon take what it leaves, and then lose as much. So that bursts of
//! losses mislead it less, a test has as many dips as it needs, some round trips apart, counts
//! losses that one ACK declares once, and at most four in a round trip.
//!
//! Where losses are the link's, a test costs goodput, and the next one comes after twice as many
//! round trips, 32 to 256.
//!
//! A window of 0.85 of the one before the dips is safe: it lies below the policer's rate. A loss
//! above it is the policer's. Below it, losses of more than 2 % are, as other flows send through
//! the policer as well.

use std::ops::RangeInclusive;

use super::super::controller::Time;
use super::super::window::Window;
use super::loss_rate::LossRate;

/// Reductions at heavy losses after which the next one is a dip. An outage has one or two.
const MIN_REDUCTIONS: u32 = 2;

/// Round trips without such a reduction after which they are forgotten.
const MAX_CALM_ROUNDS: u32 = 32;

/// Round trips until a reduction shows in the losses: the one with the reduction, and the one in
/// which packets leave the reduced window.
const SETTLING_ROUNDS: u32 = 2;

/// Round trips of a dip.
const DIP_ROUNDS: u32 = SETTLING_ROUNDS + 3;

/// Round trips from a dip to the next one of the same test. Losses may come in bursts, and a burst
/// may last for several round trips.
const DIP_DISTANCE: u32 = 8;

/// Share of the losses that a policer is expected to leave in dips.
const REMAINING_SHARE: f64 = 0.1;

/// Logarithm of the likelihood of a policer, compared with a link that loses at random, at which a
/// test ends: a policer, or a link. These are Wald's bounds of a sequential test that takes a link
/// for a policer in 0.25 % of the tests, and a policer for a link in a tenth, where each packet is
/// lost or not by itself.
const POLICER_LIKELIHOOD: f64 = 6.0;
const LINK_LIKELIHOOD: f64 = -2.3;

/// Fewest dips that find a policer. They begin at losses, so that one may have the calm between two
/// bursts by its phase.
const MIN_DIPS: u32 = 2;

/// Most losses of a round trip that count. Within a burst, they depend on each other.
const MAX_ROUND_LOSSES: u32 = 4;

/// Rate of losses below which a policer is forgotten in time. Dips tell too little then, and
/// random losses keep the window from a rate that has risen.
const MIN_TELLING_RATE: f64 = 0.002;

/// Share of the window that remains after a loss behind a policer, and where one is found. With
/// so much less, a policer drops hardly anything.
pub(super) const POLICED_SHARE: f64 = 0.85;

/// Share of the safe window below which losses do not follow the rate after all.
const MIN_SAFE_SHARE: f64 = 0.25;

/// Round trips from a test without effect to the next one, the first time and at most.
const RETEST_ROUNDS: RangeInclusive<u32> = 32..=256;

/// Round trips until a policer is tested again, the first time and at most.
const POLICED_ROUNDS: RangeInclusive<u32> = 64..=1024;

#[derive(Clone, Copy, Debug)]
enum State {
    /// A dip may begin after this many round trips.
    Unknown { rounds: u32 },
    /// The window was reduced, and will return to `restore`. `safe`: of the policer that is tested
    /// again.
    Dip {
        began: Time,
        rounds: u32,
        acked: f64,
        losses: f64,
        restore: f64,
        safe: Option<f64>,
    },
    /// A window of `safe` bytes loses hardly anything. After `rounds` round trips, it is tested
    /// again, or forgotten.
    Policed { safe: f64, rounds: u32 },
}

/// The losses of the dips of a test.
#[derive(Clone, Copy, Debug, Default)]
struct Evidence {
    /// Those of a link that loses as much in a dip as before.
    expected: f64,
    observed: f64,
    dips: u32,
}

impl Evidence {
    /// Logarithm of the likelihood of a policer, compared with a link, if the number of losses has
    /// Poisson's distribution.
    fn likelihood(&self) -> f64 {
        (1.0 - REMAINING_SHARE) * self.expected + REMAINING_SHARE.ln() * self.observed
    }
}

/// Detects policers by the losses after reductions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policing {
    state: State,
    evidence: Evidence,
    /// The rate of losses outside of dips. Those that one ACK declares count as one datagram.
    rate: LossRate,
    /// The losses of this round trip that count.
    round_losses: u32,
    /// Round trips until the next test, if the losses are not a policer's.
    waits: u32,
    /// Round trips until a policer is tested again.
    lasts: u32,
    /// Reductions at heavy losses, and the round trips since the last one.
    reductions: u32,
    calm_rounds: u32,
}

impl Default for Policing {
    fn default() -> Self {
        Self {
            state: State::Unknown { rounds: 0 },
            evidence: Evidence::default(),
            rate: LossRate::of_long_time(),
            round_losses: 0,
            waits: *RETEST_ROUNDS.start(),
            lasts: *POLICED_ROUNDS.start(),
            reductions: 0,
            calm_rounds: 0,
        }
    }
}

impl Policing {
    /// Counts bytes acknowledged.
    pub(super) fn on_ack(&mut self, bytes: u64, window: &Window) {
        match &mut self.state {
            State::Dip { rounds, acked, .. } if *rounds >= SETTLING_ROUNDS => {
                *acked += bytes as f64
            }
            State::Dip { .. } => {}
            _ => self.rate.on_ack(bytes, window),
        }
    }

    /// Counts packets declared lost together. In a dip, those of before it do not count.
    pub(super) fn on_loss(&mut self, last_sent: Time, window: &Window) {
        if self.round_losses == MAX_ROUND_LOSSES {
            return;
        }
        match &mut self.state {
            State::Dip {
                began,
                rounds,
                losses,
                ..
            } => {
                if last_sent <= *began || *rounds < SETTLING_ROUNDS {
                    return;
                }
                *losses += 1.0;
            }
            _ => self.rate.on_loss(window.datagram() as u64, window),
        }
        self.round_losses += 1;
    }

    /// Tells of a reduction at heavy losses that no queue explains.
    pub(super) fn on_heavy_losses(&mut self) {
        self.reductions = self.reductions.saturating_add(1);
        self.calm_rounds = 0;
    }

    /// Returns true if a dip may begin.
    pub(super) fn may_dip(&self) -> bool {
        match self.state {
            State::Unknown { rounds } => rounds == 0 && self.reductions >= MIN_REDUCTIONS,
            State::Dip { .. } => false,
            State::Policed { rounds, .. } => rounds == 0,
        }
    }

    /// Starts a dip: the window was reduced. `restore`: the window to return to.
    pub(super) fn begin_dip(&mut self, now: Time, restore: f64) {
        self.calm_rounds = 0;
        self.state = State::Dip {
            began: now,
            rounds: 0,
            acked: 0.0,
            losses: 0.0,
            restore,
            safe: self.safe_window(),
        };
    }

    /// Tells of a reduction at a loss, with the windows before and after it. `heavy`: more than a
    /// policer drops of what is not above the safe window. Another flow that does not yield to the
    /// policer causes that, or the losses are not a policer's: a dip tells.
    pub(super) fn on_reduction(&mut self, before: f64, after: f64, heavy: bool) {
        if let State::Policed { safe, rounds } = &mut self.state {
            if after < MIN_SAFE_SHARE * *safe {
                self.wait();
            } else if heavy && before <= *safe {
                *rounds = 0;
            }
        }
    }

    /// Ends a dip without a conclusion, at another reduction. A policer that was found stays.
    pub(super) fn abandon_dip(&mut self) {
        match self.state {
            State::Dip { safe: None, .. } => self.wait(),
            State::Dip { safe, .. } => self.await_dip(safe),
            _ => {}
        }
    }

    /// Goes on with a test after some round trips. `safe`: of the policer that is tested again.
    fn await_dip(&mut self, safe: Option<f64>) {
        let rounds = DIP_DISTANCE;
        self.state = match safe {
            Some(safe) => State::Policed { safe, rounds },
            None => State::Unknown { rounds },
        };
    }

    /// Ends a test: the losses are the link's.
    fn wait(&mut self) {
        self.state = State::Unknown { rounds: self.waits };
        self.evidence = Evidence::default();
        self.waits = (2 * self.waits).min(*RETEST_ROUNDS.end());
        self.lasts = *POLICED_ROUNDS.start();
    }

    /// Ends a round trip. Returns the window to restore, if any. An application that held back
    /// ends a dip without a conclusion. The window is restored once it is used.
    pub(super) fn end_round(&mut self, datagram: f64, app_limited: bool) -> Option<f64> {
        self.calm_rounds = self.calm_rounds.saturating_add(1);
        self.round_losses = 0;
        if self.calm_rounds > MAX_CALM_ROUNDS {
            self.reductions = 0;
            if !self.is_detected() {
                self.evidence = Evidence::default();
            }
        }
        match &mut self.state {
            State::Unknown { rounds } => *rounds = rounds.saturating_sub(1),
            State::Policed { rounds: 1, .. } if self.rate.share() < MIN_TELLING_RATE => {
                self.waits = *RETEST_ROUNDS.start();
                self.evidence = Evidence::default();
                self.state = State::Unknown { rounds: 0 };
            }
            State::Policed { rounds, .. } => *rounds = rounds.saturating_sub(1),
            State::Dip {
                rounds,
                acked,
                losses,
                restore,
                safe,
                ..
            } => {
                if app_limited {
                    *rounds = DIP_ROUNDS;
                    return None;
                }
                *rounds += 1;
                if *rounds < DIP_ROUNDS {
                    return None;
                }
                if *rounds == DIP_ROUNDS {
                    let datagrams = *acked / datagram + *losses;
                    self.evidence.expected += self.rate.share() * datagrams;
                    self.evidence.observed += *losses;
                    self.evidence.dips += 1;
                }
                let (restore, safe) = (*restore, *safe);
                return Some(self.conclude(restore, safe));
            }
        }
        None
    }

    /// Ends a dip. Returns the window to return to.
    fn conclude(&mut self, restore: f64, safe: Option<f64>) -> f64 {
        let likelihood = self.evidence.likelihood();
        if likelihood < LINK_LIKELIHOOD {
            self.wait();
        } else if likelihood > POLICER_LIKELIHOOD && self.evidence.dips >= MIN_DIPS {
            return self.found(restore, safe);
        } else {
            self.await_dip(safe);
        }
        restore
    }

    /// Ends a test: a policer. Returns the window to return to. The one to restore in a later test
    /// was reduced for a loss.
    fn found(&mut self, restore: f64, former: Option<f64>) -> f64 {
        let safe = match former {
            None => POLICED_SHARE * restore,
            Some(_) => restore,
        };
        self.waits = *RETEST_ROUNDS.start();
        let rounds = self.lasts;
        self.lasts = (2 * rounds).min(*POLICED_ROUNDS.end());
        self.evidence = Evidence::default();
        self.state = State::Policed { safe, rounds };
        safe
    }

    /// Returns true until a dip ends.
    pub(super) fn is_dipping(&self) -> bool {
        matches!(self.state, State::Dip { .. })
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
        match self.state {
            State::Unknown { .. } => false,
            State::Dip { safe, .. } => safe.is_some(),
            State::Policed { .. } => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::controller::Settings;
    use super::super::super::events::{ms, settings};
    use super::*;

    const DATAGRAM: u64 = 1_200;
    const WINDOW: f64 = 40.0 * DATAGRAM as f64;

    fn window() -> Window {
        Window::new(Settings {
            initial_window: WINDOW as u64,
            ..settings()
        })
    }

    /// Ends a round trip with `acked` datagrams acknowledged and `losses` single losses. Returns
    /// the window to restore, if any.
    fn round(policing: &mut Policing, acked: u64, losses: u64) -> Option<f64> {
        policing.on_ack(acked * DATAGRAM, &window());
        (0..losses).for_each(|_| policing.on_loss(ms(200), &window()));
        policing.end_round(DATAGRAM as f64, false)
    }

    /// Round trips of 36 datagrams, of which four are lost. Returns their number until a dip may
    /// begin.
    fn waits(policing: &mut Policing) -> u32 {
        let mut rounds = 0;
        while !policing.may_dip() {
            policing.on_heavy_losses();
            round(policing, 36, 4);
            rounds += 1;
            assert!(rounds < 5_000);
        }
        rounds
    }

    /// Lost a tenth for a long time.
    fn lossy() -> Policing {
        let mut policing = Policing::default();
        (0..100).for_each(|_| {
            round(&mut policing, 36, 4);
        });
        waits(&mut policing);
        policing
    }

    /// A dip whose last three round trips have `acked` datagrams and `losses` losses each. Returns
    /// the window to return to.
    fn dip(policing: &mut Policing, acked: u64, losses: u64) -> f64 {
        policing.begin_dip(ms(100), 60_000.0);
        // These do not show its effect.
        assert_eq!(round(policing, 20, 9), None);
        assert_eq!(round(policing, 20, 9), None);
        assert_eq!(round(policing, acked, losses), None);
        assert_eq!(round(policing, acked, losses), None);
        assert!(policing.is_dipping());
        let restored = round(policing, acked, losses);
        assert!(!policing.is_dipping());
        restored.expect("a dip ends")
    }

    fn detected() -> Policing {
        let mut policing = lossy();
        assert_eq!(dip(&mut policing, 28, 0), 60_000.0);
        assert_eq!(dip(&mut policing, 28, 0), 51_000.0);
        assert_eq!(policing.safe_window(), Some(51_000.0));
        policing
    }

    #[test]
    fn a_dip_that_is_abandoned_is_a_test_without_effect() {
        let mut policing = lossy();
        policing.begin_dip(ms(100), 60_000.0);
        policing.abandon_dip();
        assert_eq!(waits(&mut policing), *RETEST_ROUNDS.start());
    }

    #[test]
    fn the_third_reduction_in_a_row_is_a_test() {
        let mut policing = Policing::default();
        policing.on_heavy_losses();
        assert!(!policing.may_dip());
        policing.on_heavy_losses();
        assert!(policing.may_dip());
        (0..32).for_each(|_| assert_eq!(round(&mut policing, 40, 0), None));
        assert!(policing.may_dip());
        round(&mut policing, 40, 0);
        assert!(!policing.may_dip());
    }

    /// A link that loses a tenth loses 8.4 of 84 datagrams. None is 0.9 x 8.4 = 7.6 in favour of a
    /// policer, of which three losses leave 0.7. One dip is never enough.
    #[test]
    fn losses_that_end_are_a_policers() {
        assert!(detected().is_detected());
        let mut policing = lossy();
        let rate = policing.rate.share();
        assert_eq!(dip(&mut policing, 28, 1), 60_000.0);
        // Of all that was sent: 84 datagrams, and the three that were lost.
        assert_eq!(policing.evidence.expected, rate * 87.0);
        assert!(!policing.is_detected() && !policing.may_dip());
        assert_eq!(waits(&mut policing), 8);
        assert_eq!(dip(&mut policing, 28, 0), 51_000.0);
    }

    #[test]
    fn losses_that_go_on_are_the_links() {
        let mut policing = lossy();
        assert_eq!(dip(&mut policing, 25, 3), 60_000.0);
        assert_eq!(policing.safe_window(), None);
        assert_eq!(waits(&mut policing), 32);
        // What was seen does not count in the next test.
        dip(&mut policing, 28, 0);
        assert_eq!(dip(&mut policing, 28, 0), 51_000.0);
    }

    #[test]
    fn what_was_seen_is_forgotten_with_the_losses() {
        let mut policing = lossy();
        dip(&mut policing, 28, 0);
        (0..33).for_each(|_| assert_eq!(round(&mut policing, 36, 4), None));
        assert!(!policing.may_dip());
        waits(&mut policing);
        assert_eq!(dip(&mut policing, 28, 0), 60_000.0);
    }

    /// Within a burst, each loss follows from the one before.
    #[test]
    fn at_most_four_losses_of_a_round_trip_count() {
        let rate = |losses| {
            let mut policing = Policing::default();
            round(&mut policing, 36, losses);
            policing.rate.share()
        };
        assert!(rate(3) < rate(4));
        assert_eq!(rate(4), rate(9));
        let seen = |losses| {
            let mut policing = lossy();
            policing.begin_dip(ms(100), 60_000.0);
            (0..3).for_each(|_| assert_eq!(round(&mut policing, 20, 9), None));
            round(&mut policing, 20, losses);
            match policing.state {
                State::Dip { losses, .. } => losses,
                _ => panic!("the dip has ended"),
            }
        };
        assert_eq!([0, 4, 9].map(seen), [4.0, 8.0, 8.0]);
    }

    #[test]
    fn a_test_without_effect_is_repeated_ever_more_rarely() {
        let mut policing = lossy();
        let all = [(); 5].map(|()| {
            dip(&mut policing, 25, 3);
            waits(&mut policing)
        });
        assert_eq!(all, [32, 64, 128, 256, 256]);
    }

    /// Bursts of ten datagrams: a hundredth of the datagrams begins one. A dip says little, whether
    /// it has one or not.
    #[test]
    fn losses_in_bursts_need_many_dips() {
        let mut policing = Policing::default();
        for _ in 0..100 {
            round(&mut policing, 90, 1);
        }
        let dips = (1..100).find(|_| {
            dip(&mut policing, 28, 0);
            policing.is_detected()
        });
        // 84 datagrams would have 0.95 bursts.
        assert_eq!(dips, Some(7));
    }

    #[test]
    fn what_left_before_a_dip_does_not_count() {
        let mut policing = lossy();
        for _ in 0..2 {
            policing.begin_dip(ms(100), 60_000.0);
            for _ in 0..DIP_ROUNDS {
                (0..9).for_each(|_| policing.on_loss(ms(100), &window()));
                round(&mut policing, 28, 0);
            }
        }
        assert!(policing.is_detected());
    }

    #[test]
    fn a_policer_is_tested_again_ever_more_rarely() {
        let mut policing = detected();
        let all = [(); 6].map(|()| {
            let rounds = waits(&mut policing);
            assert_eq!(dip(&mut policing, 28, 0), 60_000.0);
            assert_eq!(waits(&mut policing), 8);
            // It was reduced for the loss that began the dip, and stays so.
            assert_eq!(dip(&mut policing, 28, 0), 60_000.0);
            assert_eq!(policing.safe_window(), Some(60_000.0));
            rounds
        });
        assert_eq!(all, [64, 128, 256, 512, 1024, 1024]);
        // Each of them is of its own.
        waits(&mut policing);
        dip(&mut policing, 25, 3);
        assert!(!policing.is_detected());
    }

    #[test]
    fn a_policer_stays_until_a_test_is_sure() {
        let mut policing = detected();
        waits(&mut policing);
        policing.begin_dip(ms(100), 60_000.0);
        assert!(policing.is_detected() && !policing.may_dip());
        assert_eq!(policing.safe_window(), None);
        policing.abandon_dip();
        assert_eq!(policing.safe_window(), Some(51_000.0));
        // 0.9 x 2.4 = 2.2.
        assert_eq!(waits(&mut policing), 8);
        assert_eq!(dip(&mut policing, 8, 0), 60_000.0);
        assert_eq!(policing.safe_window(), Some(51_000.0));
        assert_eq!(waits(&mut policing), 8);
        dip(&mut policing, 25, 3);
        assert!(!policing.is_detected());
    }

    /// One of some 400 datagrams is lost. Of rounds with 1000, the last 512 count.
    #[test]
    fn a_policer_with_hardly_any_losses_is_forgotten() {
        let after = |losses| {
            let mut policing = detected();
            (0..63).for_each(|_| assert_eq!(round(&mut policing, 1_000, losses), None));
            assert!(policing.is_detected());
            round(&mut policing, 1_000, losses);
            policing
        };
        assert!(after(1).is_detected() && after(1).may_dip());
        assert!(!after(0).is_detected() && !after(0).may_dip());
    }

    #[test]
    fn heavy_losses_at_a_safe_window_are_tested_at_once() {
        let mut policing = detected();
        policing.on_reduction(51_001.0, 35_000.0, true);
        policing.on_reduction(51_000.0, 43_350.0, false);
        assert!(policing.is_detected() && !policing.may_dip());
        policing.on_reduction(51_000.0, 35_000.0, true);
        assert!(policing.is_detected() && policing.may_dip());
    }

    #[test]
    fn losses_that_go_on_at_a_much_smaller_window_are_no_policers() {
        let mut policing = detected();
        policing.on_reduction(15_000.0, 12_750.0, false);
        assert!(policing.is_detected());
        policing.on_reduction(14_999.0, 12_749.0, false);
        assert!(!policing.is_detected());
        assert_eq!(waits(&mut policing), 32);
    }

    #[test]
    fn an_application_that_holds_back_ends_a_dip_without_a_conclusion() {
        let mut policing = lossy();
        policing.begin_dip(ms(100), 60_000.0);
        for _ in 0..3 {
            round(&mut policing, 100, 0);
        }
        assert_eq!(policing.end_round(DATAGRAM as f64, true), None);
        assert!(policing.is_dipping());
        assert_eq!(round(&mut policing, 100, 0), Some(60_000.0));
        assert!(!policing.is_dipping() && !policing.is_detected());
        assert_eq!(waits(&mut policing), 8);
        // The next one is the first that counts.
        assert_eq!(dip(&mut policing, 28, 0), 60_000.0);
        assert_eq!(dip(&mut policing, 28, 0), 51_000.0);
    }

    #[test]
    fn an_abandoned_dip_concludes_nothing() {
        let mut policing = lossy();
        policing.begin_dip(ms(100), 60_000.0);
        policing.abandon_dip();
        assert_eq!(round(&mut policing, 400, 0), None);
        assert!(!policing.is_detected() && !policing.is_dipping() && !policing.may_dip());
        // What was found stays.
        let mut policing = detected();
        policing.abandon_dip();
        assert!(policing.is_detected());
    }
}
