//! The bounds of NewReno, for every variant of it.

use super::super::proofs::{
    any_ack, any_between, any_duration, any_loss, any_marks, any_pto, any_rtt, any_settings, maybe,
};
use super::*;

/// A variant that decides at random, as every other one could: it grows the window by any
/// method that the variants use, and any number is its ssthresh.
#[derive(Clone)]
struct AnyVariant;

impl Variant for AnyVariant {
    fn grow(&self, window: &mut Window, acked: u64) {
        match kani::any::<u8>() {
            0 => window.grow(acked),
            1 => window.avoid_congestion(any_between(0.0, 1e21)),
            _ => window.set(kani::any()),
        }
    }

    fn ssthresh(&mut self, _: &Window, _: Signal, _: Time, _: Option<Rtt>) -> f64 {
        kani::any()
    }
}

impl NewReno<AnyVariant> {
    /// Any state, whatever events led to it.
    fn arbitrary() -> Self {
        Self {
            window: Window::arbitrary(),
            rtt: maybe(any_rtt()),
            pacing_gain: Gain::arbitrary().get(),
            variant: AnyVariant,
        }
    }

    fn assert_bounds(&self) {
        self.window.assert_bounds();
        assert!(self.pacing_rate() != Some(0));
        assert!(self.pacing_rate().is_some() == self.rtt.is_some());
    }
}

#[kani::proof]
fn a_new_variant_is_within_its_bounds() {
    NewReno::new(AnyVariant, Gain::arbitrary(), any_settings()).assert_bounds();
}

#[kani::proof]
fn an_ack_keeps_a_variant_within_its_bounds() {
    let mut newreno = NewReno::arbitrary();
    newreno.on_ack(&any_ack());
    newreno.assert_bounds();
}

#[kani::proof]
fn a_loss_never_raises_the_window_of_a_variant() {
    let mut newreno = NewReno::arbitrary();
    let before = newreno.window.bytes();
    newreno.on_loss(&any_loss());
    newreno.assert_bounds();
    newreno.window.assert_not_raised(before);
}

#[kani::proof]
fn marks_never_raise_the_window_of_a_variant() {
    let mut newreno = NewReno::arbitrary();
    let before = newreno.window.bytes();
    newreno.on_congestion_experienced(&any_marks());
    newreno.assert_bounds();
    newreno.window.assert_not_raised(before);
}

/// A second loss of the same flight changes nothing.
#[kani::proof]
fn a_round_trip_of_a_variant_has_one_reduction() {
    let mut newreno = NewReno::arbitrary();
    let first = any_loss();
    kani::assume(!newreno.window.sent_before_recovery(first.last_sent));
    newreno.on_loss(&first);
    let once = newreno.window.bytes();
    let second = any_loss();
    kani::assume(second.last_sent <= first.now);
    newreno.on_loss(&second);
    assert!(newreno.window.bytes() == once);
}

#[kani::proof]
fn a_timeout_leaves_a_variant_the_minimum_window() {
    let mut newreno = NewReno::arbitrary();
    newreno.on_pto(&any_pto());
    newreno.assert_bounds();
    assert!(newreno.window.bytes() == newreno.window.minimum());
}

#[kani::proof]
fn persistent_congestion_leaves_a_variant_the_minimum_window() {
    let mut newreno = NewReno::arbitrary();
    newreno.on_persistent_congestion(any_duration());
    newreno.assert_bounds();
    assert!(newreno.window.bytes() == newreno.window.minimum());
}
