//! What `petra-thesis` can be told, and its recipe.

use super::super::bandwidth::{AckRate, Estimator, Smoothing, GRANULARITY};
use super::super::catalogue::Recipe;
use super::super::controller::{Controller, Settings};
use super::super::mechanisms::Mechanisms;
use super::super::options::{Alpha, Entry, Gain, OptionValue, Options, Seconds};
use super::super::pacing;
use super::super::westwood::{low_pass, TAU};
use super::PetraThesis;

/// What the mechanisms are laid over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// TCP NewReno (section 4.3.1; RFC 9002 section 7): table 4.2.
    NewReno,
    /// TCP Westwood (section 4.3.2): tables 4.3 to 4.6.
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

/// What `petra-thesis` can be told.
#[derive(Clone, Debug, PartialEq)]
pub struct PetraThesisConfig {
    /// Which of the five mechanisms are on.
    pub mechanisms: Mechanisms,
    /// What they are laid over.
    pub base: Base,
    /// Weight of the past in equation 4.4; the thesis has 0.9.
    pub alpha: Alpha,
    /// The least timeout that faster retransmission compares with, in seconds.
    /// A TCP timeout was at least 1 s (RFC 6298 section 2.4); a PTO is close to
    /// a round trip, and against that alone plain reordering would be loss.
    pub timeout_floor: Seconds,
    /// Pacing rate over `cwnd / smoothed_rtt`; 1.25 in RFC 9002 section 7.7.
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
            Entry {
                key: "base",
                help: "what the mechanisms are laid over",
                value: &mut self.base,
            },
            Entry {
                key: "alpha",
                help: "weight of the past in the estimate (eq. 4.4)",
                value: &mut self.alpha,
            },
            Entry {
                key: "timeout_floor",
                help: "least timeout of faster retransmission, in seconds",
                value: &mut self.timeout_floor,
            },
            pacing::entry(&mut self.pacing_gain),
        ]);
        entries
    }
}

impl PetraThesisConfig {
    /// Whether the estimate is TCPW's own. Otherwise it is that of equations 4.3
    /// to 4.5: mechanism 1's, and the one that mechanisms 2 and 5 need over
    /// NewReno, which has none.
    pub(super) fn estimates_as_westwood(&self) -> bool {
        self.base == Base::Westwood && !self.mechanisms.initial_ssthresh
    }

    /// Whether a loss sets ssthresh from the estimate. Mechanism 1 does over
    /// either base: table 4.2 has NewReno with it level with TCPW, and four times
    /// above NewReno.
    pub(super) fn estimates_at_loss(&self) -> bool {
        self.base == Base::Westwood || self.mechanisms.initial_ssthresh
    }

    pub(super) fn controller(&self, settings: Settings) -> PetraThesis {
        let estimator: Box<dyn Estimator> = if self.estimates_as_westwood() {
            Box::new(low_pass(TAU))
        } else {
            let smoothing = Smoothing::new(self.alpha.get());
            Box::new(AckRate::new(smoothing).spanning(GRANULARITY))
        };
        PetraThesis::new(self.clone(), estimator, settings)
    }
}

impl Recipe for PetraThesisConfig {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn build(&self, settings: Settings) -> Box<dyn Controller> {
        Box::new(self.controller(settings))
    }
}
