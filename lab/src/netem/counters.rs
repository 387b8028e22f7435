//! Counters of a transfer: packets at the qdiscs, and processor time.

use std::fs;

use anyhow::{bail, Result};
use serde::{Deserialize, Serialize};

use super::network;

/// Packets that passed and packets that were dropped at each place of the
/// path, over the transfer. `None` where there is no netem.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Qdiscs {
    /// The data's queue: drops are overflow.
    pub down_bottleneck: Option<Count>,
    /// The data's way: drops are the losses that were asked for.
    pub down_delay_line: Option<Count>,
    /// The ACKs' queue.
    pub up_bottleneck: Option<Count>,
    /// The ACKs' way.
    pub up_delay_line: Option<Count>,
}

/// A qdisc's counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Count {
    /// Packets that left.
    pub packets: u64,
    /// Packets that were dropped on entering.
    pub dropped: u64,
}

impl Qdiscs {
    pub(super) fn read() -> Result<Self> {
        let count = |place| -> Result<Option<Count>> {
            let netem = network::statistics(place)?;
            Ok(netem.map(|netem| Count {
                packets: netem["packets"].as_u64().unwrap_or(0),
                dropped: netem["drops"].as_u64().unwrap_or(0),
            }))
        };
        Ok(Qdiscs {
            down_bottleneck: count(network::DOWN_BOTTLENECK)?,
            down_delay_line: count(network::DOWN_DELAY_LINE)?,
            up_bottleneck: count(network::UP_BOTTLENECK)?,
            up_delay_line: count(network::UP_DELAY_LINE)?,
        })
    }

    pub(super) fn since(self, before: &Self) -> Self {
        let less = |now: Option<Count>, before: Option<Count>| {
            Some(Count {
                packets: now?.packets - before?.packets,
                dropped: now?.dropped - before?.dropped,
            })
        };
        Qdiscs {
            down_bottleneck: less(self.down_bottleneck, before.down_bottleneck),
            down_delay_line: less(self.down_delay_line, before.down_delay_line),
            up_bottleneck: less(self.up_bottleneck, before.up_bottleneck),
            up_delay_line: less(self.up_delay_line, before.up_delay_line),
        }
    }
}

/// The processors' time so far, in ticks.
pub(super) struct Processor {
    idle: u64,
    steal: u64,
    all: u64,
}

impl Processor {
    pub(super) fn read() -> Result<Self> {
        // The first line sums up all processors: user, nice, system, idle,
        // iowait and so on (proc(5)).
        let text = fs::read_to_string("/proc/stat")?;
        let line = text.lines().next().unwrap_or_default();
        let ticks: Vec<u64> = line
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        let [_, _, _, idle, iowait, _, _, steal, ..] = ticks[..] else {
            bail!("/proc/stat does not begin with the processors' times: {line}");
        };
        Ok(Processor {
            idle: idle + iowait,
            steal,
            all: ticks.iter().sum(),
        })
    }

    /// The busy share of the time since then.
    pub(super) fn busy_since(&self) -> Result<f64> {
        let now = Self::read()?;
        Ok(1.0 - self.share(&now, |it| it.idle))
    }

    /// The share of the time since then that a hypervisor gave to others.
    pub(super) fn stolen_since(&self) -> Result<f64> {
        let now = Self::read()?;
        Ok(self.share(&now, |it| it.steal))
    }

    fn share(&self, now: &Self, of: impl Fn(&Self) -> u64) -> f64 {
        let all = now.all.saturating_sub(self.all).max(1);
        of(now).saturating_sub(of(self)) as f64 / all as f64
    }
}
