//! The response to probe timeouts.

use super::*;

fn nth(count: u32) -> Pto {
    Pto {
        count,
        ..pto(2_200)
    }
}

#[test]
fn the_first_is_a_probe() {
    let petra = queued(petra());
    assert_eq!(petra.pto_response(&nth(1)), Decision::Keep(Why::TailProbe));
}

#[test]
fn the_second_is_congestion_where_a_queue_stood() {
    let mut petra = queued(petra());
    petra.on_pto(&nth(2));
    assert_near(petra.window.bytes(), 109_200.0);
    assert_eq!(petra.metrics().last_reduction, Some(Reduction::Pto));
}

#[test]
fn what_a_drain_would_restore_is_forgotten() {
    let mut petra = queued(petra());
    petra.config.drain = true;
    petra.on_ack(&measured(2_000, 110));
    petra.on_pto(&nth(2));
    let reduced = petra.window.bytes();
    // Under a queue that others make longer, delivery is half of what it was.
    for now in (2_201..2_600).step_by(2) {
        petra.on_ack(&measured(now, 110 + (now - 2_200) / 30));
    }
    assert!(petra.competition.is_detected());
    assert!(petra.window.bytes() < reduced + 10_000.0);
}

#[test]
fn and_a_silent_link_where_none_did() {
    let petra = steady(petra());
    assert_eq!(petra.pto_response(&nth(2)), Decision::Keep(Why::NoQueue));
}

#[test]
fn further_ones_are_answered() {
    let petra = queued(petra());
    assert_eq!(
        petra.pto_response(&nth(3)),
        Decision::Keep(Why::SentBeforeRecovery)
    );
}

#[test]
fn before_any_round_trip_nothing_is_known() {
    let mut petra = petra();
    let blind = Pto {
        rtt: None,
        ..nth(2)
    };
    assert_eq!(petra.pto_response(&blind), Decision::Keep(Why::Unmeasured));
    petra.on_pto(&blind);
    assert_eq!(petra.window(), INITIAL);
}

#[test]
fn off_it_is_what_rfc_9002_has() {
    let petra = queued(without(|on| on.timeout_reaction = false));
    assert_eq!(petra.pto_response(&nth(2)), Decision::Keep(Why::Off));
}
