use super::super::controller::{Ack, Loss, Phase, Reduction};
use super::super::events::{ack, loss, ms, pto, settings, DATAGRAM, INITIAL};
use super::*;

fn newreno_34() -> Box<dyn Controller> {
    NewReno34Config::default().build(settings())
}

/// After a loss out of a window of 36 000, acknowledged up to 300 ms.
fn after_a_loss() -> Box<dyn Controller> {
    let mut controller = newreno_34();
    controller.on_ack(&ack(100, INITIAL));
    controller.on_loss(&loss(200));
    controller
}

#[test]
fn a_round_trip_of_slow_start_triples_the_window() {
    let mut controller = newreno_34();
    for packet in 0..10 {
        controller.on_ack(&ack(100 + packet, DATAGRAM));
    }
    assert_eq!(controller.window(), 3 * INITIAL);
    assert_eq!(controller.phase(), Phase::SlowStart);
}

#[test]
fn a_loss_leaves_three_quarters() {
    let controller = after_a_loss();
    assert_eq!(controller.window(), 27_000);
    assert_eq!(controller.ssthresh(), Some(27_000));
    assert_eq!(controller.metrics().last_reduction, Some(Reduction::Loss));
}

#[test]
fn further_losses_of_the_round_trip_leave_it_alone() {
    let mut controller = after_a_loss();
    controller.on_loss(&loss(250));
    assert_eq!(controller.window(), 27_000);
    controller.on_loss(&Loss {
        last_sent: ms(201),
        ..loss(291)
    });
    assert_eq!(controller.window(), 20_250);
}

#[test]
fn congestion_avoidance_adds_four_datagrams_for_a_window() {
    let mut controller = after_a_loss();
    controller.on_ack(&Ack {
        last_sent: ms(201),
        ..ack(300, 27_000)
    });
    assert_eq!(controller.window(), 27_000 + 4 * DATAGRAM);
    assert_eq!(controller.phase(), Phase::CongestionAvoidance);
}

#[test]
fn a_timeout_halves_ssthresh_and_leaves_the_minimum_window() {
    let mut controller = newreno_34();
    controller.on_ack(&ack(100, INITIAL));
    controller.on_pto(&pto(500));
    assert_eq!(controller.ssthresh(), Some(18_000));
    assert_eq!(controller.window(), 2 * DATAGRAM);
    assert_eq!(controller.metrics().last_reduction, Some(Reduction::Pto));
}

#[test]
fn it_estimates_no_bandwidth() {
    let metrics = after_a_loss().metrics();
    assert_eq!(metrics.bandwidth_sample, None);
    assert_eq!(metrics.bandwidth_estimate, None);
}
