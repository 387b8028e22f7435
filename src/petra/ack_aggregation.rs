//! ACK aggregation: the number of bytes that ACKs acknowledge at once.
//!
//! Receivers delay ACKs (RFC 9000, Section 13.2.1,
//! <https://www.rfc-editor.org/rfc/rfc9000#section-13.2.1>), and links hold them back
//! and release several at once. Packets that have arrived but are not yet acknowledged
//! count as in flight, so a window of exactly the delivery rate times the minimum RTT
//! stalls.

use super::super::bandwidth::GRANULARITY;
use super::super::controller::Time;
use super::gathered_acks::Gathered;
use super::rounds::FILTER_ROUNDS;

/// Sums over the aggregates of some round trips.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    bytes: f64,
    /// The sum of the aggregates' sizes, each times the bytes that it acknowledged.
    weighted: f64,
}

/// Measures aggregates: the bytes that ACKs within the granularity of timers acknowledge beyond
/// what the path delivers meanwhile. Between the ACKs of an aggregate is the time that the way
/// back takes to transmit them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckAggregation {
    /// The time of the first ACK of the present aggregate.
    began: Time,
    /// The bytes that it acknowledged so far.
    bytes: f64,
    /// Its size so far.
    size: f64,
    current: Sums,
    previous: Sums,
    rounds: u32,
}

impl AckAggregation {
    /// Takes ACKs, and the rate of the path in bytes per second if it is known.
    pub(super) fn on_acks(&mut self, acks: &Gathered, rate: Option<f64>) {
        let now = acks.ack.now;
        if now.saturating_sub(self.began) >= GRANULARITY {
            self.end_aggregate();
            self.began = acks.began;
            self.bytes = 0.0;
        }
        self.bytes += acks.ack.bytes as f64;
        let elapsed = now.saturating_sub(self.began);
        let meanwhile = rate.unwrap_or_default() * elapsed.as_secs_f64();
        self.size = (self.bytes - meanwhile).max(acks.largest as f64);
    }

    fn end_aggregate(&mut self) {
        self.current.bytes += self.bytes;
        self.current.weighted += self.bytes * self.size;
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
        let weighted = self.current.weighted + self.previous.weighted;
        if bytes > 0.0 {
            weighted / bytes
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::super::controller::Ack;
    use super::super::super::events::ack;
    use super::*;

    /// 1200 bytes per millisecond.
    const RATE: Option<f64> = Some(1.2e6);

    fn single(ack: Ack) -> Gathered {
        Gathered::one(&ack)
    }

    /// An ACK after this many microseconds.
    fn ack_at(us: u64, bytes: u64) -> Ack {
        Ack {
            now: Duration::from_micros(us),
            ..ack(1_000, bytes)
        }
    }

    #[test]
    fn frames_of_one_instant_are_one_aggregate() {
        let mut aggregation = AckAggregation::default();
        aggregation.on_acks(&single(ack(100, 1_200)), None);
        aggregation.on_acks(&single(ack(100, 2_400)), None);
        aggregation.on_acks(&single(ack(120, 3_600)), None);
        aggregation.on_acks(&single(ack(121, 3_600)), None);
        assert_eq!(aggregation.typical_bytes(), 3_600.0);
    }

    #[test]
    fn acks_that_the_way_back_transmits_in_a_row_are_one_aggregate() {
        let mut aggregation = AckAggregation::default();
        for us in [0, 250, 500, 750] {
            aggregation.on_acks(&single(ack_at(10_000 + us, 3_600)), RATE);
        }
        aggregation.on_acks(&single(ack_at(11_000, 0)), RATE);
        // 4 x 3600, less 900 that the path delivers in 0.75 ms.
        assert_eq!(aggregation.typical_bytes(), 13_500.0);
    }

    #[test]
    fn acks_as_fast_as_the_path_are_no_aggregate() {
        let mut aggregation = AckAggregation::default();
        for us in (10_000..100_000).step_by(100) {
            aggregation.on_acks(&single(ack_at(us, 120)), RATE);
        }
        assert!((120.0..120.1).contains(&aggregation.typical_bytes()));
    }

    #[test]
    fn an_aggregate_has_the_weight_of_its_bytes() {
        let mut aggregation = AckAggregation::default();
        assert_eq!(aggregation.typical_bytes(), 0.0);
        for at in 1..=10 {
            aggregation.on_acks(&single(ack(100 * at, 1_200)), None);
        }
        aggregation.on_acks(&single(ack(2_000, 12_000)), None);
        aggregation.on_acks(&single(ack(2_100, 1_200)), None);
        // Half of the bytes came in aggregates of 1200, half in one of 12000.
        assert_eq!(aggregation.typical_bytes(), 6_600.0);
    }

    #[test]
    fn an_aggregate_is_remembered_for_five_to_ten_round_trips() {
        let mut aggregation = AckAggregation::default();
        aggregation.on_acks(&single(ack(100, 6_000)), None);
        aggregation.on_acks(&single(ack(200, 0)), None);
        for _ in 0..9 {
            aggregation.end_round();
        }
        assert_eq!(aggregation.typical_bytes(), 6_000.0);
        aggregation.end_round();
        assert_eq!(aggregation.typical_bytes(), 0.0);
    }

    #[test]
    fn gathered_acks_are_no_aggregate_if_they_are_as_fast_as_the_path() {
        let mut aggregation = AckAggregation::default();
        for ms in 10..100 {
            // Five of 240 bytes, 0.2 ms apart.
            let gathered = Gathered {
                ack: ack_at(1_000 * ms + 800, 1_200),
                began: Duration::from_millis(ms),
                largest: 240,
            };
            aggregation.on_acks(&gathered, RATE);
        }
        assert!((240.0..240.1).contains(&aggregation.typical_bytes()));
    }

    #[test]
    fn an_aggregate_is_as_large_as_its_largest_ack_at_least() {
        let mut aggregation = AckAggregation::default();
        let slow = Gathered {
            ack: ack_at(10_800, 1_000),
            began: Duration::from_millis(10),
            largest: 700,
        };
        aggregation.on_acks(&slow, RATE);
        aggregation.on_acks(&single(ack_at(20_000, 0)), RATE);
        assert_eq!(aggregation.typical_bytes(), 700.0);
    }
}
