use super::super::super::controller::{Ack, Rtt};
use super::super::super::events::{self, ack, ms, rtt, sent, MIN_RTT};
use super::*;

impl StandingQueue {
    fn on_ack(&mut self, ack: &Ack, grows: bool) {
        self.on_acks(&Gathered::one(ack), grows);
    }

    fn may_be_building(&self, min_rtt: Duration, recent: Duration) -> bool {
        self.sign_of_building(min_rtt, recent) != QueueSign::None
    }
}

/// An ACK at `now` with the RTT sample `latest`, on a path with a minimum RTT of 90 ms.
fn measured(now: u64, latest: u64) -> Ack {
    Ack {
        rtt: rtt(latest, 90),
        ..ack(now, 1_200)
    }
}

/// With a threshold of 90 / 48 = 1.875 ms.
fn persists(queue: &StandingQueue) -> bool {
    queue.persists(MIN_RTT)
}

/// An ACK every 5 ms, all with this RTT.
fn flow(queue: &mut StandingQueue, from: u64, to: u64, latest: u64) {
    for now in (from..to).step_by(5) {
        queue.on_ack(&measured(now, latest), true);
    }
}

#[test]
fn a_queue_persists_when_every_packet_waits() {
    let mut queue = StandingQueue::default();
    assert!(!queue.knows_noise());
    flow(&mut queue, 0, 200, 90);
    assert!(queue.knows_noise());
    assert!(!persists(&queue));
    // The present interval may have begun before the queue, so the test takes up to
    // two intervals of 90 ms.
    flow(&mut queue, 200, 300, 95);
    assert!(!persists(&queue));
    flow(&mut queue, 300, 400, 95);
    assert!(persists(&queue));
}

/// Every packet waits for 20 ms, or for none at all. A datagram takes 5 ms.
#[test]
fn a_delay_that_ended_at_once_twice_is_no_queue_when_it_returns() {
    let mut queue = StandingQueue::default();
    queue.on_rate(240_000.0, 1_200.0);
    let mut flow = |from: u64, to, latest| {
        for now in (from..to).step_by(5) {
            queue.on_ack(&events::measured(now, latest), false);
        }
        persists(&queue)
    };
    flow(200, 400, 90);
    for from in [400, 800] {
        assert!(flow(from, from + 300, 110));
        for latest in [110, 105, 100, 95, 90] {
            flow(from + 300, from + 301, latest);
        }
        flow(from + 305, from + 400, 90);
    }
    // Two datagrams take 10 of the 20 ms.
    assert!(!flow(1_200, 1_500, 105));
    // More than twice what is left of the fall.
    assert!(flow(1_500, 2_000, 120));
}

/// The rate has been ten times as high. An ACK comes every millisecond.
#[test]
fn packets_explain_a_fall_at_the_present_rate() {
    let mut queue = StandingQueue::default();
    let flow = |queue: &mut StandingQueue, from: u64, to, latest| {
        for now in from..to {
            queue.on_ack(&events::measured(now, latest), false);
        }
    };
    queue.on_rate(2_400_000.0, 1_200.0);
    flow(&mut queue, 200, 400, 90);
    queue.on_rate(240_000.0, 1_200.0);
    for from in [400, 800] {
        flow(&mut queue, from, from + 300, 110);
        for latest in [110, 105, 100, 95, 90] {
            flow(&mut queue, from + 300, from + 301, latest);
        }
        flow(&mut queue, from + 301, from + 400, 90);
    }
    flow(&mut queue, 1_200, 1_500, 110);
    assert!(!persists(&queue));
}

#[test]
fn one_packet_that_did_not_wait_disproves_a_queue() {
    let mut queue = StandingQueue::default();
    flow(&mut queue, 0, 400, 95);
    assert!(persists(&queue));
    queue.on_ack(&measured(400, 91), true);
    assert!(!persists(&queue));
}

/// Packets leave every 5 ms, or each 50 ms in a burst with a pause behind it. Their ACKs are held
/// for slots of 50 ms.
#[test]
fn the_time_that_acks_were_held_is_no_queue_if_the_sender_paused() {
    let excess = |pauses: bool| {
        let mut queue = StandingQueue::default();
        queue.on_ack(&measured(900, 90), false);
        for slot in (1_000..2_000).step_by(50) {
            let packets = (slot..slot + if pauses { 30 } else { 50 }).step_by(5);
            for at in packets {
                queue.on_sent(&sent(at, 1_200), 1_200);
            }
            for at in (slot - 150..slot - 120).step_by(5).filter(|_| slot > 1_100) {
                let acked = Ack {
                    first_sent: ms(at),
                    last_sent: ms(at),
                    newest_sent: ms(at),
                    ..measured(slot, slot - at)
                };
                queue.on_ack(&acked, false);
            }
        }
        queue.round.excess(MIN_RTT)
    };
    // The newest packet of each slot has an RTT of 125 ms.
    assert_eq!(excess(false), ms(35));
    assert!(excess(true) < ms(25));
}

