//! Congestion avoidance: how fast to look for more.

/// Round trips without a queue after which growth begins to double. About one
/// cycle of filling and draining a short queue: as long as those go on, the
/// window is where it should be.
const PATIENCE: u32 = 8;

/// Most that growth adds to the window in a round trip, as a part of it.
const MOST_GROWTH: f64 = 1.0 / 8.0;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probe {
    quiet_rounds: u32,
}

impl Probe {
    /// A round trip ended.
    pub(super) fn end_round(&mut self, queued: bool, app_limited: bool) {
        if queued {
            self.quiet_rounds = 0;
        } else if !app_limited {
            self.quiet_rounds = self.quiet_rounds.saturating_add(1);
        }
    }

    /// The window was reduced: begin anew.
    pub(super) fn on_reduction(&mut self) {
        self.quiet_rounds = 0;
    }

    /// Datagrams to grow by in a round trip, for a window of so many: one, as in
    /// RFC 9002 section 7.3.3, and doubling once the path has been quiet.
    pub(super) fn datagrams(&self, window: f64) -> f64 {
        let doublings = self.quiet_rounds.saturating_sub(PATIENCE).min(31);
        let most = (MOST_GROWTH * window).max(1.0);
        f64::from(1u32 << doublings).min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quiet(rounds: u32) -> Probe {
        let mut probe = Probe::default();
        for _ in 0..rounds {
            probe.end_round(false, false);
        }
        probe
    }

    #[test]
    fn growth_doubles_after_eight_quiet_rounds_up_to_an_eighth_of_the_window() {
        for (rounds, datagrams) in [
            (0, 1.0),
            (8, 1.0),
            (9, 2.0),
            (11, 8.0),
            (12, 12.5),
            (90, 12.5),
        ] {
            assert_eq!(quiet(rounds).datagrams(100.0), datagrams, "{rounds}");
        }
        assert_eq!(quiet(90).datagrams(2.0), 1.0);
        assert_eq!(quiet(90).datagrams(1e12), f64::from(1u32 << 31));
    }

    #[test]
    fn a_queue_or_a_reduction_begins_anew() {
        let mut probe = quiet(12);
        probe.end_round(true, false);
        assert_eq!(probe.datagrams(100.0), 1.0);
        let mut probe = quiet(12);
        probe.on_reduction();
        assert_eq!(probe.datagrams(100.0), 1.0);
    }

    #[test]
    fn an_idle_application_tests_nothing() {
        let mut probe = quiet(8);
        probe.end_round(false, true);
        assert_eq!(probe.datagrams(100.0), 1.0);
    }
}
