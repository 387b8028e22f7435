//! The standing queue: packets wait although they have no need to.
//!
//! A single RTT sample shows little, because ACKs may be delayed, aggregated or jittered.
//! The minimum over an interval separates a queue that never empties from delays that come
//! and go.

use std::time::Duration;

use super::super::bandwidth::GRANULARITY;
use super::super::controller::{Ack, Sent, Time};
use super::held_acks::HeldAcks;
use super::min_rtt_filter::{MinRttFilter, Minima};
use super::rounds::WindowedFilter;

/// Divisor of the minimum RTT that gives the least delay worth draining. A smaller delay is
/// no larger than the measurement noise.
const DRAIN_DELAY_DIVISOR: u32 = 48;

/// Divisor of the minimum RTT that gives the least delay that explains a loss, as in
/// RFC 9406, Section 4.2 (<https://www.rfc-editor.org/rfc/rfc9406#section-4.2>). A link
/// whose delay varies by less loses packets for other reasons.
const LOSS_DELAY_DIVISOR: u32 = 8;

/// Datagrams that may wait without forming a queue: one in transmission and one behind it.
const MAX_UNQUEUED_DATAGRAMS: f64 = 2.0;

/// RTT samples that an interval needs: half of `N_RTT_SAMPLE` of RFC 9406, Section 4.3, as
/// the test uses the minima of two intervals.
const MIN_RTT_SAMPLES: u32 = 4;

/// Divisor of the weight that the last round trip has in the mean RTT range, as in the
/// smoothed RTT of RFC 9002, Section 5.3
/// (<https://www.rfc-editor.org/rfc/rfc9002#section-5.3>).
const RANGE_EWMA_DIVISOR: u32 = 8;

/// Intervals of slow start after which a queue can end it. The delays of the first flights
/// are too few to tell a queue from jitter. Growth waits meanwhile.
const MIN_SLOW_START_INTERVALS: u32 = 4;

/// Noise of slow start, in multiples of the swing: the best of 4, 6, 8 and 12 in
/// `petra-lab run lab/plans/varying/jitter.toml`, and no worse than 30.
const SWING_TO_NOISE: u32 = 12;

/// Largest distance of the base RTT from the minimum RTT, in multiples of the noise: once
/// for the packet that made the minimum, once for a round trip that happens to be calm.
const MAX_BASE_OFFSET_NOISE: u32 = 2;

/// RTT samples of one interval.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    began: Time,
    samples: u32,
    min: Duration,
    /// The largest of the aggregates' minima. Samples of one aggregate differ because their
    /// ACKs were held back, which is not jitter of the path.
    max: Duration,
    aggregate_began: Time,
    aggregate_min: Duration,
}

impl Interval {
    fn add(&mut self, now: Time, latest: Duration) {
        if self.samples == 0 {
            self.min = latest;
            self.aggregate_min = latest;
            self.aggregate_began = now;
        } else if now.saturating_sub(self.aggregate_began) >= GRANULARITY {
            self.max = self.max.max(self.aggregate_min);
            self.aggregate_min = latest;
            self.aggregate_began = now;
        }
        self.min = self.min.min(latest);
        self.aggregate_min = self.aggregate_min.min(latest);
        self.samples = self.samples.saturating_add(1);
    }

    fn range(&self) -> Duration {
        self.max.saturating_sub(self.min)
    }
}

/// The minimum RTT of the present interval and of the previous one.
#[derive(Clone, Copy, Debug, Default)]
struct IntervalMinimum {
    current: Interval,
    previous: Option<Duration>,
}

impl IntervalMinimum {
    /// Returns the interval that this sample ends, if any.
    fn on_sample(&mut self, now: Time, rtt: Duration, length: Duration) -> Option<Interval> {
        let complete = now.saturating_sub(self.current.began) >= length
            && self.current.samples >= MIN_RTT_SAMPLES;
        let ended = complete.then_some(self.current);
        if let Some(ended) = ended {
            self.previous = Some(ended.min);
            self.current = Interval {
                began: now,
                ..Interval::default()
            };
        }
        self.current.add(now, rtt);
        ended
    }

    /// The excess over `base`; zero until an interval has ended.
    fn excess(&self, base: Duration) -> Duration {
        self.previous.map_or(Duration::ZERO, |previous| {
            previous.min(self.current.min).saturating_sub(base)
        })
    }
}

/// Jitter between the round trips of slow start: the minimum RTT of an interval rises, and
/// falls again. A queue of one's own only rises while the window grows; where the path
/// becomes shorter, or competing flows leave, the minimum RTT falls without a rise.
///
/// Where packets keep their order, one late packet delays all behind it. A round trip then
/// has a small RTT range, and the next one another minimum RTT.
#[derive(Clone, Copy, Debug, Default)]
struct SlowStartJitter {
    intervals: u32,
    /// The least minimum RTT, and the largest since then.
    extremes: Option<(Duration, Duration)>,
    /// The smaller of a rise and the fall after it, at most.
    swing: Duration,
}