#[test]
fn acks_in_slots_are_no_queue() {
    let mut queue = StandingQueue::default();
    // Every 20 ms the ACKs of the last 20 ms, the oldest first.
    for now in (20..1_000).step_by(20) {
        for held in [15, 10, 5, 0] {
            queue.on_ack(&measured(now, 90 + held), true);
            assert!(!persists(&queue));
            assert!(!queue.is_building(MIN_RTT));
        }
    }
}

#[test]
fn without_a_complete_interval_there_is_no_queue() {
    let mut queue = StandingQueue::default();
    assert!(!persists(&queue));
    queue.on_ack(&measured(0, 500), true);
    assert!(!persists(&queue));
    assert!(!queue.is_building(MIN_RTT));
}

#[test]
fn a_queue_builds_at_an_eighth_of_the_minimum_rtt() {
    // 90 / 8 = 11.25 ms
    for (latest, builds) in [(101, false), (102, true)] {
        let mut queue = StandingQueue::default();
        flow(&mut queue, 0, 400, latest);
        assert_eq!(queue.is_building(MIN_RTT), builds, "{latest}");
    }
}

#[test]
fn a_round_trip_confirms_a_queue_that_one_packet_suggests() {
    let mut queue = StandingQueue::default();
    flow(&mut queue, 0, 400, 90);
    assert!(queue.may_be_building(MIN_RTT, ms(120)));
    flow(&mut queue, 400, 500, 120);
    assert!(!queue.is_building(MIN_RTT));
    flow(&mut queue, 500, 650, 120);
    assert!(queue.is_building(MIN_RTT));
}

#[test]
fn a_sign_of_a_queue_is_possible_from_half_of_the_threshold_and_likely_from_all_of_it() {
    let mut queue = StandingQueue::default();
    flow(&mut queue, 0, 400, 90);
    let signs = [95, 96, 101, 102].map(|latest| queue.sign_of_building(MIN_RTT, ms(latest)));
    let [none, least, most, likely] = signs;
    assert_eq!((none, likely), (QueueSign::None, QueueSign::Likely));
    assert_eq!((least, most), (QueueSign::Possible, QueueSign::Possible));
}

#[test]
fn a_queue_may_return_from_half_of_the_threshold_and_two_datagrams_on() {
    // 90 ms / 16; two datagrams take 9 ms.
    for (rate, latest) in [(1e6, 96), (267e3, 99)] {
        let mut queue = StandingQueue::default();
        queue.on_rate(rate, 1_200.0);
        flow(&mut queue, 0, 400, 90);
        assert!(!queue.may_be_returning(MIN_RTT, ms(latest - 1)), "{rate}");
        assert!(queue.may_be_returning(MIN_RTT, ms(latest)), "{rate}");
    }
}

#[test]
fn four_intervals_of_slow_start_come_before_a_queue() {
    let mut queue = StandingQueue::default();
    // Intervals end at 90, 180, 270 and 360 ms.
    flow(&mut queue, 0, 360, 120);
    assert!(queue.may_be_building(MIN_RTT, ms(120)));
    assert!(!queue.is_building(MIN_RTT));
    queue.on_ack(&measured(360, 120), true);
    assert!(queue.is_building(MIN_RTT));
}

/// Four intervals of slow start with these minimum RTTs.
fn slow_start(minima: [u64; 4]) -> StandingQueue {
    let mut queue = StandingQueue::default();
    for (from, latest) in (0..).step_by(90).zip(minima) {
        flow(&mut queue, from, from + 90, latest);
    }
    queue
}

