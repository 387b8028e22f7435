//! The growth of slow start, and its end.

use super::*;

#[test]
fn it_ends_when_a_queue_builds() {
    let mut petra = petra();
    flow(&mut petra, 1_000, 1_153, 90);
    assert_eq!(petra.ssthresh(), None);
    flow(&mut petra, 1_153, 1_306, 110);
    assert_eq!(petra.ssthresh(), None);
    let mut now = 1_306;
    while petra.ssthresh().is_none() && !petra.slow_start.is_flat() {
        flow(&mut petra, now, now + 9, 110);
        now += 9;
        assert!(now < 3_000);
    }
    assert!(!petra.slow_start.is_flat());
    assert_near(petra.ssthresh().unwrap() as f64, 13_200.0);
    assert_eq!(petra.metrics().last_reduction, Some(Reduction::Queue));
}

#[test]
fn it_ends_when_delivery_no_longer_grows() {
    let mut petra = petra();
    flow(&mut petra, 1_000, 1_306, 90);
    assert_eq!(petra.ssthresh(), None);
    flow(&mut petra, 1_306, 1_603, 90);
    assert_near(petra.ssthresh().unwrap() as f64, 13_200.0);
}

/// The RTT rises by a millisecond a packet within a flight of 25, as from jitter.
#[test]
fn the_gaps_of_a_flight_show_how_little_of_its_jitter_is_its_own() {
    let suspects = |gap: u64| {
        let mut petra = petra();
        flow(&mut petra, 820, 900, 90);
        for flight in (1_000..1_780).step_by(130) {
            for index in 0..25 {
                petra.on_ack(&measured(flight + gap * index, 90 + index));
            }
        }
        let sign = |rtt: &u64| petra.queue.sign_of_building(MIN_RTT, ms(*rtt));
        (90..200).find(|rtt| sign(rtt) == QueueSign::Possible)
    };
    assert_eq!((suspects(3), suspects(1)), (Some(102), Some(105)));
}

/// A rise and a fall by 10 ms, which have a noise of 120 ms, while delivery grows.
fn jittered() -> Petra {
    let mut petra = petra();
    for (from, every, rtt) in [(1_000, 24, 90), (1_216, 18, 100), (1_432, 12, 90)] {
        for now in (from..from + 216).step_by(every) {
            petra.on_ack(&measured(now, rtt));
        }
    }
    petra
}

#[test]
fn it_lasts_while_jitter_hides_the_growth_of_delivery() {
    let mut petra = jittered();
    flow(&mut petra, 1_648, 3_000, 90);
    assert_eq!(petra.ssthresh(), None);
}

/// After a slow rise, each packet waits for more than the noise and half of the threshold, and
/// for less than the noise and the whole.
#[test]
fn it_does_not_last_while_growth_is_conservative() {
    let mut petra = jittered();
    let mut now = 1_648;
    while petra.ssthresh().is_none() {
        let waits = ((now - 1_648) / 9).min(128);
        petra.on_ack(&measured(now, 90 + waits));
        assert_eq!(petra.min_rtt(), MIN_RTT);
        assert!(!petra.queue.is_building(MIN_RTT));
        now += 9;
        assert!(now < 6_000);
    }
}

#[test]
fn a_random_loss_does_not_end_it() {
    let mut petra = petra();
    flow(&mut petra, 1_000, 1_153, 90);
    let before = petra.window();
    petra.on_loss(&loss(1_150));
    assert_eq!(petra.window(), before);
    assert_eq!(petra.ssthresh(), None);
}

#[test]
fn off_it_does_not_end_by_itself() {
    let mut petra = without(|on| on.initial_ssthresh = false);
    flow(&mut petra, 1_000, 1_153, 90);
    flow(&mut petra, 1_153, 2_000, 110);
    assert_eq!(petra.ssthresh(), None);
}

#[test]
fn a_packet_that_waited_is_no_reason_to_grow() {
    let mut petra = petra();
    flow(&mut petra, 1_000, 1_027, 90);
    let before = petra.window();
    // The threshold of 11.25 ms.
    petra.on_ack(&measured(1_036, 102));
    assert_eq!(petra.window(), before);
    assert_eq!(petra.ssthresh(), None);
    petra.on_ack(&measured(1_045, 95));
    assert!(petra.window() > before);
}

#[test]
fn from_half_of_the_threshold_to_the_whole_growth_is_conservative() {
    // 90 ms / 16 and 90 ms / 8. With room, faster start grows by three.
    let growth = [
        (95, 3 * DATAGRAM),
        (96, DATAGRAM / 4),
        (101, DATAGRAM / 4),
        (102, 0),
    ];
    for (rtt, growth) in growth {
        let mut petra = petra();
        flow(&mut petra, 1_000, 1_027, 90);
        let before = petra.window();
        petra.max_in_flight = before;
        petra.on_ack(&Ack {
            bytes_in_flight: 1_200,
            ..measured(1_036, rtt)
        });
        assert_eq!(petra.window() - before, growth, "{rtt}");
    }
}

/// Packets that leave with ACKs in slots all wait for as long as the first of them.
#[test]
fn a_delay_that_is_the_paths_does_not_end_it() {
    let mut petra = petra();
    flow(&mut petra, 1_000, 1_090, 90);
    let mut now = 1_090;
    for _ in 0..20 {
        // The packets of the window of a round trip before.
        let sent = petra.window();
        petra.max_in_flight = sent;
        for _ in 0..11 {
            petra.on_ack(&Ack {
                bytes: sent / 11,
                ..measured(now, 98)
            });
            now += 9;
        }
        assert_eq!(petra.ssthresh(), None);
    }
    assert!(petra.window() > 20 * INITIAL);
}

/// A queue that falls with a pause of the application is no jitter of the path.
#[test]
fn a_pause_does_not_hide_a_later_queue() {
    let mut petra = without(|on| on.initial_ssthresh = false);
    flow(&mut petra, 1_000, 1_200, 90);
    flow(&mut petra, 1_200, 1_400, 96);
    for now in (1_400..1_600).step_by(9) {
        petra.on_ack(&Ack {
            app_limited: true,
            ..measured(now, 90)
        });
    }
    flow(&mut petra, 1_600, 2_000, 110);
    assert!(petra.window.in_slow_start() && petra.queue.is_building(MIN_RTT));
}

#[test]
fn growth_is_by_the_bytes_acknowledged_and_faster_with_room() {
    let mut slow = without(|on| on.faster_start = false);
    let mut fast = petra();
    for petra in [&mut slow, &mut fast] {
        petra.on_ack(&Ack {
            bytes_in_flight: 2_400,
            ..measured(1_000, 90)
        });
        assert_eq!(petra.window(), INITIAL + DATAGRAM);
        petra.on_ack(&Ack {
            bytes_in_flight: 2_400,
            ..measured(1_009, 90)
        });
    }
    assert_eq!(slow.window(), INITIAL + 2 * DATAGRAM);
    // 12 000 / 2400 = 5, of which 3.
    assert_eq!(fast.window(), INITIAL + 4 * DATAGRAM);
}

#[test]
fn the_window_is_at_most_twice_what_was_in_flight() {
    let mut petra = petra();
    petra.on_ack(&Ack {
        bytes: 1_000_000,
        ..measured(1_000, 90)
    });
    assert_eq!(petra.window(), 2 * INITIAL);
    petra.on_sent(&sent(1_001, 50_000));
    petra.on_ack(&Ack {
        bytes: 1_000_000,
        ..measured(1_002, 90)
    });
    assert_eq!(petra.window(), 100_000);
}