impl SlowStartJitter {
    /// Takes the minimum RTT of an interval that has ended.
    fn add(&mut self, min: Duration) {
        self.intervals = self.intervals.saturating_add(1);
        let (low, high) = self.extremes.unwrap_or((min, min));
        let swing = (high - low).min(high.saturating_sub(min));
        self.swing = self.swing.max(swing);
        self.extremes = Some(if min < low {
            (min, min)
        } else {
            (low, high.max(min))
        });
    }

    /// The window does not grow: a reduction or a pause makes the minimum RTT fall.
    fn pause(&mut self) {
        self.extremes = None;
    }

    fn noise(&self) -> Duration {
        self.swing * SWING_TO_NOISE
    }
}

/// The transmission time of the datagrams that form no queue. It is kept, since each ACK asks
/// for it several times, and the rate changes a few times per round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Unqueued {
    rate: f64,
    datagram: f64,
    delay: Duration,
}

impl Unqueued {
    /// Sets the rate of the path in bytes per second, and the bytes of a datagram.
    fn set(&mut self, rate: f64, datagram: f64) {
        if (rate, datagram) != (self.rate, self.datagram) {
            *self = Self {
                rate,
                datagram,
                delay: transmission_time(MAX_UNQUEUED_DATAGRAMS * datagram, rate),
            };
        }
    }
}

/// Detects a standing queue by RTT samples.
#[derive(Clone, Copy, Debug)]
pub(super) struct StandingQueue {
    min_rtt: MinRttFilter,
    held_acks: HeldAcks,
    /// The minimum RTT of the present interval as it was measured, with the time for which ACKs
    /// were held back. What is taken out may be too much, and differs from round to round.
    measured: Option<Duration>,
    /// The same of an interval that has ended and was not taken.
    ended: Option<Duration>,
    /// Intervals of one round trip.
    round: IntervalMinimum,
    /// The minimum RTT of the last round trips.
    floor: WindowedFilter<Duration>,
    /// The mean RTT range of a round trip, smoothed exponentially.
    range: Option<Duration>,
    slow_start_jitter: SlowStartJitter,
    unqueued: Unqueued,
    /// The same at the highest rate so far: the delay that a connection's own datagrams add.
    /// At the present rate, a small window would make noise look small.
    own_delay: Unqueued,
}

impl Default for StandingQueue {
    fn default() -> Self {
        Self {
            min_rtt: MinRttFilter::default(),
            held_acks: HeldAcks::default(),
            measured: None,
            ended: None,
            round: IntervalMinimum::default(),
            floor: WindowedFilter::new(Duration::min),
            range: None,
            slow_start_jitter: SlowStartJitter::default(),
            unqueued: Unqueued::default(),
            own_delay: Unqueued::default(),
        }
    }
}

impl StandingQueue {
    pub(super) fn on_sent(&mut self, sent: &Sent) {
        self.held_acks.on_sent(sent);
    }

    /// Takes an ACK. `grows`: slow start lets the window grow.
    pub(super) fn on_ack(&mut self, ack: &Ack, grows: bool) {
        let max_rate = self.own_delay.rate.max(self.unqueued.rate);
        self.own_delay.set(max_rate, self.unqueued.datagram);
        let Some(rtt) = self.min_rtt.on_ack(ack) else {
            return;
        };
        let min_rtt = || self.min_rtt.min_rtt(ack.rtt.min);
        let sample = self.held_acks.on_ack(ack, rtt, min_rtt);
        if let Some(round) = self.round.on_sample(ack.now, sample, ack.rtt.smoothed) {
            self.floor.end_round();
            self.floor.add(round.min);
            self.ended = self.measured.take();
            if grows {
                self.slow_start_jitter.add(round.min);
            } else {
                self.slow_start_jitter.pause();
            }
            let last = round.range();
            let range = self.range.unwrap_or(last);
            self.range = Some(range - range / RANGE_EWMA_DIVISOR + last / RANGE_EWMA_DIVISOR);
        }
        self.measured = Some(self.measured.map_or(rtt, |min| min.min(rtt)));
    }

    /// Takes the estimate of the path's rate in bytes per second, and the bytes of a datagram.
    pub(super) fn on_rate(&mut self, rate: f64, datagram: f64) {
        self.unqueued.set(rate, datagram);
    }

    /// The path has become longer, so that its minimum RTT was that of another path. Returns
    /// the minima of that one.
    pub(super) fn on_longer_path(&mut self, min_rtt: Duration) -> Minima {
        self.slow_start_jitter = SlowStartJitter::default();
        self.min_rtt.on_longer_path(min_rtt)
    }

