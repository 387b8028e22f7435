//! The response to each congestion signal, as a value: reduce the window, or keep it and why.

use super::super::controller::{Ack, CongestionExperienced, Loss, Pto};
use super::loss_rate::MIN_CONGESTION_LOSS_RATE;
use super::policing::POLICED_SHARE;
use super::standing_queue::StandingQueue;
use super::{Petra, Target};

/// Smallest share of the window that remains after a loss in congestion avoidance: the
/// multiplicative decrease factor of CUBIC (RFC 9438, Section 4.6,
/// <https://www.rfc-editor.org/rfc/rfc9438#section-4.6>).
pub(super) const BETA: f64 = 0.7;

/// Datagrams that losses without a known queue leave at least. Of fewer, an ACK per two packets
/// returns so seldom that a lost one ends in a PTO, and each PTO doubles the next.
const MIN_HEAVY_LOSS_DATAGRAMS: f64 = 6.0;

/// Share of what is delivered that remains while a policer is tested for. With so much less, it
/// drops hardly anything, and other flows need some round trips to take the rest.
const DIP_SHARE: f64 = BETA;

/// Datagrams that a test for a policer and the losses behind one leave at least.
const MIN_POLICED_DATAGRAMS: f64 = 4.0;

/// Loss rate of a long time above which losses may be those of a queue that the base RTT hides. Of
/// 3, 4, 5 and 10 %, the least that a random loss of 2.5 % does not exceed in
/// `lab/plans/varying/steady.toml`.
const MIN_HIDDEN_QUEUE_LOSS_RATE: f64 = 0.04;

/// Largest share of the window that remains after losses of such a queue. The BDP includes what the
/// base RTT hides. The reduction has to show in the delivery rate if there is competition.
const MAX_HIDDEN_QUEUE_SHARE: f64 = 0.85;

/// Largest share of the window that remains after Congestion Experienced: the factor of RFC 8511,
/// Section 3.1 (<https://www.rfc-editor.org/rfc/rfc8511#section-3.1>) for CUBIC.
const MAX_ECN_SHARE: f64 = 0.85;

/// Smallest share of the window that remains after a drain of more than one datagram. A
/// drain only removes what growth has added, so a wrong estimate must not cost more.
const MIN_DRAIN_SHARE: f64 = 0.85;

/// Largest share of the window that remains after a drain. A queue that persists although
/// the window is at the BDP may be that of competing flows, and a drain that leaves the
/// window as it is cannot tell.
const MAX_DRAIN_SHARE: f64 = 0.95;

/// Consecutive PTOs from which on a PTO may be a congestion signal. The first one only
/// probes for a lost tail (RFC 9002, Section 6.2,
/// <https://www.rfc-editor.org/rfc/rfc9002#section-6.2>).
const MIN_PTO_COUNT: u32 = 2;

/// The response of the window to an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Decision {
    /// Reduces the window to this many bytes, which also become ssthresh.
    Reduce(f64),
    /// Reduces the window to this many bytes, since the path has become shorter.
    Shorten(f64),
    /// Reduces the window to `target` bytes to test for a policer, with the window to return to.
    TestPolicer { target: f64, restore: f64 },
    /// Leaves the window.
    Keep(Why),
}

impl Decision {
    /// The name in qlog.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Decision::Reduce(_) => "reduce",
            Decision::Shorten(_) => "shorten",
            Decision::TestPolicer { .. } => "test_policer",
            Decision::Keep(why) => why.as_str(),
        }
    }
}

/// Reason for which the window is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// The packet was sent before the last recovery period, which has responded already.
    SentBeforeRecovery,
    /// No queue persists, and the loss rate is low.
    NoQueue,
    /// ACKs come in large aggregates, which look like a queue, and the window is not larger
    /// than they need.
    AckAggregation,
    /// Competing flows keep the queue full.
    Competition,
    /// The effect of the last reduction is not known yet.
    TestPending,
    /// The sender is app-limited, so it fills no queue.
    AppLimited,
    /// The first PTO: a probe for a lost tail.
    TailProbe,
    /// No bandwidth estimate exists yet.
    Unmeasured,
    /// The mechanism is switched off.
    Off,
}

impl Why {
    fn as_str(self) -> &'static str {
        match self {
            Why::SentBeforeRecovery => "sent_before_recovery",
            Why::NoQueue => "no_queue",
            Why::AckAggregation => "ack_aggregation",
            Why::Competition => "competition",
            Why::TestPending => "test_pending",
            Why::AppLimited => "app_limited",
            Why::TailProbe => "tail_probe",
            Why::Unmeasured => "unmeasured",
            Why::Off => "off",
        }
    }
}

