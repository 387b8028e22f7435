//! `petra-thesis`: the pseudocode of the thesis's Chapter 4 in QUIC's units, to reproduce the
//! chapter's tables. `docs/pseudocode.md` maps each line of the pseudocode to a function here.
//!
//! A mechanism that is switched off falls back to the base of its table, also in QUIC's
//! units: the growth of RFC 9002 (<https://www.rfc-editor.org/rfc/rfc9002#section-7.3>), one
//! reduction per recovery period, and a PTO for a timeout.
//!
//! Sections and equations without a source are those of the thesis.

mod config;
#[cfg(kani)]
mod proofs;
#[cfg(test)]
mod tests;

use std::time::Duration;

use super::bandwidth::Estimator;
use super::controller::{
    Ack, Controller, Loss, Metrics, Phase, Pto, Reduction, Rtt, Settings, Time,
};
use super::mechanisms::{faster_retransmission, Mechanisms};
use super::pacing;
use super::westwood;
use super::window::Window;
pub use config::{Base, PetraThesisConfig};

/// The branches of Section 4.3.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timeout {
    /// `cWnd = cWnd + SMSS * SMSS / cWnd`
    Grow,
    /// `cWnd = ssthresh`
    ToSsthresh,
    /// `cWnd = 1`
    ToMinimum,
}

/// The state of one path.
#[derive(Clone)]
struct PetraThesis {
    config: PetraThesisConfig,
    window: Window,
    estimator: Box<dyn Estimator>,
    rtt: Option<Rtt>,
    /// Time of the last reduction. Packets sent until then cause no further reduction.
    reduced: Option<Time>,
}

impl PetraThesis {
    fn new(config: PetraThesisConfig, estimator: Box<dyn Estimator>, settings: Settings) -> Self {
        Self {
            config,
            window: Window::new(settings),
            estimator,
            rtt: None,
            reduced: None,
        }
    }

    fn on(&self) -> Mechanisms {
        self.config.mechanisms
    }

    /// The bandwidth-delay product in bytes (equation 4.5).
    fn estimate(&self) -> Option<f64> {
        self.estimator.window(self.rtt?.min)
    }

    /// Sets ssthresh on every ACK (Section 4.1.1).
    fn initial_ssthresh(&mut self) {
        if let Some(ssthresh) = self.estimate() {
            self.window.set_ssthresh(ssthresh);
        }
    }

    /// Grows the window (Section 4.1.2.1). Bytes in flight count as at least one datagram: the
    /// pseudocode divides by them, and an ACK may acknowledge all of them.
    fn faster_start(&mut self, bytes_in_flight: u64) {
        let in_flight = bytes_in_flight as f64;
        let smss = self.window.datagram();
        let room = self
            .estimate()
            .map_or(0.0, |ebw| (ebw / in_flight.max(smss)).floor());
        let left_slow_start = self.window.ssthresh().is_some_and(|it| in_flight >= it);
        if left_slow_start {
            self.window.avoid_congestion(smss);
        } else if room > 2.0 {
            self.window.set(self.window.bytes() + room * smss);
        } else {
            self.window.set(self.window.bytes() + smss);
        }
    }

    /// Starts a loss event: sets ssthresh and restarts the estimate (Section 4.1.1, last
    /// paragraph). TCPW's own estimate never restarts.
    fn on_loss_event(&mut self, now: Time) {
        let ssthresh = if self.config.estimates_at_loss() {
            westwood::ssthresh(&self.window, self.estimate())
        } else {
            self.window.half()
        };
        self.window.set_ssthresh(ssthresh);
        self.restart(now);
    }

    fn restart(&mut self, now: Time) {
        if !self.config.estimates_as_westwood() {
            self.estimator.restart(now);
        }
    }

    /// Returns true if a loss resets the window to ssthresh: by Section 4.2.3 if it is on,
    /// else by Section 4.2.2 if it is on, else always, as in both bases.
    fn resets(&self, bytes_in_flight: u64) -> bool {
        let ssthresh = self.window.ssthresh();
        let over = ssthresh.is_some_and(|ssthresh| bytes_in_flight as f64 > ssthresh);
        if self.on().best_recovery {
            // DiffRtt = LastRtt - ERTT; DiffRtt >= 0
            over && self.rtt.is_none_or(|rtt| rtt.latest >= rtt.smoothed)
        } else {
            over || !self.on().faster_retransmission
        }
    }

