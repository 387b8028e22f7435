//! Slim copies of a size.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek};

use super::copy::Copy;
use super::slim::Slim;
use super::Summary;
use crate::{Error, Space, Trace};

/// The widths within which packets are made one, in milliseconds, in the order
/// in which they are tried.
const WIDTHS: [f64; 9] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0];

const UNLIMITED: Size = Size {
    bytes: u64::MAX,
    packets: u64::MAX,
};

/// Size, or size limit, of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Its length in bytes.
    pub bytes: u64,
    /// Its packets of both directions.
    pub packets: u64,
}

impl Size {
    fn fits(self, budget: Size) -> bool {
        self.bytes <= budget.bytes && self.packets <= budget.packets
    }
}

/// A trace that has been made to fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Summary of the conversion.
    pub summary: Summary,
    /// Interval in milliseconds whose packets were merged into one; 0 without merging.
    pub width_ms: f64,
}

/// Rewrites a trace to what qvis draws, within `budget`.
///
/// Both files are overwritten; `scratch` holds what has to be read more often
/// than once.
///
/// # Errors
///
/// As [`rewrite`](crate::qvis::rewrite), and when the trace cannot be made to
/// fit.
pub fn fit(
    input: impl Read,
    budget: Size,
    scratch: &mut File,
    output: &mut File,
) -> Result<Fit, Error> {
    let (whole, lost) = trim(input, scratch, Slim::default(), UNLIMITED)?;
    if whole.size.fits(budget) {
        scratch.rewind().map_err(Error::Write)?;
        io::copy(scratch, output).map_err(Error::Write)?;
        return Ok(Fit {
            summary: whole,
            width_ms: 0.0,
        });
    }
    let mut smallest = whole.size;
    for width_ms in WIDTHS {
        scratch.rewind().map_err(Error::Write)?;
        output
            .rewind()
            .and_then(|()| output.set_len(0))
            .map_err(Error::Write)?;
        // The last one is seen to its end, to say how small it gets.
        let last = width_ms == WIDTHS[WIDTHS.len() - 1];
        let most = if last { UNLIMITED } else { budget };
        let slim = Slim::of_width(width_ms, lost.clone());
        let (Summary { size, .. }, _) = trim(&*scratch, output, slim, most)?;
        if size.fits(budget) {
            let summary = Summary { size, ..whole };
            return Ok(Fit { summary, width_ms });
        }
        smallest = size;
    }
    Err(Error::DoesNotFit { budget, smallest })
}

/// Writes what stays of a trace, up to where it is more than `most`; says
/// also which packets were lost.
fn trim(
    input: impl Read,
    output: &File,
    slim: Slim,
    most: Size,
) -> Result<(Summary, HashSet<(Space, u64)>), Error> {
    let mut trace = Trace::open(input)?;
    let mut copy = Copy::with(output, trace.header(), Some(slim))?;
    while let Some(event) = trace.next_event()? {
        copy.write(&event)?;
        if !copy.size().fits(most) {
            break;
        }
    }
    let (summary, lost) = copy.finish_slim()?;
    let end = trace.end();
    Ok((Summary { end, ..summary }, lost))
}
