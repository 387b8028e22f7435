//! Definition of a link, for the simulator and netem alike.
//!
//! A link is one bottleneck with two directions, each a [`Direction`]. `netem` and `sim` implement
//! it.

mod aqm;
mod distribution;
mod limit;
mod options;
mod parts;
mod queue;
mod schedule;
mod setting;
mod text;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{ensure, Context, Result};
use serde::{Deserialize, Serialize};

pub use aqm::{Aqm, CoDel, FqCoDel, Red};
pub use distribution::Distribution;
pub use limit::{goodput_limit, IP_AND_UDP_HEADERS};
pub use options::LinkOptions;
pub use parts::{Aggregate, GilbertElliott, Handover, LossEvery, Lte, Policer};
pub use queue::Queue;
pub use schedule::{Outage, Step};

pub(crate) use options::option_name;

use crate::documented::documented;
use crate::units::{Maybe, Rate, Share, Text, Time};

documented! {
    /// One direction of a link. Packets pass what it has in this order:
    ///
    /// ```text
    ///  ack_filter ── aggregate ── policer ── queue ── rate ── losses ── delay ── slot ── handover
    /// ```
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct Direction {
        /// Bits per second of the bottleneck, counted over IP packets; `none` is as fast as the
        /// machine.
        #[serde(with = "Maybe::<Rate>")]
        pub rate: Option<u64>,
        /// Later values of one or more of rate, delay, jitter, loss and queue, in the order of
        /// time: `20s=2mbit` or `at=20s,delay=30ms,loss=1%`. A packet in transmission goes on at
        /// the new rate.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub steps: Vec<Step>,
        /// Times when the bottleneck stands and packets wait, in order: `10s+500ms`.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub outages: Vec<Outage>,
        /// Steps and outages start over after this time, and the direction is then as it was at the
        /// beginning.
        #[serde(with = "Maybe::<Time>", skip_serializing_if = "Option::is_none")]
        pub repeat: Option<Duration>,
        /// Instead of a rate: the packet-delivery opportunities of a file of mahimahi's, one line
        /// each with its millisecond, for up to 1504 bytes of what waits; over and over again.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub trace: Option<PathBuf>,
        /// Instead of a rate: what an LTE cell does,
        /// `mean=10mbit,deviation=0.5,coherence=100ms,block_errors=10%`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub lte: Option<Lte>,
        /// A token bucket ahead of the queue, `rate=10mbit,burst=30kB`: what finds no tokens is
        /// dropped, and nothing waits.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub policer: Option<Policer>,
        /// The most that waits for the bottleneck, in bandwidth-delay products, bytes or time. A
        /// BDP is the rate times the delays of the whole path, and never less than 15 kB.
        pub queue: Queue,
        /// The management of the queue: `drop-tail`, `codel` (RFC 8289), `fq_codel` (RFC 8290) or
        /// `red` (Floyd and Jacobson 1993, RFC 2309), with options as in
        /// `codel:target=5ms,interval=100ms`.
        #[serde(skip_serializing_if = "is_default")]
        pub aqm: Aqm,
        /// One-way propagation delay.
        #[serde(with = "Text::<Time>")]
        pub delay: Duration,
        /// Standard deviation of the delay; 0 for a constant one.
        #[serde(with = "Text::<Time>", skip_serializing_if = "is_default")]
        pub jitter: Duration,
        /// The distribution of the delay, by netem's names: `normal`, `uniform`, `pareto` (shape 3)
        /// or `paretonormal` (3 parts to 1).
        #[serde(skip_serializing_if = "is_default")]
        pub jitter_distribution: Distribution,
        /// Packets that leave the bottleneck within the same such time have the same jitter, as
        /// those that go over the air together; 0: each has its own.
        #[serde(with = "Text::<Time>", skip_serializing_if = "is_default")]
        pub jitter_hold: Duration,
        /// Lets packets overtake each other by jitter; otherwise one with a short delay
        /// waits for those before it.
        #[serde(skip_serializing_if = "is_default")]
        pub jitter_reorders: bool,
        /// Probability that a packet is lost behind the bottleneck.
        #[serde(with = "Text::<Share>", skip_serializing_if = "is_default")]
        pub loss: f64,
        /// Mean length of a run of losses in packets, at least 1 (Gilbert's model); without it each
        /// packet is lost or not by itself.
        #[serde(alias = "loss_run", skip_serializing_if = "Option::is_none")]
        pub mean_burst_length: Option<f64>,
        /// Instead of `loss`: losses in two states (Gilbert and Elliott),
        /// `to_bad=1%,to_good=25%,loss_good=0%,loss_bad=50%`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub burst: Option<GilbertElliott>,
        /// In addition, a burst of losses at a fixed distance in packets: `packets=500,burst=8`
        /// loses the last 8 of every 500.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub loss_every: Option<LossEvery>,
        /// Probability that a packet overtakes the delay and its jitter, not the slot or a
        /// handover's gap. Takes a delay.
        #[serde(with = "Text::<Share>", skip_serializing_if = "is_default")]
        pub reorder: f64,
        /// Packets arrive only at multiples of this time, all together, as behind a medium with a
        /// schedule; 0: each when it is there.
        #[serde(alias = "grid", with = "Text::<Time>", skip_serializing_if = "is_default")]
        pub slot: Duration,
        /// Packets that enter the queue together: with `packets=16,at_most=10ms` 16, or those that
        /// have come when the first has waited for 10 ms.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub aggregate: Option<Aggregate>,
        /// Of packets of less than 200 bytes without a long header only every n-th passes, at least
        /// 1, and one that comes 100 ms after the last: what boxes do that thin ACKs out.
        #[serde(alias = "decimate", skip_serializing_if = "is_one")]
        pub ack_filter: u32,
        /// Changes of the path, `every=10s,gap=50ms,delay=30ms`: at each nothing is delivered for
        /// the gap, and the delay is the other one.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub handover: Option<Handover>,
    }
}

