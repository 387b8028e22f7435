//! `highbrow`: Highbrow TCP over NewReno, in QUIC's units.
//!
//! NewReno, except that it does not wait for a timeout ("fastest retransmission"). After the
//! time T1 without an ACK, it retransmits the oldest outstanding packets. Their share grows
//! with the stability of the last ten RTTs. The window does not change.
//!
//! ```text
//!  T1 = alpha RTO, at least RTT / 2 and at most 3 RTT / 2
//!  share = 1 - standard deviation / mean of the last ten RTTs
//! ```
//!
//! `docs/papers.md` lists the deviations that QUIC demands.

use std::collections::VecDeque;
use std::time::Duration;

use super::controller::{Ack, Capability, Controller, EarlyProbes, Factory, Rtt, Settings};
use super::newreno::{NewReno, Variant};
use super::options::{Entry, Gain, Options, Part, Seconds};
use super::pacing;

/// Configuration of `highbrow`.
#[derive(Clone, Debug, PartialEq)]
pub struct HighbrowConfig {
    /// T1 as a share of the retransmission timeout; 1/5 in the paper.
    pub alpha: Part,
    /// Minimum timeout that T1 is a share of, in seconds. TCP's is 1 s (RFC 6298,
    /// Section 2.4, <https://www.rfc-editor.org/rfc/rfc6298#section-2>). A PTO is close to
    /// one RTT, so a fifth of a PTO would always be less than half an RTT.
    pub timeout_floor: Seconds,
    /// Pacing rate over `cwnd / smoothed_rtt`; 1.25 in RFC 9002, Section 7.7.
    pub pacing_gain: Gain,
}

impl Default for HighbrowConfig {
    fn default() -> Self {
        Self {
            alpha: Part::thousandths(200),
            timeout_floor: Seconds::thousandths(1_000),
            pacing_gain: pacing::GAIN,
        }
    }
}

impl Options for HighbrowConfig {
    const NAME: &'static str = "highbrow";

    fn entries(&mut self) -> Vec<Entry<'_>> {
        vec![
            Entry::new(
                "alpha",
                "timer of fastest retransmission, as a share of the timeout",
                &mut self.alpha,
            ),
            Entry::new(
                "timeout_floor",
                "minimum timeout that alpha is a share of, in seconds",
                &mut self.timeout_floor,
            ),
            pacing::entry(&mut self.pacing_gain),
        ]
    }
}

impl Factory for HighbrowConfig {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn build(&self, settings: Settings) -> Box<dyn Controller> {
        let highbrow = Highbrow {
            alpha: self.alpha.get(),
            timeout_floor: self.timeout_floor.duration(),
            rtts: VecDeque::with_capacity(RTT_SAMPLES),
        };
        Box::new(NewReno::new(highbrow, self.pacing_gain, settings))
    }

    /// Without early probes this is NewReno.
    fn requires(&self) -> &'static [Capability] {
        &[Capability::EarlyProbes]
    }
}

/// RTTs over which the stability is measured (Section 4.1, step 1).
const RTT_SAMPLES: usize = 10;

/// The variant with fastest retransmission.
#[derive(Clone)]
struct Highbrow {
    alpha: f64,
    timeout_floor: Duration,
    /// The last RTTs in seconds, oldest first.
    rtts: VecDeque<f64>,
}

impl Highbrow {
    /// Returns T1 by the three-way rule of Section 3.
    fn timer(&self, rtt: Duration, timeout: Duration) -> Duration {
        let timeout = timeout.max(self.timeout_floor).as_secs_f64() * self.alpha;
        let rtt = rtt.as_secs_f64();
        let timer = timeout.clamp(rtt / 2.0, rtt * 1.5);
        Duration::try_from_secs_f64(timer).unwrap_or(Duration::MAX)
    }

    /// Returns the share of packets to retransmit, `100 - RSD` as a share of one (Section
    /// 4.1, steps 1 to 6). It is zero if the deviation is at least the mean. The variance is
    /// that of the population; the paper does not define it.
    fn share(&self) -> f64 {
        let count = self.rtts.len() as f64;
        let mean = self.rtts.iter().sum::<f64>() / count;
        let squares = self.rtts.iter().map(|rtt| (rtt - mean).powi(2));
        let deviation = (squares.sum::<f64>() / count).sqrt();
        // Without an RTT above zero this is NaN, and the share zero.
        let relative = deviation / mean;
        (1.0 - relative).max(0.0)
    }
}

impl Variant for Highbrow {
    fn on_ack(&mut self, ack: &Ack) {
        if self.rtts.len() == RTT_SAMPLES {
            self.rtts.pop_front();
        }
        self.rtts.push_back(ack.rtt.latest.as_secs_f64());
    }

    fn early_probes(&self, rtt: &Rtt, pto: Duration, outstanding: u64) -> Option<EarlyProbes> {
        // Step 7: "Do round off when needed."
        let packets = (outstanding as f64 * self.share()).round() as u64;
        (packets > 0).then(|| EarlyProbes {
            after: self.timer(rtt.smoothed, pto),
            packets,
        })
    }
}

#[cfg(kani)]
mod proofs;
#[cfg(test)]
mod tests;
