//! `highbrow`: Highbrow TCP over NewReno, in QUIC's units.
//!
//! NewReno, except that it does not wait for a timeout: when there has been no ACK
//! for the time T1 ("fastest retransmission"), it sends the oldest outstanding
//! packets again, the larger a part of them the steadier the last ten round trips
//! were. What that does not do to the window: nothing.
//!
//! ```text
//!  T1 = alpha RTO, at least RTT / 2 and at most 3 RTT / 2
//!  part = 1 - standard deviation / mean of the last ten RTTs
//! ```
//!
//! Where QUIC bends the rule is in `docs/papers.md`.

use std::collections::VecDeque;
use std::time::Duration;

use super::catalogue::Recipe;
use super::controller::{Ack, Controller, EarlyProbes, Rtt, Settings};
use super::newreno::{NewReno, Variant};
use super::options::{Entry, Gain, Options, Part, Seconds};
use super::pacing;

/// What `highbrow` can be told.
#[derive(Clone, Debug, PartialEq)]
pub struct HighbrowConfig {
    /// T1 over the retransmission timeout; the paper has 1/5.
    pub alpha: Part,
    /// The least timeout that T1 is a part of, in seconds. A TCP timeout was at
    /// least 1 s (RFC 6298 section 2.4); a PTO is close to a round trip, and a
    /// fifth of that would always be less than half an RTT.
    pub timeout_floor: Seconds,
    /// Pacing rate over `cwnd / smoothed_rtt`; 1.25 in RFC 9002 section 7.7.
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
            Entry {
                key: "alpha",
                help: "fastest-retransmission timer over the timeout",
                value: &mut self.alpha,
            },
            Entry {
                key: "timeout_floor",
                help: "least timeout that this is a part of, in seconds",
                value: &mut self.timeout_floor,
            },
            pacing::entry(&mut self.pacing_gain),
        ]
    }
}

impl Recipe for HighbrowConfig {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn build(&self, settings: Settings) -> Box<dyn Controller> {
        let highbrow = Highbrow {
            alpha: self.alpha.get(),
            timeout_floor: self.timeout_floor.duration(),
            round_trips: VecDeque::with_capacity(ROUND_TRIPS),
        };
        Box::new(NewReno::new(highbrow, self.pacing_gain, settings))
    }
}

/// How many RTTs the instability is measured on (section 4.1, step 1).
const ROUND_TRIPS: usize = 10;

/// NewReno with the fastest retransmission phase.
struct Highbrow {
    alpha: f64,
    timeout_floor: Duration,
    /// The last RTTs in seconds, the oldest first.
    round_trips: VecDeque<f64>,
}

impl Highbrow {
    /// Section 3: the three-way rule for T1.
    fn timer(&self, rtt: Duration, timeout: Duration) -> Duration {
        let timeout = timeout.max(self.timeout_floor).as_secs_f64() * self.alpha;
        let rtt = rtt.as_secs_f64();
        let timer = timeout.clamp(rtt / 2.0, rtt * 1.5);
        Duration::try_from_secs_f64(timer).unwrap_or(Duration::MAX)
    }

    /// Section 4.1, steps 1 to 6: `100 - RSD` as a part of one; zero where the
    /// deviation is as large as the mean. The variance is that of these ten, not an
    /// estimate from them; the paper does not say.
    fn part(&self) -> f64 {
        let count = self.round_trips.len() as f64;
        let mean = self.round_trips.iter().sum::<f64>() / count;
        let squares = self.round_trips.iter().map(|rtt| (rtt - mean).powi(2));
        let deviation = (squares.sum::<f64>() / count).sqrt();
        // No RTT yet, or all of them zero: nothing is known.
        let relative = deviation / mean;
        (1.0 - relative).max(0.0)
    }
}

impl Variant for Highbrow {
    fn on_ack(&mut self, ack: &Ack) {
        if self.round_trips.len() == ROUND_TRIPS {
            self.round_trips.pop_front();
        }
        self.round_trips.push_back(ack.rtt.latest.as_secs_f64());
    }

    fn early_probes(&self, rtt: &Rtt, pto: Duration, outstanding: u64) -> Option<EarlyProbes> {
        // Step 7: "Do round off when needed."
        let packets = (outstanding as f64 * self.part()).round() as u64;
        (packets > 0).then(|| EarlyProbes {
            after: self.timer(rtt.smoothed, pto),
            packets,
        })
    }
}

#[cfg(test)]
mod tests;
