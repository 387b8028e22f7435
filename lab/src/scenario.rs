//! Definition of a run, independent of the backend.

mod cross;
mod flow;
mod media;
mod traffic;

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{ensure, Context, Error, Result};
use serde::{Deserialize, Serialize};

pub use cross::{CrossTraffic, Way};
pub use flow::Flow;
pub(crate) use flow::FlowKeys;
pub use media::Media;
pub use traffic::{Traffic, Web};

use crate::documented::documented;
use crate::link::Link;
use crate::units::{Text, Time};

documented! {
    /// One run: flows and other traffic over one or more links in a row.
    ///
    /// ```text
    ///  servers ── path[0] ── path[1] ── ... ── clients        the data: down
    ///  servers ── path[0] ── path[1] ── ... ── clients        the ACKs: up
    /// ```
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Scenario {
        /// The bottlenecks, in the order in which the data passes them.
        pub path: Vec<Link>,
        /// The connections that share the path.
        pub flows: Vec<Flow>,
        /// Cross traffic on the path.
        #[serde(default)]
        pub cross: Vec<CrossTraffic>,
        /// Duration of the run.
        #[serde(with = "Text::<Time>", default = "defaults::duration")]
        pub duration: Duration,
        /// Seed of all random numbers of the run.
        #[serde(default = "defaults::seed")]
        pub seed: u64,
        /// The servers' `max_datagram_size`: bytes of UDP payload, at least 1200
        /// (RFC 9000, Section 14.1).
        #[serde(default = "defaults::max_datagram_size")]
        pub max_datagram_size: usize,
        /// Treatment of the pacer's release times by the servers.
        #[serde(default)]
        pub pacing: Pacing,
        /// Time between two samples of a flow.
        #[serde(with = "Text::<Time>", default = "defaults::sample_every")]
        pub sample_every: Duration,
        /// The folder that gets the qlogs of both ends of each flow; `None` writes
        /// none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub qlog: Option<PathBuf>,
    }
}

mod defaults {
    use std::time::Duration;

    pub(super) fn duration() -> Duration {
        Duration::from_secs(60)
    }

    pub(super) fn seed() -> u64 {
        1
    }

    pub(super) fn max_datagram_size() -> usize {
        1350
    }

    pub(super) fn sample_every() -> Duration {
        Duration::from_millis(20)
    }
}

impl Scenario {
    /// `flows` on one link: 60 s, seed 1, datagrams of 1350 bytes, paced, a
    /// sample every 20 ms, no qlog.
    pub fn new(link: Link, flows: Vec<Flow>) -> Self {
        Scenario {
            path: vec![link],
            flows,
            cross: Vec::new(),
            duration: defaults::duration(),
            seed: defaults::seed(),
            max_datagram_size: defaults::max_datagram_size(),
            pacing: Pacing::default(),
            sample_every: defaults::sample_every(),
            qlog: None,
        }
    }

    /// The sum of all links' propagation delays, which a queue in BDPs refers
    /// to.
    pub fn round_trip(&self) -> Duration {
        self.path.iter().map(Link::round_trip).sum()
    }

    /// The name of a qlog's file, which tells whose it is: of which `side`,
    /// `client` or `server`, of which flow, and, if it does not begin with the
    /// run, of when.
    pub(crate) fn trace_name(&self, side: &str, flow: usize) -> String {
        let plain = |c: char| match c {
            c if c.is_ascii_alphanumeric() || "-_=.".contains(c) => c,
            _ => '_',
        };
        let Flow { cc, start, .. } = &self.flows[flow];
        let cc: String = cc.chars().map(plain).collect();
        let start = match start.as_secs_f64() {
            0.0 => String::new(),
            seconds => format!("-at{seconds}s"),
        };
        format!("{side}-{flow}-{cc}{start}-seed{}.sqlog", self.seed)
    }

    /// Checks that the scenario is valid.
    ///
    /// # Errors
    ///
    /// The invalid value and the valid ones, in one sentence.
    pub fn check(&self) -> Result<()> {
        self.check_parts().map_err(|(_, error)| error)
    }

    /// The same, with the part that cannot be.
    pub(crate) fn check_parts(&self) -> Result<(), (Part, Error)> {
        self.check_whole().map_err(|error| (Part::Whole, error))?;
        for (index, flow) in self.flows.iter().enumerate() {
            flow.check(self)
                .with_context(|| format!("the flow of {}", flow.cc))
                .map_err(|error| (Part::Flow(index), error))?;
        }
        for (index, cross) in self.cross.iter().enumerate() {
            cross
                .check(self)
                .context("cross traffic")
                .map_err(|error| (Part::Cross(index), error))?;
        }
        for (index, link) in self.path.iter().enumerate() {
            let checked = match self.path.len() {
                1 => link.check_within(self.duration),
                _ => link
                    .check_within(self.duration)
                    .with_context(|| format!("link {index}")),
            };
            checked.map_err(|error| (Part::Link(index), error))?;
        }
        Ok(())
    }

