//! `westwood`: TCP Westwood (TCPW) in QUIC's units.
//!
//! NewReno, except that a loss and a timeout set ssthresh to what the path was
//! seen to deliver, `BWE x RTTmin`, instead of half the window. In slow start and
//! congestion avoidance the window grows as in RFC 9002 section 7.3.

use super::bandwidth::{AckRate, Estimator, LowPass};
use super::catalogue::Recipe;
use super::controller::{
    Ack, Controller, Loss, Metrics, Phase, Pto, Reduction, Rtt, Settings, Time,
};
use super::options::{Entry, Gain, Options, Seconds};
use super::pacing;
use super::window::Window;

/// What `westwood` can be told.
#[derive(Clone, Debug, PartialEq)]
pub struct WestwoodConfig {
    /// Time constant of the low-pass filter. TCPW's authors take 0.5 s.
    pub tau: Seconds,
    /// Pacing rate over `cwnd / smoothed_rtt`; 1.25 in RFC 9002 section 7.7.
    pub pacing_gain: Gain,
}

impl Default for WestwoodConfig {
    fn default() -> Self {
        Self {
            tau: TAU,
            pacing_gain: Gain::thousandths(1_250),
        }
    }
}

/// The time constant of TCPW's filter.
pub(crate) const TAU: Seconds = Seconds::thousandths(500);

impl Options for WestwoodConfig {
    const NAME: &'static str = "westwood";

    fn entries(&mut self) -> Vec<Entry<'_>> {
        vec![
            Entry {
                key: "tau",
                help: "time constant of the low-pass filter, in seconds",
                value: &mut self.tau,
            },
            Entry {
                key: "pacing_gain",
                help: "pacing rate over cwnd / smoothed RTT",
                value: &mut self.pacing_gain,
            },
        ]
    }
}

impl Recipe for WestwoodConfig {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn build(&self, settings: Settings) -> Box<dyn Controller> {
        Box::new(Westwood {
            window: Window::new(settings),
            estimator: low_pass(self.tau),
            rtt: None,
            pacing_gain: self.pacing_gain.get(),
        })
    }
}

/// The least span of a sample, as a part of tau: 10 ms of the default 500 ms.
///
/// The filter takes the mean of two neighbouring samples for the time of the
/// second. Where ACKs arrive in bunches, the rate within a bunch would so count for
/// the gap after it, and the estimate would be many times what was sent: 20 to
/// 200 Mbit/s on a link of 10.
const SAMPLES_IN_TAU: u32 = 50;

/// TCPW's estimator.
pub(crate) fn low_pass(tau: Seconds) -> AckRate<LowPass> {
    let tau = tau.duration();
    AckRate::new(LowPass::new(tau)).spanning(tau / SAMPLES_IN_TAU)
}

/// TCPW's ssthresh after a loss or a timeout: the estimate, `BWE x RTTmin` in
/// bytes. While there is none the last ssthresh stands, and before any there is
/// NewReno's.
pub(crate) fn ssthresh(window: &Window, estimate: Option<f64>) -> f64 {
    estimate
        .or_else(|| window.ssthresh())
        .unwrap_or_else(|| window.half())
}

struct Westwood {
    window: Window,
    estimator: AckRate<LowPass>,
    rtt: Option<Rtt>,
    pacing_gain: f64,
}

impl Westwood {
    fn set_ssthresh(&mut self, rtt: Option<Rtt>) -> f64 {
        let estimate = rtt.and_then(|rtt| self.estimator.window(rtt.min));
        let ssthresh = ssthresh(&self.window, estimate);
        self.window.set_ssthresh(ssthresh);
        ssthresh
    }
}

impl Controller for Westwood {
    fn on_ack(&mut self, ack: &Ack) {
        self.rtt = Some(ack.rtt);
        self.estimator.on_ack(ack.now, ack.bytes);
        self.window.on_ack(ack);
        if self.window.may_grow(ack) {
            self.window.grow(ack.bytes);
        }
    }

    /// Three duplicate ACKs: `if (cwin > ssthresh) cwin = ssthresh`.
    fn on_loss(&mut self, loss: &Loss) {
        if self.window.answered(loss.last_sent) {
            return;
        }
        let ssthresh = self.set_ssthresh(loss.rtt);
        self.window.reduce_to(ssthresh, Reduction::Loss);
        self.window.enter_recovery(loss.now);
    }

    /// Coarse timeout: `cwin = 1`, here the minimum window. An expiry that repeats
    /// leaves ssthresh (RFC 5681 section 3.1).
    fn on_pto(&mut self, pto: &Pto) {
        if pto.count == 1 {
            self.set_ssthresh(pto.rtt);
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

    fn phase(&self, _now: Time) -> Phase {
        self.window.phase()
    }

    fn metrics(&self) -> Metrics {
        self.window
            .metrics(self.estimator.sample(), self.estimator.rate())
    }
}

#[cfg(test)]
mod tests;
