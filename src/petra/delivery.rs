//! How fast the path delivers, in a way that no pattern of ACKs can inflate.
//!
//! A sample spans a part of the minimum RTT at least, so that ACKs that arrive in
//! bunches are seen as what they are, and it is the lower of two rates over the
//! same bytes: the one at which they were acknowledged and the one at which they
//! had been sent. The estimate is the larger of the smoothed samples and the best
//! recent one: while the window is below what the path carries, samples measure
//! the window, and an average would only confirm it.

use std::time::Duration;

use super::super::bandwidth::{Filter, Sample, Smoothing};
use super::super::controller::{Ack, Sent, Time};
use super::rounds::Recent;

/// Samples that count while a queue stands, of half a minimum RTT each: one alone is as
/// noisy as the delay, more than these are of a rate that may have fallen since.
const UNDER_QUEUE: usize = 4;

/// The sample under way: bytes acknowledged after `start` and up to `end`.
#[derive(Clone, Copy, Debug)]
struct Open {
    start: Time,
    end: Time,
    bytes: u64,
    sent_from: Time,
    sent_to: Time,
    app_limited: bool,
}

impl Open {
    /// Starts where another ended. The packets of the new one were sent after
    /// `sent`.
    fn at(start: Time, sent: Time) -> Self {
        Self {
            start,
            end: start,
            bytes: 0,
            sent_from: sent,
            sent_to: sent,
            app_limited: false,
        }
    }

    fn add(&mut self, ack: &Ack) {
        self.end = ack.now.max(self.end);
        self.bytes = self.bytes.saturating_add(ack.bytes);
        self.sent_from = self.sent_from.min(ack.first_sent);
        self.sent_to = self.sent_to.max(ack.last_sent);
        self.app_limited |= ack.app_limited;
    }

    fn elapsed(&self) -> Duration {
        self.end - self.start
    }

    fn sample(&self) -> Sample {
        Sample {
            bytes: self.bytes,
            elapsed: self.elapsed().max(self.sent_to - self.sent_from),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Delivery {
    smoothing: Smoothing,
    peak: Recent<f64>,
    /// The last samples, the newest first.
    latest: [f64; UNDER_QUEUE],
    /// Least span of a sample, as a part of the minimum RTT.
    span: f64,
    least: Duration,
    open: Option<Open>,
    last: Option<f64>,
}

impl Delivery {
    pub(super) fn new(alpha: f64, span: f64) -> Self {
        Self {
            smoothing: Smoothing::new(alpha),
            peak: Recent::new(f64::max),
            latest: [0.0; UNDER_QUEUE],
            span,
            least: Duration::ZERO,
            open: None,
            last: None,
        }
    }

    /// A packet left. When nothing else was in flight for longer than a sample
    /// lasts, there was nothing to send, and the sample under way measures that.
    pub(super) fn on_sent(&mut self, sent: &Sent) {
        if let Some(open) = &mut self.open {
            let alone = sent.bytes_in_flight <= sent.bytes;
            open.app_limited |= alone && sent.time_sent.saturating_sub(open.end) > self.least;
        }
    }

    /// Packets were acknowledged. `queued`: a queue stands, so that it is the
    /// path that sets the pace: only the last few samples count.
    pub(super) fn on_ack(&mut self, ack: &Ack, queued: bool) {
        self.least = ack.rtt.min.mul_f64(self.span);
        let open = self.open.get_or_insert(Open::at(ack.now, ack.last_sent));
        if ack.now > open.end && !open.elapsed().is_zero() && open.elapsed() >= self.least {
            let closed = *open;
            *open = Open::at(closed.end, closed.sent_to);
            open.add(ack);
            self.take(closed, queued);
        } else if ack.now > open.start {
            open.add(ack);
        }
    }

    fn take(&mut self, closed: Open, queued: bool) {
        let sample = closed.sample();
        let rate = sample.rate();
        self.last = Some(rate);
        if closed.app_limited && self.rate().is_some_and(|known| rate <= known) {
            return;
        }
        self.latest.rotate_right(1);
        self.latest[0] = rate;
        if queued {
            self.smoothing = self.smoothing.restarted();
            self.peak = Recent::new(f64::max);
            self.latest.iter().for_each(|rate| self.peak.add(*rate));
        }
        self.smoothing = self.smoothing.next(sample);
        self.peak.add(rate);
    }

    pub(super) fn end_round(&mut self) {
        self.peak.end_round();
    }

    pub(super) fn restart(&mut self) {
        self.smoothing = self.smoothing.restarted();
        self.peak = Recent::new(f64::max);
        self.latest = [0.0; UNDER_QUEUE];
        self.open = None;
    }

    pub(super) fn last_sample(&self) -> Option<f64> {
        self.last
    }

    /// The estimate, in bytes per second.
    pub(super) fn rate(&self) -> Option<f64> {
        match (self.smoothing.rate(), self.peak.get()) {
            (Some(smoothed), Some(peak)) => Some(smoothed.max(peak)),
            (smoothed, peak) => smoothed.or(peak),
        }
    }
}

#[cfg(test)]
mod tests;
