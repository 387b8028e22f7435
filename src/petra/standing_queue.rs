//! The standing queue: packets wait although they have no need to.
//!
//! A single RTT sample shows little, because ACKs may be delayed, aggregated or jittered.
//! The minimum over an interval separates a queue that never empties from delays that come
//! and go.

use std::time::Duration;

use super::super::bandwidth::GRANULARITY;
use super::super::controller::Sent;
use super::busy_minimum::BusyMinimum;
use super::gathered_acks::Gathered;
use super::held_acks::HeldAcks;
use super::lasting_jitter::LastingJitter;
use super::lone_flight::LoneFlight;
use super::min_rtt_filter::{MinRttFilter, Minima};
use super::rounds::WindowedFilter;
use super::rtt_interval::IntervalMinimum;
use super::rtt_noise::RttNoise;
use super::slow_start::MAX_GAIN;

/// Divisor of the minimum RTT that gives the least delay worth draining. A smaller delay is
/// no larger than the measurement noise.
const DRAIN_DELAY_DIVISOR: u32 = 48;

/// Divisor of the minimum RTT that gives the least delay that explains a loss, as in
/// RFC 9406, Section 4.2 (<https://www.rfc-editor.org/rfc/rfc9406#section-4.2>). A link
/// whose delay varies by less loses packets for other reasons.
const LOSS_DELAY_DIVISOR: u32 = 8;

/// Divisor of the minimum RTT that gives the least delay of a queue of which the base RTT hides the
/// rest. Without it, heavy random losses slow a sender in `lab/plans/varying/heavy-losses.toml`.
const HIDDEN_DELAY_DIVISOR: u32 = 32;

/// `MIN_RTT_THRESH` of RFC 9406, Section 4.3
/// (<https://www.rfc-editor.org/rfc/rfc9406#section-4.3>).
pub(super) const MIN_RTT_THRESHOLD: Duration = Duration::from_millis(4);

/// Datagrams that may wait without forming a queue: one in transmission and one behind it.
const MAX_UNQUEUED_DATAGRAMS: f64 = 2.0;

/// Divisor of the minimum RTT that gives the least noise of slow start in which a rate that does
/// not grow shows no full path. The RTT then varies by a quarter within a round trip, or by a 48th
/// from one to the next. Of 1 and 4, the better in `lab/plans/suites/picoquic.toml`.
const GROWTH_NOISE_DIVISOR: u32 = 4;

/// Largest rate of ACKs that counts in slow start, in multiples of the highest delivery rate. The
/// window, and with it the delivery rate, grows by no more in the next round trip. Compressed ACKs
/// show more than the path's rate.
const MAX_RATE_GROWTH: f64 = 1.0 + MAX_GAIN;

/// Share of the former minimum RTT below which the fall of the RTT is no noise of the shorter path.
/// A smaller fall may be that after a handshake, whose datagrams take longer than the ACKs that
/// follow.
const MAX_NOISELESS_SHARE: f64 = 0.5;

/// Largest distance of the base RTT from the minimum RTT, in multiples of the noise: once
/// for the packet that made the minimum, once for a round trip that happens to be calm.
const MAX_BASE_OFFSET_NOISE: u32 = 2;

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

/// The sign of a queue in the RTT of the last packets. It proves nothing, but growth that waits for
/// proof overfills the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueueSign {
    /// They waited for less than half of the threshold.
    None,
    /// They waited for half of it or more.
    Possible,
    /// They waited for all of it or more.
    Likely,
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
    busy: BusyMinimum,
    noise: RttNoise,
    lone_flight: LoneFlight,
    lasting_jitter: LastingJitter,
    unqueued: Unqueued,
    /// The same at the highest rate so far: the delay that a connection's own datagrams add.
    /// At the present rate, a small window would make noise look small.
    own_delay: Unqueued,
    /// The same at the highest rate of ACKs in slow start. The window limits the delivery rate
    /// then, and makes the path look slow.
    slow_start_own_delay: Unqueued,
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
            busy: BusyMinimum::default(),
            noise: RttNoise::default(),
            lone_flight: LoneFlight::default(),
            lasting_jitter: LastingJitter::default(),
            unqueued: Unqueued::default(),
            own_delay: Unqueued::default(),
            slow_start_own_delay: Unqueued::default(),
        }
    }
}