impl Petra {
    /// Reports losses that are congestion without any other sign, in the last window or in a long
    /// time. Below ssthresh it takes more of them in a window: there a rate that is flat for some
    /// round trips is a sign, too.
    pub(super) fn loses_heavily(&self) -> bool {
        let datagram = self.window.datagram();
        if self.window.in_slow_start() {
            self.loss_rate.is_heavy_in_slow_start(datagram)
        } else {
            self.loss_rate.is_heavy(datagram) || self.loss_history.is_heavy(datagram)
        }
    }

    /// The response to a loss: mechanism 4, best recovery.
    pub(super) fn loss_response(&self, loss: &Loss) -> Decision {
        if self.window.sent_before_recovery(loss.last_sent) {
            return Decision::Keep(Why::SentBeforeRecovery);
        }
        let heavy = self.loses_heavily();
        let bytes = self.window.bytes();
        let Some(Target { bdp, bytes: target }) = self.target() else {
            return if heavy || !self.on().best_recovery {
                Decision::Reduce(self.window.half())
            } else {
                Decision::Keep(Why::Unmeasured)
            };
        };
        if !self.on().best_recovery {
            // TCP Westwood, the base of the thesis.
            Decision::Reduce(target)
        } else if self.competition.is_detected() {
            // The BDP is what the other flows leave. They yield to losses, and so must this.
            Decision::Reduce(BETA * bytes)
        } else if let Some(decision) = self.shorter_path_response(heavy) {
            decision
        } else if self.queue_explains_loss() {
            Decision::Reduce(target.max(BETA * bytes).min(bytes))
        } else if self.losses_show_queue() {
            self.hidden_queue_response(bdp)
        } else if let Some(decision) = self.policed_response(heavy) {
            decision
        } else if heavy {
            self.heavy_loss_response(bdp)
        } else {
            Decision::Keep(Why::NoQueue)
        }
    }

    /// The response to losses that show that the window is too large for a shorter path.
    fn shorter_path_response(&self, heavy: bool) -> Option<Decision> {
        let shorter = self.window_of_shorter_path()?;
        let most = BETA * self.window.bytes();
        (heavy || self.queue_explains_loss()).then_some(Decision::Shorten(shorter.min(most)))
    }

    /// Returns true if losses show that the base RTT hides a queue: more than the link may have
    /// lost, while every packet waits.
    pub(super) fn losses_show_queue(&self) -> bool {
        let datagram = self.window.datagram();
        // The queue is a sign of its own: what is lost by chance need not be excluded.
        let many = self.loss_rate.is_above(MIN_CONGESTION_LOSS_RATE, datagram);
        let lasting = self
            .loss_history
            .is_above(MIN_HIDDEN_QUEUE_LOSS_RATE, datagram);
        (many || lasting) && self.test_queue(StandingQueue::may_be_hidden)
    }

    /// The response to losses of a queue that the base RTT hides. It also begins a test for
    /// competition, as other reductions do.
    fn hidden_queue_response(&self, bdp: f64) -> Decision {
        let bytes = self.window.bytes();
        let reduced = bdp.min(MAX_HIDDEN_QUEUE_SHARE * bytes).max(BETA * bytes);
        let least = MIN_HEAVY_LOSS_DATAGRAMS * self.window.datagram();
        Decision::Reduce(reduced.max(least).min(bytes))
    }

    /// The response to a loss behind a policer. A loss below the safe window is the link's if
    /// hardly anything is lost, and otherwise one that other flows have caused.
    fn policed_response(&self, heavy: bool) -> Option<Decision> {
        let bytes = self.window.bytes();
        let share = if heavy { BETA } else { POLICED_SHARE };
        let exceeds = bytes > self.policing.safe_window()?;
        let datagram = self.window.datagram();
        let notable = self.loss_rate.is_notable(datagram) && !heavy;
        if !exceeds && !notable {
            return None;
        }
        let least = (MIN_POLICED_DATAGRAMS * datagram).min(bytes);
        let reduced = least.max(share * bytes);
        Some(if self.policing.may_dip() {
            let target = least.max(DIP_SHARE * bytes);
            let restore = reduced;
            Decision::TestPolicer { target, restore }
        } else {
            Decision::Reduce(reduced)
        })
    }

