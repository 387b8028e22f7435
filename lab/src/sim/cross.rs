//! Constant-rate traffic in operation.

use super::channel::{Nanos, PacketOutcome};
use super::path::Hop;
use super::world::nanos;
use crate::scenario::CrossTraffic;

/// One sender of datagrams that nobody answers.
pub(super) struct Crossing {
    pub(super) hop: Hop,
    /// Bytes of each packet, IP header included.
    pub(super) packet: usize,
    rate: u64,
    start: Nanos,
    stop: Nanos,
    sent: u64,
    pub(super) arrived: u64,
}

impl Crossing {
    pub(super) fn new(traffic: &CrossTraffic) -> Self {
        Crossing {
            hop: Hop::new(traffic.way, traffic.hop as u32),
            packet: traffic.packet,
            rate: traffic.rate,
            start: nanos(traffic.start),
            stop: traffic.stop.map_or(Nanos::MAX, nanos),
            sent: 0,
            arrived: 0,
        }
    }

    /// The send time of the next packet; `None` after the last.
    pub(super) fn next(&self) -> Option<Nanos> {
        // From the number of packets and not from the last one, so that what
        // is less than a nanosecond does not add up.
        let bits = u128::from(self.sent) * self.packet as u128 * 8_000_000_000;
        let at = self.start + (bits / u128::from(self.rate)) as Nanos;
        (at < self.stop).then_some(at)
    }

    /// A packet is sent.
    pub(super) fn send(&mut self) {
        self.sent += 1;
    }

    /// A packet has met its outcome.
    pub(super) fn count(&mut self, outcome: PacketOutcome) {
        self.arrived += u64::from(matches!(outcome, PacketOutcome::Arrives { .. }));
    }

    /// Packets sent.
    pub(super) fn packets(&self) -> u64 {
        self.sent
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn packets_come_at_the_rate_from_start_to_stop() {
        // 12 kbit a packet: 3 a second.
        let mut crossing = Crossing::new(&CrossTraffic {
            start: Duration::from_secs(1),
            stop: Some(Duration::from_secs(3)),
            ..CrossTraffic::new(36_000)
        });
        let mut times = Vec::new();
        while let Some(at) = crossing.next() {
            crossing.send();
            times.push(at / 1_000_000);
        }
        assert_eq!(times, [1000, 1333, 1666, 2000, 2333, 2666]);
    }
}
