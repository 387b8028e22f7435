//! `newreno-34`: NewReno with other parameters, after "Modified Algorithm for Performance
//! Enhancement of TCP-NewReno" (`docs/bibliography.md`).
//!
//! | parameter                                     | NewReno | here |
//! |-----------------------------------------------|---------|------|
//! | growth of the window per round, in slow start | 2       | 3    |
//! | datagrams per round, in congestion avoidance  | 1       | 4    |
//! | share of the window that remains after a loss | 0.5     | 0.75 |
//! | ssthresh after a timeout, as a share          | 0.5     | 0.5  |

use super::controller::{Controller, Factory, Rtt, Settings, Time};
use super::newreno::{NewReno, Signal, Variant};
use super::options::{Bounded, Entry, Gain, Options, Part};
use super::pacing;
use super::window::Window;

/// Growth factor of the window per round trip of slow start: 1 to 10.
pub type Growth = Bounded<1_000, 10_000>;

/// Datagrams by which a window grows per round trip: 0.1 to 100.
pub type Datagrams = Bounded<100, 100_000>;

/// Configuration of `newreno-34`. With 2, 1 and 0.5 it is NewReno.
#[derive(Clone, Debug, PartialEq)]
pub struct NewReno34Config {
    /// Growth factor of the window per round trip of slow start.
    pub slow_start: Growth,
    /// Datagrams added per round trip of congestion avoidance.
    pub additive_increase: Datagrams,
    /// Share of the window that remains after a loss.
    pub beta: Part,
    /// Pacing rate over `cwnd / smoothed_rtt`; 1.25 in RFC 9002, Section 7.7.
    pub pacing_gain: Gain,
}

impl Default for NewReno34Config {
    fn default() -> Self {
        Self {
            slow_start: Growth::thousandths(3_000),
            additive_increase: Datagrams::thousandths(4_000),
            beta: Part::thousandths(750),
            pacing_gain: pacing::GAIN,
        }
    }
}

impl Options for NewReno34Config {
    const NAME: &'static str = "newreno-34";

    fn entries(&mut self) -> Vec<Entry<'_>> {
        vec![
            Entry::new(
                "slow_start",
                "growth factor of the window per round trip of slow start",
                &mut self.slow_start,
            ),
            Entry::new(
                "additive_increase",
                "datagrams added per round trip of congestion avoidance",
                &mut self.additive_increase,
            )
            .formerly("avoidance"),
            Entry::new(
                "beta",
                "share of the window that remains after a loss",
                &mut self.beta,
            )
            .formerly("after_loss"),
            pacing::entry(&mut self.pacing_gain),
        ]
    }
}

impl Factory for NewReno34Config {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn build(&self, settings: Settings) -> Box<dyn Controller> {
        let variant = NewReno34 {
            slow_start: self.slow_start.get() - 1.0,
            additive_increase: self.additive_increase.get(),
            beta: self.beta.get(),
        };
        Box::new(NewReno::new(variant, self.pacing_gain, settings))
    }
}

/// The variant of NewReno.
#[derive(Clone)]
struct NewReno34 {
    /// Bytes of growth per byte acknowledged, in slow start.
    slow_start: f64,
    /// Growth as a multiple of NewReno's, in congestion avoidance.
    additive_increase: f64,
    beta: f64,
}

impl Variant for NewReno34 {
    fn grow(&self, window: &mut Window, acked: u64) {
        let acked = acked as f64;
        if window.in_slow_start() {
            window.set(window.bytes() + self.slow_start * acked);
        } else {
            window.avoid_congestion(self.additive_increase * acked);
        }
    }

    fn ssthresh(&mut self, window: &Window, signal: Signal, _now: Time, _rtt: Option<Rtt>) -> f64 {
        match signal {
            Signal::Loss => self.beta * window.bytes(),
            Signal::Timeout => window.half(),
        }
    }
}

#[cfg(kani)]
mod proofs;
#[cfg(test)]
mod tests;
