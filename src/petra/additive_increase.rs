//! Additive increase: the growth of the window per round trip of congestion avoidance.

/// Consecutive round trips without a queue after which the increase begins to double.
/// Filling and draining a short queue takes about as long, and while that cycle repeats,
/// the window has the right size. Of 4, 5, 6 and 8, the third (docs/attempts.md, "Links that
/// become faster").
const MIN_QUIET_ROUNDS: u32 = 6;

/// Largest increase per round trip, as a share of the window.
const MAX_INCREASE_SHARE: f64 = 1.0 / 8.0;

/// Growth of the delivery rate, since the increase began to double, that shows that the path has
/// room for much more. With 1.5 more is lost in radio cells, and 3 finds a faster link later
/// (docs/attempts.md, "Links that have become much faster").
const MIN_RATE_GROWTH: f64 = 2.0;

/// Largest increase, as a share of the window, where the rate has grown by so much. Of a quarter,
/// a third and a half, the first loses the least.
const MAX_FAST_INCREASE_SHARE: f64 = 1.0 / 4.0;

/// Counts round trips without a queue and derives the increase from their number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AdditiveIncrease {
    quiet_rounds: u32,
    /// The delivery rate when the increase began to double, in bytes per second.
    first_rate: Option<f64>,
    /// True once the delivery rate has grown by `MIN_RATE_GROWTH` since then.
    has_room: bool,
}

impl AdditiveIncrease {
    /// Counts a round trip that has ended. `rate` is the delivery rate in bytes per second, if
    /// congestion avoidance has led to it: that of slow start, or of an application that holds
    /// back, shows nothing.
    pub(super) fn end_round(&mut self, queued: bool, app_limited: bool, rate: Option<f64>) {
        let rate = rate.filter(|_| !app_limited);
        let doubles = self.quiet_rounds > MIN_QUIET_ROUNDS;
        if !doubles || rate.is_none() || self.first_rate.is_none() {
            self.first_rate = rate;
        }
        self.has_room = self
            .first_rate
            .zip(rate)
            .is_some_and(|(first, rate)| rate > MIN_RATE_GROWTH * first);
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

    /// Datagrams to add per round trip, for a window of this many datagrams. The first is that of
    /// RFC 9002, Section 7.3.3 (<https://www.rfc-editor.org/rfc/rfc9002#section-7.3.3>). Each
    /// round trip after `MIN_QUIET_ROUNDS` doubles it, up to a share of the window.
    pub(super) fn datagrams(&self, window: f64) -> f64 {
        let doublings = self.quiet_rounds.saturating_sub(MIN_QUIET_ROUNDS).min(31);
        let share = if self.has_room {
            MAX_FAST_INCREASE_SHARE
        } else {
            MAX_INCREASE_SHARE
        };
        let most = (share * window).max(1.0);
        f64::from(1u32 << doublings).min(most)
    }
}

#[cfg(kani)]
mod proofs {
    use super::super::super::proofs::{any_between, maybe};
    use super::*;

    #[kani::proof]
    fn the_increase_is_one_datagram_to_a_quarter_of_the_window() {
        let most = (1u64 << 52) as f64;
        let mut increase = AdditiveIncrease {
            quiet_rounds: kani::any(),
            first_rate: maybe(any_between(0.0, most)),
            has_room: kani::any(),
        };
        let rate = maybe(any_between(0.0, most));
        increase.end_round(kani::any(), kani::any(), rate);
        let window = any_between(2.0, most);
        let datagrams = increase.datagrams(window);
        assert!(datagrams >= 1.0 && datagrams <= (window / 4.0).max(1.0));
        assert!(increase.has_room || datagrams <= (window / 8.0).max(1.0));
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
            increase.end_round(false, false, Some(RATE));
        }
        increase
    }

    /// The increase for 100 datagrams after another quiet round trip, at a multiple of the rate.
    fn next(increase: &mut AdditiveIncrease, multiple: f64) -> f64 {
        increase.end_round(false, false, Some(multiple * RATE));
        increase.datagrams(100.0)
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
        assert_eq!(next(&mut increase, 2.0), 12.5);
        assert_eq!(next(&mut increase, 2.1), 25.0);
        assert_eq!(next(&mut increase, 2.0), 12.5, "the rate has fallen");
    }

    #[test]
    fn the_rate_is_compared_with_that_at_which_the_growth_began_to_double() {
        let mut increase = AdditiveIncrease::default();
        for round in 1..=7 {
            next(&mut increase, f64::from(round));
        }
        for _ in 0..6 {
            next(&mut increase, 8.0);
        }
        assert_eq!(next(&mut increase, 14.0), 12.5);
        assert_eq!(next(&mut increase, 14.1), 25.0);
    }

    #[test]
    fn a_rate_that_other_growth_led_to_is_not_compared() {
        for (app_limited, rate) in [(false, None), (true, None), (true, Some(3.0 * RATE))] {
            let mut increase = quiet(12);
            next(&mut increase, 3.0);
            increase.end_round(false, app_limited, rate);
            assert_eq!(increase.datagrams(100.0), 12.5);
            assert_eq!(next(&mut increase, 9.0), 12.5, "the first that is known");
            assert_eq!(next(&mut increase, 18.1), 25.0);
        }
    }

    #[test]
    fn a_queue_or_a_reduction_restarts_the_count() {
        for restart in [
            |increase: &mut AdditiveIncrease| increase.end_round(true, false, Some(3.0 * RATE)),
            AdditiveIncrease::on_reduction,
        ] {
            let mut increase = quiet(12);
            next(&mut increase, 3.0);
            restart(&mut increase);
            assert_eq!(increase.datagrams(100.0), 1.0);
            for _ in 0..11 {
                next(&mut increase, 3.0);
            }
            assert_eq!(next(&mut increase, 3.0), 12.5);
        }
    }

    #[test]
    fn app_limited_rounds_do_not_count() {
        let mut increase = quiet(6);
        increase.end_round(false, true, None);
        assert_eq!(increase.datagrams(100.0), 1.0);
    }
}
