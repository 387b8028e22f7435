//! How many bytes ACKs acknowledge at one go.
//!
//! Receivers delay ACKs (RFC 9000 section 13.2.1), and links hold them back and
//! let them go in bunches. What has arrived but is not acknowledged yet counts as
//! in flight, so that a window of exactly rate times minimum RTT stalls.

use super::super::controller::{Ack, Time};
use super::rounds::Recent;

#[derive(Clone, Copy, Debug)]
pub(super) struct Bunches {
    at: Time,
    bytes: u64,
    recent: Recent,
}

impl Default for Bunches {
    fn default() -> Self {
        Self {
            at: Time::ZERO,
            bytes: 0,
            recent: Recent::largest(),
        }
    }
}

impl Bunches {
    pub(super) fn on_ack(&mut self, ack: &Ack) {
        if ack.now > self.at {
            self.at = ack.now;
            self.bytes = 0;
        }
        self.bytes = self.bytes.saturating_add(ack.bytes);
        self.recent.add(self.bytes as f64);
    }

    pub(super) fn end_round(&mut self) {
        self.recent.end_round();
    }

    /// The most bytes that were acknowledged at one instant of late.
    pub(super) fn largest(&self) -> f64 {
        self.recent.get().unwrap_or(0.0)
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
        bunches.on_ack(&ack(120, 1_200));
        bunches.on_ack(&ack(120, 2_400));
        bunches.on_ack(&ack(121, 1_200));
        assert_eq!(bunches.largest(), 3_600.0);
    }

    #[test]
    fn a_bunch_is_remembered_for_five_to_ten_round_trips() {
        let mut bunches = Bunches::default();
        assert_eq!(bunches.largest(), 0.0);
        bunches.on_ack(&ack(100, 6_000));
        for _ in 0..9 {
            bunches.end_round();
        }
        assert_eq!(bunches.largest(), 6_000.0);
        bunches.end_round();
        assert_eq!(bunches.largest(), 0.0);
    }
}
