//! Whether a queue stands in the path.
//!
//! A single round trip says little: ACKs may be held back, bunched or jittered.
//! The minimum over a stretch of time tells a queue that never empties from all
//! that comes and goes.

use std::time::Duration;

use super::super::bandwidth::GRANULARITY;
use super::super::controller::{Ack, Time};
use super::overtaking::Overtaking;
use super::rounds::Recent;

/// Least delay that is worth draining, as a part of the minimum RTT: below, the
/// measure's own noise is of the same size.
const WORTH_DRAINING: u32 = 48;

/// Least delay that explains a loss, as a part of the minimum RTT: RFC 9406
/// section 4.2 has the same. A link whose delay varies by less loses packets for
/// other reasons.
const EXPLAINS_LOSS: u32 = 8;

/// Datagrams that may wait without being taken for a queue: one that is being
/// transmitted and one behind it.
const DATAGRAMS: f64 = 2.0;

/// RTT samples without which a minimum says nothing: half of `N_RTT_SAMPLE` of
/// RFC 9406 section 4.3, as two minima are looked at.
const ENOUGH_SAMPLES: u32 = 4;

/// Weight of the last round in the average range, as RFC 9002 section 5.3 smooths RTTs:
/// a calm round or a wild one among eight changes little.
const SMOOTHING: u32 = 8;

/// How far above the minimum the usual RTT may lie, in times the noise. Both the luck of
/// the one packet that made the minimum and the calm of a round are at work.
const LUCK: f64 = 2.0;

/// The RTTs of a stretch of time.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    began: Time,
    samples: u32,
    least: Duration,
    /// The largest of what was least in each bunch of ACKs: that those of a bunch
    /// differ is not the path's jitter.
    most: Duration,
    bunch_began: Time,
    bunch_least: Duration,
}

impl Stretch {
    fn add(&mut self, now: Time, latest: Duration) {
        if self.samples == 0 {
            self.least = latest;
            self.bunch_least = latest;
            self.bunch_began = now;
        } else if now.saturating_sub(self.bunch_began) >= GRANULARITY {
            self.most = self.most.max(self.bunch_least);
            self.bunch_least = latest;
            self.bunch_began = now;
        }
        self.least = self.least.min(latest);
        self.bunch_least = self.bunch_least.min(latest);
        self.samples = self.samples.saturating_add(1);
    }

    fn range(&self) -> Duration {
        self.most.saturating_sub(self.least)
    }
}

/// The least RTT of the stretch under way and of the one before.
#[derive(Clone, Copy, Debug, Default)]
struct Minimum {
    now: Stretch,
    before: Option<Duration>,
}

impl Minimum {
    /// Returns the stretch that this ACK ends.
    fn on_sample(&mut self, now: Time, rtt: Duration, length: Duration) -> Option<Stretch> {
        let over =
            now.saturating_sub(self.now.began) >= length && self.now.samples >= ENOUGH_SAMPLES;
        let ended = over.then_some(self.now);
        if let Some(ended) = ended {
            self.before = Some(ended.least);
            self.now = Stretch {
                began: now,
                ..Stretch::default()
            };
        }
        self.now.add(now, rtt);
        ended
    }

    /// By how much it exceeds the path's; zero until there is a stretch to look
    /// back on.
    fn excess(&self, base: Duration) -> Duration {
        self.before.map_or(Duration::ZERO, |before| {
            before.min(self.now.least).saturating_sub(base)
        })
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    overtaking: Overtaking,
    round: Minimum,
    /// The least RTT of the last rounds.
    floor: Recent<Duration>,
    /// The range of RTTs within a round, on average over the last ones.
    range: Option<Duration>,
    /// The highest estimate of the path's rate so far, in bytes per second.
    fastest: f64,
    /// The time that path needs for the datagrams that are no queue.
    own: Duration,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            overtaking: Overtaking::default(),
            round: Minimum::default(),
            floor: Recent::new(Duration::min),
            range: None,
            fastest: 0.0,
            own: Duration::ZERO,
        }
    }
}

