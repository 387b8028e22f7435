//! A delay that comes at once and stays: a longer path, before its windows can be compared.
//!
//! A queue takes time to build. Between two packets that leave one after the other, it grows by
//! what others send meanwhile. On a path that has become longer, the second one takes longer by all
//! that was added, and each packet behind it by as much:
//!
//! | cause | first packet | packets behind it | packets sent after its ACK |
//! |---|---|---|---|
//! | a longer path | longer at once | as long | as long |
//! | an outage | longer at once | as long, or shorter and shorter | as before |
//! | a slower link, or a queue of others | a little longer | longer and longer | longer |
//!
//! A packet that overtook others has a shorter RTT than the path, and the next one a rise. So the
//! base RTT counts as well as the packets before.

use std::time::Duration;

use super::super::bandwidth::GRANULARITY;
use super::super::controller::{Ack, Time};
use super::standing_queue::{transmission_time, MIN_RTT_THRESHOLD};

/// The least rise in multiples of the noise. With 2, jitter that lasts makes longer queues
/// (docs/attempts.md, "A delay that comes at once").
const MIN_RISE_NOISE: u32 = 4;

/// Divisor of the base RTT that gives the least rise. Of 2, 4 and 8, the least with the full
/// effect.
const BASE_DIVISOR: u32 = 4;

/// Divisor of the rise that gives the largest queue before it.
const QUEUE_DIVISOR: u32 = 4;

/// Divisor of the rise that gives the time within which three packets leave: the first one, and
/// two before it. A queue that grows by as much is of flows with five times the rate of the path.
/// Of 1, 2 and 4: with 1, jitter that lasts makes longer queues; 2 hardly differs.
const TIME_DIVISOR: u32 = 4;

/// Divisor of the rise that gives the largest variation of a delay that stays.
const VARIATION_DIVISOR: u32 = 8;

/// Least rise in multiples of the time that the path takes for the connection's own packets of this
/// sample and the one before, which may have made a queue.
const MIN_RISE_OWN: u32 = 2;

/// RTT samples that show a delay that stays. The last packet of a flight may wait for its ACK.
const MIN_SAMPLES: u32 = 4;

/// A path, and the round trips for which a delay has to stay.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    pub(super) base: Duration,
    pub(super) noise: Duration,
    /// The estimated rate in bytes per second.
    pub(super) rate: f64,
    pub(super) rounds: u32,
}

/// The RTT sample of a packet.
#[derive(Clone, Copy, Debug)]
struct Sample {
    sent: Time,
    rtt: Duration,
    /// The bytes that were acknowledged with it.
    bytes: u64,
}

/// A rise, and the delay since then.
#[derive(Clone, Copy, Debug)]
struct Rise {
    /// The RTT of the packets before it.
    before: Duration,
    is_second: bool,
    /// The RTT of the first packet.
    first: Duration,
    /// The largest difference from it.
    most: Duration,
    /// The least RTT since then.
    min: Duration,
    samples: u32,
    /// The time of the ACK that began this round trip.
    round_began: Time,
    /// Round trips that are left.
    rounds: u32,
}

impl Rise {
    /// A rise from the `last` two samples to this one, if it is large for the path. No queue may be
    /// before it, or before the `first` one of two.
    fn new(
        first: Option<Self>,
        last: [Sample; 2],
        sample: Sample,
        now: Time,
        path: Expected,
    ) -> Option<Self> {
        let [newest, second] = last;
        let last = newest.rtt.max(second.rtt);
        let before = first.map_or(last, |first| first.before);
        let rise = sample.rtt.saturating_sub(last.max(path.base));
        let queue = before.saturating_sub(path.base);
        let own = newest.bytes.saturating_add(sample.bytes);
        let own = transmission_time(own as f64, path.rate);
        let least = MIN_RTT_THRESHOLD
            .max(path.base / BASE_DIVISOR)
            .max(path.noise.saturating_mul(MIN_RISE_NOISE))
            .max(own.saturating_mul(MIN_RISE_OWN));
        (rise >= least && queue <= rise / QUEUE_DIVISOR).then_some(Self {
            before,
            is_second: first.is_some(),
            first: sample.rtt,
            most: (rise / VARIATION_DIVISOR).max(GRANULARITY),
            min: sample.rtt,
            samples: 1,
            round_began: now,
            rounds: path.rounds,
        })
    }

    /// Takes a sample. Returns false if the delay does not stay.
    fn stays(&mut self, sample: Sample, now: Time) -> bool {
        self.min = self.min.min(sample.rtt);
        self.samples = self.samples.saturating_add(1);
        if sample.sent >= self.round_began {
            self.round_began = now;
            self.rounds = self.rounds.saturating_sub(1);
        }
        self.first.abs_diff(sample.rtt) <= self.most
    }