impl StandingQueue {
    /// Takes a packet that was sent, and the bytes of a whole datagram.
    pub(super) fn on_sent(&mut self, sent: &Sent, datagram: u64) {
        self.held_acks.on_sent(sent);
        self.lone_flight.on_sent(sent, datagram);
    }

    /// Takes ACKs. `grows`: slow start lets the window grow.
    pub(super) fn on_acks(&mut self, acks: &Gathered, grows: bool) {
        let ack = &acks.ack;
        let max_rate = self.own_delay.rate.max(self.unqueued.rate);
        self.own_delay.set(max_rate, self.unqueued.datagram);
        let is_lone = self.lone_flight.on_ack(ack);
        let Some(rtt) = self.min_rtt.on_ack(ack) else {
            return;
        };
        let min_rtt = self.min_rtt.min_rtt(ack.rtt.min);
        self.lasting_jitter
            .on_acks(acks, min_rtt, self.unqueued.rate, self.own_delay.delay);
        let sample = self.held_acks.on_acks(acks, rtt, min_rtt);
        if is_lone && grows {
            // Beyond the RTT of earlier packets: where the base RTT falls later, the path has
            // become shorter, or the queue of others empty.
            let base = self.base_rtt(ack.rtt.min);
            self.noise.on_lone_packet(sample.saturating_sub(base));
        }
        if let Some(round) = self.round.on_sample(ack.now, sample, ack.rtt.smoothed) {
            self.lasting_jitter.end_round();
            self.floor.end_round();
            self.floor.add(round.min);
            self.ended = self.measured.take();
            let measured = self.ended.unwrap_or(round.min);
            self.busy.on_round(round.min, measured);
            self.noise.on_interval(&round, grows);
        }
        self.measured = Some(self.measured.map_or(rtt, |min| min.min(rtt)));
    }

    /// Takes the estimate of the path's rate in bytes per second, and the bytes of a datagram.
    pub(super) fn on_rate(&mut self, rate: f64, datagram: f64) {
        self.unqueued.set(rate, datagram);
    }

    /// Takes the window in datagrams.
    pub(super) fn on_window(&mut self, datagrams: f64) {
        self.busy.on_window(datagrams);
    }

    /// Takes the highest rate of ACKs of slow start so far, in bytes per second.
    pub(super) fn on_slow_start_rate(&mut self, rate: f64) {
        let delivery = self.own_delay.rate;
        let rate = rate.clamp(delivery, MAX_RATE_GROWTH * delivery);
        self.slow_start_own_delay.set(rate, self.own_delay.datagram);
    }

    /// The path has become longer, so that its minimum RTT was that of another path. Returns
    /// the minima of that one.
    pub(super) fn on_longer_path(&mut self, min_rtt: Duration) -> Minima {
        self.noise.on_longer_path();
        self.min_rtt.on_longer_path(min_rtt)
    }

    /// The delay has risen at once: an interval that began before has the delay of before.
    pub(super) fn on_delay_step(&mut self) {
        (self.measured, self.ended) = (None, None);
    }

    /// The path has become shorter, with this share of the former minimum RTT.
    pub(super) fn on_shorter_path(&mut self, share: f64) {
        self.busy.on_shorter_path();
        if share < MAX_NOISELESS_SHARE {
            self.noise.on_shorter_path();
        }
    }

    /// The path did not become longer: it has the former minima.
    pub(super) fn return_to(&mut self, former: Minima) {
        self.min_rtt.return_to(former);
    }

    /// Returns true if an interval has ended, which shows noise.
    pub(super) fn knows_noise(&self) -> bool {
        self.round.standing().is_some()
    }

    /// Returns true if the window is compared with similar ones.
    pub(super) fn compares_windows(&self) -> bool {
        self.busy.compares_windows()
    }

    /// Returns the minimum RTT of the last interval of a round trip, once.
    pub(super) fn take_round(&mut self) -> Option<Duration> {
        self.ended.take()
    }

    pub(super) fn on_spurious_loss(&mut self) {
        self.min_rtt.on_spurious_loss();
    }

