//! The time for which ACKs were held back.
//!
//! A link or a receiver may hold ACKs back and release them together: a radio with slots, or an
//! ACK of many packets. The ACK of a packet waits while packets arrive behind it, and that of the
//! newest waits least. Where the sender paused behind the newest one, no packet arrived, and what
//! its ACK waited is no queue.

use std::time::Duration;

use super::super::bandwidth::GRANULARITY;
use super::super::controller::{Ack, Sent, Time};
use super::gathered_acks::Gathered;

/// Pauses of the sender that are remembered. A window that is too small for ACKs in slots leaves
/// one pause a slot.
const MAX_PAUSES: usize = 4;

/// Divisor of the minimum RTT that gives the shortest time that counts, of a pause and of held
/// ACKs. An ACK of two packets is no aggregate, and the pacer's gaps are no pauses.
const MIN_TIME_DIVISOR: u32 = 16;

/// A time in which the sender sent nothing.
#[derive(Clone, Copy, Debug, Default)]
struct Pause {
    /// Send time of the last packet before it.
    after: Time,
    length: Duration,
}

/// ACKs within [`GRANULARITY`].
#[derive(Clone, Copy, Debug, Default)]
struct Aggregate {
    at: Time,
    /// Send time of the first packet that they acknowledge.
    first_sent: Time,
    /// The smallest of their samples.
    min: Option<Duration>,
}

/// Takes the time for which ACKs were held back out of the RTT samples.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldAcks {
    newest_sent: Time,
    pauses: [Pause; MAX_PAUSES],
    /// The index of the oldest pause.
    oldest: usize,
    /// The minimum RTT, and the shortest time that counts, which follows from it.
    min_rtt: Duration,
    min_time: Duration,
    current: Aggregate,
    /// The smallest sample of the aggregate before.
    previous: Option<Duration>,
    recent: Duration,
}

impl Default for HeldAcks {
    fn default() -> Self {
        Self {
            newest_sent: Time::ZERO,
            pauses: [Pause::default(); MAX_PAUSES],
            oldest: 0,
            min_rtt: Duration::ZERO,
            min_time: GRANULARITY,
            current: Aggregate::default(),
            previous: None,
            recent: Duration::ZERO,
        }
    }
}

impl HeldAcks {
    pub(super) fn on_sent(&mut self, sent: &Sent) {
        let length = sent.time_sent.saturating_sub(self.newest_sent);
        if length >= self.min_time {
            self.pauses[self.oldest] = Pause {
                after: self.newest_sent,
                length,
            };
            self.oldest = (self.oldest + 1) % MAX_PAUSES;
        }
        self.newest_sent = self.newest_sent.max(sent.time_sent);
    }

    /// Returns the RTT sample `rtt` of these ACKs, less the time for which they may have been held:
    /// at least `min_rtt`, that of the present path.
    pub(super) fn on_acks(
        &mut self,
        acks: &Gathered,
        rtt: Duration,
        min_rtt: Duration,
    ) -> Duration {
        let ack = &acks.ack;
        if ack.rtt.min != self.min_rtt {
            self.min_rtt = ack.rtt.min;
            self.min_time = (ack.rtt.min / MIN_TIME_DIVISOR).max(GRANULARITY);
        }
        if ack.now.saturating_sub(self.current.at) >= GRANULARITY {
            self.previous = self.current.min;
            self.current = Aggregate {
                at: acks.began,
                first_sent: ack.first_sent,
                min: None,
            };
        }
        // The ACK of the first packet was held for so long at least, and so may be the next ones.
        let held = ack.newest_sent.saturating_sub(self.current.first_sent);
        let aggregated = held >= self.min_time;
        let sample = if aggregated {
            let longest = rtt.saturating_sub(min_rtt);
            rtt - held.min(self.pause_after(ack)).min(longest)
        } else {
            rtt
        };
        let min = self.current.min.map_or(sample, |min| min.min(sample));
        self.current.min = Some(min);
        self.recent = match self.previous {
            Some(previous) if aggregated => min.min(previous),
            _ => sample,
        };
        sample
    }

    /// The RTT of the last packets: the last sample, or the smallest one of an aggregate and the
    /// aggregate before. The first ACKs of an aggregate were held longest.
    pub(super) fn recent(&self) -> Duration {
        self.recent
    }

    /// The time in which nothing was sent behind the newest packet of this ACK.
    fn pause_after(&self, ack: &Ack) -> Duration {
        if ack.newest_sent >= self.newest_sent {
            return ack.now.saturating_sub(ack.newest_sent);
        }
        let found = |pause: &&Pause| pause.after == ack.newest_sent;
        let pause = self.pauses.iter().find(found);
        pause.map_or(Duration::ZERO, |pause| pause.length)
    }
}

