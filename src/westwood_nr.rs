//! `westwood-nr`: TCP WestwoodNR in QUIC's units.
//!
//! TCP Westwood with NewReno's recovery, which in QUIC all controllers have (RFC
//! 9002 section 7.3.2), and with a filter that also hears silence: whenever there
//! has been no ACK for half of tau it takes a virtual null sample, `b_k = 0`, so
//! that an estimate does not outlive what it was measured on.

use super::catalogue::Recipe;
use super::controller::{Controller, Settings};
use super::newreno::NewReno;
use super::options::{Entry, Gain, Options, Seconds};
use super::pacing;
use super::westwood::{low_pass, tau_entry, Westwood, TAU};

/// What `westwood-nr` can be told.
#[derive(Clone, Debug, PartialEq)]
pub struct WestwoodNrConfig {
    /// One over the cut-off frequency of the low-pass filter.
    pub tau: Seconds,
    /// Whether a silence of half of tau is a sample of no bytes.
    pub null_samples: bool,
    /// Pacing rate over `cwnd / smoothed_rtt`; 1.25 in RFC 9002 section 7.7.
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
            Entry {
                key: "null_samples",
                help: "a silence of half of tau is a sample of no bytes",
                value: &mut self.null_samples,
            },
            pacing::entry(&mut self.pacing_gain),
        ]
    }
}

/// Null samples in tau. The sampling theorem wants at least two (Mascolo et al.,
/// MobiCom 2001, section 2.2: tau / m with m >= 2).
const NULLS_IN_TAU: u32 = 2;

impl Recipe for WestwoodNrConfig {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn build(&self, settings: Settings) -> Box<dyn Controller> {
        let estimator = low_pass(self.tau);
        let estimator = if self.null_samples {
            estimator.falling_silent(self.tau.duration() / NULLS_IN_TAU)
        } else {
            estimator
        };
        let westwood = Westwood::new(estimator);
        Box::new(NewReno::new(westwood, self.pacing_gain, settings))
    }
}

#[cfg(test)]
mod tests;
