//! `westwood-nr`: TCP WestwoodNR in QUIC's units.
//!
//! TCP Westwood with two additions:
//!
//! - NewReno's recovery, which every controller of QUIC has (RFC 9002, Section 7.3.2,
//!   <https://www.rfc-editor.org/rfc/rfc9002#section-7.3.2>).
//! - Virtual null samples, `b_k = 0`: the filter takes one after each half of tau without
//!   an ACK, so the estimate falls while no ACKs arrive.

use super::controller::{Controller, Factory, Settings};
use super::newreno::NewReno;
use super::options::{Entry, Gain, Options, Seconds};
use super::pacing;
use super::westwood::{low_pass, tau_entry, Westwood, TAU};

/// Configuration of `westwood-nr`.
#[derive(Clone, Debug, PartialEq)]
pub struct WestwoodNrConfig {
    /// Time constant of the low-pass filter, one over its cut-off frequency.
    pub tau: Seconds,
    /// Takes a sample of zero bytes after each half of tau without an ACK.
    pub null_samples: bool,
    /// Pacing rate over `cwnd / smoothed_rtt`; 1.25 in RFC 9002, Section 7.7.
    pub pacing_gain: Gain,
}

impl Default for WestwoodNrConfig {
    fn default() -> Self {
        Self {
            tau: TAU,
            null_samples: true,
            pacing_gain: pacing::GAIN,
        }
    }
}

impl Options for WestwoodNrConfig {
    const NAME: &'static str = "westwood-nr";

    fn entries(&mut self) -> Vec<Entry<'_>> {
        vec![
            tau_entry(&mut self.tau),
            Entry::new(
                "null_samples",
                "take a sample of zero bytes after each half of tau without an ACK",
                &mut self.null_samples,
            ),
            pacing::entry(&mut self.pacing_gain),
        ]
    }
}

/// Null samples per tau. The sampling theorem demands at least two (Mascolo et al.,
/// MobiCom 2001, Section 2.2, <https://doi.org/10.1145/381677.381704>: tau / m, m >= 2).
const NULL_SAMPLES_PER_TAU: u32 = 2;

impl Factory for WestwoodNrConfig {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn build(&self, settings: Settings) -> Box<dyn Controller> {
        let estimator = low_pass(self.tau);
        let estimator = if self.null_samples {
            estimator.with_null_samples(self.tau.duration() / NULL_SAMPLES_PER_TAU)
        } else {
            estimator
        };
        let westwood = Westwood::new(estimator);
        Box::new(NewReno::new(westwood, self.pacing_gain, settings))
    }
}

#[cfg(test)]
mod tests;
