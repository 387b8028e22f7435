//! The five mechanisms of PETRA. Each has a switch.

use std::time::Duration;

use super::options::Entry;

/// Switches of the mechanisms, by section of the thesis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mechanisms {
    /// Section 4.1.1: ssthresh from the ACK rate.
    pub initial_ssthresh: bool,
    /// Section 4.1.2: slow-start growth scales with the unused bandwidth.
    pub faster_start: bool,
    /// Section 4.2.2: retransmission before the third duplicate ACK.
    pub faster_retransmission: bool,
    /// Section 4.2.3: a loss reduces only when the RTT confirms congestion.
    pub best_recovery: bool,
    /// Section 4.3.3: a timeout reduces only when the RTT confirms congestion.
    pub timeout_reaction: bool,
}

impl Mechanisms {
    /// All five.
    pub const ALL: Self = Self::every(true);

    /// None of the five.
    pub const NONE: Self = Self::every(false);

    const fn every(on: bool) -> Self {
        Self {
            initial_ssthresh: on,
            faster_start: on,
            faster_retransmission: on,
            best_recovery: on,
            timeout_reaction: on,
        }
    }

    /// The options that set the switches.
    pub(crate) fn entries(&mut self) -> [Entry<'_>; 5] {
        [
            Entry::new(
                "initial_ssthresh",
                "set ssthresh from the ACK rate (4.1.1)",
                &mut self.initial_ssthresh,
            ),
            Entry::new(
                "faster_start",
                "scale slow-start growth to path utilization (4.1.2)",
                &mut self.faster_start,
            ),
            Entry::new(
                "faster_retransmission",
                "lower the packet threshold on long paths (4.2.2)",
                &mut self.faster_retransmission,
            ),
            Entry::new(
                "best_recovery",
                "reduce after a loss only under congestion (4.2.3)",
                &mut self.best_recovery,
            ),
            Entry::new(
                "timeout_reaction",
                "reduce after a timeout only under congestion (4.3.3)",
                &mut self.timeout_reaction,
            ),
        ]
    }
}

impl Default for Mechanisms {
    fn default() -> Self {
        Self::ALL
    }
}

/// Returns the packet threshold of Section 4.2.2: the smallest count of duplicate ACKs for which
/// `LastRTT x (4 - count) > Timeout`. The left side shrinks as the count grows, so the first
/// duplicate ACK decides: the threshold is 1, or `None` for the transport's own.
pub(crate) fn faster_retransmission(last_rtt: Duration, timeout: Duration) -> Option<u64> {
    (last_rtt.saturating_mul(3) > timeout).then_some(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_duplicate_ack_decides() {
        let seconds = Duration::from_secs;
        // 2 x 3 = 6, 2 x 2 = 4
        assert_eq!(faster_retransmission(seconds(2), seconds(5)), Some(1));
        assert_eq!(faster_retransmission(seconds(2), seconds(6)), None);
        assert_eq!(faster_retransmission(Duration::MAX, seconds(6)), Some(1));
        assert_eq!(faster_retransmission(Duration::ZERO, Duration::ZERO), None);
    }
}
