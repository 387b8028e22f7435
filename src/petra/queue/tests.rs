use super::super::super::events::{ack, ms, rtt, MIN_RTT};
use super::*;

/// An ACK at `now` that measured `latest`, on a path with 90 ms at least.
fn measured(now: u64, latest: u64) -> Ack {
    Ack {
        rtt: rtt(latest, 90),
        ..ack(now, 1_200)
    }
}

/// With a limit of 90 / 48 = 1.875 ms: two datagrams take 0.24 ms.
fn stands(queue: &Queue) -> bool {
    queue.stands(MIN_RTT, 1_200.0, 1e7)
}

/// An ACK every 5 ms, all with this round trip.
fn flow(queue: &mut Queue, from: u64, to: u64, latest: u64) {
    for now in (from..to).step_by(5) {
        queue.on_ack(&measured(now, latest));
    }
}

#[test]
fn a_queue_stands_when_every_packet_waits() {
    let mut queue = Queue::default();
    flow(&mut queue, 0, 200, 90);
    assert!(!stands(&queue));
    // The present stretch may have begun before the queue, so that it takes up to
    // two of 90 ms to be sure.
    flow(&mut queue, 200, 300, 95);
    assert!(!stands(&queue));
    flow(&mut queue, 300, 400, 95);
    assert!(stands(&queue));
}

#[test]
fn one_packet_that_did_not_wait_proves_there_is_none() {
    let mut queue = Queue::default();
    flow(&mut queue, 0, 400, 95);
    assert!(stands(&queue));
    queue.on_ack(&measured(400, 91));
    assert!(!stands(&queue));
}

#[test]
fn acks_on_a_grid_are_no_queue() {
    let mut queue = Queue::default();
    // Every 20 ms the ACKs of the last 20 ms, the oldest first.
    for now in (20..1_000).step_by(20) {
        for held in [15, 10, 5, 0] {
            queue.on_ack(&measured(now, 90 + held));
            assert!(!stands(&queue));
            assert!(!queue.builds(MIN_RTT));
        }
    }
}

#[test]
fn nothing_stands_or_builds_before_there_is_something_to_look_back_on() {
    let mut queue = Queue::default();
    assert!(!stands(&queue));
    queue.on_ack(&measured(0, 500));
    assert!(!stands(&queue));
    assert!(!queue.builds(MIN_RTT));
}

#[test]
fn it_builds_at_an_eighth_of_the_minimum() {
    // 90 / 8 = 11.25 ms
    for (latest, builds) in [(101, false), (102, true)] {
        let mut queue = Queue::default();
        flow(&mut queue, 0, 250, latest);
        assert_eq!(queue.builds(MIN_RTT), builds, "{latest}");
    }
}

#[test]
fn a_round_trip_proves_what_one_packet_suggests() {
    let mut queue = Queue::default();
    flow(&mut queue, 0, 200, 90);
    assert!(queue.may_build(MIN_RTT, ms(120)));
    flow(&mut queue, 200, 300, 120);
    assert!(!queue.builds(MIN_RTT));
    flow(&mut queue, 300, 450, 120);
    assert!(queue.builds(MIN_RTT));
}

#[test]
fn jitter_does_not_build() {
    let mut queue = Queue::default();
    // Of 18 ms: a base of 90 + 28, 11.25 ms to build and the noise.
    for (index, now) in (0..1_000).step_by(5).enumerate() {
        queue.on_ack(&measured(now, 118 + 6 * (index as u64 % 4)));
    }
    assert!(!queue.builds(MIN_RTT));
    assert!(!queue.may_build(MIN_RTT, ms(118 + 23)));
    assert!(queue.may_build(MIN_RTT, ms(118 + 24)));
}

#[test]
fn few_samples_do_not_make_a_stretch() {
    let mut queue = Queue::default();
    for now in [0, 100, 200] {
        queue.on_ack(&measured(now, 120));
    }
    assert!(!stands(&queue));
}

