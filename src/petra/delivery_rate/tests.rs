use super::super::super::events::{self, ack, ms};
use super::*;

fn delivery() -> DeliveryRate {
    DeliveryRate::new(0.9, 0.5)
}

/// An ACK at `now` for packets that were sent from `first` to `last`.
fn sent(first: u64, last: u64, now: u64, bytes: u64) -> Ack {
    Ack {
        first_sent: ms(first),
        last_sent: ms(last),
        ..ack(now, bytes)
    }
}

/// 1200 bytes every 10 ms: 120 000 bytes a second.
fn steady(delivery: &mut DeliveryRate, from: u64, to: u64) {
    for now in (from..=to).step_by(10) {
        delivery.on_ack(&ack(now, 1_200), false);
    }
}

#[test]
fn a_sample_spans_half_the_minimum_rtt() {
    let mut delivery = delivery();
    // The clock starts at 100 ms. 140 ms ends a span of 40 ms, 150 ms one of 50:
    // the first that is not below 45, and closed by the ACK after it.
    steady(&mut delivery, 100, 150);
    assert_eq!(delivery.estimate(), None);
    steady(&mut delivery, 160, 160);
    // 5 x 1200 / 0.05
    assert_eq!(delivery.estimate(), Some(120_000.0));
}

#[test]
fn no_byte_is_dropped_between_samples() {
    let mut delivery = delivery();
    // In each sample of 50 ms, all at its last instant, in two frames.
    for now in [100, 150, 200, 250, 300] {
        delivery.on_ack(&ack(now, 2_000), false);
        delivery.on_ack(&ack(now, 4_000), false);
    }
    assert_eq!(delivery.estimate(), Some(120_000.0));
}

#[test]
fn bunched_acks_give_no_more_than_was_sent() {
    let mut delivery = delivery();
    // Sent at 1200 bytes every 10 ms; the ACKs are held back for 400 ms and then
    // come 1 ms apart, which is ten times the rate.
    for packet in 0..100 {
        let at = packet * 10;
        delivery.on_ack(&sent(at, at, 1_400 + packet, 1_200), false);
    }
    let rate = delivery.estimate().unwrap();
    assert!((rate - 120_000.0).abs() < 1.0, "{rate}");
}

#[test]
fn everything_at_one_instant_is_no_sample() {
    let mut delivery = DeliveryRate::new(0.9, 0.0);
    for _ in 0..1_000 {
        delivery.on_ack(&ack(500, u64::MAX), false);
    }
    assert_eq!(delivery.estimate(), None);
}

#[test]
fn packets_that_come_late_count_from_when_they_left() {
    let mut delivery = delivery();
    delivery.on_ack(&sent(500, 500, 590, 1_200), false);
    // Sent at 400 and at 550 ms: 150 ms, though acknowledged within 60.
    delivery.on_ack(&sent(400, 550, 650, 6_000), false);
    delivery.on_ack(&sent(560, 560, 660, 1_200), false);
    // 6000 / 0.15
    assert_eq!(delivery.estimate(), Some(40_000.0));
}

#[test]
fn the_peak_outlives_the_average() {
    let mut delivery = delivery();
    steady(&mut delivery, 100, 160);
    // Half of it from now on: the window has become smaller.
    for now in (180..1_000).step_by(20) {
        delivery.on_ack(&ack(now, 1_200), false);
    }
    assert_eq!(delivery.estimate(), Some(120_000.0));
    for _ in 0..10 {
        delivery.end_round();
    }
    let rate = delivery.estimate().unwrap();
    assert!(rate < 120_000.0, "{rate}");
}

#[test]
fn under_a_queue_the_last_four_samples_are_the_path() {
    let mut delivery = delivery();
    steady(&mut delivery, 100, 160);
    for now in (180..=380).step_by(20) {
        delivery.on_ack(&ack(now, 1_200), true);
    }
    // That up to 150 ms was of 120 000, that up to 200 of 3600 in 50 ms, and two of 60.
    assert_eq!(delivery.estimate(), Some(120_000.0));
    delivery.on_ack(&ack(400, 1_200), true);
    assert_eq!(delivery.estimate(), Some(72_000.0));
    for now in (420..=460).step_by(20) {
        delivery.on_ack(&ack(now, 1_200), true);
    }
    assert_eq!(delivery.estimate(), Some(60_000.0));
}

