//! Lone packets, which are sent while not even one other datagram is in flight.
//!
//! No more of their own connection is ahead of them. What they wait is no queue that the
//! connection has built: it is jitter, or the queue of others.

use super::super::bandwidth::GRANULARITY;
use super::super::controller::{Ack, Sent, Time};

/// Packets behind one with which its ACK is not delayed (RFC 9000, Section 13.2.2,
/// <https://www.rfc-editor.org/rfc/rfc9000#section-13.2.2>), even if one of them is lost. The
/// ACK of the last packets may wait for the receiver's `max_ack_delay`.
const PACKETS_BEHIND: usize = 2;

/// A flight that begins with lone packets, until the first ACK of others.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LoneFlight {
    /// Send time of the first packet; the others leave within [`GRANULARITY`]. `None` without a
    /// flight.
    began: Option<Time>,
    /// Bytes of the packets that count: the lone ones, and the one behind them. An ACK of two
    /// packets has the sample of the second.
    bytes: u64,
    /// The bytes of the last packets, if they count once as many are behind them.
    last: [u64; PACKETS_BEHIND],
    /// The packet behind the lone ones has been sent.
    complete: bool,
}

impl LoneFlight {
    /// Takes a packet that was sent, and the bytes of a whole datagram.
    pub(super) fn on_sent(&mut self, sent: &Sent, datagram: u64) {
        let lone = sent.bytes_in_flight <= datagram;
        match self.began {
            None if lone => self.began = Some(sent.time_sent),
            Some(began) if belongs(sent.time_sent, began) => {}
            _ => return,
        }
        let counts = lone || !self.complete;
        self.complete |= !lone;
        self.bytes = self.bytes.saturating_add(self.last[0]);
        self.last.rotate_left(1);
        self.last[PACKETS_BEHIND - 1] = if counts { sent.bytes } else { 0 };
    }

    /// Returns true if the RTT sample of this ACK is that of a lone packet, or of the one behind.
    pub(super) fn on_ack(&mut self, ack: &Ack) -> bool {
        let Some(began) = self.began.filter(|began| ack.newest_sent >= *began) else {
            return false;
        };
        let counts = belongs(ack.newest_sent, began) && ack.bytes <= self.bytes;
        if counts {
            self.bytes -= ack.bytes;
        } else {
            *self = Self::default();
        }
        counts
    }
}

/// Returns true if a packet that was sent at this time is of the flight that began then.
fn belongs(sent: Time, began: Time) -> bool {
    sent >= began && sent - began < GRANULARITY
}

#[cfg(kani)]
mod proofs {
    use super::super::super::proofs::{any_ack, any_bytes, any_duration, any_sent, maybe};
    use super::*;

    impl LoneFlight {
        fn arbitrary() -> Self {
            Self {
                began: maybe(any_duration()),
                bytes: any_bytes(),
                last: [any_bytes(), any_bytes()],
                complete: kani::any(),
            }
        }
    }

    #[kani::proof]
    fn a_lone_packet_is_of_the_flight() {
        let mut flight = LoneFlight::arbitrary();
        flight.on_sent(&any_sent(), kani::any());
        let (before, ack) = (flight, any_ack());
        let is_lone = flight.on_ack(&ack);
        assert!(!is_lone || before.bytes - flight.bytes == ack.bytes);
        assert!(!is_lone || before.began.is_some_and(|began| ack.newest_sent >= began));
        kani::cover!(is_lone);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::super::events::{ack, ms};
    use super::*;

    const DATAGRAM: u64 = 1_350;

    /// Packets of these sizes that leave 3 us apart, as on a real clock, behind `ahead` bytes.
    fn send(flight: &mut LoneFlight, at: u64, ahead: u64, sizes: &[u64]) {
        let mut bytes_in_flight = ahead;
        let mut time = ms(at);
        for bytes in sizes {
            bytes_in_flight += bytes;
            let sent = Sent {
                now: time,
                time_sent: time,
                bytes: *bytes,
                bytes_in_flight,
            };
            flight.on_sent(&sent, DATAGRAM);
            time += Duration::from_micros(3);
        }
    }

    fn flight(ahead: u64, sizes: &[u64]) -> LoneFlight {
        let mut flight = LoneFlight::default();
        send(&mut flight, 100, ahead, sizes);
        flight
    }

    /// An ACK at 200 ms of packets that were sent at `sent` ms.
    fn acks(flight: &mut LoneFlight, sent: u64, bytes: u64) -> bool {
        flight.on_ack(&Ack {
            newest_sent: ms(sent),
            ..ack(200, bytes)
        })
    }

    #[test]
    fn a_lone_packet_and_the_one_behind_it_count_once() {
        let mut flight = flight(0, &[DATAGRAM; 10]);
        assert!(acks(&mut flight, 100, DATAGRAM));
        assert!(acks(&mut flight, 100, DATAGRAM));
        assert!(!acks(&mut flight, 100, DATAGRAM));
    }

    #[test]
    fn an_ack_of_two_packets_counts_and_one_of_three_does_not() {
        let second = ms(100) + Duration::from_micros(3);
        let of_two = Ack {
            newest_sent: second,
            ..ack(200, 2 * DATAGRAM)
        };
        assert!(flight(0, &[DATAGRAM; 10]).on_ack(&of_two));
        let mut flight = flight(0, &[DATAGRAM; 10]);
        assert!(!acks(&mut flight, 100, 2 * DATAGRAM + 1));
        // That ACK was the first of the flight.
        assert!(!acks(&mut flight, 100, DATAGRAM));
    }

    #[test]
    fn all_packets_up_to_a_datagram_are_alone() {
        let sizes = [450, 450, 450, DATAGRAM, DATAGRAM, DATAGRAM];
        let mut small = flight(0, &sizes);
        // The three, and one behind.
        for bytes in [450, 450, 450, DATAGRAM] {
            assert!(acks(&mut small, 100, bytes));
        }
        assert!(!acks(&mut small, 100, DATAGRAM));
        assert!(acks(&mut flight(900, &sizes), 100, 450 + 450));
        assert!(!acks(&mut flight(901, &sizes), 100, 450));
    }

    #[test]
    fn an_ack_that_may_be_delayed_does_not_count() {
        assert!(!acks(&mut flight(0, &[DATAGRAM; 2]), 100, DATAGRAM));
        assert!(!acks(&mut flight(0, &[DATAGRAM; 3]), 100, 2 * DATAGRAM));
        let mut late = flight(0, &[DATAGRAM; 2]);
        send(&mut late, 101, 2 * DATAGRAM, &[DATAGRAM]);
        assert!(!acks(&mut late, 100, DATAGRAM));
    }

    #[test]
    fn packets_that_are_reported_together_are_not_alone() {
        assert!(!acks(&mut flight(0, &[10 * DATAGRAM; 3]), 100, DATAGRAM));
    }

    #[test]
    fn a_flight_waits_for_its_own_acks_and_then_the_next_one_begins() {
        let mut flight = flight(0, &[400; 3]);
        send(&mut flight, 110, 0, &[400; 3]);
        assert!(!acks(&mut flight, 90, 400));
        assert!(acks(&mut flight, 100, 400));
        // The ACK of a packet that was sent later ends it.
        assert!(!acks(&mut flight, 110, 400));
        send(&mut flight, 120, 0, &[400; 3]);
        assert!(acks(&mut flight, 120, 400));
    }
}