#[test]
fn it_takes_more_to_explain_a_loss_than_to_be_drained() {
    // 90 / 8 = 11.25 ms
    for (latest, explains) in [(101, false), (102, true)] {
        let mut queue = Queue::default();
        flow(&mut queue, 0, 400, latest);
        assert!(stands(&queue));
        let explained = queue.explains_loss(MIN_RTT, 1_200.0, 1e7);
        assert_eq!(explained, explains, "{latest}");
    }
}

#[test]
fn the_limit_is_the_largest_of_three() {
    // Two datagrams at 10 MB/s are 0.24 ms.
    assert_eq!(limit(MIN_RTT, 48, 1_200.0, 1e7), ms(90) / 48);
    // 9 ms / 48 = 0.19 ms is below the granularity of timers.
    assert_eq!(limit(ms(9), 48, 1_200.0, 1e7), ms(1));
    // Two datagrams at 240 000 bytes a second.
    assert_eq!(limit(MIN_RTT, 48, 1_200.0, 240_000.0), ms(10));
    assert_eq!(limit(MIN_RTT, 48, 1_200.0, 0.0), Duration::MAX);
}

/// Round trips that differ from ACK to ACK, from `least` to `least` + 6 ms.
fn jittered(queue: &mut Queue, from: u64, to: u64, least: u64) {
    for (index, now) in (from..to).step_by(5).enumerate() {
        queue.on_ack(&measured(now, least + 2 * (index as u64 % 4)));
    }
}

#[test]
fn where_the_delay_jitters_the_minimum_is_luck() {
    let mut queue = Queue::default();
    // One packet took 90 ms; since then none took less than 94.
    jittered(&mut queue, 0, 1_000, 94);
    assert_eq!(queue.base(MIN_RTT), ms(94));
    assert!(!stands(&queue));
    // Luck goes no further than twice the range within a round trip, 6 ms.
    let mut queue = Queue::default();
    jittered(&mut queue, 0, 2_500, 110);
    assert_eq!(queue.base(MIN_RTT), ms(102));
}

#[test]
fn where_the_delay_jitters_a_queue_is_what_exceeds_the_jitter() {
    // With a base of 102 ms, and 6 ms of jitter.
    for (least, is_one) in [(108, false), (109, true)] {
        let mut queue = Queue::default();
        jittered(&mut queue, 0, 2_000, least);
        assert_eq!(stands(&queue), is_one, "{least}");
    }
}

#[test]
fn a_calm_round_does_not_end_jitter() {
    let mut queue = Queue::default();
    jittered(&mut queue, 0, 1_000, 94);
    assert_eq!(queue.noise(), ms(6));
    // Two rounds of one RTT each, as a window of a few datagrams may see.
    flow(&mut queue, 1_000, 1_200, 94);
    assert!(queue.noise() > ms(4), "{:?}", queue.noise());
}

#[test]
fn what_ones_own_datagrams_do_to_the_delay_is_no_noise() {
    let mut queue = Queue::default();
    jittered(&mut queue, 0, 1_000, 94);
    // Two datagrams of 1200 bytes take 2 ms.
    queue.on_rate(1_200_000.0, 1_200.0);
    assert_eq!(queue.noise(), ms(4));
    // At a tenth they would take 20, but a small window is no slow path.
    queue.on_rate(120_000.0, 1_200.0);
    assert_eq!(queue.noise(), ms(4));
}

#[test]
fn a_calm_queue_is_not_jitter() {
    let mut queue = Queue::default();
    flow(&mut queue, 0, 2_000, 110);
    assert_eq!(queue.base(MIN_RTT), MIN_RTT);
}

#[test]
fn a_bunch_is_not_jitter_either() {
    let mut queue = Queue::default();
    for now in (20..2_000).step_by(20) {
        for held in [15, 10, 5, 0] {
            queue.on_ack(&measured(now, 95 + held));
        }
    }
    assert_eq!(queue.base(MIN_RTT), MIN_RTT);
    assert!(stands(&queue));
}

#[test]
fn the_base_is_the_minimum_until_a_round_trip_has_ended() {
    let mut queue = Queue::default();
    flow(&mut queue, 0, 50, 95);
    assert_eq!(queue.base(MIN_RTT), MIN_RTT);
}
