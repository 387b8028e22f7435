//! Estimates that are finite, not negative and no larger than what they come from.

use super::super::options::Alpha;
use super::super::proofs::{any_between, any_bytes, any_duration, maybe};
use super::*;

/// Largest rate of a state, in bytes per second: a thousand times that of the most bytes in a
/// nanosecond. An estimate exceeds the largest sample by rounding alone.
const MAX_RATE: f64 = 1e31;

impl Sample {
    /// Any sample of an interval that is not empty.
    pub(crate) fn arbitrary() -> Self {
        let elapsed = any_duration();
        kani::assume(elapsed > Duration::ZERO);
        Self {
            bytes: any_bytes(),
            elapsed,
        }
    }
}

impl Smoothing {
    /// Any estimate with any weight of the past.
    pub(crate) fn arbitrary() -> Self {
        Self {
            alpha: Alpha::arbitrary().get(),
            rate: maybe(any_between(0.0, MAX_RATE)),
        }
    }
}

impl LowPass {
    /// Any estimate with any time constant.
    pub(crate) fn arbitrary() -> Self {
        let tau = any_duration();
        kani::assume(tau >= Duration::from_millis(10) && tau <= Duration::from_secs(60));
        Self {
            tau,
            last: maybe((any_between(0.0, MAX_RATE), any_between(0.0, MAX_RATE))),
        }
    }
}

/// Checks that a rate is a number from zero to what the arithmetic can make of `MAX_RATE`.
fn assert_rate(rate: Option<f64>) {
    assert!(rate.is_none_or(|rate| (0.0..=4.0 * MAX_RATE).contains(&rate)));
}

#[kani::proof]
fn the_rate_of_a_sample_is_finite() {
    let rate = Sample::arbitrary().rate();
    assert!((0.0..=1e28).contains(&rate));
}

#[kani::proof]
fn a_smoothed_rate_is_finite() {
    let next = Smoothing::arbitrary().next(Sample::arbitrary());
    assert!(next.rate().is_some());
    assert_rate(next.rate());
}

#[kani::proof]
fn a_filtered_rate_is_finite() {
    let next = LowPass::arbitrary().next(Sample::arbitrary());
    assert!(next.rate().is_some());
    assert_rate(next.rate());
}

/// A filter whose estimate is any number, as that of every other one could be.
#[derive(Clone, Copy)]
struct AnyFilter(Option<f64>);

impl Filter for AnyFilter {
    fn next(self, sample: Sample) -> Self {
        assert!(sample.elapsed > Duration::ZERO);
        Self(Some(any_between(0.0, MAX_RATE)))
    }

    fn restarted(self) -> Self {
        Self(None)
    }

    fn rate(&self) -> Option<f64> {
        self.0
    }
}

impl AckRate<AnyFilter> {
    /// Any state without null samples, whatever ACKs led to it.
    fn arbitrary() -> Self {
        let min_interval = any_duration();
        kani::assume(min_interval <= Duration::from_secs(2));
        let last = maybe(any_duration());
        Self {
            settled: AnyFilter(maybe(any_between(0.0, MAX_RATE))),
            min_interval,
            silence: None,
            last,
            open: maybe(Sample::arbitrary()).filter(|_| last.is_some()),
        }
    }

    fn assert_valid(&self) {
        assert!(self.open.is_none() || self.last.is_some());
        assert!(self.open.is_none_or(|open| open.elapsed > Duration::ZERO));
        assert_rate(self.sample());
        assert_rate(self.rate());
    }
}

/// With ACKs at any times, even before the last one.
#[kani::proof]
fn no_sample_of_an_ack_has_an_empty_interval() {
    let mut rate = AckRate::arbitrary();
    let last = rate.last;
    rate.on_ack(any_duration(), any_bytes());
    rate.assert_valid();
    assert!(rate.last >= last);
    kani::cover!(rate.open.is_some() && rate.last > last);
}

#[kani::proof]
fn a_restart_forgets_the_estimate() {
    let mut rate = AckRate::arbitrary();
    let now = any_duration();
    rate.restart(now);
    rate.assert_valid();
    assert!(rate.last >= Some(now) || rate.rate().is_none());
}