impl Queue {
    pub(super) fn on_ack(&mut self, ack: &Ack) {
        let Some(rtt) = self.overtaking.on_ack(ack) else {
            return;
        };
        if let Some(round) = self.round.on_sample(ack.now, rtt, ack.rtt.smoothed) {
            self.floor.end_round();
            self.floor.add(round.least);
            let last = round.range();
            let range = self.range.unwrap_or(last);
            self.range = Some(range - range / SMOOTHING + last / SMOOTHING);
        }
    }

    /// The path is estimated to carry `rate` bytes per second. What a connection's own
    /// datagrams add to a round trip is reckoned at the highest rate seen: a window that
    /// has become small must not make noise look small.
    pub(super) fn on_rate(&mut self, rate: f64, datagram: f64) {
        self.fastest = self.fastest.max(rate);
        self.own = transmission(DATAGRAMS * datagram, self.fastest);
    }

    pub(super) fn on_spurious_loss(&mut self) {
        self.overtaking.on_spurious_loss();
    }

    /// The RTT of the path without a queue: the minimum, or where the delay jitters
    /// what is usual at its best. A minimum is the luck of one packet in thousands,
    /// and no round trip comes near it again. How far luck goes is told by the noise; a
    /// queue, which is calm, does not count as jitter.
    pub(super) fn base(&self, min_rtt: Duration) -> Duration {
        let min_rtt = self.overtaking.min_rtt(min_rtt);
        let Some(floor) = self.floor.get() else {
            return min_rtt;
        };
        let luck = self.noise().mul_f64(LUCK);
        min_rtt + floor.saturating_sub(min_rtt).min(luck)
    }

    /// What the delay varies by within a round, beyond what the connection's own
    /// datagrams do to it: a round's minimum is no better known than that. The average
    /// and not the least: with a small window a round has few samples, and the calmest
    /// of ten shows hardly any jitter at all.
    fn noise(&self) -> Duration {
        self.range.unwrap_or_default().saturating_sub(self.own)
    }

    /// Whether no packet of the last round trip passed without waiting for so long
    /// that it is worth draining. `rate` is the estimate, in bytes per second.
    pub(super) fn stands(&self, min_rtt: Duration, datagram: f64, rate: f64) -> bool {
        self.exceeds(min_rtt, WORTH_DRAINING, datagram, rate)
    }

    /// The same, for so long that it explains a loss.
    pub(super) fn explains_loss(&self, min_rtt: Duration, datagram: f64, rate: f64) -> bool {
        self.exceeds(min_rtt, EXPLAINS_LOSS, datagram, rate)
    }

    /// Whether it is by more than this part of the minimum RTT, and than what cannot be
    /// told from none.
    fn exceeds(&self, min_rtt: Duration, part: u32, datagram: f64, rate: f64) -> bool {
        let limit = limit(min_rtt, part, datagram, rate).max(self.noise());
        self.round.excess(self.base(min_rtt)) > limit
    }

    /// Whether a queue builds: the test of slow start. A whole round trip proves it,
    /// while packets that waited hold growth.
    pub(super) fn builds(&self, min_rtt: Duration) -> bool {
        let limit = builds_limit(min_rtt) + self.noise();
        self.round.excess(self.base(min_rtt)) >= limit
    }

    /// Whether a packet that took `latest` may have met the beginning of one: half
    /// of the same threshold. One packet proves nothing, but to wait for the proof
    /// while the window grows is to overfill the path.
    pub(super) fn may_build(&self, min_rtt: Duration, latest: Duration) -> bool {
        let limit = builds_limit(min_rtt) / 2 + self.noise();
        latest.saturating_sub(self.base(min_rtt)) >= limit
    }
}

/// `RttThresh` of RFC 9406 section 4.2.
fn builds_limit(min_rtt: Duration) -> Duration {
    (min_rtt / 8).clamp(Duration::from_millis(4), Duration::from_millis(16))
}

/// The delay from which on a queue is one.
fn limit(min_rtt: Duration, part: u32, datagram: f64, rate: f64) -> Duration {
    (min_rtt / part)
        .max(GRANULARITY)
        .max(transmission(DATAGRAMS * datagram, rate))
}

/// The time that a path of `rate` needs for so many bytes.
fn transmission(bytes: f64, rate: f64) -> Duration {
    Duration::try_from_secs_f64(bytes / rate).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests;
