//! ACK aggregation: the number of bytes that ACKs acknowledge at one instant.
//!
//! Receivers delay ACKs (RFC 9000, Section 13.2.1,
//! <https://www.rfc-editor.org/rfc/rfc9000#section-13.2.1>), and links hold them back
//! and release several at once. Packets that have arrived but are not yet acknowledged
//! count as in flight, so a window of exactly the delivery rate times the minimum RTT
//! stalls.

use super::super::controller::{Ack, Time};
use super::rounds::FILTER_ROUNDS;

/// Sums over the aggregates of some round trips.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    bytes: f64,
    /// The sum of the squares of the aggregates' sizes.
    squares: f64,
}

/// Measures aggregates: the bytes that are acknowledged at one instant.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckAggregation {
    /// The instant of the present aggregate.
    at: Time,
    /// Bytes of the present aggregate so far.
    bytes: f64,
    current: Sums,
    previous: Sums,
    rounds: u32,
}

impl AckAggregation {
    pub(super) fn on_ack(&mut self, ack: &Ack) {
        if ack.now > self.at {
            self.end_aggregate();
            self.at = ack.now;
        }
        self.bytes += ack.bytes as f64;
    }

    fn end_aggregate(&mut self) {
        self.current.bytes += self.bytes;
        self.current.squares += self.bytes * self.bytes;
        self.bytes = 0.0;
    }

    pub(super) fn end_round(&mut self) {
        self.rounds += 1;
        if self.rounds >= FILTER_ROUNDS {
            self.previous = std::mem::take(&mut self.current);
            self.rounds = 0;
        }
    }

    /// The mean size of an aggregate, weighted by bytes, over the last five to ten round
    /// trips. One large aggregate among many small ones has little weight.
    pub(super) fn typical_bytes(&self) -> f64 {
        let bytes = self.current.bytes + self.previous.bytes;
        let squares = self.current.squares + self.previous.squares;
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
    fn frames_of_one_instant_are_one_aggregate() {
        let mut aggregation = AckAggregation::default();
        aggregation.on_ack(&ack(100, 1_200));
        aggregation.on_ack(&ack(100, 2_400));
        aggregation.on_ack(&ack(120, 3_600));
        aggregation.on_ack(&ack(121, 3_600));
        assert_eq!(aggregation.typical_bytes(), 3_600.0);
    }

    #[test]
    fn an_aggregate_has_the_weight_of_its_bytes() {
        let mut aggregation = AckAggregation::default();
        assert_eq!(aggregation.typical_bytes(), 0.0);
        for at in 1..=10 {
            aggregation.on_ack(&ack(100 * at, 1_200));
        }
        aggregation.on_ack(&ack(2_000, 12_000));
        aggregation.on_ack(&ack(2_100, 1_200));
        // Half of the bytes came in aggregates of 1200, half in one of 12000.
        assert_eq!(aggregation.typical_bytes(), 6_600.0);
    }

    #[test]
    fn an_aggregate_is_remembered_for_five_to_ten_round_trips() {
        let mut aggregation = AckAggregation::default();
        aggregation.on_ack(&ack(100, 6_000));
        aggregation.on_ack(&ack(200, 0));
        for _ in 0..9 {
            aggregation.end_round();
        }
        assert_eq!(aggregation.typical_bytes(), 6_000.0);
        aggregation.end_round();
        assert_eq!(aggregation.typical_bytes(), 0.0);
    }
}
