//! The bounds of `petra-thesis`, with any estimate and any switches.

use super::super::options::{Alpha, Gain, Seconds};
use super::super::proofs::{
    any_ack, any_between, any_duration, any_loss, any_marks, any_pto, any_rtt, maybe,
};
use super::*;

/// An estimator whose estimate is any number, as that of every other one could be.
struct AnyEstimator;

impl Estimator for AnyEstimator {
    fn on_ack(&mut self, _: Time, _: u64) {}

    fn restart(&mut self, _: Time) {}

    fn clone_box(&self) -> Box<dyn Estimator> {
        Box::new(AnyEstimator)
    }

    fn sample(&self) -> Option<f64> {
        maybe(any_between(0.0, 1e31))
    }

    fn rate(&self) -> Option<f64> {
        maybe(any_between(0.0, 1e31))
    }
}

fn any_config() -> PetraThesisConfig {
    PetraThesisConfig {
        mechanisms: Mechanisms {
            initial_ssthresh: kani::any(),
            faster_start: kani::any(),
            faster_retransmission: kani::any(),
            best_recovery: kani::any(),
            timeout_reaction: kani::any(),
        },
        base: match kani::any() {
            true => Base::NewReno,
            false => Base::Westwood,
        },
        alpha: Alpha::arbitrary(),
        timeout_floor: Seconds::arbitrary(),
        pacing_gain: Gain::arbitrary(),
    }
}

impl PetraThesis {
    /// Any state, whatever events led to it.
    fn arbitrary() -> Self {
        Self {
            config: any_config(),
            window: Window::arbitrary(),
            estimator: Box::new(AnyEstimator),
            rtt: maybe(any_rtt()),
            reduced: maybe(any_duration()),
        }
    }
}

#[kani::proof]
fn an_ack_never_lowers_the_window_of_the_thesis() {
    let mut thesis = PetraThesis::arbitrary();
    let before = thesis.window.bytes();
    thesis.on_ack(&any_ack());
    thesis.window.assert_bounds();
    assert!(thesis.window.bytes() >= before);
    kani::cover!(thesis.window.bytes() > before);
}

#[kani::proof]
fn a_loss_never_raises_the_window_of_the_thesis() {
    let mut thesis = PetraThesis::arbitrary();
    let before = thesis.window.bytes();
    thesis.on_loss(&any_loss());
    thesis.window.assert_bounds();
    thesis.window.assert_not_raised(before);
}

#[kani::proof]
fn marks_never_raise_the_window_of_the_thesis() {
    let mut thesis = PetraThesis::arbitrary();
    let before = thesis.window.bytes();
    thesis.on_congestion_experienced(&any_marks());
    thesis.window.assert_bounds();
    thesis.window.assert_not_raised(before);
}

/// A timeout may raise it: `cWnd = ssthresh` of Section 4.3.3.
#[kani::proof]
fn a_timeout_keeps_the_thesis_within_its_bounds() {
    let mut thesis = PetraThesis::arbitrary();
    thesis.on_pto(&any_pto());
    thesis.window.assert_bounds();
}

#[kani::proof]
fn persistent_congestion_leaves_the_thesis_the_minimum_window() {
    let mut thesis = PetraThesis::arbitrary();
    thesis.on_persistent_congestion(any_duration());
    thesis.window.assert_bounds();
    assert!(thesis.window.bytes() == thesis.window.minimum());
}

#[kani::proof]
fn the_pacing_rate_of_the_thesis_is_never_zero() {
    let thesis = PetraThesis::arbitrary();
    assert!(thesis.pacing_rate() != Some(0));
    assert!(thesis.pacing_rate().is_some() == thesis.rtt.is_some());
}

#[kani::proof]
#[kani::unwind(3)]
fn the_packet_threshold_of_the_thesis_is_one_or_the_transport_s() {
    let thesis = PetraThesis::arbitrary();
    let threshold = thesis.packet_threshold(&any_rtt(), any_duration());
    assert!(threshold.is_none_or(|packets| packets == 1));
    kani::cover!(threshold.is_some());
}
