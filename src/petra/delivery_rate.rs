//! The delivery rate of the path, in a form that no pattern of ACKs can inflate.
//!
//! A sample spans at least a fixed share of the minimum RTT, so that ACK aggregation does
//! not look like a high rate. Its rate is the lower of two over the same bytes: the rate
//! at which they were acknowledged and the rate at which they had been sent.
//!
//! The estimate is the larger of the smoothed samples and the highest recent sample.
//! While the window is below the BDP, samples measure the window, and their average alone
//! would only confirm it.

use std::time::Duration;

use super::super::bandwidth::{Filter, Sample, Smoothing};
use super::super::controller::{Ack, Sent, Time};
use super::rounds::WindowedFilter;

/// Samples that count while the path limits the rate, each of half a minimum RTT. A single one
/// is as noisy as the delay, and older ones may be of a rate that has fallen since.
const LIMITED_SAMPLES: usize = 4;

/// The sample in progress: bytes acknowledged after `start` and up to `end`.
#[derive(Clone, Copy, Debug)]
struct OpenSample {
    start: Time,
    end: Time,
    bytes: u64,
    sent_from: Time,
    sent_to: Time,
    app_limited: bool,
}

impl OpenSample {
    /// Starts at the end of the previous sample. Packets of the new one were sent after
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

/// Estimates the delivery rate from ACKs.
#[derive(Clone, Debug)]
pub(super) struct DeliveryRate {
    smoothing: Smoothing,
    peak: WindowedFilter<f64>,
    /// The last samples, newest first.
    latest: [f64; LIMITED_SAMPLES],
    /// The configured minimum interval of a sample, as a share of the minimum RTT.
    min_interval_rtts: f64,
    /// The minimum RTT, and the minimum interval that follows from it.
    min_rtt: Duration,
    min_interval: Duration,
    open: Option<OpenSample>,
    last: Option<f64>,
}

impl DeliveryRate {
    pub(super) fn new(alpha: f64, min_interval_rtts: f64) -> Self {
        Self {
            smoothing: Smoothing::new(alpha),
            peak: WindowedFilter::new(f64::max),
            latest: [0.0; LIMITED_SAMPLES],
            min_interval_rtts,
            min_rtt: Duration::ZERO,
            min_interval: Duration::ZERO,
            open: None,
            last: None,
        }
    }

    /// Marks the sample in progress as app-limited if nothing else was in flight for
    /// longer than the minimum interval before this packet was sent.
    pub(super) fn on_sent(&mut self, sent: &Sent) {
        let alone = sent.bytes_in_flight <= sent.bytes;
        if let Some(open) = self.open.as_mut().filter(|_| alone) {
            let idle = sent.time_sent.saturating_sub(open.end);
            open.app_limited |= idle > self.min_interval;
        }
    }

    /// Adds an ACK to the sample in progress. `limited`: a queue or losses show that the path
    /// limits the rate, so that only the last few samples count.
    pub(super) fn on_ack(&mut self, ack: &Ack, limited: bool) {
        if ack.rtt.min != self.min_rtt {
            self.min_rtt = ack.rtt.min;
            self.min_interval = self.min_rtt.mul_f64(self.min_interval_rtts);
        }
        let open = self
            .open
            .get_or_insert(OpenSample::at(ack.now, ack.last_sent));
        let complete = !open.elapsed().is_zero() && open.elapsed() >= self.min_interval;
        if ack.now > open.end && complete {
            let closed = *open;
            *open = OpenSample::at(closed.end, closed.sent_to);
            open.add(ack);
            self.take(closed, limited);
        } else if ack.now > open.start {
            open.add(ack);
        }
    }

    /// Feeds a complete sample to the filters. An app-limited sample counts only if its
    /// rate exceeds the estimate.
    fn take(&mut self, closed: OpenSample, limited: bool) {
        let sample = closed.sample();
        let rate = sample.rate();
        self.last = Some(rate);
        if closed.app_limited && self.estimate().is_some_and(|known| rate <= known) {
            return;
        }
        self.latest.rotate_right(1);
        self.latest[0] = rate;
        if limited {
            self.smoothing = self.smoothing.restarted();
            self.peak = WindowedFilter::new(f64::max);
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
        self.peak = WindowedFilter::new(f64::max);
        self.latest = [0.0; LIMITED_SAMPLES];
        self.open = None;
    }

    /// The rate of the last sample, in bytes per second.
    pub(super) fn last_sample(&self) -> Option<f64> {
        self.last
    }

    /// The estimate, in bytes per second.
    pub(super) fn estimate(&self) -> Option<f64> {
        match (self.smoothing.rate(), self.peak.get()) {
            (Some(smoothed), Some(peak)) => Some(smoothed.max(peak)),
            (smoothed, peak) => smoothed.or(peak),
        }
    }
}

#[cfg(test)]
mod tests;
