//! The options of `petra-thesis`, and its factory.

use super::super::bandwidth::{AckRate, Estimator, Smoothing, GRANULARITY};
use super::super::controller::{Controller, Settings};
use super::super::mechanisms::Mechanisms;
use super::super::options::{Alpha, Entry, Gain, OptionValue, Options, Seconds};
use super::super::pacing;
use super::super::registry::Factory;
use super::super::westwood::{low_pass, TAU};
use super::PetraThesis;

/// The controller on which the mechanisms build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// TCP NewReno (Section 4.3.1 of the thesis; RFC 9002, Section 7): table 4.2.
    NewReno,
    /// TCP Westwood (Section 4.3.2 of the thesis): tables 4.3 to 4.6.
    Westwood,
}

impl OptionValue for Base {
    fn set(&mut self, text: &str) -> bool {
        *self = match text {
            "newreno" => Base::NewReno,
            "westwood" => Base::Westwood,
            _ => return false,
        };
        true
    }

    fn accepted(&self) -> String {
        "newreno or westwood".into()
    }

    fn show(&self) -> String {
        match self {
            Base::NewReno => "newreno",
            Base::Westwood => "westwood",
        }
        .into()
    }
}

/// Configuration of `petra-thesis`.
#[derive(Clone, Debug, PartialEq)]
pub struct PetraThesisConfig {
    /// The five mechanisms, each on or off.
    pub mechanisms: Mechanisms,
    /// The controller on which the mechanisms build.
    pub base: Base,
    /// Weight of the past in equation 4.4; 0.9 in the thesis.
    pub alpha: Alpha,
    /// Minimum timeout that faster retransmission compares with, in seconds. TCP's is 1 s
    /// (RFC 6298, Section 2.4, <https://www.rfc-editor.org/rfc/rfc6298#section-2>). A PTO is
    /// close to one RTT; compared with a PTO alone, plain reordering would count as loss.
    pub timeout_floor: Seconds,
    /// Pacing rate over `cwnd / smoothed_rtt`; 1.25 in RFC 9002, Section 7.7.
    pub pacing_gain: Gain,
}

impl Default for PetraThesisConfig {
    fn default() -> Self {
        Self {
            mechanisms: Mechanisms::ALL,
            base: Base::Westwood,
            alpha: Alpha::thousandths(900),
            timeout_floor: Seconds::thousandths(1_000),
            pacing_gain: pacing::GAIN,
        }
    }
}

impl Options for PetraThesisConfig {
    const NAME: &'static str = "petra-thesis";

    fn entries(&mut self) -> Vec<Entry<'_>> {
        let mut entries = Vec::from(self.mechanisms.entries());
        entries.extend([
            Entry::new(
                "base",
                "controller on which the mechanisms build",
                &mut self.base,
            ),
            Entry::new(
                "alpha",
                "weight of the past in the bandwidth estimate (eq. 4.4)",
                &mut self.alpha,
            ),
            Entry::new(
                "timeout_floor",
                "minimum timeout of faster retransmission, in seconds",
                &mut self.timeout_floor,
            ),
            pacing::entry(&mut self.pacing_gain),
        ]);
        entries
    }
}

impl PetraThesisConfig {
    /// Returns true if the estimate is TCPW's own. Otherwise it is that of equations 4.3 to
    /// 4.5: mechanism 1 uses it, and over NewReno mechanisms 2 and 5 need it as well.
    pub(super) fn estimates_as_westwood(&self) -> bool {
        self.base == Base::Westwood && !self.mechanisms.initial_ssthresh
    }

    /// Returns true if a loss sets ssthresh from the estimate. With mechanism 1 it does over
    /// either base: in table 4.2, NewReno with mechanism 1 equals TCPW, at four times the
    /// goodput of NewReno.
    pub(super) fn estimates_at_loss(&self) -> bool {
        self.base == Base::Westwood || self.mechanisms.initial_ssthresh
    }

    pub(super) fn controller(&self, settings: Settings) -> PetraThesis {
        let estimator: Box<dyn Estimator> = if self.estimates_as_westwood() {
            Box::new(low_pass(TAU))
        } else {
            let smoothing = Smoothing::new(self.alpha.get());
            Box::new(AckRate::new(smoothing).with_min_interval(GRANULARITY))
        };
        PetraThesis::new(self.clone(), estimator, settings)
    }
}

impl Factory for PetraThesisConfig {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn build(&self, settings: Settings) -> Box<dyn Controller> {
        Box::new(self.controller(settings))
    }
}