#[test]
fn an_application_that_holds_back_does_not_lower_the_estimate() {
    let mut delivery = delivery();
    steady(&mut delivery, 100, 160);
    for now in (200..2_000).step_by(100) {
        let slow = Ack {
            app_limited: true,
            ..ack(now, 1_200)
        };
        delivery.on_ack(&slow, false);
    }
    assert_eq!(delivery.estimate(), Some(120_000.0));
    assert_eq!(delivery.last_sample(), Some(12_000.0));
}

#[test]
fn it_may_raise_it() {
    let mut delivery = delivery();
    steady(&mut delivery, 100, 160);
    for now in (170..300).step_by(10) {
        let fast = Ack {
            app_limited: true,
            ..ack(now, 2_400)
        };
        delivery.on_ack(&fast, false);
    }
    assert_eq!(delivery.estimate(), Some(240_000.0));
}

#[test]
fn silence_is_not_the_path() {
    let mut delivery = delivery();
    steady(&mut delivery, 100, 160);
    // Nothing in flight for 10 s, then a packet.
    delivery.on_sent(&events::sent(10_160, 1_200));
    steady(&mut delivery, 10_250, 10_250);
    steady(&mut delivery, 10_260, 10_260);
    assert_eq!(delivery.smoothing.rate(), Some(120_000.0));
}

#[test]
fn silence_is_longer_than_half_the_minimum_rtt() {
    for (sent, silence) in [(205, false), (206, true)] {
        let mut delivery = delivery();
        steady(&mut delivery, 100, 160);
        delivery.on_sent(&events::sent(sent, 1_200));
        assert_eq!(delivery.open.unwrap().app_limited, silence);
    }
}

#[test]
fn a_small_window_that_is_acknowledged_whole_is_not_silence() {
    let mut delivery = delivery();
    for now in (100..1_000).step_by(90) {
        delivery.on_ack(&ack(now, 2_400), false);
        delivery.on_sent(&events::sent(now, 1_200));
    }
    assert!(delivery.open.is_some_and(|open| !open.app_limited));
    let rate = delivery.estimate().unwrap();
    // 2400 / 0.09
    assert!((rate - 26_666.7).abs() < 0.1, "{rate}");
}

#[test]
fn acks_of_one_instant_are_of_one_sample() {
    let mut delivery = delivery();
    for now in [100, 200, 200] {
        delivery.on_ack(&ack(now, 1_200), false);
        assert_eq!(delivery.last_sample(), None);
    }
    delivery.on_ack(&ack(300, 1_200), false);
    // 2400 / 0.1
    assert_eq!(delivery.last_sample(), Some(24_000.0));
}

#[test]
fn a_restart_forgets() {
    let mut delivery = delivery();
    steady(&mut delivery, 100, 160);
    delivery.restart();
    assert_eq!(delivery.estimate(), None);
}

#[test]
fn it_holds_on_tiny_and_huge_paths() {
    let second = 1_000_000_000.0;
    // Bits per second, RTT in nanoseconds. The last one would take Miri hours.
    let paths = [
        (1e3, 10e9),
        (1e3, 10e3),
        (10e6, 90e6),
        (100e9, 10e3),
        (100e9, 10e9),
    ];
    let tried = if cfg!(miri) { 4 } else { 5 };
    for &(rate, min_rtt) in &paths[..tried] {
        let mut delivery = delivery();
        let mut at = 0.0;
        let min = Duration::from_nanos(min_rtt as u64);
        // 100 Gbit/s is acknowledged in frames of 64 datagrams.
        let bytes = if rate > 1e9 { 76_800 } else { 1_200 };
        let gap = bytes as f64 * 8.0 / rate * second;
        for _ in 0..(10.0 + 2.0 * min_rtt / gap) as u64 {
            at += gap;
            let sent = Duration::from_nanos(at as u64);
            let mut ack = Ack {
                now: sent + min,
                first_sent: sent,
                last_sent: sent,
                ..ack(0, bytes)
            };
            ack.rtt.min = min;
            delivery.on_ack(&ack, false);
        }
        let estimate = 8.0 * delivery.estimate().unwrap();
        assert!(
            (estimate / rate - 1.0).abs() < 1e-3,
            "{estimate} for {rate}"
        );
    }
}