    /// The minimum RTT of packets that were not reordered.
    pub(super) fn min_rtt(&self, transport_min_rtt: Duration) -> Duration {
        self.min_rtt.min_rtt(transport_min_rtt)
    }

    /// The base RTT: that of the path without a queue. It is the minimum RTT, or the least
    /// RTT of recent round trips where the delay jitters.
    ///
    /// With jitter, the minimum belongs to one packet in thousands, and no later round trip
    /// comes near it. The noise limits how far the base may lie above the minimum, and that of
    /// busy round trips above it, so that a queue without jitter does not raise the base.
    pub(super) fn base_rtt(&self, transport_min_rtt: Duration) -> Duration {
        self.base(transport_min_rtt, |min_rtt, noise| {
            let own_delay = self.slow_start_own_delay.delay;
            let jitter = self.noise.measured_in_slow_start(own_delay);
            let similar = self.busy.similar_excess(min_rtt, noise, jitter);
            similar.max(self.busy.excess(min_rtt, noise))
        })
    }

    /// The base RTT by which losses are judged: all, or in a loss trial those that show a hidden
    /// queue. Round trips with a similar window do not raise it: under active queue management,
    /// what they add would hide the queue that packets are dropped for.
    fn base_rtt_for_losses(&self, transport_min_rtt: Duration) -> Duration {
        self.base(transport_min_rtt, |min_rtt, noise| {
            self.busy.excess(min_rtt, noise)
        })
    }

    /// The minimum RTT, and what recent round trips add to it, as far as the noise and
    /// `busy_excess`, of the minimum RTT and the noise, explain that.
    fn base(
        &self,
        transport_min_rtt: Duration,
        busy_excess: impl Fn(Duration, Duration) -> Duration,
    ) -> Duration {
        let min_rtt = self.min_rtt.min_rtt(transport_min_rtt);
        let Some(floor) = self.floor.get() else {
            return min_rtt;
        };
        let noise = self.noise();
        let most = noise.saturating_mul(MAX_BASE_OFFSET_NOISE);
        let most = most.saturating_add(busy_excess(min_rtt, noise));
        min_rtt + floor.saturating_sub(min_rtt).min(most)
    }

    /// The RTT variation that is no queue, in congestion avoidance.
    pub(super) fn noise(&self) -> Duration {
        let range = self.noise.of_round(self.own_delay.delay);
        range.max(self.lasting_jitter.noise())
    }

    fn slow_start_noise(&self, transport_min_rtt: Duration) -> Duration {
        let min_rtt = self.min_rtt.min_rtt(transport_min_rtt);
        self.noise
            .of_slow_start(self.slow_start_own_delay.delay, min_rtt)
    }

    /// Returns true if every packet of the last round trip waited for long enough to make a
    /// drain worthwhile.
    pub(super) fn persists(&self, min_rtt: Duration) -> bool {
        self.persists_beyond(0.0, min_rtt)
    }

    /// Returns true if every packet of the last round trip waited for longer than `allowed`, a
    /// share of the base RTT, by as much as [`Self::persists`] asks for.
    pub(super) fn persists_beyond(&self, allowed: f64, min_rtt: Duration) -> bool {
        // Most ACKs meet no queue. The base RTT is no less than the minimum RTT.
        if self.round.excess(min_rtt) <= GRANULARITY {
            return false;
        }
        let base = self.base_rtt(min_rtt);
        let least = min_delay(min_rtt, DRAIN_DELAY_DIVISOR, self.unqueued.delay).max(self.noise());
        self.round.excess(base) > least.saturating_add(base.mul_f64(allowed))
    }

    /// Returns true if every packet of the last round trip waited for long enough to
    /// explain a loss.
    pub(super) fn explains_loss(&self, min_rtt: Duration) -> bool {
        self.exceeds_loss_delay(self.base_rtt_for_losses(min_rtt), min_rtt)
    }

    /// Returns true if what jitter in similar windows leaves of the delay explains a loss.
    pub(super) fn explains_loss_beyond_jitter(&self, min_rtt: Duration) -> bool {
        self.exceeds_loss_delay(self.base_rtt(min_rtt), min_rtt)
    }

