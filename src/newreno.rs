//! NewReno in QUIC's units, and the decisions that its variants make differently.
//!
//! All variants share the times of reductions, their number and the window after a timeout.
//! Each variant defines its growth and its ssthresh.
//!
//! ```text
//!  Ack, Loss, Pto ──▶ NewReno<V> ──▶ window, pacing rate
//!                         │ V: Variant
//!                         └─▶ Westwood, NewReno34, Highbrow
//! ```

use std::time::Duration;

use super::controller::{
    Ack, Controller, EarlyProbes, Loss, Metrics, Phase, Pto, Reduction, Rtt, Settings, Time,
};
use super::options::Gain;
use super::pacing;
use super::window::Window;

/// A signal of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Three duplicate ACKs: packets were declared lost.
    Loss,
    /// A coarse timeout: the PTO.
    Timeout,
}

/// The decisions of a variant; by default those of NewReno.
pub(crate) trait Variant: Send + Sync {
    /// Packets were acknowledged. The window has not grown yet.
    fn on_ack(&mut self, _ack: &Ack) {}

    /// Grows the window for these acknowledged bytes.
    fn grow(&self, window: &mut Window, acked: u64) {
        window.grow(acked);
    }

    /// Returns ssthresh after a congestion signal, in bytes.
    fn ssthresh(&mut self, window: &Window, _signal: Signal, _now: Time, _rtt: Option<Rtt>) -> f64 {
        window.half()
    }

    /// Returns the last bandwidth sample and the estimate, in bytes per second.
    fn bandwidth(&self) -> [Option<f64>; 2] {
        [None, None]
    }

    /// See [`Controller::early_probes`].
    fn early_probes(&self, _rtt: &Rtt, _pto: Duration, _outstanding: u64) -> Option<EarlyProbes> {
        None
    }
}

/// NewReno with the decisions of a variant.
#[derive(Clone)]
pub(crate) struct NewReno<V> {
    window: Window,
    rtt: Option<Rtt>,
    pacing_gain: f64,
    variant: V,
}

impl<V: Variant> NewReno<V> {
    pub(crate) fn new(variant: V, pacing_gain: Gain, settings: Settings) -> Self {
        Self {
            window: Window::new(settings),
            rtt: None,
            pacing_gain: pacing_gain.get(),
            variant,
        }
    }

    fn set_ssthresh(&mut self, signal: Signal, now: Time, rtt: Option<Rtt>) -> f64 {
        let ssthresh = self.variant.ssthresh(&self.window, signal, now, rtt);
        self.window.set_ssthresh(ssthresh);
        ssthresh
    }
}

impl<V: Variant + Clone + 'static> Controller for NewReno<V> {
    fn on_ack(&mut self, ack: &Ack) {
        self.rtt = Some(ack.rtt);
        self.variant.on_ack(ack);
        self.window.on_ack(ack);
        if self.window.may_grow(ack) {
            self.variant.grow(&mut self.window, ack.bytes);
        }
    }

    /// TCP's response to three duplicate ACKs: `if (cwin > ssthresh) cwin = ssthresh`.
    fn on_loss(&mut self, loss: &Loss) {
        if self.window.sent_before_recovery(loss.last_sent) {
            return;
        }
        let ssthresh = self.set_ssthresh(Signal::Loss, loss.now, loss.rtt);
        self.window.reduce_to(ssthresh, Reduction::Loss);
        self.window.enter_recovery(loss.now);
    }

    /// TCP's response to a coarse timeout: `cwin = 1`, here the minimum window. Consecutive
    /// timeouts set ssthresh only once (RFC 5681, Section 3.1,
    /// <https://www.rfc-editor.org/rfc/rfc5681#section-3.1>).
    fn on_pto(&mut self, pto: &Pto) {
        if pto.count == 1 {
            self.set_ssthresh(Signal::Timeout, pto.now, pto.rtt);
        }
        self.window.reduce_to(self.window.minimum(), Reduction::Pto);
        self.window.enter_recovery(pto.now);
    }

    fn on_persistent_congestion(&mut self, _now: Time) {
        self.window.collapse();
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
        pacing::rate(&self.window, self.rtt.as_ref(), self.pacing_gain)
    }

    fn early_probes(&self, rtt: &Rtt, pto: Duration, outstanding: u64) -> Option<EarlyProbes> {
        self.variant.early_probes(rtt, pto, outstanding)
    }

    fn phase(&self) -> Phase {
        self.window.phase()
    }

    fn metrics(&self) -> Metrics {
        let [sample, estimate] = self.variant.bandwidth();
        self.window.metrics(sample, estimate)
    }

    fn try_clone(&self) -> Option<Box<dyn Controller>> {
        Some(Box::new(self.clone()))
    }
}

#[cfg(kani)]
mod proofs;