#[test]
fn a_delay_that_rises_and_falls_is_jitter_while_the_window_grows() {
    let queue = slow_start([100, 102, 100, 100]);
    // The threshold of 11.25 ms and twelve times 2 ms.
    for (latest, builds) in [(125, false), (126, true)] {
        let mut queue = queue;
        flow(&mut queue, 360, 560, latest);
        assert_eq!(queue.is_building(MIN_RTT), builds, "{latest}");
    }
    // Half of the threshold, and twelve times 2 ms.
    assert!(!queue.may_be_building(MIN_RTT, ms(119)));
    assert!(queue.may_be_building(MIN_RTT, ms(120)));
    let rtt = MIN_RTT + MIN_RTT / 16 + ms(24);
    assert!(!queue.may_be_returning(MIN_RTT, rtt));
    assert!(queue.may_be_returning(MIN_RTT, rtt + Duration::from_nanos(1)));
}

#[test]
fn noise_of_a_quarter_of_the_minimum_rtt_hides_the_growth_of_the_rate() {
    // Twelve times 2 ms, and 1 ms; a quarter is 22.5 ms.
    for (swing, hides) in [(2, true), (1, false)] {
        let queue = slow_start([100, 100 + swing, 100, 100]);
        assert_eq!(queue.noise_hides_growth(MIN_RTT), hides, "{swing}");
    }
}

#[test]
fn a_delay_that_only_falls_or_only_rises_is_not() {
    for minima in [[140, 120, 100, 95], [91, 93, 95, 99]] {
        let queue = slow_start(minima);
        assert!(queue.may_be_building(MIN_RTT, ms(96)), "{minima:?}");
    }
}

#[test]
fn of_a_rise_and_a_fall_the_smaller_counts() {
    // Half of the threshold of 11.25 ms, and twelve times 1 ms.
    for minima in [[100, 101, 95, 95], [95, 105, 104, 104]] {
        let queue = slow_start(minima);
        assert!(!queue.may_be_building(MIN_RTT, ms(107)), "{minima:?}");
        assert!(queue.may_be_building(MIN_RTT, ms(108)), "{minima:?}");
        let signs = [113, 114].map(|latest| queue.sign_of_building(MIN_RTT, ms(latest)));
        assert_eq!(
            signs,
            [QueueSign::Possible, QueueSign::Likely],
            "{minima:?}"
        );
    }
}

#[test]
fn a_fall_between_two_slow_starts_is_not() {
    let mut queue = slow_start([95, 95, 95, 120]);
    for now in (360..720).step_by(5) {
        queue.on_ack(&measured(now, 120), false);
    }
    flow(&mut queue, 720, 1_080, 95);
    assert!(queue.may_be_building(MIN_RTT, ms(96)));
}

#[test]
fn after_slow_start_it_is_the_effect_of_a_reduction() {
    for in_slow_start in [true, false] {
        let mut queue = StandingQueue::default();
        for now in 0..900 {
            let latest = if (400..650).contains(&now) { 120 } else { 90 };
            queue.on_ack(&measured(now, latest), in_slow_start);
        }
        assert_eq!(queue.may_be_building(MIN_RTT, ms(120)), !in_slow_start);
    }
}

#[test]
fn a_longer_path_has_jitter_of_its_own() {
    let mut queue = StandingQueue::default();
    flow(&mut queue, 0, 200, 90);
    flow(&mut queue, 200, 400, 140);
    flow(&mut queue, 400, 600, 90);
    assert!(!queue.may_be_building(MIN_RTT, ms(140)));
    queue.on_longer_path(ms(90));
    assert!(queue.may_be_building(MIN_RTT, ms(140)));
}

#[test]
fn an_allowed_delay_raises_the_threshold() {
    let mut queue = StandingQueue::default();
    flow(&mut queue, 0, 400, 100);
    // 90 / 48 = 1.875 ms
    for (allowed, persists) in [(8.0 / 90.0, true), (9.0 / 90.0, false)] {
        let beyond = queue.persists_beyond(allowed, MIN_RTT);
        assert_eq!(beyond, persists, "{allowed}");
    }
}

#[test]
fn jitter_does_not_build_a_queue() {
    let mut queue = StandingQueue::default();
    // Jitter of 18 ms: a base RTT of 90 + 28, a threshold of 11.25 ms and the noise.
    for (index, now) in (0..1_000).step_by(5).enumerate() {
        queue.on_ack(&measured(now, 118 + 6 * (index as u64 % 4)), true);
    }
    assert!(!queue.is_building(MIN_RTT));
    assert!(!queue.may_be_building(MIN_RTT, ms(118 + 23)));
    assert!(queue.may_be_building(MIN_RTT, ms(118 + 24)));
}

#[test]
fn few_samples_do_not_make_an_interval() {
    let mut queue = StandingQueue::default();
    for now in [0, 100, 200] {
        queue.on_ack(&measured(now, 120), true);
    }
    assert!(!persists(&queue));
}

