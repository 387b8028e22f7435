//! `newreno-34`: NewReno with other numbers, after "Modified Algorithm for
//! Performance Enhancement of TCP-NewReno": slow start triples the window in a
//! round trip, congestion avoidance adds four datagrams, and a loss leaves three
//! quarters of it.
//!
//! The paper leaves NewReno's timeout as it is: half the window for ssthresh.

use super::catalogue::Recipe;
use super::controller::{Controller, Rtt, Settings, Time};
use super::newreno::{NewReno, Sign, Variant};
use super::options::{Bounded, Entry, Gain, Options, Part};
use super::pacing;
use super::window::Window;

/// Times as large as a window becomes in a round trip of slow start: 1 to 10.
pub type Growth = Bounded<1_000, 10_000>;

/// Datagrams by which a window grows in a round trip: 0.1 to 100.
pub type Datagrams = Bounded<100, 100_000>;

/// What `newreno-34` can be told. Of 2, 1 and 0.5 it is NewReno.
#[derive(Clone, Debug, PartialEq)]
pub struct NewReno34Config {
    /// How much a round trip of slow start multiplies the window by.
    pub slow_start: Growth,
    /// How many datagrams a round trip of congestion avoidance adds.
    pub avoidance: Datagrams,
    /// What a loss leaves of the window.
    pub after_loss: Part,
    /// Pacing rate over `cwnd / smoothed_rtt`; 1.25 in RFC 9002 section 7.7.
    pub pacing_gain: Gain,
}

impl Default for NewReno34Config {
    fn default() -> Self {
        Self {
            slow_start: Growth::thousandths(3_000),
            avoidance: Datagrams::thousandths(4_000),
            after_loss: Part::thousandths(750),
            pacing_gain: pacing::GAIN,
        }
    }
}

impl Options for NewReno34Config {
    const NAME: &'static str = "newreno-34";

    fn entries(&mut self) -> Vec<Entry<'_>> {
        vec![
            Entry {
                key: "slow_start",
                help: "times as large as slow start makes the window in a round trip",
                value: &mut self.slow_start,
            },
            Entry {
                key: "avoidance",
                help: "datagrams that congestion avoidance adds in a round trip",
                value: &mut self.avoidance,
            },
            Entry {
                key: "after_loss",
                help: "part of the window that a loss leaves",
                value: &mut self.after_loss,
            },
            pacing::entry(&mut self.pacing_gain),
        ]
    }
}

impl Recipe for NewReno34Config {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn build(&self, settings: Settings) -> Box<dyn Controller> {
        let modified = Modified {
            slow_start: self.slow_start.get() - 1.0,
            avoidance: self.avoidance.get(),
            after_loss: self.after_loss.get(),
        };
        Box::new(NewReno::new(modified, self.pacing_gain, settings))
    }
}

/// NewReno with other numbers.
struct Modified {
    /// Growth over what was acknowledged, in slow start.
    slow_start: f64,
    /// Growth over NewReno's, in congestion avoidance.
    avoidance: f64,
    after_loss: f64,
}

impl Variant for Modified {
    fn grow(&self, window: &mut Window, acked: u64) {
        let acked = acked as f64;
        if window.in_slow_start() {
            window.set(window.bytes() + self.slow_start * acked);
        } else {
            window.avoid_congestion(self.avoidance * acked);
        }
    }

    fn ssthresh(&mut self, window: &Window, sign: Sign, _now: Time, _rtt: Option<Rtt>) -> f64 {
        match sign {
            Sign::Loss => self.after_loss * window.bytes(),
            Sign::Timeout => window.half(),
        }
    }
}

#[cfg(test)]
mod tests;
