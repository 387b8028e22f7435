//! The growth and ssthresh of the variant, with any options.

use super::super::proofs::{any_bytes, any_duration};
use super::*;

impl NewReno34 {
    /// Any options.
    fn arbitrary() -> Self {
        Self {
            slow_start: Growth::arbitrary().get() - 1.0,
            additive_increase: Datagrams::arbitrary().get(),
            beta: Part::arbitrary().get(),
        }
    }
}

#[kani::proof]
fn growth_of_the_variant_never_lowers_the_window() {
    let mut window = Window::arbitrary();
    let before = window.bytes();
    NewReno34::arbitrary().grow(&mut window, any_bytes());
    window.assert_bounds();
    assert!(window.bytes() >= before);
    kani::cover!(window.bytes() > before);
}

#[kani::proof]
fn a_signal_of_congestion_lowers_ssthresh_below_the_window() {
    let window = Window::arbitrary();
    let signal = match kani::any() {
        true => Signal::Loss,
        false => Signal::Timeout,
    };
    let ssthresh = NewReno34::arbitrary().ssthresh(&window, signal, any_duration(), None);
    assert!(ssthresh > 0.0 && ssthresh < window.bytes());
}
