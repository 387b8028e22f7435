//! The congestion window and the rules that all controllers share: bounds, the recovery
//! period, NewReno's growth and the count of reductions.
//!
//! ```text
//!                     loss                          loss
//!   SlowStart ───────────────────▶ Recovery ◀─────────────── CongestionAvoidance
//!       ▲  │                          │                              ▲
//!       │  │ window >= ssthresh       │ a packet sent since          │
//!       │  └──────────────────────────┼──────────────────────────────┤
//!       │ persistent congestion       └──────────────────────────────┘
//!       └── (from anywhere)
//! ```

use super::controller::{Ack, Metrics, Phase, Reduction, Settings, Time, MINIMUM_WINDOW_DATAGRAMS};

/// Largest window. Below it, `f64` still counts single bytes.
const MAX_BYTES: f64 = (1u64 << 52) as f64;

/// A congestion window in bytes. It keeps fractions, so that growth by less than a byte per
/// ACK is not lost on fast paths.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    /// The maximum datagram size, in bytes.
    datagram: f64,
    /// The initial window, in bytes.
    initial: u64,
    bytes: f64,
    ssthresh: Option<f64>,
    recovery_start: Option<Time>,
    recovering: bool,
    last_reduction: Option<Reduction>,
    reductions: u64,
}

impl Window {
    pub(crate) fn new(settings: Settings) -> Self {
        let mut window = Self {
            datagram: settings.max_datagram_size as f64,
            initial: settings.initial_window,
            bytes: 0.0,
            ssthresh: None,
            recovery_start: None,
            recovering: false,
            last_reduction: None,
            reductions: 0,
        };
        window.set(settings.initial_window as f64);
        window
    }

    pub(crate) fn bytes(&self) -> f64 {
        self.bytes
    }

    /// The maximum datagram size, in bytes.
    pub(crate) fn datagram(&self) -> f64 {
        self.datagram
    }

    /// The initial window, in bytes.
    pub(crate) fn initial(&self) -> f64 {
        self.initial as f64
    }

    /// `kMinimumWindow` in bytes (RFC 9002, Section 7.2,
    /// <https://www.rfc-editor.org/rfc/rfc9002#section-7.2>).
    pub(crate) fn minimum(&self) -> f64 {
        MINIMUM_WINDOW_DATAGRAMS as f64 * self.datagram
    }

    pub(crate) fn ssthresh(&self) -> Option<f64> {
        self.ssthresh
    }

    /// Sets ssthresh to at least the minimum window, as TCP Westwood does: `if (ssthresh < 2)`.
    pub(crate) fn set_ssthresh(&mut self, bytes: f64) {
        self.ssthresh = Some(self.bounded(bytes));
    }

    /// Sets ssthresh, or forgets it.
    pub(crate) fn replace_ssthresh(&mut self, bytes: Option<f64>) {
        self.ssthresh = bytes.map(|bytes| self.bounded(bytes));
    }

    /// Returns true if the window is below ssthresh (RFC 9002, Section 7.3.1).
    pub(crate) fn in_slow_start(&self) -> bool {
        self.ssthresh.is_none_or(|ssthresh| self.bytes < ssthresh)
    }

    /// NewReno's ssthresh after a loss (RFC 9002, Section 7.3.2).
    pub(crate) fn half(&self) -> f64 {
        self.bytes / 2.0
    }

    /// Sets the window within its bounds. Nothing else writes it. `max` and `min` of a NaN
    /// return the bound, so the window is never NaN.
    pub(crate) fn set(&mut self, bytes: f64) {
        self.bytes = self.bounded(bytes);
    }

    fn bounded(&self, bytes: f64) -> f64 {
        bytes.max(self.minimum()).min(MAX_BYTES)
    }

    /// Reduces the window; never increases it.
    pub(crate) fn reduce_to(&mut self, bytes: f64, reason: Reduction) {
        let before = self.bytes;
        self.set(bytes.min(before));
        if self.bytes < before {
            self.last_reduction = Some(reason);
            self.reductions = self.reductions.saturating_add(1);
        }
    }

