//! Figures of a transfer: its sender by the qlog, and the packets that the link saw.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use petra_lab::testbed::{statistics, traces};
use petra_qlog::stats::Stats;
use serde::Serialize;

use crate::link::Report;

/// Figures of a transfer.
#[derive(Debug, Serialize)]
pub(crate) struct Figures {
    /// Goodput over the limit of the link.
    share: Option<f64>,
    /// From the first byte of the body to the last.
    goodput_bps: f64,
    /// The controller's estimate over the link's rate of UDP payload.
    estimate: Option<f64>,
    queue_ms: f64,
    queue_ms_p95: f64,
    /// Packets of the data.
    packets: u64,
    /// Packets that the link dropped or lost.
    lost: u64,
    /// Packets that loss detection declared lost.
    declared_lost: u64,
    /// Packets that were declared lost and must have arrived.
    spurious: u64,
    /// Packets back.
    acks: u64,
    reductions: BTreeMap<String, u64>,
    seconds: f64,
}

impl Figures {
    /// Reads the qlog in a folder. Reconnections leave more, without data: it is the largest.
    pub(crate) fn read(folder: &Path, link: &Report) -> Result<Self> {
        let logs = traces(folder)?;
        let log = logs.first().context("our end left no qlog")?;
        Self::of(statistics(log)?, link)
    }

    fn of(stats: Stats, link: &Report) -> Result<Self> {
        let goodput_bps = stats.body_bps.context("our qlog has no stream data")?;
        let over = |value: Option<f64>, limit: Option<f64>| Some(value? / limit?);
        let lost = link.down.missing();
        Ok(Figures {
            share: over(Some(goodput_bps), link.limit.goodput_bps),
            goodput_bps,
            estimate: over(stats.estimate_bps, link.limit.payload_bps),
            queue_ms: link.down.queue_ms,
            queue_ms_p95: link.down.queue_ms_p95,
            packets: link.down.packets,
            lost,
            declared_lost: stats.packets_lost,
            // More than the link has lost can only be what arrived after all. A lost
            // packet may also be one that asks for no acknowledgment.
            spurious: stats.packets_lost.saturating_sub(lost),
            acks: link.up.packets,
            reductions: stats.reductions,
            seconds: stats.seconds,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Limit;
    use crate::tally::Tally;

    #[test]
    fn a_packet_that_is_declared_lost_and_not_dropped_is_spurious() {
        let mut report = Report {
            up: Tally::default().report(),
            down: Tally::default().report(),
            limit: Limit {
                goodput_bps: Some(10e6),
                payload_bps: Some(16e6),
            },
        };
        (report.down.lost, report.down.tail_drops) = (3, 1);
        report.down.aqm_drops = 1;
        let stats = |packets_lost| Stats {
            body_bps: Some(9e6),
            estimate_bps: Some(12e6),
            packets_lost,
            ..Stats::default()
        };
        let figures = Figures::of(stats(7), &report).unwrap();
        assert_eq!((figures.share, figures.estimate), (Some(0.9), Some(0.75)));
        assert_eq!((figures.lost, figures.spurious), (5, 2));
        assert_eq!(Figures::of(stats(4), &report).unwrap().spurious, 0);
        assert!(Figures::of(Stats::default(), &report).is_err());
    }
}
