use super::super::controller::Reduction;
use super::super::events::{ack, loss, pto, settings, DATAGRAM};
use super::super::options::parse;
use super::*;

fn built(options: &str) -> Box<dyn Controller> {
    let config = parse::<WestwoodNrConfig>(options).unwrap();
    config.build(settings())
}

/// 1000 bytes every 10 ms up to 120 ms: 9000 bytes in a minimum RTT.
fn estimate_9000(options: &str) -> Box<dyn Controller> {
    let mut controller = built(options);
    for now in [100, 110, 120] {
        controller.on_ack(&ack(now, 1_000));
    }
    assert_eq!(controller.metrics().bandwidth_estimate, Some(100_000));
    controller
}

#[test]
fn three_duplicate_acks_set_window_and_ssthresh_to_the_estimate() {
    let mut controller = estimate_9000("");
    controller.on_loss(&loss(130));
    // BWE x RTTmin = 100 000 x 0.09
    assert_eq!(controller.ssthresh(), Some(9_000));
    assert_eq!(controller.window(), 9_000);
}

#[test]
fn a_window_below_ssthresh_stays_at_three_duplicate_acks() {
    let mut controller = estimate_9000("");
    controller.on_pto(&pto(130));
    controller.on_loss(&loss(300));
    assert_eq!(controller.ssthresh(), Some(9_000));
    assert_eq!(controller.window(), 2 * DATAGRAM);
}

#[test]
fn a_timeout_finds_the_estimate_that_null_samples_have_left() {
    // 501 ms of silence are two null samples. a = (1 - 0.25) / (1 + 0.25) = 0.6:
    //   0.6 x 100 000 + 0.4 x (0 + 100 000) / 2 = 80 000
    //   0.6 x 80 000 + 0.4 x 0 = 48 000
    let mut controller = estimate_9000("");
    controller.on_pto(&pto(621));
    assert_eq!(controller.metrics().bandwidth_estimate, Some(48_000));
    // 48 000 x 0.09
    assert_eq!(controller.ssthresh(), Some(4_320));
    assert_eq!(controller.window(), 2 * DATAGRAM);
    assert_eq!(controller.metrics().last_reduction, Some(Reduction::Pto));

    let mut controller = estimate_9000("null_samples=off");
    controller.on_pto(&pto(621));
    assert_eq!(controller.ssthresh(), Some(9_000));
}

#[test]
fn after_a_long_silence_ssthresh_is_two_segments() {
    let mut controller = estimate_9000("");
    controller.on_pto(&pto(30_000));
    assert_eq!(controller.ssthresh(), Some(2 * DATAGRAM));
}

#[test]
fn the_ack_after_a_silence_counts_from_the_last_null_sample() {
    let mut controller = estimate_9000("");
    controller.on_ack(&ack(630, 1_000));
    // 1000 bytes in 10 ms, a = (1 - 0.01) / (1 + 0.01) = 0.980198:
    //   0.980198 x 48 000 + 0.019802 x (100 000 + 0) / 2 = 48 039.6
    assert_eq!(controller.metrics().bandwidth_estimate, Some(48_039));
}

#[test]
fn a_smaller_tau_hears_a_shorter_silence() {
    let mut controller = estimate_9000("tau=0.1");
    // 51 ms, of which 50 are a null sample.
    controller.on_pto(&pto(171));
    assert_eq!(controller.metrics().bandwidth_estimate, Some(80_000));
}
