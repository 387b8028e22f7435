//! A longer path whose delay comes at once, through the whole controller.

use super::*;

/// A datagram each millisecond: 1.2 MB a second, 108 000 bytes in 90 ms.
fn each_ms(petra: &mut Petra, from: u64, to: u64, latest: u64) {
    for now in from..to {
        petra.on_ack(&measured(now, latest));
    }
}

/// In congestion avoidance until `to`, with the window that the path needs.
fn busy(to: u64) -> Petra {
    let mut petra = petra();
    each_ms(&mut petra, 1_000, to, 90);
    petra.window.set(109_200.0);
    petra.window.set_ssthresh(109_200.0);
    petra
}

/// The path becomes 60 ms longer behind the packet whose ACK came at `at`. Returns the time at
/// which the controller knows it.
fn longer(petra: &mut Petra, at: u64, to: u64) -> Option<u64> {
    (at + 61..to).find(|now| {
        petra.on_ack(&measured(*now, 150));
        petra.queue.base_rtt(MIN_RTT) == ms(150)
    })
}

#[test]
fn it_gets_the_window_of_the_same_rate_after_a_round_trip() {
    let mut petra = busy(2_000);
    let before = petra.delivery.estimate().unwrap();
    // The ACK of the first packet comes at 2060 ms, and those of that time after a round trip.
    assert_eq!(longer(&mut petra, 1_999, 3_000), Some(2_210));
    assert_near(petra.window.ssthresh().unwrap(), before * 0.15);
    assert!(petra.window.in_slow_start() && !petra.queue_persists());
}

#[test]
fn an_interval_that_began_before_it_does_not_refute_it() {
    for phase in (0..100).step_by(5) {
        let end = 2_000 + phase;
        let mut petra = busy(end);
        let found = longer(&mut petra, end - 1, end + 300).expect("a longer path");
        each_ms(&mut petra, found + 1, found + 600, 150);
        assert_eq!(petra.queue.base_rtt(MIN_RTT), ms(150), "{phase}");
    }
}

#[test]
fn a_path_that_is_short_again_and_longer_again_is_found_as_soon() {
    let mut petra = busy(2_000);
    assert!(longer(&mut petra, 1_999, 2_300).is_some());
    each_ms(&mut petra, 2_300, 2_600, 90);
    assert_eq!(petra.queue.base_rtt(MIN_RTT), ms(90));
    assert_eq!(longer(&mut petra, 2_599, 3_000), Some(2_810));
}

#[test]
fn an_application_that_holds_back_needs_no_larger_window() {
    let mut petra = busy(2_000);
    for now in 2_060..2_500 {
        petra.on_ack(&Ack {
            app_limited: true,
            ..measured(now, 150)
        });
    }
    assert_eq!(petra.queue.base_rtt(MIN_RTT), MIN_RTT);
}

#[test]
fn persistent_congestion_forgets_the_packets_before_it() {
    let mut petra = busy(2_000);
    assert_eq!(longer(&mut petra, 1_999, 2_200), None);
    petra.on_persistent_congestion(ms(2_200));
    each_ms(&mut petra, 2_200, 2_400, 150);
    assert!(petra.queue.knows_noise());
    assert_eq!(petra.queue.base_rtt(MIN_RTT), MIN_RTT);
}

#[test]
fn slow_start_goes_on_with_the_rate_that_its_acks_have_shown() {
    let mut petra = petra();
    each_ms(&mut petra, 1_000, 1_250, 90);
    assert!(petra.window.in_slow_start());
    let fastest = petra.slow_start.fastest_acks();
    assert!(fastest > 0.0 && longer(&mut petra, 1_249, 1_500).is_some());
    assert!(petra.window.in_slow_start() && petra.window.ssthresh().is_none());
    assert_eq!(petra.slow_start.fastest_acks(), fastest);
}

#[test]
fn one_of_the_connections_own_packets_is_none() {
    // A datagram every 10 ms: of a flight that leaves at once, the first six are acknowledged by
    // the ACK of the last.
    let mut petra = petra();
    for now in (1_000..4_000).step_by(10) {
        petra.on_ack(&measured(now, 90));
    }
    petra.window.set(12_000.0);
    petra.window.set_ssthresh(12_000.0);
    each_ms(&mut petra, 4_000, 4_005, 90);
    petra.on_ack(&Ack {
        bytes: 6 * DATAGRAM,
        ..measured(4_065, 150)
    });
    assert_eq!(longer(&mut petra, 4_005, 4_400), None);
}
