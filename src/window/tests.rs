use super::super::controller::Loss;
use super::super::events::{ack, loss, ms, settings, DATAGRAM, INITIAL};
use super::*;

const MINIMUM: f64 = 2.0 * DATAGRAM as f64;

fn window() -> Window {
    Window::new(settings())
}

#[test]
fn it_starts_at_the_initial_window_in_slow_start() {
    assert_eq!(window().bytes(), INITIAL as f64);
    assert_eq!(window().phase(), Phase::SlowStart);
    assert_eq!(window().ssthresh(), None);
}

#[test]
fn slow_start_grows_by_what_was_acknowledged() {
    let mut window = window();
    window.grow(3_000);
    assert_eq!(window.bytes(), 15_000.0);
}

#[test]
fn congestion_avoidance_grows_by_a_datagram_a_window() {
    let mut window = window();
    window.set_ssthresh(12_000.0);
    window.grow(3_000);
    // 12 000 + 1200 x 3000 / 12 000
    assert_eq!(window.bytes(), 12_300.0);
}

#[test]
fn growth_below_a_byte_is_not_lost() {
    let mut window = window();
    window.set(1e10);
    window.set_ssthresh(1e9);
    // 1200 x 1200 / 10^10 = 0.000144 bytes an ACK
    for _ in 0..10_000 {
        window.grow(DATAGRAM);
    }
    assert!((window.bytes() - 1e10 - 1.44).abs() < 0.01);
}

#[test]
fn it_stays_within_its_bounds_whatever_is_asked() {
    let mut window = window();
    for absurd in [f64::NAN, f64::NEG_INFINITY, -1.0, 0.0] {
        window.set(absurd);
        assert_eq!(window.bytes(), MINIMUM);
        window.set_ssthresh(absurd);
        assert_eq!(window.ssthresh(), Some(MINIMUM));
    }
    window.set(f64::INFINITY);
    assert_eq!(window.bytes(), MAX_BYTES);
    window.grow(u64::MAX);
    assert_eq!(window.bytes(), MAX_BYTES);
}

#[test]
fn a_reduction_never_raises_and_is_counted_when_it_lowers() {
    let mut window = window();
    window.reduce_to(20_000.0, Reduction::Loss);
    assert_eq!(window.bytes(), INITIAL as f64);
    assert_eq!(window.metrics(None, None).reductions, 0);
    window.reduce_to(6_000.0, Reduction::Queue);
    assert_eq!(window.bytes(), 6_000.0);
    let metrics = window.metrics(None, None);
    assert_eq!(metrics.reductions, 1);
    assert_eq!(metrics.last_reduction, Some(Reduction::Queue));
}

#[test]
fn recovery_lasts_until_a_packet_sent_in_it_is_acknowledged() {
    let mut window = window();
    let lost: Loss = loss(200);
    window.enter_recovery(lost.now);
    assert!(window.sent_before_recovery(lost.last_sent));
    assert!(window.sent_before_recovery(ms(200)));
    assert!(!window.sent_before_recovery(ms(201)));

    // Sent at 200 ms, when recovery began: part of what it answers.
    window.on_ack(&ack(290, DATAGRAM));
    assert!(!window.may_grow(&ack(290, DATAGRAM)));
    assert_eq!(window.phase(), Phase::Recovery);

    window.on_ack(&ack(291, DATAGRAM));
    assert!(window.may_grow(&ack(291, DATAGRAM)));
    assert_eq!(window.phase(), Phase::SlowStart);
    window.set_ssthresh(0.0);
    assert_eq!(window.phase(), Phase::CongestionAvoidance);
}

#[test]
fn a_packet_from_before_recovery_is_no_reason_to_grow_after_it() {
    let mut window = window();
    window.enter_recovery(ms(200));
    window.on_ack(&ack(291, DATAGRAM));
    assert!(!window.may_grow(&ack(280, DATAGRAM)));
}

#[test]
fn an_unused_window_does_not_grow() {
    let idle = Ack {
        app_limited: true,
        ..ack(100, DATAGRAM)
    };
    assert!(!window().may_grow(&idle));
}

#[test]
fn persistent_congestion_ends_recovery_at_the_minimum() {
    let mut window = window();
    window.enter_recovery(ms(200));
    window.collapse();
    assert_eq!(window.bytes(), MINIMUM);
    assert!(!window.sent_before_recovery(ms(100)));
    assert_eq!(window.phase(), Phase::SlowStart);
}

#[test]
fn an_untouched_initial_window_keeps_its_count_of_datagrams() {
    let mut window = window();
    window.set_datagram(1_400);
    assert_eq!(window.bytes(), 14_000.0);
    window.set_datagram(1_200);
    assert_eq!(window.bytes(), 12_000.0);
    let metrics = window.metrics(None, None);
    assert_eq!(metrics.last_reduction, Some(Reduction::Mtu));
}

#[test]
fn a_window_in_use_keeps_its_bytes_and_its_new_minimum() {
    let mut window = window();
    window.set(20_000.0);
    window.set_datagram(1_400);
    assert_eq!(window.bytes(), 20_000.0);
    window.set_datagram(1_200);
    window.set(2_400.0);
    window.set_ssthresh(2_400.0);
    window.set_datagram(1_400);
    assert_eq!(window.bytes(), 2_800.0);
    assert_eq!(window.ssthresh(), Some(2_800.0));
}

#[test]
fn an_undone_reduction_leaves_what_grew_since() {
    let mut window = window();
    window.enter_recovery(ms(200));
    window.set_ssthresh(6_000.0);
    window.reduce_to(6_000.0, Reduction::Loss);
    window.restore(12_000.0, None);
    assert_eq!(window.bytes(), 12_000.0);
    assert_eq!(window.phase(), Phase::SlowStart);
    window.set(20_000.0);
    window.restore(12_000.0, Some(9_000.0));
    assert_eq!(window.bytes(), 20_000.0);
    assert_eq!(window.ssthresh(), Some(9_000.0));
}
