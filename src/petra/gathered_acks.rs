//! ACKs that follow each other closely, which count as one.
//!
//! The estimators cost far more than an ACK of one or two packets can tell them. A receiver may
//! acknowledge many packets by a single ACK (RFC 9000, Section 13.2.2,
//! <https://www.rfc-editor.org/rfc/rfc9000#section-13.2.2>), whose RTT sample is of the newest
//! packet. ACKs that are gathered look the same.

use std::time::Duration;

use super::super::bandwidth::GRANULARITY;
use super::super::controller::{Ack, Time};

/// Divisor of the minimum RTT that gives the time for which ACKs are gathered, where that is less
/// than the granularity of timers. The first event after that time takes them. Of 32 and 64, the
/// shares next to other flows stay the same with the latter (docs/attempts.md, "ACKs that count as
/// one").
const MIN_RTT_DIVISOR: u32 = 64;

/// ACKs that were gathered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gathered {
    /// The ACK that a receiver would have sent in place of all. It is app-limited if any of them
    /// is.
    pub(super) ack: Ack,
    /// The time of the first one.
    pub(super) began: Time,
    /// The bytes of the largest one.
    pub(super) largest: u64,
}

impl Gathered {
    /// A single ACK.
    pub(super) fn one(ack: &Ack) -> Self {
        Self {
            ack: *ack,
            began: ack.now,
            largest: ack.bytes,
        }
    }

    /// Adds an ACK of packets that were sent later.
    fn add(&mut self, ack: &Ack) {
        self.ack = Ack {
            bytes: self.ack.bytes.saturating_add(ack.bytes),
            first_sent: self.ack.first_sent,
            app_limited: self.ack.app_limited || ack.app_limited,
            ..*ack
        };
        self.largest = self.largest.max(ack.bytes);
    }
}

/// Gathers ACKs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GatheredAcks {
    gathered: Option<Gathered>,
    /// The time of the last ACK that was taken, and that from which the next ones are due.
    taken: Time,
    due: Time,
    /// The minimum RTT, and the time for which to gather, which follows from it.
    min_rtt: Duration,
    longest: Duration,
}

impl GatheredAcks {
    /// Takes an ACK. Returns what was gathered before it and does not belong to it.
    pub(super) fn add(&mut self, ack: &Ack) -> Option<Gathered> {
        let before = self.take_before(ack);
        if ack.rtt.min != self.min_rtt {
            self.min_rtt = ack.rtt.min;
            self.longest = (self.min_rtt / MIN_RTT_DIVISOR).min(GRANULARITY);
        }
        match &mut self.gathered {
            Some(gathered) => gathered.add(ack),
            None => self.gathered = Some(Gathered::one(ack)),
        }
        before
    }

    /// Returns what has been gathered, if it is due at this time.
    pub(super) fn due(&mut self, now: Time) -> Option<Gathered> {
        if now < self.due {
            return None;
        }
        self.take()
    }

    /// Returns what does not belong to this ACK: what is due, what has overtaken a packet of it, or
    /// what came at the same time as the last that was taken. As a part of a later ACK, the latter
    /// would make the delivery rate too high. If this ACK is app-limited, that does not let the
    /// window grow.
    fn take_before(&mut self, ack: &Ack) -> Option<Gathered> {
        let gathered = &self.gathered.as_ref()?.ack;
        let of_taken = gathered.now == self.taken && ack.now > self.taken;
        if ack.now < self.due && ack.first_sent >= gathered.newest_sent && !of_taken {
            return None;
        }
        let mut gathered = self.take()?;
        gathered.ack.app_limited |= ack.app_limited;
        Some(gathered)
    }

    /// Returns what has been gathered.
    pub(super) fn take(&mut self) -> Option<Gathered> {
        let gathered = self.gathered.take()?;
        self.taken = gathered.ack.now;
        self.due = self.taken.saturating_add(self.longest);
        Some(gathered)
    }
}

#[cfg(kani)]
mod proofs {
    use super::super::super::proofs::{any_ack, any_bytes, any_duration, maybe};
    use super::*;

    impl GatheredAcks {
        fn arbitrary() -> Self {
            Self {
                gathered: maybe(Gathered {
                    ack: any_ack(),
                    began: any_duration(),
                    largest: any_bytes(),
                }),
                taken: any_duration(),
                due: any_duration(),
                min_rtt: any_duration(),
                longest: any_duration(),
            }
        }
    }

    fn bytes(gathered: Option<Gathered>) -> u64 {
        gathered.map_or(0, |gathered| gathered.ack.bytes)
    }

