//! ACK-rate estimators: how fast the path delivers, told from acknowledgments.
//!
//! ```text
//!  ACK frames ─▶ AckRate: one Sample an instant ─▶ Filter ─▶ bytes per second
//!                                                  ├ Smoothing (thesis, eq. 4.4)
//!                                                  └ LowPass (TCP Westwood)
//!  silence ───▶ AckRate: null samples, where they are wanted
//! ```
//!
//! Rates are bytes per second.

use std::time::Duration;

use super::controller::Time;

/// `kGranularity` of RFC 9002 section 6.1.2: what timers tell apart. ACKs that come
/// closer together than this, released by a link or read from a socket at one go,
/// say nothing of the path's rate.
pub(crate) const GRANULARITY: Duration = Duration::from_millis(1);

/// Bytes that were acknowledged in a stretch of time that is never empty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    /// Bytes acknowledged.
    pub(crate) bytes: u64,
    /// How long that took, above zero.
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

/// Turns a series of samples into an estimate. A value is the state after some
/// samples, so that the last one can be taken again when it grows.
pub(crate) trait Filter: Copy + Send + Sync {
    /// The state after one more sample.
    fn next(self, sample: Sample) -> Self;

    /// The state without any sample.
    fn restarted(self) -> Self;

    /// The estimate, once there has been a sample.
    fn rate(&self) -> Option<f64>;
}

/// Equation 4.4 of the thesis, `SEBW_k = (1 - alpha) EBW_k + alpha SEBW_{k-1}`.
/// The first sample stands for itself: from zero, the estimate would take some
/// twenty samples to come near the truth, and end slow start meanwhile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Smoothing {
    alpha: f64,
    rate: Option<f64>,
}

impl Smoothing {
    /// `alpha`: weight of the past, from 0 to below 1.
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

/// TCP Westwood's low-pass filter, discretised after Tustin:
///
/// ```text
/// b^_k = a_k b^_{k-1} + (1 - a_k) (b_k + b_{k-1}) / 2
/// a_k  = (2 tau - d_k) / (2 tau + d_k),    d_k = t_k - t_{k-1}
/// ```
///
/// A gap above 2 tau would make `a_k` negative and the filter ring; it is held
/// at zero instead, since such a sample spans all that the filter remembers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LowPass {
    tau: Duration,
    /// `(b^_k, b_k)`
    last: Option<(f64, f64)>,
}

impl LowPass {
    /// `tau`: one over the cut-off frequency, above zero.
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

    /// No ACK has come up to now. That says something only to those that take null
    /// samples.
    fn on_silence(&mut self, _now: Time) {}

    /// A loss event: what was estimated before it no longer counts.
    fn restart(&mut self, now: Time);

    /// The sample under way.
    fn sample(&self) -> Option<f64>;

    /// The estimate.
    fn rate(&self) -> Option<f64>;

    /// Equation 4.5, `SEBW x MinRTT`: the window that carries the estimate, in
    /// bytes.
    fn window(&self, min_rtt: Duration) -> Option<f64> {
        self.rate().map(|rate| rate * min_rtt.as_secs_f64())
    }
}

/// As many null samples in a row as can change an estimate: with TCP Westwood's
/// interval of half a tau, what was there before is then worth 0.6 to the power of
/// this, 10^-15.
const NULLS: u128 = 64;

/// One sample per instant at which ACK frames arrive. Frames of one instant add
/// up: none of their bytes is lost, and none makes a sample over no time. The
/// very first instant has no `t_{k-1}`, it only starts the clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckRate<F> {
    /// The state before the sample under way.
    settled: F,
    /// The least that a sample spans before the next begins; zero is every
    /// instant.
    span: Duration,
    /// How long there may be no ACK before a null sample stands for it.
    silence: Option<Duration>,
    /// When the last ACK came, or the last null sample ended.
    last: Option<Time>,
    /// The sample that ends at `last`; another frame of that instant may still add
    /// to it.
    open: Option<Sample>,
}

impl<F: Filter> AckRate<F> {
    pub(crate) fn new(filter: F) -> Self {
        Self {
            settled: filter,
            span: Duration::ZERO,
            silence: None,
            last: None,
            open: None,
        }
    }

    /// Samples that span at least this long.
    pub(crate) fn spanning(self, span: Duration) -> Self {
        Self { span, ..self }
    }

    /// Null samples: each time that there has been no ACK for so long, a sample of
    /// no bytes. A low-pass filter that is fed only by ACKs would hold its estimate
    /// through a silence, however long.
    pub(crate) fn falling_silent(self, after: Duration) -> Self {
        Self {
            silence: Some(after),
            ..self
        }
    }

    /// Adds to the sample under way, or begins the next.
    fn feed(&mut self, sample: Sample) {
        self.open = Some(match self.open {
            Some(open) if open.elapsed < self.span => open.and(sample),
            _ => {
                self.settled = self.current();
                sample
            }
        });
    }

    /// The sample under way, once it spans enough to say something.
    fn whole(&self) -> Option<Sample> {
        self.open.filter(|sample| sample.elapsed >= self.span)
    }

    fn current(&self) -> F {
        match self.whole() {
            Some(sample) => self.settled.next(sample),
            None => self.settled,
        }
    }
}

impl<F: Filter> Estimator for AckRate<F> {
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
        // Nothing is known that could become less.
        if self.rate().is_none() {
            return;
        }
        // What is left of it, above zero, belongs to the next ACK.
        let silent = now.saturating_sub(last).as_nanos().saturating_sub(1) / after.as_nanos();
        let nulls = silent.min(NULLS) as u32;
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
        // A sample that ends at this very instant belongs to what follows.
        if self.last.is_some_and(|last| last < now) {
            self.open = None;
        }
    }

    fn sample(&self) -> Option<f64> {
        self.whole().map(|sample| sample.rate())
    }

    fn rate(&self) -> Option<f64> {
        self.current().rate()
    }
}

#[cfg(test)]
mod tests;