    /// The path did not become longer: it has the former minima.
    pub(super) fn return_to(&mut self, former: Minima) {
        self.min_rtt.return_to(former);
    }

    /// Returns the minimum RTT of the last interval of a round trip, once.
    pub(super) fn take_round(&mut self) -> Option<Duration> {
        self.ended.take()
    }

    pub(super) fn on_spurious_loss(&mut self) {
        self.min_rtt.on_spurious_loss();
    }

    /// The base RTT: that of the path without a queue. It is the minimum RTT, or the least
    /// RTT of recent round trips where the delay jitters.
    ///
    /// With jitter, the minimum belongs to one packet in thousands, and no later round trip
    /// comes near it. The noise limits how far the base may lie above the minimum, so that
    /// a queue without jitter does not raise the base.
    pub(super) fn base_rtt(&self, transport_min_rtt: Duration) -> Duration {
        let min_rtt = self.min_rtt.min_rtt(transport_min_rtt);
        let Some(floor) = self.floor.get() else {
            return min_rtt;
        };
        let most = self.noise() * MAX_BASE_OFFSET_NOISE;
        min_rtt + floor.saturating_sub(min_rtt).min(most)
    }

    /// The RTT variation within a round trip, beyond that caused by the connection's own
    /// datagrams. A round trip's minimum is no more accurate than this.
    ///
    /// It is a mean and not a minimum: with a small window a round trip has few samples,
    /// and the calmest of ten shows hardly any jitter.
    fn noise(&self) -> Duration {
        self.range
            .unwrap_or_default()
            .saturating_sub(self.own_delay.delay)
    }

    fn slow_start_noise(&self) -> Duration {
        self.noise().max(self.slow_start_jitter.noise())
    }

    /// Returns true if every packet of the last round trip waited for long enough to make a
    /// drain worthwhile.
    pub(super) fn persists(&self, min_rtt: Duration) -> bool {
        self.persists_beyond(0.0, min_rtt)
    }

    /// Returns true if every packet of the last round trip waited for longer than `allowed`, a
    /// share of the base RTT, by as much as [`Self::persists`] asks for.
    pub(super) fn persists_beyond(&self, allowed: f64, min_rtt: Duration) -> bool {
        self.excess_is_above(allowed, min_rtt, DRAIN_DELAY_DIVISOR)
    }

    /// Returns true if every packet of the last round trip waited for long enough to
    /// explain a loss.
    pub(super) fn explains_loss(&self, min_rtt: Duration) -> bool {
        self.excess_is_above(0.0, min_rtt, LOSS_DELAY_DIVISOR)
    }

    fn excess_is_above(&self, allowed: f64, min_rtt: Duration, divisor: u32) -> bool {
        // Most ACKs meet no queue. The base RTT is no less than the minimum RTT.
        if self.round.excess(min_rtt) <= GRANULARITY {
            return false;
        }
        let base = self.base_rtt(min_rtt);
        let least = min_delay(min_rtt, divisor, self.unqueued.delay).max(self.noise());
        self.round.excess(base) > least.saturating_add(base.mul_f64(allowed))
    }

    /// Returns true if a queue builds in slow start, confirmed by a whole round trip.
    pub(super) fn is_building(&self, min_rtt: Duration) -> bool {
        let threshold = rtt_threshold(min_rtt) + self.slow_start_noise();
        self.slow_start_jitter.intervals >= MIN_SLOW_START_INTERVALS
            && self.round.excess(self.base_rtt(min_rtt)) >= threshold
    }

    /// The RTT of the last packets, less the time for which ACKs were held back.
    pub(super) fn recent_rtt(&self) -> Duration {
        self.held_acks.recent()
    }

    /// Returns true if packets with this RTT may have met the beginning of a queue, at half
    /// the threshold of [`Self::is_building`]. They prove nothing, but growth that waits for
    /// proof overfills the path.
    pub(super) fn may_be_building(&self, min_rtt: Duration, recent: Duration) -> bool {
        let threshold = rtt_threshold(min_rtt) / 2 + self.slow_start_noise();
        recent.saturating_sub(self.base_rtt(min_rtt)) >= threshold
    }
}

/// `RttThresh` of RFC 9406, Section 4.2.
fn rtt_threshold(min_rtt: Duration) -> Duration {
    (min_rtt / 8).clamp(Duration::from_millis(4), Duration::from_millis(16))
}

/// Minimum queueing delay that counts as a standing queue, apart from noise. `unqueued`: the
/// transmission time of the datagrams that form no queue.
fn min_delay(min_rtt: Duration, divisor: u32, unqueued: Duration) -> Duration {
    (min_rtt / divisor).max(GRANULARITY).max(unqueued)
}

/// The time that a path of `rate` bytes per second takes to transmit `bytes`.
fn transmission_time(bytes: f64, rate: f64) -> Duration {
    Duration::try_from_secs_f64(bytes / rate).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests;