    /// Undoes a reduction and keeps the growth since then.
    pub(crate) fn restore(&mut self, bytes: f64, ssthresh: Option<f64>) {
        self.set(bytes.max(self.bytes));
        self.replace_ssthresh(ssthresh);
        self.recovering = false;
    }

    /// Responds to persistent congestion: sets the minimum window and ends the recovery
    /// period (RFC 9002, Section 7.6.2 and Appendix B.8).
    pub(crate) fn collapse(&mut self) {
        self.reduce_to(self.minimum(), Reduction::PersistentCongestion);
        self.recovery_start = None;
        self.recovering = false;
    }

    /// Begins a recovery period (RFC 9002, Section 7.3.2).
    pub(crate) fn enter_recovery(&mut self, now: Time) {
        self.recovery_start = Some(now);
        self.recovering = true;
    }

    /// Returns true if a packet sent at this time belongs to the congestion event of the last
    /// recovery period: one reduction per round trip (RFC 9002, Section 7.3.2).
    pub(crate) fn sent_before_recovery(&self, sent: Time) -> bool {
        self.recovery_start.is_some_and(|start| sent <= start)
    }

    /// Ends the recovery period if the ACK acknowledges a packet sent during the period (RFC
    /// 9002, Section 7.3.2).
    pub(crate) fn on_ack(&mut self, ack: &Ack) {
        if !self.sent_before_recovery(ack.last_sent) {
            self.recovering = false;
        }
    }

    /// Returns true if this ACK may grow the window: the window was used (RFC 9002,
    /// Section 7.8) and its packets were sent after the recovery period began (Section 7.3.2).
    pub(crate) fn may_grow(&self, ack: &Ack) -> bool {
        !ack.app_limited && !self.sent_before_recovery(ack.last_sent)
    }

    /// Grows the window as NewReno does (RFC 9002, Section 7.3.1 and 7.3.3).
    pub(crate) fn grow(&mut self, acked: u64) {
        if self.in_slow_start() {
            self.set(self.bytes + acked as f64);
        } else {
            self.avoid_congestion(acked as f64);
        }
    }

    /// Grows the window by one datagram per window of acknowledged bytes (RFC 9002, Section
    /// 7.3.3; equation 4.2 of the thesis for one datagram).
    pub(crate) fn avoid_congestion(&mut self, acked: f64) {
        self.set(self.bytes + self.datagram() * acked / self.bytes);
    }

    /// Sets the maximum datagram size. An initial window that has not changed yet keeps its
    /// number of datagrams (RFC 9002, Section 7.2).
    pub(crate) fn set_datagram(&mut self, bytes: u64) {
        let old = self.datagram.max(1.0);
        self.datagram = bytes as f64;
        if self.bytes == self.initial as f64 && self.reductions == 0 {
            let scaled = self.bytes * self.datagram / old;
            self.initial = scaled as u64;
            if scaled < self.bytes {
                self.reduce_to(self.initial as f64, Reduction::Mtu);
            } else {
                self.set(self.initial as f64);
            }
        } else {
            self.set(self.bytes);
        }
        if let Some(ssthresh) = self.ssthresh {
            self.set_ssthresh(ssthresh);
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        if self.recovering {
            Phase::Recovery
        } else if self.in_slow_start() {
            Phase::SlowStart
        } else {
            Phase::CongestionAvoidance
        }
    }

    /// The metrics of the window, completed with the caller's estimates.
    pub(crate) fn metrics(&self, sample: Option<f64>, estimate: Option<f64>) -> Metrics {
        Metrics {
            bandwidth_sample: sample.map(|rate| rate as u64),
            bandwidth_estimate: estimate.map(|rate| rate as u64),
            last_reduction: self.last_reduction,
            reductions: self.reductions,
            ..Metrics::default()
        }
    }
}

#[cfg(kani)]
mod proofs;
#[cfg(test)]
mod tests;