#[test]
fn explaining_a_loss_takes_a_longer_queue_than_a_drain() {
    // 90 / 8 = 11.25 ms
    for (latest, explains) in [(101, false), (102, true)] {
        let mut queue = StandingQueue::default();
        flow(&mut queue, 0, 400, latest);
        assert!(persists(&queue));
        let explained = queue.explains_loss(MIN_RTT);
        assert_eq!(explained, explains, "{latest}");
    }
}

/// Packets of a large window wait for the slower ones before them: 31 ms in place of 0 to 36 ms.
#[test]
fn jitter_that_a_window_fills_hides_what_explains_a_loss() {
    let mut queue = StandingQueue::default();
    queue.on_rate(12_500_000.0, 1_200.0);
    for (index, now) in (0..1_000).step_by(5).enumerate() {
        queue.on_ack(&measured(now, 90 + 4 * (index as u64 % 10)), true);
    }
    queue.on_window(400.0);
    for (index, now) in (1_000..4_000).step_by(5).enumerate() {
        queue.on_ack(&measured(now, 121 + index as u64 % 5), false);
    }
    assert!(!persists(&queue) && queue.explains_loss(MIN_RTT));
    assert!(!queue.explains_loss_beyond_jitter(MIN_RTT));
    for (datagrams, are_compared) in [(255.0, false), (256.0, true)] {
        queue.on_window(datagrams);
        assert_eq!(queue.compares_windows(), are_compared);
    }
    // A queue is longer.
    flow(&mut queue, 4_000, 5_000, 300);
    assert!(queue.explains_loss_beyond_jitter(MIN_RTT));
}

/// 0.2 ms and 1 Gbit/s, of which each of four flows has a part. A queue of 128 kB takes 1 ms.
#[test]
fn a_queue_shorter_than_the_granularity_explains_a_loss_on_a_short_path() {
    let us = Duration::from_micros;
    let explains = |rise: u64| {
        let mut queue = StandingQueue::default();
        queue.on_rate(31_250_000.0, 1_200.0);
        for step in 0..400u64 {
            let latest = us(600 + rise * (step % 12));
            let rtt = Rtt {
                latest,
                min: us(200),
                smoothed: us(600),
                variation: us(100),
            };
            let now = us(2_000 + 40 * step);
            let newest_sent = now - latest;
            let ack = Ack {
                now,
                first_sent: newest_sent,
                last_sent: newest_sent,
                newest_sent,
                rtt,
                ..ack(0, 1_200)
            };
            queue.on_ack(&ack, false);
        }
        assert!(!queue.persists(us(200)));
        queue.explains_loss(us(200))
    };
    assert!(explains(0));
    // Delays that differ by 0.33 ms are noise.
    assert!(!explains(30));
}

#[test]
fn the_threshold_is_the_largest_of_three() {
    assert_eq!(min_delay(MIN_RTT, 48, ms(1)), ms(90) / 48);
    // 9 ms / 48 = 0.19 ms is below the granularity of timers.
    assert_eq!(min_delay(ms(9), 48, Duration::ZERO), ms(1));
    assert_eq!(min_delay(MIN_RTT, 48, ms(10)), ms(10));
}

#[test]
fn two_datagrams_form_no_queue() {
    let mut unqueued = Unqueued::default();
    for (rate, delay) in [
        (1e7, ms(24) / 100),
        (240_000.0, ms(10)),
        (0.0, Duration::MAX),
    ] {
        unqueued.set(rate, 1_200.0);
        assert_eq!(unqueued.delay, delay, "{rate}");
    }
    unqueued.set(240_000.0, 1_200.0);
    unqueued.set(240_000.0, 2_400.0);
    assert_eq!(unqueued.delay, ms(20));
}

/// RTTs that differ from ACK to ACK, from `least` to `least` + 6 ms.
fn jittered(queue: &mut StandingQueue, from: u64, to: u64, least: u64) {
    for (index, now) in (from..to).step_by(5).enumerate() {
        queue.on_ack(&measured(now, least + 2 * (index as u64 % 4)), true);
    }
}

