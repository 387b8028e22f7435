//! Packet-delivery opportunities of a file in mahimahi's format.
//!
//! Each line is a millisecond, not before that of the line above, at which up
//! to 1504 bytes may leave. After the last line it begins again at the last
//! line's time. What of an opportunity nobody waits for is gone.

use std::fs;
use std::path::Path;

use anyhow::{ensure, Context, Result};

use super::capacity::Outages;
use super::Nanos;

/// Bytes that one opportunity carries.
const OPPORTUNITY: u64 = 1504;

const MILLISECOND: Nanos = 1_000_000;

/// A trace in operation.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Trace {
    /// Times of one round.
    times: Vec<Nanos>,
    /// Length of a round.
    round: Nanos,
    outages: Outages,
    /// The opportunity that is next, counted over all rounds.
    next: u64,
    /// Bytes that the present opportunity can still carry.
    left: u64,
    /// Opportunities before `next` that no outage took.
    passed: u64,
}

/// Checks that `path` is a trace.
///
/// # Errors
///
/// A file that cannot be read or is not a trace, with the line.
pub(crate) fn check(path: &Path) -> Result<()> {
    Trace::read(path, Outages::default()).map(drop)
}

impl Trace {
    /// # Errors
    ///
    /// A file that cannot be read or is not a trace, with the line.
    pub(super) fn read(path: &Path, outages: Outages) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| {
            let path = path.display();
            format!("trace: cannot read it (got {path}); expected a file of times in milliseconds")
        })?;
        Self::parse(&text, outages).with_context(|| format!("the trace {}", path.display()))
    }

    pub(super) fn parse(text: &str, outages: Outages) -> Result<Self> {
        let mut times = Vec::<Nanos>::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let at = line.parse::<u32>().ok().with_context(|| {
                format!("line {number}: invalid time (got {line}); expected whole milliseconds")
            })?;
            let at = Nanos::from(at) * MILLISECOND;
            ensure!(
                times.last().is_none_or(|last| *last <= at),
                "line {number}: time goes back (got {line}); expected at least that of the line above"
            );
            times.push(at);
        }
        let round = times.last().copied().unwrap_or(0);
        ensure!(
            round > 0,
            "trace: no opportunity after its beginning; expected one at least"
        );
        Ok(Trace {
            times,
            round,
            outages,
            next: 0,
            left: OPPORTUNITY,
            passed: 0,
        })
    }

    /// Bits per second over a round.
    pub(super) fn mean(&self) -> u64 {
        let bits = self.times.len() as u64 * OPPORTUNITY * 8;
        let mean = u128::from(bits) * 1_000_000_000 / u128::from(self.round);
        (mean as u64).max(1)
    }

    /// Returns the time of the opportunity `index`.
    fn time(&self, index: u64) -> Nanos {
        let count = self.times.len() as u64;
        index / count * self.round + self.times[(index % count) as usize]
    }

    /// Gives up what is left of the opportunity.
    fn skip(&mut self) {
        let at = self.time(self.next);
        self.passed += u64::from(self.outages.after(at) == at);
        self.next += 1;
        self.left = OPPORTUNITY;
    }

    /// Returns the time at which `bytes` that wait from `start` have been transmitted.
    pub(super) fn transmit(&mut self, start: Nanos, bytes: u64) -> Nanos {
        let mut needed = bytes;
        loop {
            let at = self.time(self.next);
            if at < start || self.left == 0 || self.outages.after(at) > at {
                self.skip();
                continue;
            }
            let taken = needed.min(self.left);
            needed -= taken;
            self.left -= taken;
            if needed == 0 {
                return at;
            }
        }
    }

    /// Bits of all opportunities until `at`.
    pub(super) fn offered(&mut self, at: Nanos) -> f64 {
        while self.time(self.next) <= at {
            self.skip();
        }
        (self.passed * OPPORTUNITY * 8) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = MILLISECOND;

    fn trace(text: &str) -> Trace {
        Trace::parse(text, Outages::default()).unwrap()
    }

    #[test]
    fn packets_leave_at_the_opportunities_which_come_again() {
        let mut trace = trace("1\n1\n4\n10\n");
        let sent: Vec<Nanos> = (0..6).map(|_| trace.transmit(0, 1504) / MS).collect();
        assert_eq!(sent, [1, 1, 4, 10, 11, 11]);
        assert_eq!(trace.mean(), 4 * 1504 * 8 * 100);
    }

    #[test]
    fn small_packets_share_an_opportunity_and_large_ones_take_several() {
        let mut trace = trace("1\n2\n3\n10\n");
        let mut send = |start, bytes| trace.transmit(start * MS, bytes) / MS;
        assert_eq!([send(0, 1000), send(1, 504), send(1, 1)], [1, 1, 2]);
        assert_eq!(send(2, 1503 + 1504), 3);
        // What nobody waited for is gone.
        assert_eq!(send(11, 1), 11);
        assert_eq!(send(13, 1504), 13);
    }

    #[test]
    fn what_it_offers_is_its_lines_times_1504_bytes() {
        let mut trace = trace("1\n1\n4\n10\n");
        let bits = 1504.0 * 8.0;
        for (at, lines) in [(0, 0.0), (1, 2.0), (9, 3.0), (10, 4.0), (25, 11.0)] {
            assert_eq!(trace.offered(at * MS), lines * bits, "{at}");
        }
    }

    #[test]
    fn what_is_no_trace_is_refused_with_its_line() {
        for (text, says) in [
            ("", "no opportunity"),
            ("0\n0\n", "no opportunity"),
            ("1\nx\n", "line 2: invalid time (got x)"),
            ("5\n3\n", "line 2: time goes back (got 3)"),
        ] {
            let error = Trace::parse(text, Outages::default()).unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
        }
        let error = Trace::read(Path::new("/nowhere"), Outages::default()).unwrap_err();
        assert!(error.to_string().contains("/nowhere"), "{error}");
    }
}
