//! `westwood`: TCP Westwood (TCPW) in QUIC's units.
//!
//! NewReno, except that a loss and a timeout set ssthresh to what the path was
//! seen to deliver, `BWE x RTTmin`, instead of half the window. In slow start and
//! congestion avoidance the window grows as in RFC 9002 section 7.3.

use super::bandwidth::{AckRate, Estimator, LowPass};
use super::catalogue::Recipe;
use super::controller::{Ack, Controller, Rtt, Settings, Time};
use super::newreno::{NewReno, Sign, Variant};
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
            pacing_gain: pacing::GAIN,
        }
    }
}

/// The time constant of TCPW's filter.
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

/// The time constant's place in a table of options.
pub(crate) fn tau_entry(tau: &mut Seconds) -> Entry<'_> {
    Entry {
        key: "tau",
        help: "time constant of the low-pass filter, in seconds",
        value: tau,
    }
}

impl Recipe for WestwoodConfig {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn build(&self, settings: Settings) -> Box<dyn Controller> {
        let westwood = Westwood::new(low_pass(self.tau));
        Box::new(NewReno::new(westwood, self.pacing_gain, settings))
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

/// NewReno with the estimate for ssthresh.
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

    fn ssthresh(&mut self, window: &Window, _sign: Sign, now: Time, rtt: Option<Rtt>) -> f64 {
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
