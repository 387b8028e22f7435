//! Raw traces made into ones that qvis opens.
//!
//! What it takes, and why, is in `docs/qlog.md`. Records stay as they are but
//! for what has to change, so that nothing that qvis does not know is lost.

mod copy;
mod edits;
mod fit;
mod frames;
mod names;
mod rewriter;
mod slim;

use std::io::{Read, Seek, Write};

use crate::{End, Error, Trace};

pub use self::copy::Copy;
pub use self::fit::{fit, Fit, Size};

/// Placeholder for "no value" in quiche's 64-bit numbers.
pub(crate) const NO_VALUE: &str = "18446744073709551615";

/// Metrics that quiche fills with its initial RTT of 333 ms before the first sample.
pub const RTT_FIELDS: [&str; 4] = ["min_rtt", "smoothed_rtt", "latest_rtt", "rtt_variance"];

/// Source of a trace's events of lost packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// It has none.
    None,
    /// The connection logged them.
    Logged,
    /// They are inferred, and each has `"petra_inferred":true`.
    Inferred,
    /// Some are logged and some inferred.
    Both,
}

impl Source {
    /// As the header has it in `petra_packet_lost`.
    pub fn as_str(self) -> &'static str {
        match self {
            Source::None => "none",
            Source::Logged => "logged",
            Source::Inferred => "inferred",
            Source::Both => "logged and inferred",
        }
    }
}

/// Summary of the conversion of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Events that were read.
    pub events: u64,
    /// Size of the output.
    pub size: Size,
    /// Lost packets that the trace itself has events of.
    pub logged: u64,
    /// Lost packets that were inferred.
    pub inferred: u64,
    /// Lost packets as the connection counted them; `None` when the trace does
    /// not have the number.
    pub counted: Option<u64>,
    /// The missing end of the trace, which the copy lacks too.
    pub end: End,
}

impl Summary {
    /// The source of the events of lost packets.
    pub fn losses(&self) -> Source {
        match (self.logged, self.inferred) {
            (0, 0) => Source::None,
            (_, 0) => Source::Logged,
            (0, _) => Source::Inferred,
            _ => Source::Both,
        }
    }
}

/// Level of detail of a copy.
#[derive(Clone, Debug, PartialEq)]
pub enum Detail {
    /// Everything.
    All,
    /// The content of qvis's congestion graph: packets with their acknowledgments and limits, lost
    /// packets, and metrics. Of the metrics it keeps the latest values every 5 ms and every
    /// congestion window.
    Drawn,
}

/// Rewrites a trace as a whole.
///
/// # Errors
///
/// When the trace is broken before its last record, or the output cannot be
/// written. What was written by then is no whole trace.
pub fn rewrite(
    input: impl Read,
    output: impl Write + Seek,
    detail: &Detail,
) -> Result<Summary, Error> {
    let mut trace = Trace::open(input)?;
    let mut copy = Copy::new(output, trace.header(), detail)?;
    while let Some(event) = trace.next_event()? {
        copy.write(&event)?;
    }
    let summary = copy.finish()?;
    Ok(Summary {
        end: trace.end(),
        ..summary
    })
}
