//! What a simulation is asked to do.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{ensure, Result};
use serde::Serialize;

use crate::link::Direction;
use crate::units::parse_duration;

/// One simulation.
#[derive(Clone, Debug, Serialize)]
pub struct Scenario {
    /// The link from the servers to the clients.
    pub down: Direction,
    /// The link back.
    pub up: Direction,
    /// The connections that share the link.
    pub flows: Vec<Flow>,
    /// When the simulation ends.
    pub duration: Duration,
    /// What all randomness of the run follows from.
    pub seed: u64,
    /// The servers' `max_datagram_size`: bytes of UDP payload, at least 1200
    /// (RFC 9000 14.1).
    pub max_datagram_size: usize,
    /// How the servers treat the pacer's advice.
    pub pacing: Pacing,
    /// Time between two [`Sample`](super::Sample)s of a flow.
    pub sample_every: Duration,
    /// The folder that gets a qlog of each server; `None` writes none.
    pub qlog: Option<PathBuf>,
}

impl Scenario {
    /// `flows` on a link of `down` and `up`: 60 s, seed 1, datagrams of 1350
    /// bytes, paced, a sample every 20 ms, no qlog.
    pub fn new(down: Direction, up: Direction, flows: Vec<Flow>) -> Self {
        Scenario {
            down,
            up,
            flows,
            duration: Duration::from_secs(60),
            seed: 1,
            max_datagram_size: 1350,
            pacing: Pacing::Release,
            sample_every: Duration::from_millis(20),
            qlog: None,
        }
    }

    /// # Errors
    ///
    /// What cannot be, in one sentence.
    pub(super) fn check(&self) -> Result<()> {
        let size = self.max_datagram_size;
        ensure!(
            (1200..=65_507).contains(&size),
            "a datagram size of {size}; it is 1200 to 65507 bytes (RFC 9000 14.1)"
        );
        ensure!(!self.flows.is_empty(), "a simulation without a flow");
        ensure!(!self.sample_every.is_zero(), "samples without time between");
        for flow in &self.flows {
            ensure!(
                flow.start < self.duration,
                "{} starts at {:?}, but the simulation ends at {:?}",
                flow.cc,
                flow.start,
                self.duration
            );
        }
        self.down.check()?;
        self.up.check()
    }
}

/// One connection and its download.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flow {
    /// The server's congestion controller as quiche knows it, options
    /// included.
    pub cc: String,
    /// When the client connects.
    pub start: Duration,
    /// Bytes of the body; `None` lasts until the simulation ends.
    pub size: Option<u64>,
}

impl Flow {
    /// An endless download from the beginning on.
    pub fn new(cc: &str) -> Self {
        Flow {
            cc: cc.to_owned(),
            start: Duration::ZERO,
            size: None,
        }
    }
}

impl FromStr for Flow {
    type Err = String;

    /// A controller's name, and `@` with a duration when it starts later:
    /// `cubic`, `petra:alpha=0.8@5s`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (cc, start) = match text.rsplit_once('@') {
            Some((cc, start)) => (cc, parse_duration(start)?),
            None => (text, Duration::ZERO),
        };
        if cc.is_empty() {
            return Err(format!("`{text}` names no congestion controller"));
        }
        Ok(Flow {
            start,
            ..Flow::new(cc)
        })
    }
}

/// How a server treats the pacer's advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// It asks for the release time before it makes the next packet.
    Release,
    /// It makes packets at once and holds each until `SendInfo::at`.
    Hold,
    /// Pacing is off in quiche's configuration.
    Off,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_a_controller_and_maybe_a_start() {
        assert_eq!("cubic".parse(), Ok(Flow::new("cubic")));
        let late = Flow {
            start: Duration::from_secs(5),
            ..Flow::new("petra:alpha=0.8,faster_start=off")
        };
        assert_eq!("petra:alpha=0.8,faster_start=off@5s".parse(), Ok(late));
        assert!("@5s".parse::<Flow>().unwrap_err().contains("`@5s`"));
        assert!("cubic@soon".parse::<Flow>().unwrap_err().contains("`soon`"));
    }
}