    /// Selects the branch of Section 4.3.3 for a timeout. Without an RTT sample neither
    /// condition holds, which selects the last branch.
    fn timeout(&self, bytes_in_flight: u64, ebw: Option<f64>) -> Timeout {
        let calm = self.rtt.is_some_and(|rtt| rtt.latest < rtt.smoothed);
        let idle = ebw.is_some_and(|ebw| (bytes_in_flight as f64) < ebw / 2.0);
        match (self.on().timeout_reaction && calm, idle) {
            (true, true) => Timeout::Grow,
            (true, false) => Timeout::ToSsthresh,
            (false, _) => Timeout::ToMinimum,
        }
    }

    /// Sets the window for a timeout. If that does not raise the window, packets sent before
    /// cause no further reduction.
    fn on_timeout(&mut self, now: Time, target: f64) {
        if target > self.window.bytes() {
            self.window.set(target);
        } else {
            self.window.reduce_to(target, Reduction::Pto);
            self.window.enter_recovery(now);
            self.reduced = Some(now);
        }
    }
}

impl Controller for PetraThesis {
    fn on_ack(&mut self, ack: &Ack) {
        self.rtt = Some(ack.rtt);
        self.estimator.on_ack(ack.now, ack.bytes);
        if self.on().initial_ssthresh {
            self.initial_ssthresh();
        }
        self.window.on_ack(ack);
        if !self.window.may_grow(ack) {
            return;
        }
        if self.on().faster_start {
            self.faster_start(ack.bytes_in_flight);
        } else {
            self.window.grow(ack.bytes);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.rtt = loss.rtt.or(self.rtt);
        let opens = !self.window.sent_before_recovery(loss.last_sent);
        if opens {
            self.on_loss_event(loss.now);
            self.window.enter_recovery(loss.now);
        }
        // A further loss of the period takes the place of the partial ACK of Section 4.2.3.
        let applies = opens || self.on().best_recovery;
        let already_reduced = self.reduced.is_some_and(|at| loss.last_sent <= at);
        if applies && !already_reduced && self.resets(loss.bytes_in_flight) {
            let ssthresh = self.window.ssthresh().unwrap_or(self.window.bytes());
            self.window.reduce_to(ssthresh, Reduction::Loss);
            self.window.enter_recovery(loss.now);
            self.reduced = Some(loss.now);
        }
    }

    fn on_pto(&mut self, pto: &Pto) {
        self.rtt = pto.rtt.or(self.rtt);
        let branch = self.timeout(pto.bytes_in_flight, self.estimate());
        if pto.count == 1 {
            self.on_loss_event(pto.now);
        }
        match branch {
            Timeout::Grow => self.window.avoid_congestion(self.window.datagram()),
            Timeout::ToSsthresh => {
                let ssthresh = self.window.ssthresh().unwrap_or(self.window.bytes());
                self.on_timeout(pto.now, ssthresh);
            }
            Timeout::ToMinimum => self.on_timeout(pto.now, self.window.minimum()),
        }
    }

    fn on_persistent_congestion(&mut self, now: Time) {
        self.window.collapse();
        self.reduced = None;
        self.restart(now);
    }

    fn on_max_datagram_size(&mut self, bytes: u64) {
        self.window.set_datagram(bytes);
    }

    fn window(&self) -> u64 {
        self.window.bytes() as u64
    }

    fn ssthresh(&self) -> Option<u64> {
        self.window.ssthresh().map(|bytes| bytes as u64)
    }

    fn pacing_rate(&self) -> Option<u64> {
        pacing::rate(
            &self.window,
            self.rtt.as_ref(),
            self.config.pacing_gain.get(),
        )
    }

    fn packet_threshold(&self, rtt: &Rtt, pto: Duration) -> Option<u64> {
        let timeout = pto.max(self.config.timeout_floor.duration());
        faster_retransmission(rtt.latest, timeout).filter(|_| self.on().faster_retransmission)
    }

    fn phase(&self) -> Phase {
        self.window.phase()
    }

    fn metrics(&self) -> Metrics {
        self.window
            .metrics(self.estimator.sample(), self.estimator.rate())
    }

    fn try_clone(&self) -> Option<Box<dyn Controller>> {
        Some(Box::new(self.clone()))
    }
}