    #[kani::proof]
    fn no_acknowledged_byte_is_lost_or_counted_twice() {
        let mut acks = GatheredAcks::arbitrary();
        let ack = any_ack();
        let before = bytes(acks.gathered);
        kani::assume(before < 1 << 63 && ack.bytes < 1 << 63);
        let taken = acks.add(&ack);
        assert!(bytes(taken) + bytes(acks.gathered) == before + ack.bytes);
        kani::cover!(taken.is_some());
        let kept = bytes(acks.gathered);
        let due = acks.due(any_duration());
        assert!(bytes(due) + bytes(acks.gathered) == kept);
        kani::cover!(due.is_none());
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::controller::Rtt;
    use super::super::super::events::{ack, rtt, DATAGRAM};
    use super::*;

    const fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    /// The ACK, at this microsecond, of a datagram that left 90 ms before.
    fn at(now: u64) -> Ack {
        of(now, now - 90_000)
    }

    /// The ACK of a datagram, with both times in microseconds.
    fn of(now: u64, sent: u64) -> Ack {
        let sent = us(sent);
        Ack {
            now: us(now),
            first_sent: sent,
            last_sent: sent,
            newest_sent: sent,
            ..ack(0, DATAGRAM)
        }
    }

    /// After an ACK at 100 ms that has been taken.
    fn gathering() -> GatheredAcks {
        let mut acks = GatheredAcks::default();
        acks.add(&at(100_000));
        let first = acks.due(us(100_000)).unwrap();
        assert_eq!(first.ack, at(100_000));
        acks
    }

    #[test]
    fn they_are_due_a_millisecond_after_the_last_ones() {
        let mut acks = gathering();
        acks.add(&at(100_200));
        assert!(acks.due(us(100_999)).is_none());
        assert_eq!(acks.due(us(101_000)).unwrap().ack, at(100_200));
        assert!(acks.due(us(110_000)).is_none(), "nothing was gathered");
    }

    #[test]
    fn an_ack_of_the_time_at_which_they_are_due_is_not_gathered_with_them() {
        for (now, with_them) in [(100_999, true), (101_000, false)] {
            let mut acks = gathering();
            acks.add(&at(100_200));
            assert_eq!(acks.add(&at(now)).is_none(), with_them, "{now}");
        }
    }

    #[test]
    fn on_a_short_path_they_are_due_after_a_64th_of_the_minimum_rtt() {
        let mut acks = GatheredAcks::default();
        let short = |now| {
            let rtt = Rtt {
                min: us(6_400),
                ..at(now).rtt
            };
            Ack { rtt, ..at(now) }
        };
        acks.add(&short(100_000));
        assert!(acks.take().is_some());
        acks.add(&short(100_050));
        assert!(acks.due(us(100_099)).is_none());
        assert!(acks.due(us(100_100)).is_some());
    }

    #[test]
    fn they_look_like_one_ack_of_all_packets() {
        let mut acks = gathering();
        acks.add(&Ack {
            bytes: 2 * DATAGRAM,
            ..at(100_200)
        });
        let last = Ack {
            bytes_in_flight: 7 * DATAGRAM,
            rtt: rtt(91, 90),
            ..at(100_500)
        };
        acks.add(&last);
        let Gathered {
            ack,
            began,
            largest,
        } = acks.take().unwrap();
        assert_eq!((began, largest), (us(100_200), 2 * DATAGRAM));
        let all = Ack {
            bytes: 3 * DATAGRAM,
            first_sent: us(10_200),
            ..last
        };
        assert_eq!(ack, all);
    }

    #[test]
    fn those_of_the_time_that_was_taken_are_not_gathered_with_later_ones() {
        let mut acks = gathering();
        acks.add(&at(100_000));
        assert!(acks.add(&at(100_000)).is_none());
        let taken = acks.add(&at(100_100)).unwrap();
        assert_eq!(taken.ack.now, us(100_000));
        assert_eq!(taken.ack.bytes, 2 * DATAGRAM);
    }

    #[test]
    fn an_app_limited_one_limits_those_before_it() {
        let app_limited = |now| Ack {
            app_limited: true,
            ..at(now)
        };
        let mut acks = gathering();
        acks.add(&at(100_200));
        assert!(acks.add(&app_limited(102_000)).unwrap().ack.app_limited);
        let mut acks = gathering();
        acks.add(&app_limited(100_200));
        acks.add(&at(100_300));
        assert!(acks.take().unwrap().ack.app_limited);
    }

    #[test]
    fn packets_and_those_that_have_overtaken_them_are_not_gathered_together() {
        let mut acks = gathering();
        let overtaker = at(100_200);
        acks.add(&overtaker);
        assert_eq!(acks.add(&of(100_300, 10_199)).unwrap().ack, overtaker);
        assert!(acks.add(&at(100_400)).is_none());
    }
}
