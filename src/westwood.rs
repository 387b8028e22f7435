//! `westwood`: TCP Westwood (TCPW) in QUIC's units.
//!
//! NewReno, except that a loss and a timeout set ssthresh to the estimated bandwidth-delay
//! product, `BWE x RTTmin`, instead of half the window. The window grows as in RFC 9002,
//! Section 7.3 (<https://www.rfc-editor.org/rfc/rfc9002#section-7.3>).

use super::bandwidth::{AckRate, Estimator, LowPass};
use super::controller::{Ack, Controller, Factory, Rtt, Settings, Time};
use super::newreno::{NewReno, Signal, Variant};
use super::options::{Entry, Gain, Options, Seconds};
use super::pacing;
use super::window::Window;

/// Configuration of `westwood`.
#[derive(Clone, Debug, PartialEq)]
pub struct WestwoodConfig {
    /// Time constant of the low-pass filter; 0.5 s in the papers on TCPW.
    pub tau: Seconds,
    /// Pacing rate over `cwnd / smoothed_rtt`; 1.25 in RFC 9002, Section 7.7.
    pub pacing_gain: Gain,
}

impl Default for WestwoodConfig {
    fn default() -> Self {
        Self {
            tau: TAU,
            pacing_gain: pacing::GAIN,
        }
    }
}

/// Default time constant of TCPW's filter.
pub(crate) const TAU: Seconds = Seconds::thousandths(500);

impl Options for WestwoodConfig {
    const NAME: &'static str = "westwood";

    fn entries(&mut self) -> Vec<Entry<'_>> {
        vec![
            tau_entry(&mut self.tau),
            pacing::entry(&mut self.pacing_gain),
        ]
    }
}

/// The option that sets the time constant.
pub(crate) fn tau_entry(tau: &mut Seconds) -> Entry<'_> {
    Entry::new(
        "tau",
        "time constant of the low-pass filter, in seconds",
        tau,
    )
}

impl Factory for WestwoodConfig {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn build(&self, settings: Settings) -> Box<dyn Controller> {
        let westwood = Westwood::new(low_pass(self.tau));
        Box::new(NewReno::new(westwood, self.pacing_gain, settings))
    }
}

/// Minimum-interval samples per tau: 10 ms of the default 500 ms each.
///
/// The filter takes the mean of two neighbouring samples for the interval of the second.
/// With ACK aggregation, the rate within an aggregate would also count for the gap after it.
/// The estimate would then be many times the sending rate: 20 to 200 Mbit/s on a link of
/// 10 Mbit/s.
const MAX_SAMPLES_PER_TAU: u32 = 50;

/// Makes TCPW's estimator.
pub(crate) fn low_pass(tau: Seconds) -> AckRate<LowPass> {
    let tau = tau.duration();
    AckRate::new(LowPass::new(tau)).with_min_interval(tau / MAX_SAMPLES_PER_TAU)
}

/// TCPW's ssthresh after a loss or a timeout: the estimate, `BWE x RTTmin` in bytes. Without
/// an estimate it is the last ssthresh, or else NewReno's.
pub(crate) fn ssthresh(window: &Window, estimate: Option<f64>) -> f64 {
    estimate
        .or_else(|| window.ssthresh())
        .unwrap_or_else(|| window.half())
}

/// The variant that sets ssthresh from the estimate.
#[derive(Clone)]
pub(crate) struct Westwood {
    estimator: AckRate<LowPass>,
}

impl Westwood {
    pub(crate) fn new(estimator: AckRate<LowPass>) -> Self {
        Self { estimator }
    }
}

impl Variant for Westwood {
    fn on_ack(&mut self, ack: &Ack) {
        self.estimator.on_ack(ack.now, ack.bytes);
    }

    fn ssthresh(&mut self, window: &Window, _signal: Signal, now: Time, rtt: Option<Rtt>) -> f64 {
        self.estimator.on_silence(now);
        let estimate = rtt.and_then(|rtt| self.estimator.window(rtt.min));
        ssthresh(window, estimate)
    }

    fn bandwidth(&self) -> [Option<f64>; 2] {
        [self.estimator.sample(), self.estimator.rate()]
    }
}

#[cfg(test)]
mod tests;