    /// The delay has stayed for long enough.
    fn is_of_path(&self) -> bool {
        self.rounds == 0 && self.samples >= MIN_SAMPLES
    }
}

/// Compares the RTT samples of packets in a row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DelayStep {
    /// The last two, newest first.
    last: [Option<Sample>; 2],
    rise: Option<Rise>,
}

impl DelayStep {
    /// Takes an ACK. `path` is called for few samples. Returns the minimum RTT of the path if it
    /// has become longer.
    pub(super) fn on_ack(
        &mut self,
        ack: &Ack,
        path: impl FnOnce() -> Expected,
    ) -> Option<Duration> {
        let sample = Sample {
            sent: ack.newest_sent,
            rtt: ack.rtt.latest,
            bytes: ack.bytes,
        };
        let [newest, second] = self.last;
        // Only the largest acknowledged packet gives a sample (RFC 9002, Section 5.1,
        // <https://www.rfc-editor.org/rfc/rfc9002#section-5.1>). Packets of a burst left together.
        if newest.is_some_and(|newest| sample.sent < newest.sent) {
            return None;
        }
        self.last = [Some(sample), newest];
        if self
            .rise
            .as_mut()
            .is_some_and(|rise| rise.stays(sample, ack.now))
        {
            let found = self.rise.take_if(|rise| rise.is_of_path());
            return found.map(|rise| rise.min);
        }
        let first = self.rise.take().filter(|rise| !rise.is_second);
        let (newest, second) = newest.zip(second)?;
        let rise = sample.rtt.saturating_sub(newest.rtt.max(second.rtt));
        if rise >= MIN_RTT_THRESHOLD && sample.sent - second.sent <= rise / TIME_DIVISOR {
            // Where the other direction becomes longer as well, the RTT rises twice.
            self.rise = Rise::new(first, [newest, second], sample, ack.now, path());
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::events::{measured, ms};
    use super::*;

    /// A path of 80 ms, with this noise in milliseconds.
    fn noisy(noise: u64) -> Expected {
        Expected {
            base: ms(80),
            noise: ms(noise),
            rate: 1e9,
            rounds: 1,
        }
    }

    /// Takes the samples of packets, with the times of sending and the RTTs in milliseconds.
    /// Returns the time of sending and the minimum RTT of the first longer path.
    fn found_on(path: Expected, packets: &[(u64, u64)]) -> Option<(u64, u64)> {
        let mut step = DelayStep::default();
        packets.iter().find_map(|(sent, rtt)| {
            let min = step.on_ack(&measured(sent + rtt, *rtt), || path)?;
            Some((*sent, min.as_millis() as u64))
        })
    }

    fn found(packets: &[(u64, u64)]) -> Option<(u64, u64)> {
        found_on(noisy(0), packets)
    }

    /// A packet each millisecond, whose RTT follows from the time of sending.
    fn each_ms(rtt: impl Fn(u64) -> u64) -> Vec<(u64, u64)> {
        (0..400).map(|at| (at, rtt(at))).collect()
    }

    /// An RTT of `before`, and from 20 ms on of `after`.
    fn step(before: u64, after: u64) -> Vec<(u64, u64)> {
        each_ms(|at| if at < 20 { before } else { after })
    }

    #[test]
    fn a_rise_that_stays_for_a_round_trip_is_of_the_path() {
        // The ACK of the first one comes at 180 ms.
        assert_eq!(found(&step(80, 160)), Some((180, 160)));
        // An eighth of 80 ms are 10 ms.
        let moves = |by| each_ms(move |at| if at < 20 { 80 } else { 160 + by * (at % 2) });
        assert_eq!(found(&moves(10)), Some((180, 160)));
        assert_eq!(found(&moves(11)), None);
        let falls = |by| each_ms(move |at| if at < 20 { 80 } else { 160 - by * (at % 2) });
        assert_eq!(found(&falls(10)), Some((180, 150)));
        assert_eq!(found(&falls(11)), None);
    }

    #[test]
    fn packets_that_left_together_count_each() {
        let mut packets: Vec<_> = (0..20).map(|at| (at, 80)).collect();
        packets.extend([(20, 160); 8]);
        packets.push((180, 160));
        assert_eq!(found(&packets), Some((180, 160)));
    }

    #[test]
    fn trials_that_showed_a_queue_make_it_wait() {
        let path = Expected {
            rounds: 2,
            ..noisy(0)
        };
        // The ACK of the packet of 180 ms comes at 340 ms.
        assert_eq!(found_on(path, &step(80, 160)), Some((340, 160)));
    }

    #[test]
    fn what_an_outage_or_a_queue_adds_does_not_stay() {
        let waits = |at| {
            80 + if at < 20 {
                0
            } else {
                100u64.saturating_sub(at - 20)
            }
        };
        assert_eq!(found(&each_ms(waits)), None);
        // The window is used up, and what left in the outage leaves it as it came.
        let in_flight = each_ms(|at| if at < 20 { 80 } else { 160 });
        let after = (180..400).map(|at| (at, 80));
        let outage: Vec<_> = in_flight.into_iter().take(100).chain(after).collect();
        assert_eq!(found(&outage), None);
        let slower = |at: u64| 80 + 2 * at.saturating_sub(20);
        assert_eq!(found(&each_ms(slower)), None);
    }

    #[test]
    fn it_is_a_quarter_of_the_base_rtt_and_four_times_the_noise() {
        assert_eq!(found(&step(80, 99)), None);
        assert_eq!(found(&step(80, 100)), Some((120, 100)));
        assert_eq!(found_on(noisy(5), &step(80, 100)), Some((120, 100)));
        assert_eq!(found_on(noisy(6), &step(80, 103)), None);
    }

    #[test]
    fn on_a_short_path_it_is_four_milliseconds_and_varies_by_one() {
        let path = Expected {
            base: ms(8),
            ..noisy(0)
        };
        let sample = |sent, rtt| Sample {
            sent: ms(sent),
            rtt: ms(rtt),
            bytes: 1_200,
        };
        let last = [sample(19, 8), sample(18, 8)];
        let rise = |rtt| Rise::new(None, last, sample(20, rtt), ms(20 + rtt), path);
        assert!(rise(11).is_none());
        let mut rise = rise(12).unwrap();
        assert!(rise.stays(sample(21, 13), ms(34)) && !rise.stays(sample(22, 14), ms(36)));
    }

    #[test]
    fn it_is_twice_what_the_packets_of_two_samples_take() {
        // Two of 1200 bytes: 20 and 21 ms.
        for (rate, found) in [(120e3, Some((140, 120))), (114e3, None)] {
            let path = Expected { rate, ..noisy(0) };
            assert_eq!(found_on(path, &step(80, 120)), found);
        }
    }

    #[test]
    fn it_begins_without_a_queue() {
        assert_eq!(found(&step(100, 180)), Some((200, 180)));
        assert_eq!(found(&step(101, 181)), None);
    }

    #[test]
    fn three_packets_leave_within_a_quarter_of_it() {
        let pause = |ms: u64| {
            let before = (0..20).map(|at| (at, 80));
            let after = (0..380).map(|at| (18 + ms + at, 160));
            found(&before.chain(after).collect::<Vec<_>>())
        };
        assert!(pause(20).is_some() && pause(21).is_none());
    }

    #[test]
    fn a_packet_that_overtook_others_is_not_before_a_rise() {
        for overtakers in 1..4 {
            let overtaken = |at| {
                if (20..20 + overtakers).contains(&at) {
                    40
                } else {
                    85
                }
            };
            assert_eq!(found(&each_ms(overtaken)), None, "{overtakers}");
        }
    }

    #[test]
    fn samples_of_older_packets_do_not_count() {
        // Behind each ACK comes one of an older packet.
        let again = |(sent, rtt): &(u64, u64)| [(*sent, *rtt), (sent.saturating_sub(1), rtt + 12)];
        let twice: Vec<_> = step(80, 160).iter().flat_map(again).collect();
        assert_eq!(found(&twice), Some((180, 160)));
    }

    /// Ten packets left together, and each of them waits for those before it.
    #[test]
    fn the_queue_of_a_burst_is_no_step() {
        let path = Expected {
            rate: 120e3,
            ..noisy(0)
        };
        let before = (0..5).map(|at| (at, 80));
        let burst = (0..10).map(|n| (5, 90 + 10 * n));
        let after = (0..40).map(|n| (100 + 10 * n, 180));
        let packets: Vec<_> = before.chain(burst).chain(after).collect();
        assert_eq!(found_on(path, &packets), None);
    }

    #[test]
    fn it_takes_four_samples() {
        let before = (0..20).map(|at| (at, 80));
        let rare = (0..9).map(|n| (20 + 80 * n, 160));
        assert_eq!(
            found(&before.chain(rare).collect::<Vec<_>>()),
            Some((260, 160))
        );
    }

    /// RTTs of 80 ms, from 20 ms on of `first`, from 30 ms on of `second`, and from 40 ms on of
    /// `third`.
    fn rises(first: u64, second: u64, third: u64) -> Vec<(u64, u64)> {
        each_ms(|at| match at {
            0..20 => 80,
            20..30 => first,
            30..40 => second,
            _ => third,
        })
    }

    #[test]
    fn both_directions_may_become_longer() {
        assert_eq!(found(&rises(140, 200, 200)), Some((230, 200)));
        assert_eq!(found(&rises(140, 200, 260)), None);
        // A fall is no second rise.
        assert_eq!(found(&rises(140, 120, 120)), None);
    }
}
