//! What an event says about congestion: each decision a value.

use super::super::controller::{Ack, Loss, Pto};
use super::Petra;

/// Least part of the window that a loss leaves in congestion avoidance: CUBIC's
/// beta (RFC 9438 section 4.6).
const BETA: f64 = 0.7;

/// Least part of the window that a drain leaves, where that is a datagram less: it
/// only has to take out what growth put in, and an estimate that is off must not
/// cost more at once.
const DRAIN: f64 = 0.85;

/// Consecutive PTO after which one may be congestion. The first is a probe for a
/// lost tail, and says nothing of a loss (RFC 9002 section 6.2).
const PTO_COUNT: u32 = 2;

/// What an event does to the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Decision {
    /// Down to this many bytes, which become ssthresh.
    Reduce(f64),
    Keep(Why),
}

/// Why the window stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// The recovery period has answered what was sent then.
    Answered,
    /// No queue stands, and not much is lost.
    NoQueue,
    /// A queue stands that rivals keep full.
    Rivals,
    /// It is not known yet what the last reduction did to the queue.
    Tested,
    /// The application holds the sender back: it fills no queue.
    AppLimited,
    /// A first probe timeout.
    TailProbe,
    /// There is no estimate yet.
    Unmeasured,
    /// The mechanism is off.
    Off,
}

impl Petra {
    /// Mechanism 4, best recovery.
    pub(super) fn judge_loss(&self, loss: &Loss) -> Decision {
        if self.window.answered(loss.last_sent) {
            return Decision::Keep(Why::Answered);
        }
        let heavy = self.losses.are_heavy(self.window.datagram());
        let bytes = self.window.bytes();
        let (Some(bdp), Some(target)) = (self.bdp(), self.ssthresh_target()) else {
            return if heavy || !self.on().best_recovery {
                Decision::Reduce(self.window.half())
            } else {
                Decision::Keep(Why::Unmeasured)
            };
        };
        if !self.on().best_recovery {
            // TCP Westwood, the base of the thesis.
            Decision::Reduce(target)
        } else if self.queue_explains_loss() {
            Decision::Reduce(target.max(BETA * bytes).min(bytes))
        } else if heavy {
            Decision::Reduce(bdp.max(BETA * bytes).min(bytes))
        } else {
            Decision::Keep(Why::NoQueue)
        }
    }

    /// Mechanism 5, timeout reaction. The thesis's least window waits for
    /// persistent congestion, where RFC 9002 section 7.6.2 demands it.
    pub(super) fn judge_pto(&self, pto: &Pto) -> Decision {
        if !self.on().timeout_reaction {
            return Decision::Keep(Why::Off);
        }
        if pto.count < PTO_COUNT {
            return Decision::Keep(Why::TailProbe);
        }
        match self.ssthresh_target() {
            None => Decision::Keep(Why::Unmeasured),
            Some(_) if pto.count > PTO_COUNT => Decision::Keep(Why::Answered),
            Some(target) if self.queue_explains_loss() => {
                Decision::Reduce(target.min(self.window.bytes()))
            }
            Some(_) => Decision::Keep(Why::NoQueue),
        }
    }

    /// Mechanism 1: slow start ends at what the path was seen to carry.
    pub(super) fn judge_start(&self, ack: &Ack) -> Decision {
        if !self.on().initial_ssthresh {
            return Decision::Keep(Why::Off);
        }
        match self.ssthresh_target() {
            None => Decision::Keep(Why::Unmeasured),
            Some(target) if self.start.is_flat() || self.queue.builds(ack.rtt.min) => {
                Decision::Reduce(target.min(self.window.bytes()))
            }
            Some(_) => Decision::Keep(Why::NoQueue),
        }
    }

    /// In congestion avoidance a queue of one's own is drained.
    pub(super) fn judge_queue(&self, ack: &Ack) -> Decision {
        if !self.config.drain {
            return Decision::Keep(Why::Off);
        }
        match self.ssthresh_target() {
            None => Decision::Keep(Why::Unmeasured),
            Some(_) if !self.queue_stands() => Decision::Keep(Why::NoQueue),
            Some(_) if self.window.answered(ack.last_sent) => Decision::Keep(Why::Answered),
            Some(_) if ack.app_limited => Decision::Keep(Why::AppLimited),
            Some(_) if self.rivals.are_there() => Decision::Keep(Why::Rivals),
            Some(_) if self.rivals.are_tested() => Decision::Keep(Why::Tested),
            Some(target) => {
                let bytes = self.window.bytes();
                let step = (DRAIN * bytes).min(bytes - self.window.datagram());
                Decision::Reduce(target.max(step).min(bytes))
            }
        }
    }
}
