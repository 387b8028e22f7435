use super::super::controller::{Loss, Phase, Reduction};
use super::super::events::{ack, loss, ms, pto, rtt, settings, DATAGRAM, INITIAL};
use super::*;

fn westwood() -> Box<dyn Controller> {
    WestwoodConfig::default().build(settings())
}

/// 1000 bytes every 10 ms: 9000 bytes in 90 ms, and 3000 bytes of slow start.
fn estimate_9000() -> Box<dyn Controller> {
    let mut controller = westwood();
    for now in [100, 110, 120] {
        controller.on_ack(&ack(now, 1_000));
    }
    controller
}

#[test]
fn acks_feed_the_filter_and_slow_start() {
    let controller = estimate_9000();
    assert_eq!(controller.metrics().bandwidth_estimate, Some(100_000));
    assert_eq!(controller.metrics().bandwidth_sample, Some(100_000));
    assert_eq!(controller.window(), INITIAL + 3_000);
    assert_eq!(controller.ssthresh(), None);
}

#[test]
fn a_loss_sets_window_and_ssthresh_to_the_estimate() {
    let mut controller = estimate_9000();
    controller.on_loss(&loss(130));
    assert_eq!(controller.window(), 9_000);
    assert_eq!(controller.ssthresh(), Some(9_000));
    // The estimate stays: only PETRA's restarts.
    assert_eq!(controller.metrics().bandwidth_estimate, Some(100_000));
}

#[test]
fn a_window_below_ssthresh_stays() {
    let mut controller = estimate_9000();
    controller.on_pto(&pto(400));
    controller.on_loss(&Loss {
        last_sent: ms(450),
        ..loss(500)
    });
    assert_eq!(controller.window(), 2 * DATAGRAM);
    assert_eq!(controller.ssthresh(), Some(9_000));
}

#[test]
fn there_is_one_reduction_a_recovery_period() {
    let mut controller = estimate_9000();
    controller.on_loss(&loss(130));
    controller.on_loss(&loss(150));
    assert_eq!(controller.metrics().reductions, 1);
    controller.on_loss(&loss(221));
    assert_eq!(controller.window(), 9_000);
}

#[test]
fn a_loss_before_any_estimate_halves() {
    let mut controller = westwood();
    controller.on_loss(&Loss {
        rtt: None,
        ..loss(100)
    });
    assert_eq!(controller.window(), INITIAL / 2);
}

#[test]
fn a_timeout_leaves_the_minimum_window() {
    let mut controller = estimate_9000();
    controller.on_pto(&pto(400));
    assert_eq!(controller.window(), 2 * DATAGRAM);
    assert_eq!(controller.ssthresh(), Some(9_000));
    assert_eq!(controller.metrics().last_reduction, Some(Reduction::Pto));
}

#[test]
fn after_a_timeout_slow_start_leads_back_to_ssthresh() {
    let mut controller = estimate_9000();
    controller.on_pto(&pto(400));
    controller.on_ack(&ack(491, 2_400));
    assert_eq!(controller.phase(), Phase::SlowStart);
    assert_eq!(controller.window(), 4_800);
}

#[test]
fn persistent_congestion_leaves_the_minimum_window() {
    let mut controller = estimate_9000();
    controller.on_loss(&loss(130));
    controller.on_persistent_congestion(ms(130));
    assert_eq!(controller.window(), 2 * DATAGRAM);
}

#[test]
fn it_paces_at_five_quarters_of_a_window_a_round_trip() {
    let mut controller = estimate_9000();
    assert_eq!(westwood().pacing_rate(), None);
    controller.on_loss(&loss(130));
    // 1.25 x 9000 / 0.09
    assert_eq!(controller.pacing_rate(), Some(125_000));
}

#[test]
fn it_leaves_the_packet_threshold_alone() {
    assert_eq!(westwood().packet_threshold(&rtt(5_000, 90), ms(100)), None);
}