    /// Returns true if every packet waited for long enough beyond `base` to explain a loss. The
    /// granularity of timers is no bound: within a site, a full queue may delay packets by less.
    fn exceeds_loss_delay(&self, base: Duration, min_rtt: Duration) -> bool {
        let least = min_rtt / LOSS_DELAY_DIVISOR;
        let least = least.max(self.unqueued.delay).max(self.noise());
        self.round.excess(base) > least
    }

    /// Returns true if every packet of the last round trip waited, for longer than the noise and
    /// than one datagram takes at the highest rate. It may be what the base RTT leaves of a queue
    /// that was there from the beginning. The minimum RTT may be that of a small packet.
    pub(super) fn may_be_hidden(&self, min_rtt: Duration) -> bool {
        // `own_delay` is that of two.
        let own = self.own_delay.delay / 2;
        let least = min_delay(min_rtt, HIDDEN_DELAY_DIVISOR, own).max(self.noise());
        self.round.excess(self.base_rtt_for_losses(min_rtt)) > least
    }

    /// Returns true if a queue builds in slow start, confirmed by a whole round trip.
    pub(super) fn is_building(&self, min_rtt: Duration) -> bool {
        let threshold = rtt_threshold(min_rtt).saturating_add(self.slow_start_noise(min_rtt));
        self.noise.knows_slow_start() && self.round.excess(self.base_rtt(min_rtt)) >= threshold
    }

    /// Returns true if the RTT of slow start varies by so much that the delivery rate may not grow
    /// although the path has room.
    pub(super) fn noise_hides_growth(&self, min_rtt: Duration) -> bool {
        self.slow_start_noise(min_rtt) >= self.min_rtt.min_rtt(min_rtt) / GROWTH_NOISE_DIVISOR
    }

    /// The RTT of the last packets, less the time for which ACKs were held back.
    pub(super) fn recent_rtt(&self) -> Duration {
        self.held_acks.recent()
    }

    /// The sign of a queue in slow start, if packets have this RTT. The threshold is that of
    /// RFC 9406; beyond it, or half of it, there is the noise.
    pub(super) fn sign_of_building(&self, min_rtt: Duration, recent: Duration) -> QueueSign {
        let threshold = rtt_threshold(min_rtt);
        let noise = self.slow_start_noise(min_rtt);
        let delay = recent.saturating_sub(self.base_rtt(min_rtt));
        if delay >= threshold.saturating_add(noise) {
            QueueSign::Likely
        } else if delay >= (threshold / 2).saturating_add(noise) {
            QueueSign::Possible
        } else {
            QueueSign::None
        }
    }

    /// Returns true if packets with this RTT may have met the beginning of a queue in congestion
    /// avoidance: half of the threshold of RFC 9406, at least two datagrams, and the noise.
    pub(super) fn may_be_returning(&self, min_rtt: Duration, recent: Duration) -> bool {
        let least = (rtt_threshold(min_rtt) / 2).max(self.unqueued.delay);
        // Most packets wait for less. The base RTT is no less than the minimum RTT.
        if recent.saturating_sub(self.min_rtt(min_rtt)) <= least {
            return false;
        }
        let noise = self.noise().max(self.slow_start_noise(min_rtt));
        recent.saturating_sub(self.base_rtt(min_rtt)) > least.saturating_add(noise)
    }
}

/// `RttThresh` of RFC 9406, Section 4.2.
fn rtt_threshold(min_rtt: Duration) -> Duration {
    (min_rtt / 8).clamp(MIN_RTT_THRESHOLD, Duration::from_millis(16))
}

/// Minimum queueing delay that counts as a standing queue, apart from noise. `unqueued`: the
/// transmission time of the datagrams that form no queue.
fn min_delay(min_rtt: Duration, divisor: u32, unqueued: Duration) -> Duration {
    (min_rtt / divisor).max(GRANULARITY).max(unqueued)
}

/// The time that a path of `rate` bytes per second takes to transmit `bytes`.
pub(super) fn transmission_time(bytes: f64, rate: f64) -> Duration {
    Duration::try_from_secs_f64(bytes / rate).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests;
