//! The bounds of the pacing rate.

use super::super::proofs::any_rtt;
use super::*;

#[kani::proof]
fn a_pacing_rate_is_never_zero() {
    let window = Window::arbitrary();
    let rate = rate(&window, Some(&any_rtt()), Gain::arbitrary().get());
    assert!(rate.is_some_and(|rate| rate >= 1));
    kani::cover!(rate == Some(1));
    kani::cover!(rate > Some(1 << 60));
}
