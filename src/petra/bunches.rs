//! How many bytes ACKs acknowledge at one go.
//!
//! Receivers delay ACKs (RFC 9000 section 13.2.1), and links hold them back and
//! let them go in bunches. What has arrived but is not acknowledged yet counts as
//! in flight, so that a window of exactly rate times minimum RTT stalls.

use super::super::controller::{Ack, Time};
use super::rounds::STRETCH;

/// Bunches of a stretch of round trips: the sums of their bytes and of the squares.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    bytes: f64,
    squares: f64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bunches {
    at: Time,
    /// Bytes of the bunch under way.
    bytes: f64,
    now: Sums,
    before: Sums,
    rounds: u32,
}

impl Bunches {
    pub(super) fn on_ack(&mut self, ack: &Ack) {
        if ack.now > self.at {
            self.end_bunch();
            self.at = ack.now;
        }
        self.bytes += ack.bytes as f64;
    }

    fn end_bunch(&mut self) {
        self.now.bytes += self.bytes;
        self.now.squares += self.bytes * self.bytes;
        self.bytes = 0.0;
    }

    pub(super) fn end_round(&mut self) {
        self.rounds += 1;
        if self.rounds >= STRETCH {
            self.before = std::mem::take(&mut self.now);
            self.rounds = 0;
        }
    }

    /// The size of the bunch that a byte finds itself in, on average over the last
    /// five to ten round trips: of equal bunches their size, and one large one among
    /// many that are small counts for little.
    pub(super) fn usual(&self) -> f64 {
        let bytes = self.now.bytes + self.before.bytes;
        let squares = self.now.squares + self.before.squares;
        if bytes > 0.0 {
            squares / bytes
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::events::ack;
    use super::*;

    #[test]
    fn frames_of_one_instant_are_one_bunch() {
        let mut bunches = Bunches::default();
        bunches.on_ack(&ack(100, 1_200));
        bunches.on_ack(&ack(100, 2_400));
        bunches.on_ack(&ack(120, 3_600));
        bunches.on_ack(&ack(121, 3_600));
        assert_eq!(bunches.usual(), 3_600.0);
    }

    #[test]
    fn a_bunch_counts_by_its_bytes() {
        let mut bunches = Bunches::default();
        assert_eq!(bunches.usual(), 0.0);
        for at in 1..=10 {
            bunches.on_ack(&ack(100 * at, 1_200));
        }
        bunches.on_ack(&ack(2_000, 12_000));
        bunches.on_ack(&ack(2_100, 1_200));
        // Half of the bytes came in bunches of 1200, half in one of 12000.
        assert_eq!(bunches.usual(), 6_600.0);
    }

    #[test]
    fn a_bunch_is_remembered_for_five_to_ten_round_trips() {
        let mut bunches = Bunches::default();
        bunches.on_ack(&ack(100, 6_000));
        bunches.on_ack(&ack(200, 0));
        for _ in 0..9 {
            bunches.end_round();
        }
        assert_eq!(bunches.usual(), 6_000.0);
        bunches.end_round();
        assert_eq!(bunches.usual(), 0.0);
    }
}