#[test]
fn with_jitter_the_base_rtt_exceeds_the_minimum() {
    let mut queue = StandingQueue::default();
    // One packet took 90 ms; since then none took less than 94.
    jittered(&mut queue, 0, 1_000, 94);
    assert_eq!(queue.base_rtt(MIN_RTT), ms(94));
    assert!(!persists(&queue));
    // At most by twice the range within a round trip, 6 ms.
    let mut queue = StandingQueue::default();
    jittered(&mut queue, 0, 2_500, 110);
    assert_eq!(queue.base_rtt(MIN_RTT), ms(102));
}

/// RTTs of 90 to 98 ms in slow start, then of 118 to 122 ms with this window: the noise is some
/// 4 ms.
fn filled_by_jitter(datagrams: f64) -> StandingQueue {
    let mut queue = StandingQueue::default();
    let flow = |queue: &mut StandingQueue, from: u64, to, least: u64, range, grows| {
        for now in (from..to).step_by(5) {
            let latest = least + now / 5 % 2 * range;
            queue.on_ack(&measured(now, latest), grows);
        }
    };
    flow(&mut queue, 0, 1_000, 90, 8, true);
    // Some of this round trip is of before.
    flow(&mut queue, 1_000, 1_300, 118, 4, false);
    queue.on_window(datagrams);
    flow(&mut queue, 1_300, 6_000, 118, 4, false);
    queue
}

#[test]
fn jitter_that_a_large_window_fills_is_no_queue_but_explains_a_loss() {
    let small = filled_by_jitter(63.0);
    assert!(persists(&small) && small.explains_loss(MIN_RTT));
    let mut large = filled_by_jitter(256.0);
    assert!(large.base_rtt(MIN_RTT) > small.base_rtt(MIN_RTT));
    assert!(!persists(&large) && large.explains_loss(MIN_RTT));
    large.on_shorter_path(0.6);
    assert!(persists(&large));
}

#[test]
fn the_noise_of_a_path_that_became_shorter_by_half_stays() {
    let noise = |share| {
        let mut queue = filled_by_jitter(63.0);
        queue.on_shorter_path(share);
        queue.noise()
    };
    assert!(noise(0.5) > ms(3));
    assert_eq!(noise(0.49), ms(0));
}

#[test]
fn with_jitter_a_queue_exceeds_the_jitter() {
    // With a base RTT of 102 ms and 6 ms of jitter.
    for (least, is_one) in [(108, false), (109, true)] {
        let mut queue = StandingQueue::default();
        jittered(&mut queue, 0, 2_000, least);
        assert_eq!(persists(&queue), is_one, "{least}");
    }
}

#[test]
fn a_calm_round_trip_does_not_end_jitter() {
    let mut queue = StandingQueue::default();
    jittered(&mut queue, 0, 1_000, 94);
    assert_eq!(queue.noise(), ms(6));
    // Two round trips without variation, as with a window of a few datagrams.
    flow(&mut queue, 1_000, 1_200, 94);
    assert!(queue.noise() > ms(4), "{:?}", queue.noise());
}

#[test]
fn the_delay_of_ones_own_datagrams_is_no_noise() {
    let mut queue = StandingQueue::default();
    jittered(&mut queue, 0, 1_000, 94);
    // Two datagrams of 1200 bytes take 2 ms.
    queue.on_rate(1_200_000.0, 1_200.0);
    queue.on_ack(&measured(1_000, 94), true);
    assert_eq!(queue.noise(), ms(4));
    // At a tenth of the rate they would take 20 ms, but a small window is not a slow path.
    queue.on_rate(120_000.0, 1_200.0);
    queue.on_ack(&measured(1_005, 94), true);
    assert_eq!(queue.noise(), ms(4));
}

#[test]
fn in_slow_start_it_is_that_at_the_rate_of_acks() {
    let mut queue = StandingQueue::default();
    jittered(&mut queue, 0, 1_000, 94);
    // Two datagrams of 1200 bytes take 20 ms at the rate that the window allows.
    queue.on_rate(120_000.0, 1_200.0);
    queue.on_ack(&measured(1_000, 94), true);
    // At four times the rate, 5 ms; ACKs that come faster show no more.
    for (rate, noise) in [(0.0, 0), (480_000.0, 1), (4_800_000.0, 1), (120_000.0, 0)] {
        queue.on_slow_start_rate(rate);
        assert_eq!(queue.slow_start_noise(MIN_RTT), ms(noise), "{rate}");
        assert_eq!(queue.noise(), ms(0));
    }
}

#[test]
fn a_calm_queue_is_not_jitter() {
    let mut queue = StandingQueue::default();
    flow(&mut queue, 0, 2_000, 110);
    assert_eq!(queue.base_rtt(MIN_RTT), MIN_RTT);
}

