//! The bounds of the window, for every order of events.
//!
//! The fields are private, and each controller has its window in this type. An invariant that
//! each method keeps is therefore one of every controller.

use super::super::proofs::{any_ack, any_between, any_bytes, any_duration, any_settings, maybe};
use super::*;

impl Window {
    /// Any window within its bounds, whatever events led to it.
    pub(crate) fn arbitrary() -> Self {
        let datagram: u16 = kani::any_where(|bytes| *bytes > 0);
        let datagram = f64::from(datagram);
        let minimum = 2.0 * datagram;
        Self {
            datagram,
            initial: kani::any(),
            bytes: any_between(minimum, MAX_BYTES),
            ssthresh: maybe(any_between(minimum, MAX_BYTES)),
            recovery_start: maybe(any_duration()),
            recovering: kani::any(),
            last_reduction: maybe(any_reduction()),
            reductions: kani::any(),
        }
    }

    /// Checks the invariant.
    pub(crate) fn assert_bounds(&self) {
        let bounds = 2.0 * self.datagram..=MAX_BYTES;
        assert!((1.0..=65_535.0).contains(&self.datagram));
        assert!(bounds.contains(&self.bytes));
        assert!(self.ssthresh.is_none_or(|bytes| bounds.contains(&bytes)));
        assert!(self.bytes as u64 >= MINIMUM_WINDOW_DATAGRAMS * self.datagram as u64);
    }

    /// Checks that the window is no larger than before, and that it can be smaller.
    pub(crate) fn assert_not_raised(&self, before: f64) {
        assert!(self.bytes <= before);
        kani::cover!(self.bytes < before);
    }
}

fn any_reduction() -> Reduction {
    match kani::any::<u8>() {
        0 => Reduction::Loss,
        1 => Reduction::Pto,
        2 => Reduction::Ecn,
        3 => Reduction::PersistentCongestion,
        4 => Reduction::Queue,
        5 => Reduction::ShorterPath,
        _ => Reduction::Mtu,
    }
}

#[kani::proof]
fn a_new_window_is_within_its_bounds() {
    let window = Window::new(any_settings());
    window.assert_bounds();
    kani::cover!(window.bytes == window.minimum());
    kani::cover!(window.bytes == MAX_BYTES);
}

/// Also of numbers that are infinite or not numbers.
#[kani::proof]
fn a_window_that_is_set_stays_within_its_bounds() {
    let mut window = Window::arbitrary();
    window.set(kani::any());
    window.assert_bounds();
    kani::cover!(window.bytes > window.minimum() && window.bytes < MAX_BYTES);
}

#[kani::proof]
fn an_ssthresh_that_is_set_stays_within_the_bounds() {
    let mut window = Window::arbitrary();
    if kani::any() {
        window.set_ssthresh(kani::any());
    } else {
        window.replace_ssthresh(maybe(kani::any()));
    }
    window.assert_bounds();
}

#[kani::proof]
fn a_reduction_never_raises_the_window() {
    let mut window = Window::arbitrary();
    let before = window.bytes;
    let reductions = window.reductions;
    window.reduce_to(kani::any(), any_reduction());
    window.assert_bounds();
    window.assert_not_raised(before);
    assert!((window.reductions != reductions) == (window.bytes < before && reductions < u64::MAX));
}

#[kani::proof]
fn an_undone_reduction_never_lowers_the_window() {
    let mut window = Window::arbitrary();
    let before = window.bytes;
    window.restore(kani::any(), maybe(kani::any()));
    window.assert_bounds();
    assert!(window.bytes >= before);
    kani::cover!(window.bytes > before);
}

#[kani::proof]
fn persistent_congestion_leaves_the_minimum_window() {
    let mut window = Window::arbitrary();
    window.collapse();
    window.assert_bounds();
    assert!(window.bytes == window.minimum());
}

#[kani::proof]
fn a_recovery_period_keeps_the_window() {
    let mut window = Window::arbitrary();
    let before = window.bytes;
    let now = any_duration();
    window.enter_recovery(now);
    assert!(window.sent_before_recovery(now));
    window.on_ack(&any_ack());
    window.assert_bounds();
    assert!(window.bytes == before);
    let _ = window.phase();
}

#[kani::proof]
fn growth_never_lowers_the_window() {
    let mut window = Window::arbitrary();
    let before = window.bytes;
    window.grow(any_bytes());
    window.assert_bounds();
    assert!(window.bytes >= before);
    kani::cover!(window.bytes > before && window.ssthresh.is_some());
}

/// The bytes are those of an ACK times at most the largest factor of an option, 100.
#[kani::proof]
fn additive_increase_never_lowers_the_window() {
    let mut window = Window::arbitrary();
    let before = window.bytes;
    window.avoid_congestion(any_between(0.0, 1e21));
    window.assert_bounds();
    assert!(window.bytes >= before);
    kani::cover!(window.bytes > before);
}

/// A transport that reports no bytes at all, or more than UDP has, gets a window as well.
#[kani::proof]
fn a_datagram_of_an_impossible_size_keeps_the_window_finite() {
    let mut window = Window::arbitrary();
    window.set_datagram(kani::any());
    assert!(window.bytes >= window.minimum().min(MAX_BYTES));
    assert!(window.bytes <= MAX_BYTES);
}

#[kani::proof]
fn a_datagram_of_another_size_keeps_the_bounds() {
    let mut window = Window::arbitrary();
    let datagram: u16 = kani::any_where(|bytes| *bytes > 0);
    window.set_datagram(datagram.into());
    window.assert_bounds();
    assert!(window.datagram == f64::from(datagram));
}