    /// The response to heavy losses without a queue: the BDP. If the window is there already, it is
    /// less than what is delivered, as a test for a policer.
    fn heavy_loss_response(&self, bdp: f64) -> Decision {
        let bytes = self.window.bytes();
        let least = MIN_HEAVY_LOSS_DATAGRAMS * self.window.datagram();
        let reduced = bdp.max(BETA * bytes).max(least).min(bytes);
        let delivered = (1.0 - self.loss_history.share()) * bytes;
        let least = MIN_POLICED_DATAGRAMS * self.window.datagram();
        let target = (DIP_SHARE * reduced.min(delivered)).max(least);
        let is_test = target <= POLICED_SHARE * reduced && reduced >= POLICED_SHARE * bytes;
        if is_test && self.policing.may_dip() {
            Decision::TestPolicer {
                target,
                restore: reduced,
            }
        } else {
            Decision::Reduce(reduced)
        }
    }

    /// The response to Congestion Experienced. AQM marks while its queue is short, so a short
    /// queue is no reason to keep the window.
    pub(super) fn ecn_response(&self, marks: &CongestionExperienced) -> Decision {
        if self.window.sent_before_recovery(marks.last_sent) {
            return Decision::Keep(Why::SentBeforeRecovery);
        }
        let bytes = self.window.bytes();
        let target = self.ssthresh_target().unwrap_or_default();
        let compete = self.competition.is_detected();
        let most = if compete { BETA } else { MAX_ECN_SHARE };
        Decision::Reduce(target.clamp(BETA * bytes, most * bytes))
    }

    /// The response to a PTO: mechanism 5, timeout reaction. The thesis's minimum window
    /// is left to persistent congestion, which demands it (RFC 9002, Section 7.6.2).
    pub(super) fn pto_response(&self, pto: &Pto) -> Decision {
        if !self.on().timeout_reaction {
            return Decision::Keep(Why::Off);
        }
        if pto.count < MIN_PTO_COUNT {
            return Decision::Keep(Why::TailProbe);
        }
        match self.ssthresh_target() {
            None => Decision::Keep(Why::Unmeasured),
            Some(_) if pto.count > MIN_PTO_COUNT => Decision::Keep(Why::SentBeforeRecovery),
            Some(target) if self.queue_explains_loss() => {
                Decision::Reduce(target.min(self.window.bytes()))
            }
            Some(_) => Decision::Keep(Why::NoQueue),
        }
    }

    /// The response of slow start to an ACK: mechanism 1. Slow start ends when the delivery
    /// rate no longer grows or a queue builds. Where a queue builds, at least half of the
    /// window remains: a round trip ago it was not larger, and no queue showed.
    pub(super) fn slow_start_response(&self, ack: &Ack) -> Decision {
        if !self.on().initial_ssthresh {
            return Decision::Keep(Why::Off);
        }
        match self.ssthresh_target() {
            None => Decision::Keep(Why::Unmeasured),
            Some(target) if self.slow_start.is_flat() => {
                Decision::Reduce(target.min(self.window.bytes()))
            }
            Some(target) if self.queue.is_building(ack.rtt.min) => {
                Decision::Reduce(target.clamp(self.window.half(), self.window.bytes()))
            }
            Some(_) => Decision::Keep(Why::NoQueue),
        }
    }

    /// The response of congestion avoidance to an ACK: drains a self-inflicted queue.
    pub(super) fn queue_response(&self, ack: &Ack) -> Decision {
        if !self.config.drain {
            return Decision::Keep(Why::Off);
        }
        if self.delivery.estimate().is_some() && !self.queue_is_too_long() {
            return Decision::Keep(Why::NoQueue);
        }
        match self.target() {
            None => Decision::Keep(Why::Unmeasured),
            Some(_) if self.window.sent_before_recovery(ack.last_sent) => {
                Decision::Keep(Why::SentBeforeRecovery)
            }
            Some(_) if ack.app_limited => Decision::Keep(Why::AppLimited),
            Some(_) if self.competition.is_detected() => Decision::Keep(Why::Competition),
            Some(_) if self.competition.is_testing() => Decision::Keep(Why::TestPending),
            Some(target) => {
                let bytes = self.window.bytes();
                let allowed = target.bdp * self.config.queue.allowed_delay();
                let aggregated = target.is_of_aggregates();
                let target = target.bytes + allowed;
                if aggregated && target >= bytes {
                    return Decision::Keep(Why::AckAggregation);
                }
                let most = if aggregated {
                    bytes
                } else {
                    MAX_DRAIN_SHARE * bytes
                };
                let step = (MIN_DRAIN_SHARE * bytes).min(bytes - self.window.datagram());
                Decision::Reduce(target.max(step).min(most))
            }
        }
    }
}
