//! Traffic that does not care for congestion.

use std::time::Duration;

use anyhow::{ensure, Result};
use serde::{Deserialize, Serialize};

use super::{check_range, Scenario};
use crate::documented::documented;
use crate::units::{Maybe, Rate, Text, Time};

documented! {
    /// Datagrams of one size at a constant rate over one link of the path.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct CrossTraffic {
        /// Bits of IP packets per second.
        #[serde(with = "Text::<Rate>")]
        pub rate: u64,
        /// Bytes of each, IP and UDP header included: 28 to 65535.
        #[serde(default = "CrossTraffic::packet")]
        pub packet: usize,
        /// Time at which the first packet enters.
        #[serde(with = "Text::<Time>", default)]
        pub start: Duration,
        /// No one enters from this time on; without it, to the end.
        #[serde(
            with = "Maybe::<Time>",
            default,
            skip_serializing_if = "Option::is_none"
        )]
        pub stop: Option<Duration>,
        /// Direction of the packets.
        #[serde(default)]
        pub way: Way,
        /// Index of the link on the path, from 0.
        #[serde(default)]
        pub hop: usize,
    }
}

/// One of both ways over a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// That of the data.
    #[default]
    Down,
    /// That of the ACKs.
    Up,
}

impl CrossTraffic {
    fn packet() -> usize {
        1500
    }

    /// `rate` bits per second over the first link, in packets of 1500 bytes,
    /// the way of the data, from the beginning to the end.
    pub fn new(rate: u64) -> Self {
        CrossTraffic {
            rate,
            packet: Self::packet(),
            start: Duration::ZERO,
            stop: None,
            way: Way::Down,
            hop: 0,
        }
    }

    pub(super) fn check(&self, scenario: &Scenario) -> Result<()> {
        scenario.check_times(self.start, self.stop)?;
        let CrossTraffic {
            rate, packet, hop, ..
        } = *self;
        ensure!(
            rate > 0,
            "cross.rate: out of range (got 0); expected at least 1 bit/s"
        );
        check_range("cross.packet", packet, 28..=65_535, "bytes")?;
        let links = scenario.path.len();
        ensure!(
            hop < links,
            "cross.hop: no such link (got {hop}); expected 0 to {}",
            links.saturating_sub(1)
        );
        Ok(())
    }
}