/// A packet of fewer bytes, IP header included, may be an ACK alone.
pub const SMALL: usize = 200;

/// Both directions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Link {
    /// From the server to the client: the data.
    pub down: Direction,
    /// From the client to the server: the ACKs.
    pub up: Direction,
}

impl Link {
    /// The link whose way back has the rate, the delay and the queue of `down`
    /// and nothing else of it.
    pub fn symmetric(down: Direction) -> Self {
        let up = Direction {
            rate: down.rate,
            delay: down.delay,
            queue: down.queue,
            ..Direction::default()
        };
        Link { down, up }
    }

    /// The sum of both propagation delays, which a [`Queue::Bdp`] refers to.
    pub fn round_trip(&self) -> Duration {
        self.down.delay + self.up.delay
    }

    /// Checks that the link is valid.
    ///
    /// # Errors
    ///
    /// The invalid value and the valid ones, in one sentence.
    pub fn check(&self) -> Result<()> {
        self.down.check().context("the way of the data")?;
        self.up.check().context("the way back")
    }

    /// Checks that there can be such a link in a run of this length.
    ///
    /// # Errors
    ///
    /// As [`Self::check`].
    pub(crate) fn check_within(&self, duration: Duration) -> Result<()> {
        self.check()?;
        let down = self.down.check_end(duration);
        down.context("the way of the data")?;
        self.up.check_end(duration).context("the way back")
    }
}

/// Former keys, which plans and the command line may have for one more release. All but the last
/// are of a direction.
const FORMER_KEYS: [(&str, &str); 4] = [
    ("loss_run", "mean_burst_length"),
    ("grid", "slot"),
    ("decimate", "ack_filter"),
    ("exception", "known_deviation"),
];

/// Returns the key that a plan or an option has by its present or its former name.
pub(crate) fn present_key(key: &str) -> &str {
    let renamed = FORMER_KEYS.iter().find(|(former, _)| *former == key);
    renamed.map_or(key, |(_, present)| present)
}

/// Returns the former name of a key, if it had one.
fn former_key(key: &str) -> Option<&'static str> {
    let renamed = FORMER_KEYS.iter().find(|(_, present)| *present == key);
    renamed.map(|(former, _)| *former)
}

impl Direction {
    /// Checks that the direction is valid.
    ///
    /// # Errors
    ///
    /// The invalid value and the valid ones, in one sentence.
    pub fn check(&self) -> Result<()> {
        self.check_schedule()?;
        self.stages()
            .iter()
            .try_for_each(|(_, stage)| stage.check_stage())
    }

