//! Tests of the whole controller: by concern in the modules, the rest here, with what they share.

mod delay_step;
mod ecn;
mod gathered_acks;
mod in_congestion_avoidance;
mod in_slow_start;
mod loss_trial;
mod on_loss;
mod on_pto;
mod on_spurious_loss;
mod pacing_rate;
mod shorter_path;
mod target;

use super::super::events::{
    loss, measured, ms, pto, rtt, sent, settings, spurious, DATAGRAM, INITIAL, MIN_RTT,
};
use super::congestion_response::{Decision, Why};
use super::path_change::LongerPath;
use super::standing_queue::QueueSign;
use super::*;

fn with(change: impl Fn(&mut PetraConfig)) -> Petra {
    let mut config = PetraConfig::default();
    change(&mut config);
    Petra::new(config, settings())
}

fn without(mechanism: impl Fn(&mut Mechanisms)) -> Petra {
    with(|config| mechanism(&mut config.mechanisms))
}

fn petra() -> Petra {
    with(|_| ())
}

/// A datagram every 9 ms: 133 333 bytes a second, 12 000 in 90 ms.
fn flow(petra: &mut Petra, from: u64, to: u64, latest: u64) {
    for now in (from..to).step_by(9) {
        petra.on_ack(&measured(now, latest));
    }
}

/// In congestion avoidance, with a window of 20 000 bytes.
fn steady(mut petra: Petra) -> Petra {
    flow(&mut petra, 1_000, 2_000, 90);
    petra.window.set(20_000.0);
    petra.window.set_ssthresh(13_200.0);
    petra.pace();
    petra
}

/// In congestion avoidance, with ACKs of three datagrams at a time, 27 ms apart: the same rate.
fn bunched() -> Petra {
    let mut petra = petra();
    for now in (1_000..3_000).step_by(27) {
        for _ in 0..3 {
            petra.on_ack(&measured(now, 90));
        }
    }
    petra.window.set(15_600.0);
    petra.window.set_ssthresh(15_600.0);
    petra
}

/// With a queue of 20 ms. At this rate two datagrams would wait for 18: so it is
/// tenfold.
fn queued(mut petra: Petra) -> Petra {
    petra.config.drain = false;
    for now in 1_000..2_000 {
        let latest = if now < 1_200 { 90 } else { 110 };
        petra.on_ack(&measured(now, latest));
    }
    petra.window.set(130_000.0);
    petra.window.set_ssthresh(120_000.0);
    assert!(petra.queue_explains_loss());
    petra
}

/// In a window of 20 000 bytes, with a safe one of `safe`.
fn behind_a_policer(safe: f64) -> Petra {
    let mut petra = steady(petra());
    for _ in 0..10 {
        (0..4).for_each(|_| petra.policing.on_loss(ms(1_900), &petra.window));
        petra.policing.end_round(DATAGRAM as f64, false);
    }
    for _ in 0..2 {
        petra.policing.begin_dip(ms(1_900), safe / 0.85);
        for _ in 0..5 {
            petra.policing.on_ack(100 * DATAGRAM, &petra.window);
            petra.policing.end_round(DATAGRAM as f64, false);
        }
    }
    assert_near(petra.policing.safe_window().unwrap(), safe);
    petra
}

fn assert_near(left: f64, right: f64) {
    assert!((left / right - 1.0).abs() < 1e-3, "{left} is not {right}");
}

fn reduction(decision: Decision) -> f64 {
    match decision {
        Decision::Reduce(target) | Decision::Shorten(target) => target,
        other => panic!("{other:?}"),
    }
}

#[test]
fn persistent_congestion_forgets_the_path() {
    let mut petra = queued(petra());
    petra.on_loss(&loss(2_000));
    petra.cubic.on_reduction(100.0, 70.0);
    petra.on_persistent_congestion(ms(2_000));
    assert_eq!(petra.window(), 2 * DATAGRAM);
    assert_eq!(petra.cubic, CubicGrowth::default());
    assert_eq!(petra.phase(), Phase::SlowStart);
    assert_eq!(petra.metrics().bandwidth_estimate, None);
    assert!(!petra.queue_persists());
    petra.on_spurious_loss(&spurious(2_010, true));
    assert_eq!(petra.window(), 2 * DATAGRAM);
}

#[test]
fn the_packet_threshold_follows_section_4_2_2() {
    let petra = petra();
    assert_eq!(petra.packet_threshold(&rtt(334, 90), ms(100)), Some(1));
    assert_eq!(petra.packet_threshold(&rtt(333, 90), ms(100)), Some(3));
    let off = without(|on| on.faster_retransmission = false);
    assert_eq!(off.packet_threshold(&rtt(334, 90), ms(100)), Some(3));
}
