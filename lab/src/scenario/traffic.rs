//! Traffic of a flow.

use std::time::Duration;

use anyhow::{ensure, Result};
use serde::{Deserialize, Serialize};

use super::Media;
use crate::documented::documented;
use crate::units::{Size, Text, Time};

/// Traffic of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Traffic {
    /// One body without end.
    #[default]
    Bulk,
    /// One body of this many bytes.
    Size(u64),
    /// Several bodies of one size.
    Bodies {
        /// Bytes of each.
        size: u64,
        /// Number of bodies.
        count: u32,
        /// Number of concurrent requests; 1 requests one body after the other.
        at_once: u32,
    },
    /// Bodies that the client stops after a time, and pauses.
    OnOff {
        /// Length of a download period.
        on: Duration,
        /// Length of a pause.
        off: Duration,
    },
    /// One body after another, as people read pages.
    Web(Web),
    /// Video frames as they are captured.
    Media(Media),
}

documented! {
    /// Objects of random size with random time between.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Web {
        /// Mean size of an object in bytes. Sizes have a heavy tail: Pareto with
        /// shape 1.2 (Crovella and Bestavros 1997 found 1.0 to 1.3), cut off at
        /// a thousand times the least.
        #[serde(with = "Text::<Size>")]
        pub size: u64,
        /// Mean of the exponential time between the end of an object and the next
        /// request.
        #[serde(with = "Text::<Time>")]
        pub think: Duration,
    }
}

impl Traffic {
    /// The most requests that are open at a time, which the server's stream
    /// limit allows.
    pub(crate) const MAX_AT_ONCE: u32 = 100;

    pub(super) fn check(&self) -> Result<()> {
        match *self {
            Traffic::Bulk => (),
            Traffic::Size(size) => ensure!(size > 0, "size: out of range (got 0); expected at least 1 byte"),
            Traffic::Bodies {
                size,
                count,
                at_once,
            } => ensure!(
                size > 0 && count > 0 && (1..=Self::MAX_AT_ONCE).contains(&at_once),
                "bodies: out of range (got {count} of {size} bytes, {at_once} at once); expected at \
                 least 1 of 1 byte, and 1 to {} at once",
                Self::MAX_AT_ONCE
            ),
            Traffic::OnOff { on, off } => ensure!(
                !on.is_zero() && !off.is_zero(),
                "on, off: out of range (got {on:?} and {off:?}); expected more than 0"
            ),
            Traffic::Media(media) => media.check()?,
            Traffic::Web(web) => ensure!(web.size > 0, "web.size: out of range (got 0); expected at least 1 byte"),
        }
        Ok(())
    }
}
