//! ACKs that count as one, through the whole controller.

use super::*;

/// After an ACK at 2 s, with another one a tenth of a millisecond later.
fn gathering() -> Petra {
    let mut petra = steady(petra());
    petra.increase = AdditiveIncrease::default();
    petra.on_ack(&measured(2_000, 90));
    let now = ms(2_000) + Duration::from_micros(100);
    petra.on_ack(&Ack {
        now,
        ..measured(2_000, 90)
    });
    petra
}

fn at(now: u64) -> Sent {
    sent(now, INITIAL)
}

#[test]
fn they_grow_the_window_with_a_packet_that_is_sent_a_millisecond_later() {
    let mut petra = gathering();
    let before = petra.window.bytes();
    petra.on_sent(&at(2_000));
    assert_eq!(petra.window.bytes(), before);
    petra.on_sent(&at(2_001));
    assert_near(petra.window.bytes() - before, 1_200.0 * 1_200.0 / before);
}

#[test]
fn they_count_before_the_ack_of_a_later_time() {
    let mut petra = gathering();
    let grown = |bytes: f64| bytes + 1_200.0 * 1_200.0 / bytes;
    let expected = grown(grown(petra.window.bytes()));
    petra.on_ack(&measured(2_009, 90));
    assert_eq!(petra.window.bytes(), expected);
}

#[test]
fn an_app_limited_ack_does_not_let_them_grow_the_window() {
    let mut petra = gathering();
    let before = petra.window.bytes();
    petra.on_ack(&Ack {
        app_limited: true,
        ..measured(2_009, 90)
    });
    assert_eq!(petra.window.bytes(), before);
}

#[test]
fn those_before_a_reduction_do_not_grow_the_window() {
    let mut petra = gathering();
    petra.act(Decision::Reduce(15_000.0), ms(2_001), Reduction::Loss);
    petra.on_sent(&at(2_001));
    assert_eq!(petra.window.bytes(), 15_000.0);
}

#[test]
fn persistent_congestion_forgets_them() {
    let mut petra = gathering();
    petra.on_persistent_congestion(ms(2_001));
    petra.on_sent(&at(2_001));
    assert_eq!(petra.window(), 2 * DATAGRAM);
    assert_eq!(petra.delivery.estimate(), None);
}

#[test]
fn slow_start_takes_each_at_once() {
    let mut petra = petra();
    for number in 1..=3 {
        petra.on_ack(&measured(1_000, 90));
        assert_eq!(petra.window(), INITIAL + number * DATAGRAM);
    }
}

#[test]
fn one_of_an_overtaken_packet_takes_them_at_once() {
    let mut petra = gathering();
    let before = petra.window.bytes();
    let at = |us| Duration::from_micros(us);
    let sent = at(1_909_950);
    petra.on_ack(&Ack {
        now: at(2_000_200),
        first_sent: sent,
        last_sent: sent,
        newest_sent: sent,
        ..measured(2_000, 90)
    });
    assert!(petra.window.bytes() > before);
    petra.on_sent(&super::sent(2_002, INITIAL));
    // The transport's minimum RTT may be that of a packet that overtook others.
    assert_eq!(petra.queue.base_rtt(ms(80)), MIN_RTT);
}
