//! The congestion window itself, and what every controller does with it alike:
//! its bounds, the recovery period, NewReno's growth, the count of reductions.
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

use super::controller::{Ack, Metrics, Phase, Reduction, Settings, Time};

/// Above this a window means nothing any more, and `f64` still counts single
/// bytes below it.
const MAXIMUM: f64 = (1u64 << 52) as f64;

/// A congestion window, in bytes. It has fractions, so that growth by less than
/// a byte an ACK is not lost on fast paths.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    settings: Settings,
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
            settings,
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
        self.settings.max_datagram_size as f64
    }

    /// `kMinimumWindow` of RFC 9002 section 7.2, in bytes.
    pub(crate) fn minimum(&self) -> f64 {
        self.settings.minimum_window() as f64
    }

    pub(crate) fn ssthresh(&self) -> Option<f64> {
        self.ssthresh
    }

    /// At least the minimum window: TCP Westwood's `if (ssthresh < 2)`.
    pub(crate) fn set_ssthresh(&mut self, bytes: f64) {
        self.ssthresh = Some(self.bounded(bytes));
    }

    /// Whether the window is below ssthresh (RFC 9002 section 7.3.1).
    pub(crate) fn in_slow_start(&self) -> bool {
        self.ssthresh.is_none_or(|ssthresh| self.bytes < ssthresh)
    }

    /// NewReno's ssthresh after a loss (RFC 9002 section 7.3.2).
    pub(crate) fn half(&self) -> f64 {
        self.bytes / 2.0
    }

    /// The only place that writes the window. `max` and `min` of a NaN give the
    /// bound, so that none gets through.
    pub(crate) fn set(&mut self, bytes: f64) {
        self.bytes = self.bounded(bytes);
    }

    fn bounded(&self, bytes: f64) -> f64 {
        bytes.max(self.minimum()).min(MAXIMUM)
    }

    /// Makes the window smaller; never larger.
    pub(crate) fn reduce_to(&mut self, bytes: f64, reason: Reduction) {
        let before = self.bytes;
        self.set(bytes.min(before));
        if self.bytes < before {
            self.last_reduction = Some(reason);
            self.reductions = self.reductions.saturating_add(1);
        }
    }

    /// Undoes a reduction; growth since then stays.
    pub(crate) fn restore(&mut self, bytes: f64, ssthresh: Option<f64>) {
        self.set(bytes.max(self.bytes));
        self.ssthresh = ssthresh.map(|ssthresh| self.bounded(ssthresh));
        self.recovering = false;
    }

    /// Persistent congestion: the minimum window, and no recovery period is
    /// under way (RFC 9002 section 7.6.2 and appendix B.8).
    pub(crate) fn collapse(&mut self) {
        self.reduce_to(self.minimum(), Reduction::PersistentCongestion);
        self.recovery_start = None;
        self.recovering = false;
    }

    /// Begins a recovery period (RFC 9002 section 7.3.2).
    pub(crate) fn enter_recovery(&mut self, now: Time) {
        self.recovery_start = Some(now);
        self.recovering = true;
    }

    /// Whether the loss of a packet sent then belongs to the congestion that the
    /// last recovery period answered already (RFC 9002 section 7.3.2: one
    /// reduction a round trip).
    pub(crate) fn answered(&self, sent: Time) -> bool {
        self.recovery_start.is_some_and(|start| sent <= start)
    }

    /// An ACK may end the recovery period: it does when it acknowledges a packet
    /// sent during it (RFC 9002 section 7.3.2).
    pub(crate) fn on_ack(&mut self, ack: &Ack) {
        if !self.answered(ack.last_sent) {
            self.recovering = false;
        }
    }

    /// Whether this ACK is a reason to grow: the window was used (RFC 9002
    /// section 7.8) and no recovery period is under way (section 7.3.2).
    pub(crate) fn may_grow(&self, ack: &Ack) -> bool {
        !ack.app_limited && !self.answered(ack.last_sent)
    }

    /// NewReno's growth for these acknowledged bytes (RFC 9002 sections 7.3.1
    /// and 7.3.3).
    pub(crate) fn grow(&mut self, acked: u64) {
        if self.in_slow_start() {
            self.set(self.bytes + acked as f64);
        } else {
            self.avoid_congestion(acked as f64);
        }
    }

    /// One datagram for a window of acknowledged bytes (RFC 9002 section 7.3.3,
    /// equation 4.2 when the bytes are one datagram).
    pub(crate) fn avoid_congestion(&mut self, acked: f64) {
        self.set(self.bytes + self.datagram() * acked / self.bytes);
    }

    /// A new maximum datagram size. An initial window that is still untouched
    /// keeps its count of datagrams (RFC 9002 section 7.2).
    pub(crate) fn set_datagram(&mut self, bytes: u64) {
        let old = self.settings.max_datagram_size.max(1);
        self.settings.max_datagram_size = bytes;
        if self.bytes == self.settings.initial_window as f64 && self.reductions == 0 {
            let scaled = self.bytes * bytes as f64 / old as f64;
            self.settings.initial_window = scaled as u64;
            if scaled < self.bytes {
                self.reduce_to(self.settings.initial_window as f64, Reduction::Mtu);
            } else {
                self.set(self.settings.initial_window as f64);
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

    /// What the window knows of the metrics; the estimates are the caller's.
    pub(crate) fn metrics(&self, sample: Option<f64>, estimate: Option<f64>) -> Metrics {
        Metrics {
            bandwidth_sample: sample.map(|rate| rate as u64),
            bandwidth_estimate: estimate.map(|rate| rate as u64),
            last_reduction: self.last_reduction,
            reductions: self.reductions,
        }
    }
}

#[cfg(test)]
mod tests;