#[test]
fn ack_aggregation_is_not_jitter() {
    let mut queue = StandingQueue::default();
    for now in (20..2_000).step_by(20) {
        for held in [15, 10, 5, 0] {
            queue.on_ack(&measured(now, 95 + held), true);
        }
    }
    assert_eq!(queue.base_rtt(MIN_RTT), MIN_RTT);
    assert!(persists(&queue));
}

#[test]
fn the_base_rtt_is_the_minimum_until_a_round_trip_has_ended() {
    let mut queue = StandingQueue::default();
    flow(&mut queue, 0, 50, 95);
    assert_eq!(queue.base_rtt(MIN_RTT), MIN_RTT);
}

/// A packet that overtook others: their losses were spurious.
#[test]
fn reordering_does_not_lower_the_base() {
    let mut queue = StandingQueue::default();
    flow(&mut queue, 100, 400, 90);
    queue.on_spurious_loss();
    assert_eq!(queue.base_rtt(ms(45)), MIN_RTT);
}

/// Slots of 50 ms, of which the window fills 30, on a path that was 90 ms long and is 140. The
/// newest packet may have waited for 25 ms, as long as the first, and the path is no shorter.
#[test]
fn a_round_trip_is_as_long_as_it_was_measured() {
    let mut queue = StandingQueue::default();
    queue.on_ack(&measured(900, 90), true);
    for slot in (1_000..2_000).step_by(50) {
        for at in (slot..slot + 30).step_by(5) {
            queue.on_sent(&sent(at, 1_200), 1_200);
        }
        // The ACKs of the slot before the last two.
        for sent in (slot - 150..slot - 120).step_by(5) {
            let now = slot + 20;
            queue.on_ack(
                &Ack {
                    first_sent: ms(sent),
                    newest_sent: ms(sent),
                    ..measured(now, now - sent)
                },
                true,
            );
        }
    }
    assert_eq!(queue.take_round(), Some(ms(145)));
    assert!(queue.floor.get().is_some_and(|floor| floor < ms(145)));
}

/// A flight of three packets leaves at 10 ms while no other is in flight. Its first ACK shows an
/// RTT of `latest`; the minimum RTT was 90 ms before.
fn after_a_lone_packet(latest: u64, grows: bool) -> StandingQueue {
    let mut queue = StandingQueue::default();
    for now in [1, 2, 3, 4] {
        queue.on_ack(&measured(now, 90), grows);
    }
    for bytes_in_flight in [1_200, 2_400, 3_600] {
        queue.on_sent(&sent(10, bytes_in_flight), 1_200);
    }
    let first = Ack {
        newest_sent: ms(10),
        ..measured(10 + latest, latest)
    };
    queue.on_ack(&first, grows);
    queue
}

/// A delay of 10 ms, four times, is added to the threshold of 11.25 ms, and to half of it.
#[test]
fn the_delay_of_a_lone_packet_is_noise_in_slow_start() {
    let queue = after_a_lone_packet(100, true);
    assert!(queue.noise_hides_growth(MIN_RTT));
    assert!(!queue.may_be_building(MIN_RTT, ms(135)));
    assert!(queue.may_be_building(MIN_RTT, ms(136)));
    let builds = |mut queue: StandingQueue, latest| {
        flow(&mut queue, 200, 1_200, latest);
        queue.is_building(MIN_RTT)
    };
    assert!(!builds(queue, 125));
    assert!(builds(queue, 170));
    assert!(builds(after_a_lone_packet(90, true), 125));
    let queue = after_a_lone_packet(100, false);
    assert!(!queue.noise_hides_growth(MIN_RTT));
    assert!(queue.may_be_building(MIN_RTT, ms(96)));
}

/// A quarter of the minimum RTT is 22.5 ms.
#[test]
fn a_small_delay_of_a_lone_packet_hides_no_growth() {
    assert!(!after_a_lone_packet(95, true).noise_hides_growth(MIN_RTT));
    assert!(after_a_lone_packet(96, true).noise_hides_growth(MIN_RTT));
}

/// The path was longer, or others had a queue.
#[test]
fn an_rtt_that_falls_behind_a_lone_packet_is_no_noise() {
    let mut queue = after_a_lone_packet(90, true);
    queue.on_ack(&measured(150, 45), true);
    assert!(!queue.noise_hides_growth(ms(45)));
    assert!(queue.may_be_building(ms(45), ms(45 + 3)));
}
