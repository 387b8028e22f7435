//! A token bucket that drops what it has no tokens for.

use super::capacity::transmission;
use super::Nanos;
use crate::link;

/// A bucket in operation. Its tokens are a time: that at which it is full again.
#[derive(Clone, Debug)]
pub(super) struct Policer {
    rate: u64,
    /// Time in which an empty bucket fills.
    depth: Nanos,
    full_at: Nanos,
}

impl Policer {
    pub(super) fn new(policer: link::Policer) -> Self {
        Policer {
            rate: policer.rate,
            depth: transmission(policer.burst, policer.rate),
            full_at: 0,
        }
    }

    /// Bits per second.
    pub(super) fn rate(&self) -> u64 {
        self.rate
    }

    /// Returns true if a packet conforms at `now`, and takes its tokens.
    pub(super) fn passes(&mut self, now: Nanos, bytes: usize) -> bool {
        let full_at = self.full_at.max(now) + transmission(bytes as u64, self.rate);
        let passes = full_at - now <= self.depth;
        if passes {
            self.full_at = full_at;
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    /// 8 Mbit/s, where 1000 bytes of tokens come in 1 ms, and 3000 bytes.
    fn policer() -> Policer {
        Policer::new(link::Policer {
            rate: 8_000_000,
            burst: 3_000,
        })
    }

    #[test]
    fn a_burst_passes_and_then_what_the_rate_fills() {
        let mut policer = policer();
        let mut passes = |at: Nanos, bytes| policer.passes(at * MS, bytes);
        let burst = [0, 0, 0, 0].map(|at| passes(at, 1000));
        assert_eq!(burst, [true, true, true, false]);
        assert_eq!([passes(1, 1000), passes(1, 1)], [true, false]);
        // What is dropped takes no tokens, and an idle bucket does not overflow.
        assert_eq!([passes(2, 2000), passes(2, 1000)], [false, true]);
        let later = [50, 50, 50, 50].map(|at| passes(at, 1000));
        assert_eq!(later, [true, true, true, false]);
    }

    #[test]
    fn in_the_long_run_the_rate_passes() {
        let mut policer = policer();
        // Twice the rate: 4000 ms of packets, and three more of the burst.
        let passed = (0..8000)
            .filter(|i| policer.passes(i * MS / 2, 1000))
            .count();
        assert_eq!(passed, 4002);
    }
}