#[cfg(kani)]
mod proofs {
    use super::super::super::proofs::{any_duration, any_sent, maybe};
    use super::*;

    impl HeldAcks {
        fn arbitrary() -> Self {
            let pause = || Pause {
                after: any_duration(),
                length: any_duration(),
            };
            Self {
                newest_sent: any_duration(),
                pauses: [pause(), pause(), pause(), pause()],
                oldest: kani::any_where(|oldest| *oldest < MAX_PAUSES),
                min_rtt: any_duration(),
                min_time: any_duration(),
                current: Aggregate {
                    at: any_duration(),
                    first_sent: any_duration(),
                    min: maybe(any_duration()),
                },
                previous: maybe(any_duration()),
                recent: any_duration(),
            }
        }
    }

    #[kani::proof]
    fn a_pause_has_a_place() {
        let mut held = HeldAcks::arbitrary();
        held.on_sent(&any_sent());
        assert!(held.oldest < MAX_PAUSES);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::events::{ack, ms, rtt, sent, MIN_RTT};
    use super::*;

    /// Packets that leave every 5 ms between these times.
    fn send(acks: &mut HeldAcks, from: u64, to: u64) {
        for at in (from..to).step_by(5) {
            acks.on_sent(&sent(at, 1_200));
        }
    }

    /// The sample of the ACK at `now` of a packet sent at `at`, on a path of 90 ms.
    fn sample(acks: &mut HeldAcks, now: u64, at: u64) -> u64 {
        let ack = Ack {
            first_sent: ms(at),
            last_sent: ms(at),
            newest_sent: ms(at),
            rtt: rtt(now - at, 90),
            ..ack(now, 1_200)
        };
        acks.on_acks(&Gathered::one(&ack), ms(now - at), MIN_RTT)
            .as_millis() as u64
    }

    #[test]
    fn acks_held_while_the_sender_paused_show_the_minimum() {
        let mut acks = HeldAcks::default();
        acks.on_acks(&Gathered::one(&ack(900, 1_200)), MIN_RTT, MIN_RTT);
        // Of a slot of 50 ms, the window fills 30.
        send(&mut acks, 1_000, 1_030);
        let samples: Vec<_> = (0..6)
            .map(|n| sample(&mut acks, 1_140, 1_000 + 5 * n))
            .collect();
        // The newest packet's ACK may have been held for as long as the first one's: 25 ms.
        assert_eq!(samples, [140, 135, 130, 125, 120, 90]);
        assert_eq!(acks.recent(), MIN_RTT);
    }

    #[test]
    fn a_pause_between_packets_in_flight_bounds_the_time_held() {
        let mut acks = HeldAcks::default();
        acks.on_acks(&Gathered::one(&ack(900, 1_200)), MIN_RTT, MIN_RTT);
        send(&mut acks, 1_000, 1_030);
        send(&mut acks, 1_040, 1_060);
        for at in (1_000..1_025).step_by(5) {
            sample(&mut acks, 1_140, at);
        }
        // 115, less the pause of 15 ms.
        assert_eq!(sample(&mut acks, 1_140, 1_025), 100);
    }

    #[test]
    fn a_queue_behind_which_the_sender_does_not_pause_remains() {
        let mut acks = HeldAcks::default();
        send(&mut acks, 1_000, 2_000);
        for slot in (1_150..1_900).step_by(50) {
            for at in (slot - 145..slot - 95).step_by(5) {
                assert_eq!(sample(&mut acks, slot, at), slot - at);
            }
        }
        assert_eq!(acks.recent(), ms(100));
    }

    #[test]
    fn an_ack_by_itself_is_not_held() {
        let mut acks = HeldAcks::default();
        for at in (1_000..2_000).step_by(200) {
            acks.on_sent(&sent(at, 1_200));
            assert_eq!(sample(&mut acks, at + 120, at), 120);
            assert_eq!(acks.recent(), ms(120));
        }
    }

    #[test]
    fn the_first_acks_of_an_aggregate_do_not_count_as_recent() {
        let mut acks = HeldAcks::default();
        send(&mut acks, 1_000, 2_000);
        for at in (1_005..1_055).step_by(5) {
            sample(&mut acks, 1_150, at);
        }
        assert_eq!(sample(&mut acks, 1_200, 1_055), 145);
        assert_eq!(sample(&mut acks, 1_200, 1_065), 135);
        assert_eq!(acks.recent(), ms(100));
    }
}
