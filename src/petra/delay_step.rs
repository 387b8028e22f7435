//! A delay that comes at once and stays: a longer path, before its windows can be compared.
//!
//! A queue takes time to build. Between two packets that leave one after the other, it grows by
//! what others send meanwhile. On a path that has become longer, the second one takes longer by all
//! that was added, and each packet behind it by as much:
//!
//! | delay | first packet | packets behind it | packets sent after its ACK |
//! |---|---|---|---|
//! | a longer path | rises at once | as long | as long |
//! | an outage | rises at once | shorter and shorter | as before |
//! | a slower link, or a queue of others | rises little by little | longer and longer | |
//! | reordering | a packet that overtook others comes before it | as long | as long |
//!
//! The two packets before the rise must therefore have been without a queue, and the longer one of
//! them counts.

use std::time::Duration;

use super::super::bandwidth::GRANULARITY;
use super::super::controller::{Ack, Time};

/// Least rise that counts: the least `RttThresh` of RFC 9406, Section 4.2
/// (<https://www.rfc-editor.org/rfc/rfc9406#section-4.2>).
const MIN_RISE: Duration = Duration::from_millis(4);

/// The least rise in multiples of the noise. With 2, jitter that lasts makes longer queues
/// (docs/attempts.md, "A delay that comes at once").
const MIN_RISE_NOISE: u32 = 4;

/// Divisor of the base RTT that gives the least rise. Of 2, 4 and 8, the largest that leaves out
/// no path of `lab/plans/varying/random-paths.toml` that gains.
const BASE_DIVISOR: u32 = 4;

/// Divisor of the rise that gives the largest queue before it, and the longest time in which the
/// packets before it and the first one were sent. In so short a time, others would have to send at
/// five times the rate of the path. With 2 and 1 in place of 4, reordering and losses in bursts
/// look like a rise.
const BEFORE_DIVISOR: u32 = 4;

/// Divisor of the rise that gives the largest variation of a delay that stays.
const VARIATION_DIVISOR: u32 = 8;

/// The RTT sample of a packet.
#[derive(Clone, Copy, Debug)]
struct Sample {
    sent: Time,
    rtt: Duration,
}

/// A rise, and the delay since then.
#[derive(Clone, Copy, Debug)]
struct Rise {
    /// The time of the first ACK that showed it.
    at: Time,
    /// The RTT of that packet.
    first: Duration,
    /// The largest difference from it.
    most: Duration,
    /// The least RTT since then.
    min: Duration,
}

/// Compares the RTT samples of packets in a row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DelayStep {
    /// The last two, newest first.
    last: [Option<Sample>; 2],
    rise: Option<Rise>,
}

impl DelayStep {
    /// Takes an ACK. `path` returns the base RTT and the noise, for which few samples ask. Returns
    /// the minimum RTT of the path if it has become longer.
    pub(super) fn on_ack(
        &mut self,
        ack: &Ack,
        path: impl FnOnce() -> (Duration, Duration),
    ) -> Option<Duration> {
        let sample = Sample {
            sent: ack.newest_sent,
            rtt: ack.rtt.latest,
        };
        let [newest, second] = self.last;
        // Only the largest acknowledged packet gives a sample (RFC 9002, Section 5.1,
        // <https://www.rfc-editor.org/rfc/rfc9002#section-5.1>).
        if newest.is_some_and(|newest| sample.sent <= newest.sent) {
            return None;
        }
        self.last = [Some(sample), newest];
        if let Some(rise) = self.rise.as_mut().filter(|rise| rise.stays(sample.rtt)) {
            rise.min = rise.min.min(sample.rtt);
            let lasted = sample.sent >= rise.at;
            return self.rise.take_if(|_| lasted).map(|rise| rise.min);
        }
        self.rise = newest.zip(second).and_then(|(newest, second)| {
            let before = newest.rtt.max(second.rtt);
            let rise = sample.rtt.saturating_sub(before);
            let sudden = sample.sent - second.sent <= rise / BEFORE_DIVISOR;
            (rise >= MIN_RISE && sudden && is_large(rise, before, path())).then(|| Rise {
                at: ack.now,
                first: sample.rtt,
                most: (rise / VARIATION_DIVISOR).max(GRANULARITY),
                min: sample.rtt,
            })
        });
        None
    }
}

impl Rise {
    fn stays(&self, rtt: Duration) -> bool {
        self.first.abs_diff(rtt) <= self.most
    }
}

/// Returns true if a rise from an RTT of `before` is large for this path, of a base RTT and noise,
/// and began without a queue.
fn is_large(rise: Duration, before: Duration, (base, noise): (Duration, Duration)) -> bool {
    rise > noise.saturating_mul(MIN_RISE_NOISE)
        && rise >= base / BASE_DIVISOR
        && before <= base.saturating_add(rise / BEFORE_DIVISOR)
}

#[cfg(kani)]
mod proofs {
    use super::super::super::proofs::{any_ack, any_duration, maybe};
    use super::*;

