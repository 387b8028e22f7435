//! ACK-rate estimators: the bandwidth of the path, measured from ACKs.
//!
//! ```text
//!  ACK frames ─▶ AckRate: one Sample per instant ─▶ Filter ─▶ bytes per second
//!                                                   ├ Smoothing (thesis, eq. 4.4)
//!                                                   └ LowPass (TCP Westwood)
//!  silence ───▶ AckRate: null samples, if enabled
//! ```
//!
//! Rates are bytes per second.

use std::time::Duration;

use super::controller::Time;

/// `kGranularity`, the granularity of timers (RFC 9002, Section 6.1.2,
/// <https://www.rfc-editor.org/rfc/rfc9002#section-6.1.2>). Gaps between ACKs that are
/// shorter come from the link or the socket, and do not show the rate of the path.
pub(crate) const GRANULARITY: Duration = Duration::from_millis(1);

/// Bytes acknowledged in an interval that is never empty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    /// Bytes acknowledged.
    pub(crate) bytes: u64,
    /// The length of the interval, above zero.
    pub(crate) elapsed: Duration,
}

impl Sample {
    /// Equation 4.3 of the thesis: `EBW_k = acked_bytes_k / (t_k - t_{k-1})`.
    pub(crate) fn rate(&self) -> f64 {
        self.bytes as f64 / self.elapsed.as_secs_f64()
    }

    fn and(self, next: Sample) -> Self {
        Self {
            bytes: self.bytes.saturating_add(next.bytes),
            elapsed: self.elapsed + next.elapsed,
        }
    }
}

/// Turns a series of samples into an estimate. A value is the state after some samples. It is
/// never changed in place, so the last sample can be taken again when more bytes arrive.
pub(crate) trait Filter: Copy + Send + Sync {
    /// Returns the state after one more sample.
    fn next(self, sample: Sample) -> Self;

    /// Returns the state without any sample.
    fn restarted(self) -> Self;

    /// Returns the estimate, after at least one sample.
    fn rate(&self) -> Option<f64>;
}

/// Equation 4.4 of the thesis, `SEBW_k = (1 - alpha) EBW_k + alpha SEBW_{k-1}`.
///
/// The first sample is the first estimate. From zero, the estimate would need some twenty
/// samples to approach the bandwidth, and would end slow start meanwhile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Smoothing {
    alpha: f64,
    rate: Option<f64>,
}

impl Smoothing {
    /// `alpha`: weight of the past, from 0 to less than 1.
    pub(crate) fn new(alpha: f64) -> Self {
        Self { alpha, rate: None }
    }
}

impl Filter for Smoothing {
    fn next(self, sample: Sample) -> Self {
        let rate = match self.rate {
            None => sample.rate(),
            Some(past) => (1.0 - self.alpha) * sample.rate() + self.alpha * past,
        };
        Self {
            rate: Some(rate),
            ..self
        }
    }

    fn restarted(self) -> Self {
        Self::new(self.alpha)
    }

    fn rate(&self) -> Option<f64> {
        self.rate
    }
}

/// TCP Westwood's low-pass filter, discretised by the Tustin method:
///
/// ```text
/// b^_k = a_k b^_{k-1} + (1 - a_k) (b_k + b_{k-1}) / 2
/// a_k  = (2 tau - d_k) / (2 tau + d_k),    d_k = t_k - t_{k-1}
/// ```
///
/// A gap above 2 tau would make `a_k` negative, and the filter would oscillate. `a_k` is
/// limited to zero, as such a sample spans the whole memory of the filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LowPass {
    tau: Duration,
    /// `(b^_k, b_k)`
    last: Option<(f64, f64)>,
}

impl LowPass {
    /// `tau`: the time constant, one over the cut-off frequency; above zero.
    pub(crate) fn new(tau: Duration) -> Self {
        Self { tau, last: None }
    }
}

impl Filter for LowPass {
    fn next(self, sample: Sample) -> Self {
        let rate = sample.rate();
        let filtered = match self.last {
            None => rate,
            Some((past, past_rate)) => {
                let memory = 2.0 * self.tau.as_secs_f64();
                let gap = sample.elapsed.as_secs_f64();
                let weight = ((memory - gap) / (memory + gap)).max(0.0);
                weight * past + (1.0 - weight) * (rate + past_rate) / 2.0
            }
        };
        Self {
            last: Some((filtered, rate)),
            ..self
        }
    }

    fn restarted(self) -> Self {
        Self::new(self.tau)
    }

    fn rate(&self) -> Option<f64> {
        self.last.map(|(filtered, _)| filtered)
    }
}

/// A bandwidth estimate fed by every ACK.
pub(crate) trait Estimator: Send + Sync {
    /// An ACK frame newly acknowledged `bytes`.
    fn on_ack(&mut self, now: Time, bytes: u64);

    /// No ACK has arrived up to now. Only estimators with null samples use this.
    fn on_silence(&mut self, _now: Time) {}

