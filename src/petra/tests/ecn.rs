//! The response to marks of Congestion Experienced.

use super::*;

fn marks(now: u64, last_sent: u64) -> CongestionExperienced {
    CongestionExperienced {
        now: ms(now),
        last_sent: ms(last_sent),
        bytes_in_flight: INITIAL,
        rtt: Some(rtt(90, 90)),
    }
}

fn after(bytes: f64) -> f64 {
    let mut petra = steady(petra());
    petra.window.set(bytes);
    petra.on_congestion_experienced(&marks(2_000, 1_950));
    petra.window.bytes()
}

/// The target is 13 200 bytes.
#[test]
fn marks_reduce_to_the_target_by_15_to_30_percent() {
    assert_near(after(13_200.0), 0.85 * 13_200.0);
    assert_near(after(17_000.0), 13_200.0);
    assert_near(after(40_000.0), 0.7 * 40_000.0);
}

#[test]
fn without_an_estimate_they_reduce_by_30_percent() {
    let mut petra = petra();
    petra.on_congestion_experienced(&marks(50, 40));
    assert_near(petra.window.bytes(), 0.7 * INITIAL as f64);
    assert_eq!(petra.metrics().last_reduction, Some(Reduction::Ecn));
    assert_eq!(petra.metrics().loss_response, Some("reduce"));
}

#[test]
fn they_reduce_once_per_round_trip() {
    let mut petra = steady(petra());
    petra.on_congestion_experienced(&marks(2_000, 1_950));
    let once = petra.window.bytes();
    petra.on_congestion_experienced(&marks(2_010, 1_990));
    assert_eq!(petra.window.bytes(), once);
    petra.on_congestion_experienced(&marks(2_100, 2_010));
    assert!(petra.window.bytes() < once);
}

/// They are not losses: a late packet proves nothing about them.
#[test]
fn a_spurious_loss_does_not_undo_them() {
    let mut petra = steady(petra());
    petra.on_congestion_experienced(&marks(2_000, 1_950));
    let reduced = petra.window.bytes();
    petra.on_spurious_loss(&spurious(2_020, true));
    assert_eq!(petra.window.bytes(), reduced);
}