    #[kani::proof]
    fn the_minimum_rtt_is_one_that_was_measured() {
        let sample = || Sample {
            sent: any_duration(),
            rtt: any_duration(),
        };
        let (newest, second) = (sample(), sample());
        kani::assume(newest.sent > second.sent);
        let rise = Rise {
            at: any_duration(),
            first: any_duration(),
            most: any_duration(),
            min: any_duration(),
        };
        let mut step = DelayStep {
            last: [maybe(newest), maybe(second)],
            rise: maybe(rise),
        };
        let ack = any_ack();
        if let Some(min) = step.on_ack(&ack, || (any_duration(), any_duration())) {
            assert!(min == rise.min.min(ack.rtt.latest));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::events::{measured, ms};
    use super::*;

    /// Takes the samples of packets, with the times of their ACKs and the RTTs in milliseconds, on
    /// a path of 80 ms. Returns the first longer path and the index of its sample.
    fn found(noise: u64, samples: impl IntoIterator<Item = (u64, u64)>) -> Option<(usize, u64)> {
        let mut step = DelayStep::default();
        let path = || (ms(80), ms(noise));
        samples.into_iter().enumerate().find_map(|(n, (now, rtt))| {
            let min = step.on_ack(&measured(now, rtt), path)?;
            Some((n, min.as_millis() as u64))
        })
    }

    /// Packets that leave at these milliseconds with these RTTs.
    fn sent(packets: impl IntoIterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
        let ack = |(sent, rtt)| (sent + rtt, rtt);
        packets.into_iter().map(ack).collect()
    }

    /// Packets each millisecond, whose RTTs follow from the time of sending.
    fn each_ms(rtt: impl Fn(u64) -> u64) -> Vec<(u64, u64)> {
        sent((0..400).map(|at| (at, rtt(at))))
    }

    #[test]
    fn a_rise_that_stays_for_a_round_trip_is_of_the_path() {
        // The ACK of the first one comes at 180 ms.
        let longer = each_ms(|at| if at < 20 { 80 } else { 160 });
        assert_eq!(found(0, longer), Some((180, 160)));
        // An eighth of 80 ms are 10 ms.
        let varies = |by| each_ms(move |at| if at < 20 { 80 } else { 160 - by * (at % 2) });
        assert_eq!(found(0, varies(10)), Some((180, 150)));
        assert_eq!(found(0, varies(11)), None);
    }

    #[test]
    fn what_an_outage_or_a_queue_adds_does_not_stay() {
        let outage = |at| {
            80 + if at < 20 {
                0
            } else {
                100u64.saturating_sub(at - 20)
            }
        };
        assert_eq!(found(0, each_ms(outage)), None);
        let slower = |at: u64| 80 + 2 * at.saturating_sub(20);
        assert_eq!(found(0, each_ms(slower)), None);
        // 40 ms at once, and 10 ms later.
        let grows = |at| if at < 20 { 80 } else { 120 + (at - 20) / 10 };
        assert_eq!(found(0, each_ms(grows)), None);
    }

    #[test]
    fn it_is_a_quarter_of_the_base_rtt_and_exceeds_four_times_the_noise() {
        let rises = |by: u64| each_ms(move |at| if at < 20 { 80 } else { 80 + by });
        assert_eq!(found(0, rises(19)), None);
        assert_eq!(found(0, rises(20)), Some((120, 100)));
        assert_eq!(found(5, rises(20)), None);
        assert_eq!(found(5, rises(21)), Some((121, 101)));
    }

    #[test]
    fn it_begins_without_a_queue() {
        let queued = |queue: u64| each_ms(move |at| if at < 20 { 80 + queue } else { 160 + queue });
        assert_eq!(found(0, queued(20)), Some((200, 180)));
        assert_eq!(found(0, queued(21)), None);
    }

    #[test]
    fn the_packets_before_it_left_within_a_quarter_of_it() {
        let pause = |ms: u64| {
            let before = (0..20).map(|at| (at, 80));
            let after = (0..380).map(move |at| (18 + ms + at, 160));
            found(0, sent(before.chain(after)))
        };
        // From the second one before it.
        assert!(pause(20).is_some() && pause(21).is_none());
    }

    #[test]
    fn a_packet_that_overtook_others_is_not_before_a_rise() {
        let overtaken = |at| if at == 20 { 40 } else { 80 };
        assert_eq!(found(0, each_ms(overtaken)), None);
    }

    #[test]
    fn samples_of_older_packets_do_not_count() {
        let longer = (0..400).map(|at| (at, if at < 20 { 80 } else { 160 }));
        // Each packet is acknowledged again, later.
        let twice = longer.flat_map(|packet| [packet, (packet.0, packet.1 + 11)]);
        assert_eq!(found(0, sent(twice)), Some((360, 160)));
    }

    #[test]
    fn a_second_rise_begins_anew() {
        let both = |at| match at {
            0..20 => 80,
            20..100 => 120,
            _ => 200,
        };
        // 200 ms are the path's from 100 ms on, and that of the packet is over at 300 ms.
        assert_eq!(found(0, each_ms(both)), None);
        let base = || (ms(120), ms(0));
        let mut step = DelayStep::default();
        let found = each_ms(both).into_iter().find_map(|(now, rtt)| {
            let min = step.on_ack(&measured(now, rtt), base)?;
            Some((now, min))
        });
        assert_eq!(found, Some((500, ms(200))));
    }
}