    /// Restarts the estimate, at a loss event.
    fn restart(&mut self, now: Time);

    /// Copies the estimator.
    fn clone_box(&self) -> Box<dyn Estimator>;

    /// The rate of the sample in progress.
    fn sample(&self) -> Option<f64>;

    /// The estimate.
    fn rate(&self) -> Option<f64>;

    /// The bandwidth-delay product in bytes: equation 4.5 of the thesis,
    /// `SEBW x MinRTT`.
    fn window(&self, min_rtt: Duration) -> Option<f64> {
        self.rate().map(|rate| rate * min_rtt.as_secs_f64())
    }
}

/// Null samples in a row after which more of them change nothing: at TCP Westwood's interval
/// of half a tau, the previous estimate then has a weight of 0.6^64, or 10^-15.
const MAX_NULL_SAMPLES: u128 = 64;

/// Takes one sample per instant at which ACK frames arrive. The bytes of several frames at one
/// instant are added up, so that no sample has an interval of zero. The very first instant
/// has no `t_{k-1}` and only starts the clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckRate<F> {
    /// The state before the sample in progress.
    settled: F,
    /// Minimum interval of a sample. With zero, each instant makes a sample.
    min_interval: Duration,
    /// Time without ACKs that counts as one null sample.
    silence: Option<Duration>,
    /// The time of the last ACK, or the end of the last null sample.
    last: Option<Time>,
    /// The sample that ends at `last`. Another frame of that instant may still add to it.
    open: Option<Sample>,
}

impl<F: Filter> AckRate<F> {
    pub(crate) fn new(filter: F) -> Self {
        Self {
            settled: filter,
            min_interval: Duration::ZERO,
            silence: None,
            last: None,
            open: None,
        }
    }

    /// Sets the minimum interval of a sample.
    pub(crate) fn with_min_interval(self, min_interval: Duration) -> Self {
        Self {
            min_interval,
            ..self
        }
    }

    /// Enables null samples: a sample of zero bytes for each such time without an ACK. A
    /// low-pass filter without them holds its estimate through any silence.
    pub(crate) fn with_null_samples(self, after: Duration) -> Self {
        Self {
            silence: Some(after),
            ..self
        }
    }

    /// Adds to the sample in progress, or begins the next one.
    fn feed(&mut self, sample: Sample) {
        self.open = Some(match self.open {
            Some(open) if open.elapsed < self.min_interval => open.and(sample),
            _ => {
                self.settled = self.current();
                sample
            }
        });
    }

    /// The sample in progress, if its interval is long enough.
    fn whole(&self) -> Option<Sample> {
        self.open
            .filter(|sample| sample.elapsed >= self.min_interval)
    }

    fn current(&self) -> F {
        match self.whole() {
            Some(sample) => self.settled.next(sample),
            None => self.settled,
        }
    }
}

impl Clone for Box<dyn Estimator> {
    fn clone(&self) -> Self {
        (**self).clone_box()
    }
}

impl<F: Filter + 'static> Estimator for AckRate<F> {
    fn on_ack(&mut self, now: Time, bytes: u64) {
        self.on_silence(now);
        match self.last {
            Some(last) if now > last => self.feed(Sample {
                bytes,
                elapsed: now - last,
            }),
            Some(_) => {
                if let Some(open) = &mut self.open {
                    open.bytes = open.bytes.saturating_add(bytes);
                }
            }
            None => (),
        }
        self.last = self.last.max(Some(now));
    }

    fn on_silence(&mut self, now: Time) {
        let (Some(last), Some(after)) = (self.last, self.silence) else {
            return;
        };
        // Without an estimate there is nothing to lower.
        if self.rate().is_none() {
            return;
        }
        // The rest of the silence, above zero, belongs to the next ACK.
        let silent = now.saturating_sub(last).as_nanos().saturating_sub(1) / after.as_nanos();
        let nulls = silent.min(MAX_NULL_SAMPLES) as u32;
        for _ in 0..nulls {
            self.feed(Sample {
                bytes: 0,
                elapsed: after,
            });
        }
        if silent > 0 {
            let rest = (now - last).as_nanos() - silent * after.as_nanos();
            self.last = Some(now - Duration::from_nanos(rest as u64));
        }
    }

    fn restart(&mut self, now: Time) {
        self.settled = self.settled.restarted();
        // A sample that ends at this very instant belongs to the new estimate.
        if self.last.is_some_and(|last| last < now) {
            self.open = None;
        }
    }

    fn clone_box(&self) -> Box<dyn Estimator> {
        Box::new(*self)
    }

    fn sample(&self) -> Option<f64> {
        self.whole().map(|sample| sample.rate())
    }

    fn rate(&self) -> Option<f64> {
        self.current().rate()
    }
}

#[cfg(kani)]
mod proofs;
#[cfg(test)]
mod tests;