    fn check_whole(&self) -> Result<()> {
        check_range(
            "max_datagram_size",
            self.max_datagram_size,
            1200..=65_507,
            "bytes (RFC 9000, Section 14.1)",
        )?;
        ensure!(
            !self.path.is_empty(),
            "path: no link (got none); expected at least one"
        );
        ensure!(
            !self.flows.is_empty(),
            "flows: none (got 0); expected at least one"
        );
        ensure!(
            self.flows.len() <= Self::MAX_FLOWS,
            "flows: too many (got {}); expected at most {}",
            self.flows.len(),
            Self::MAX_FLOWS
        );
        ensure!(
            !self.duration.is_zero(),
            "duration: out of range (got 0s); expected more"
        );
        ensure!(
            !self.sample_every.is_zero(),
            "sample_every: out of range (got 0s); expected more"
        );
        let samples = self.duration.as_nanos() / self.sample_every.as_nanos();
        ensure!(
            samples <= Self::MAX_SAMPLES,
            "sample_every: too short for the duration (got {samples} samples); expected at most {}",
            Self::MAX_SAMPLES
        );
        Ok(())
    }

    /// A gigabyte of them.
    const MAX_SAMPLES: u128 = 10_000_000;

    /// As many flows as there are ports.
    const MAX_FLOWS: usize = 60_000;

    /// Checks that the time from `start` to `stop` is within the run.
    fn check_times(&self, start: Duration, stop: Option<Duration>) -> Result<()> {
        ensure!(
            start < self.duration,
            "start: too late (got {start:?}); expected before the end of the run at {:?}",
            self.duration
        );
        if let Some(stop) = stop {
            ensure!(
                start < stop,
                "stop: too early (got {stop:?}); expected after the start at {start:?}"
            );
        }
        Ok(())
    }
}

/// Checks that the value of a key is within a range, both in `unit`.
fn check_range<T>(key: &str, value: T, range: RangeInclusive<T>, unit: &str) -> Result<()>
where
    T: Display + PartialOrd,
{
    ensure!(
        range.contains(&value),
        "{key}: out of range (got {value}); expected {} to {} {unit}",
        range.start(),
        range.end()
    );
    Ok(())
}

/// A part of a scenario, by its number from 0 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// None by itself.
    Whole,
    Link(usize),
    Flow(usize),
    Cross(usize),
}

/// Treatment of the pacer's release times by a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// It asks for the release time before it makes the next packet.
    #[default]
    Release,
    /// It makes packets up to 10 ms ahead and holds each until `SendInfo::at`; what
    /// quiche paces by itself waits longer in quiche.
    Hold,
    /// Pacing is off in quiche's configuration.
    Off,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{Direction, Outage};

    fn read(text: &str) -> Result<Scenario, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_written_scenario_is_read_as_the_same() {
        let text = r#"{
            "path": [{"rate": "10mbit", "delay": "20ms"}, {"rate": "2mbit", "delay": "5ms"}],
            "flows": [{"cc": "petra"},
                      {"cc": "cubic", "start": "5s", "stop": "20s", "delay": "10ms", "hops": [1, 1]},
                      {"cc": "reno", "size": "1MB"}, {"cc": "reno", "on": "1s", "off": "2s"},
                      {"cc": "reno", "web": {"size": "50kB", "think": "1s"}}],
            "cross": [{"rate": "1mbit", "hop": 1, "way": "up"}],
            "duration": "30s", "pacing": "hold"}"#;
        let scenario = read(text).unwrap();
        scenario.check().unwrap();
        assert_eq!(scenario.round_trip(), Duration::from_millis(50));
        let again = read(&serde_json::to_string(&scenario).unwrap());
        assert_eq!(again, Ok(scenario));
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        let wrong = |change: &dyn Fn(&mut Scenario)| {
            let link = Link::symmetric(Direction {
                rate: Some(1_000_000),
                ..Direction::default()
            });
            let mut scenario = Scenario::new(link, vec![Flow::new("reno")]);
            assert!(scenario.check().is_ok());
            change(&mut scenario);
            format!("{:#}", scenario.check().unwrap_err())
        };
        for (error, says) in [
            (wrong(&|s| s.max_datagram_size = 1199), "1200 to 65507"),
            (wrong(&|s| s.path.clear()), "path: no link"),
            (
                wrong(&|s| s.path[0].down.rate = None),
                "expected rate, trace or lte",
            ),
            (wrong(&|s| s.flows.clear()), "flows: none"),
            (
                wrong(&|s| s.flows[0].start = s.duration),
                "end of the run at 60s",
            ),
            (
                wrong(&|s| s.flows[0].stop = Some(Duration::ZERO)),
                "stop: too early",
            ),
            (wrong(&|s| s.flows[0].hops = Some((0, 1))), "hops"),
            (wrong(&|s| s.path[0].up.loss = 2.0), "way back"),
            (
                wrong(&|s| {
                    s.path[0].down.outages = vec![Outage {
                        at: s.duration,
                        lasts: Duration::from_secs(1),
                    }];
                }),
                "a time before 60s",
            ),
            (
                wrong(&|s| s.flows[0].initial_window = Some(1)),
                "initial_window: out of range (got 1); expected 2 to",
            ),
            (
                wrong(&|s| s.flows[0].initial_rtt = Some(Duration::from_micros(5))),
                "initial_rtt: too short (got 5µs); expected 1ms",
            ),
            (
                wrong(&|s| s.flows[0].ack_every = 0),
                "ack_every: out of range (got 0); expected 1 to 100 packets",
            ),
        ] {
            assert!(error.contains(says), "{error}");
        }
    }
}