    /// The same of a direction without a schedule.
    fn check_stage(&self) -> Result<()> {
        self.check_capacity()?;
        self.check_losses()?;
        self.aqm.check()?;
        let reorder = self.reorder;
        ensure!(
            (0.0..=1.0).contains(&reorder),
            "reorder: out of range (got {reorder}); expected a probability from 0 to 1"
        );
        ensure!(
            reorder == 0.0 || !self.delay.is_zero(),
            "reorder: nothing to overtake (got a delay of 0); expected a delay"
        );
        ensure!(
            !self.jitter_reorders || !self.jitter.is_zero(),
            "jitter_reorders: no jitter (got 0); expected a jitter"
        );
        ensure!(
            self.ack_filter > 0,
            "ack_filter: out of range (got 0); expected at least 1"
        );
        if let Some(Aggregate { packets, .. }) = self.aggregate {
            ensure!(
                packets > 0,
                "aggregate.packets: out of range (got 0); expected at least 1"
            );
        }
        self.handover.map_or(Ok(()), |handover| handover.check())
    }

    /// Returns true if the bottleneck has a rate limit.
    pub(crate) fn is_limited(&self) -> bool {
        let policed = self.policer.is_some();
        policed || self.rate.is_some() || self.trace.is_some() || self.lte.is_some()
    }

    fn check_capacity(&self) -> Result<()> {
        ensure!(
            self.rate != Some(0),
            "rate: out of range (got 0); expected at least 1 bit/s"
        );
        let several = [
            self.rate.is_some(),
            self.trace.is_some(),
            self.lte.is_some(),
        ];
        ensure!(
            several.iter().filter(|one| **one).count() <= 1,
            "bottleneck: several rates (got more than one of rate, trace and lte); expected one"
        );
        let managed = self.aqm != Aqm::DropTail;
        ensure!(
            !managed || several.contains(&true),
            "aqm: no queue to manage (got no rate); expected rate, trace or lte"
        );
        self.policer.map_or(Ok(()), |policer| policer.check())?;
        self.lte.map_or(Ok(()), |lte| lte.check())
    }

    fn check_losses(&self) -> Result<()> {
        let loss = self.loss;
        ensure!(
            (0.0..=1.0).contains(&loss),
            "loss: out of range (got {loss}); expected a probability from 0 to 1"
        );
        if let Some(run) = self.mean_burst_length {
            // A single good packet between two runs is the least.
            let least = (loss / (1.0 - loss)).max(1.0);
            ensure!(
                run >= least && run.is_finite(),
                "mean_burst_length: too short for a loss of {loss} (got {run}); expected at least {least} packets"
            );
        }
        ensure!(
            self.burst.is_none() || (loss == 0.0 && self.mean_burst_length.is_none()),
            "burst: two models of loss (got loss or mean_burst_length, too); expected one"
        );
        self.loss_every.map_or(Ok(()), |every| every.check())?;
        self.burst.map_or(Ok(()), |burst| burst.check())
    }

    /// The share of packets that the link loses in the long run, steps aside.
    pub fn mean_loss(&self) -> f64 {
        let random = self.burst.map_or(self.loss, |burst| burst.mean_loss());
        match self.loss_every {
            Some(every) => 1.0 - (1.0 - random) * (1.0 - every.mean_loss()),
            None => random,
        }
    }
}

impl Default for Direction {
    fn default() -> Self {
        Direction {
            rate: None,
            steps: Vec::new(),
            outages: Vec::new(),
            repeat: None,
            trace: None,
            lte: None,
            policer: None,
            queue: Queue::Bdp(1.0),
            aqm: Aqm::DropTail,
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            jitter_distribution: Distribution::default(),
            jitter_hold: Duration::ZERO,
            jitter_reorders: false,
            loss: 0.0,
            mean_burst_length: None,
            burst: None,
            loss_every: None,
            reorder: 0.0,
            slot: Duration::ZERO,
            aggregate: None,
            ack_filter: 1,
            handover: None,
        }
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn is_one(value: &u32) -> bool {
    *value == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        let wrong = |direction: Direction| direction.check().unwrap_err().to_string();
        let link = Direction::default;
        assert!(link().check().is_ok());
        assert!(wrong(Direction {
            rate: Some(0),
            ..link()
        })
        .contains("1 bit/s"));
        assert!(wrong(Direction {
            loss: 1.5,
            ..link()
        })
        .contains("loss: out of range (got 1.5)"));
        assert!(wrong(Direction {
            reorder: f64::NAN,
            ..link()
        })
        .contains("reorder"));
        let runs = |loss, run| Direction {
            loss,
            mean_burst_length: Some(run),
            ..link()
        };
        assert!(runs(0.75, 3.0).check().is_ok());
        assert!(wrong(runs(0.75, 2.5)).contains("at least 3"));
        assert!(wrong(runs(0.01, 0.5)).contains("at least 1"));
        assert!(wrong(runs(1.0, 5.0)).contains("at least inf"));
    }
}
