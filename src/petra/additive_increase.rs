//! Additive increase: the growth of the window per round trip of congestion avoidance.

/// Consecutive round trips without a queue after which the increase begins to double.
/// Filling and draining a short queue takes about as long, and while that cycle repeats,
/// the window has the right size. Of 4, 5, 6 and 8, the third (docs/attempts.md, "Links that
/// become faster").
const MIN_QUIET_ROUNDS: u32 = 6;

/// Largest increase per round trip, as a share of the window.
const MAX_INCREASE_SHARE: f64 = 1.0 / 8.0;

/// Counts round trips without a queue and derives the increase from their number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AdditiveIncrease {
    quiet_rounds: u32,
}

impl AdditiveIncrease {
    /// Counts a round trip that has ended.
    pub(super) fn end_round(&mut self, queued: bool, app_limited: bool) {
        if queued {
            self.quiet_rounds = 0;
        } else if !app_limited {
            self.quiet_rounds = self.quiet_rounds.saturating_add(1);
        }
    }

    /// Restarts the count after a reduction of the window.
    pub(super) fn on_reduction(&mut self) {
        self.quiet_rounds = 0;
    }

    /// Datagrams to add per round trip, for a window of this many datagrams: one, as in
    /// RFC 9002, Section 7.3.3
    /// (<https://www.rfc-editor.org/rfc/rfc9002#section-7.3.3>), and twice as many with
    /// each further round trip after `MIN_QUIET_ROUNDS`.
    pub(super) fn datagrams(&self, window: f64) -> f64 {
        let doublings = self.quiet_rounds.saturating_sub(MIN_QUIET_ROUNDS).min(31);
        let most = (MAX_INCREASE_SHARE * window).max(1.0);
        f64::from(1u32 << doublings).min(most)
    }
}

#[cfg(kani)]
mod proofs {
    use super::super::super::proofs::any_between;
    use super::*;

    #[kani::proof]
    fn the_increase_is_one_datagram_to_an_eighth_of_the_window() {
        let mut increase = AdditiveIncrease {
            quiet_rounds: kani::any(),
        };
        increase.end_round(kani::any(), kani::any());
        let window = any_between(2.0, (1u64 << 52) as f64);
        let datagrams = increase.datagrams(window);
        assert!(datagrams >= 1.0 && datagrams <= (window / 8.0).max(1.0));
        kani::cover!(datagrams > 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quiet(rounds: u32) -> AdditiveIncrease {
        let mut increase = AdditiveIncrease::default();
        for _ in 0..rounds {
            increase.end_round(false, false);
        }
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
    fn a_queue_or_a_reduction_restarts_the_count() {
        let mut increase = quiet(12);
        increase.end_round(true, false);
        assert_eq!(increase.datagrams(100.0), 1.0);
        let mut increase = quiet(12);
        increase.on_reduction();
        assert_eq!(increase.datagrams(100.0), 1.0);
    }

    #[test]
    fn app_limited_rounds_do_not_count() {
        let mut increase = quiet(6);
        increase.end_round(false, true);
        assert_eq!(increase.datagrams(100.0), 1.0);
    }
}
