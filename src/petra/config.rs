//! What `petra` can be told, and its recipe.

use super::super::catalogue::Recipe;
use super::super::controller::{Controller, Settings};
use super::super::mechanisms::Mechanisms;
use super::super::options::{Alpha, Entry, Gain, Options, Seconds};
use super::super::pacing;
use super::Petra;

/// What `petra` can be told.
#[derive(Clone, Debug, PartialEq)]
pub struct PetraConfig {
    /// Which of the five mechanisms are on.
    pub mechanisms: Mechanisms,
    /// Weight of the past in the smoothed estimate (equation 4.4).
    pub alpha: Alpha,
    /// Least span of a bandwidth sample, as a part of the minimum RTT.
    pub span: Alpha,
    /// The least timeout that faster retransmission compares with, in seconds.
    pub timeout_floor: Seconds,
    /// Pacing rate over `cwnd / smoothed_rtt`.
    pub pacing_gain: Gain,
    /// Whether a standing queue of the connection's own is drained.
    pub drain: bool,
    /// Whether growth speeds up while no queue is seen.
    pub probe: bool,
    /// Whether ssthresh allows for ACKs that arrive in bunches.
    pub ack_allowance: bool,
    /// Whether a reduction is undone when its losses prove spurious.
    pub undo: bool,
}

impl Default for PetraConfig {
    fn default() -> Self {
        Self {
            mechanisms: Mechanisms::ALL,
            alpha: Alpha::thousandths(900),
            span: Alpha::thousandths(500),
            timeout_floor: Seconds::thousandths(1_000),
            pacing_gain: Gain::thousandths(1_100),
            drain: true,
            probe: true,
            ack_allowance: true,
            undo: true,
        }
    }
}

impl Options for PetraConfig {
    const NAME: &'static str = "petra";

    fn entries(&mut self) -> Vec<Entry<'_>> {
        let mut entries = Vec::from(self.mechanisms.entries());
        entries.extend([
            Entry {
                key: "alpha",
                help: "weight of the past in the estimate (eq. 4.4)",
                value: &mut self.alpha,
            },
            Entry {
                key: "span",
                help: "least span of a bandwidth sample, in minimum RTTs",
                value: &mut self.span,
            },
            Entry {
                key: "timeout_floor",
                help: "least timeout of faster retransmission, in seconds",
                value: &mut self.timeout_floor,
            },
            pacing::entry(&mut self.pacing_gain),
            Entry {
                key: "drain",
                help: "drain a queue of one's own",
                value: &mut self.drain,
            },
            Entry {
                key: "probe",
                help: "grow faster while no queue is seen",
                value: &mut self.probe,
            },
            Entry {
                key: "ack_allowance",
                help: "allow for ACKs that arrive in bunches",
                value: &mut self.ack_allowance,
            },
            Entry {
                key: "undo",
                help: "undo reductions for spurious losses",
                value: &mut self.undo,
            },
        ]);
        entries
    }
}

impl Recipe for PetraConfig {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn build(&self, settings: Settings) -> Box<dyn Controller> {
        Box::new(Petra::new(self.clone(), settings))
    }
}
