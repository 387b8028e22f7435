//! Additive increase: the growth of the window per round trip of congestion avoidance.

/// Consecutive round trips without a queue after which the increase begins to double.
/// Filling and draining a short queue takes about as long, and while that cycle repeats,
/// the window has the right size. Of 4, 5, 6 and 8, the third (docs/attempts.md, "Links that
/// become faster").
const MIN_QUIET_ROUNDS: u32 = 6;

/// Largest increase per round trip, as a share of the window.
const MAX_INCREASE_SHARE: f64 = 1.0 / 8.0;

/// Growth of the delivery rate, since the increase began to double, that confirms a faster link:
/// of 1.5, 2 and 3, the one that costs the least in radio cells (docs/attempts.md, "Links that
/// have become much faster").
const CONFIRMED_RATE_GROWTH: f64 = 2.0;

/// Largest increase on such a link. Of a quarter, a third and a half, the first loses the least.
const MAX_CONFIRMED_SHARE: f64 = 1.0 / 4.0;

/// Counts round trips without a queue and derives the increase from their number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AdditiveIncrease {
    quiet_rounds: u32,
    /// The delivery rate when the increase began to double, in bytes per second.
    first_rate: f64,
    /// The delivery rate confirms that the link has become faster.
    confirmed: bool,
}

impl AdditiveIncrease {
    /// Counts a round trip that has ended, with the present delivery rate in bytes per second.
    pub(super) fn end_round(&mut self, queued: bool, app_limited: bool, rate: f64) {
        if self.quiet_rounds <= MIN_QUIET_ROUNDS {
            self.first_rate = rate;
        }
        if queued {
            self.quiet_rounds = 0;
        } else if !app_limited {
            self.quiet_rounds = self.quiet_rounds.saturating_add(1);
        }
        self.confirmed = !queued && rate > CONFIRMED_RATE_GROWTH * self.first_rate;
    }

    /// Restarts the count after a reduction of the window.
    pub(super) fn on_reduction(&mut self) {
        self.quiet_rounds = 0;
        self.confirmed = false;
    }

    /// Datagrams to add per round trip, for a window of this many datagrams: one, as in
    /// RFC 9002, Section 7.3.3
    /// (<https://www.rfc-editor.org/rfc/rfc9002#section-7.3.3>), and twice as many with
    /// each further round trip after `MIN_QUIET_ROUNDS`, up to an eighth of the window, or to a
    /// quarter once the rate has shown a faster link.
    pub(super) fn datagrams(&self, window: f64) -> f64 {
        let doublings = self.quiet_rounds.saturating_sub(MIN_QUIET_ROUNDS).min(31);
        let share = if self.confirmed {
            MAX_CONFIRMED_SHARE
        } else {
            MAX_INCREASE_SHARE
        };
        let most = (share * window).max(1.0);
        f64::from(1u32 << doublings).min(most)
    }
}

#[cfg(kani)]
mod proofs {
    use super::super::super::proofs::any_between;
    use super::*;

    #[kani::proof]
    fn the_increase_is_one_datagram_to_a_quarter_of_the_window() {
        let most = (1u64 << 52) as f64;
        let mut increase = AdditiveIncrease {
            quiet_rounds: kani::any(),
            first_rate: any_between(0.0, most),
            confirmed: kani::any(),
        };
        increase.end_round(kani::any(), kani::any(), any_between(0.0, most));
        let window = any_between(2.0, most);
        let datagrams = increase.datagrams(window);
        assert!(datagrams >= 1.0 && datagrams <= (window / 4.0).max(1.0));
        assert!(increase.confirmed || datagrams <= (window / 8.0).max(1.0));
        kani::cover!(datagrams > (window / 8.0).max(1.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: f64 = 1e6;

    fn quiet(rounds: u32) -> AdditiveIncrease {
        let mut increase = AdditiveIncrease::default();
        for _ in 0..rounds {
            increase.end_round(false, false, RATE);
        }
        increase
    }

    /// The increase where the rate is more than twice that of the start.
    fn confirmed() -> AdditiveIncrease {
        let mut increase = quiet(12);
        increase.end_round(false, false, 2.0 * RATE + 1.0);
        increase
    }

    #[test]
    fn growth_doubles_after_six_quiet_rounds_up_to_an_eighth_of_the_window() {
        for (rounds, datagrams) in [
            (0, 1.0),
            (6, 1.0),
            (7, 2.0),
            (9, 8.0),
            (10, 12.5),
            (90, 12.5),
        ] {
            assert_eq!(quiet(rounds).datagrams(100.0), datagrams, "{rounds}");
        }
        assert_eq!(quiet(90).datagrams(2.0), 1.0);
        assert_eq!(quiet(90).datagrams(1e12), f64::from(1u32 << 31));
    }

    #[test]
    fn more_than_twice_the_rate_allows_a_quarter_of_the_window() {
        let mut increase = quiet(12);
        increase.end_round(false, false, 2.0 * RATE);
        assert_eq!(increase.datagrams(100.0), 12.5);
        assert_eq!(confirmed().datagrams(100.0), 25.0);
        let mut increase = confirmed();
        increase.end_round(false, false, 2.0 * RATE);
        assert_eq!(increase.datagrams(100.0), 12.5, "the rate has fallen");
    }

    #[test]
    fn what_the_rate_was_before_the_growth_confirms_nothing() {
        let mut increase = AdditiveIncrease::default();
        for round in 1..=7 {
            increase.end_round(false, false, f64::from(round) * RATE);
        }
        for _ in 0..6 {
            increase.end_round(false, false, 14.0 * RATE);
            assert!(!increase.confirmed);
        }
        increase.end_round(false, false, 14.1 * RATE);
        assert!(increase.confirmed);
    }

    #[test]
    fn without_a_rate_nothing_is_confirmed() {
        let mut increase = AdditiveIncrease::default();
        for _ in 0..20 {
            increase.end_round(false, false, 0.0);
        }
        assert!(!increase.confirmed);
    }

    #[test]
    fn a_queue_or_a_reduction_restarts_the_count() {
        for restart in [
            |increase: &mut AdditiveIncrease| increase.end_round(true, false, 3.0 * RATE),
            AdditiveIncrease::on_reduction,
        ] {
            let mut increase = confirmed();
            restart(&mut increase);
            assert_eq!(increase.datagrams(100.0), 1.0);
            assert!(!increase.confirmed);
            for _ in 0..12 {
                increase.end_round(false, false, 3.0 * RATE);
            }
            assert_eq!(increase.datagrams(100.0), 12.5);
        }
    }

    #[test]
    fn app_limited_rounds_do_not_count() {
        let mut increase = quiet(6);
        increase.end_round(false, true, RATE);
        assert_eq!(increase.datagrams(100.0), 1.0);
    }
}
