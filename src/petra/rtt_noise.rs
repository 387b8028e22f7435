//! The noise of RTT samples: their variation without a queue.

use std::time::Duration;

use super::rtt_interval::Interval;

/// Divisor of the weight that the last round trip has in the mean RTT range, as in the
/// smoothed RTT of RFC 9002, Section 5.3
/// (<https://www.rfc-editor.org/rfc/rfc9002#section-5.3>).
const RANGE_EWMA_DIVISOR: u32 = 8;

/// Intervals of slow start after which a queue can end it. The delays of the first flights
/// are too few to tell a queue from jitter. Growth is less meanwhile, or waits.
const MIN_SLOW_START_INTERVALS: u32 = 4;

/// Noise of slow start, in multiples of the swing: the best of 4, 6, 8 and 12 in
/// `petra-lab run lab/plans/varying/jitter.toml`, and no worse than 30.
const SWING_TO_NOISE: u32 = 12;

/// Noise of slow start, in multiples of the largest delay of a lone packet. Those are few, and
/// find little of the jitter. Of 1, 2, 4 and 8, the least with the full effect in an earlier form
/// (docs/attempts.md, "Lone packets").
const LONE_TO_NOISE: u32 = 4;

/// Intervals of slow start of which the RTT ranges count: the last few, so that one in which all
/// ACKs stood still is no noise for long.
const RECENT_RANGES: usize = 5;

/// Divisor of the minimum RTT that gives the largest noise by the median RTT range. Of 8, 16 and no
/// limit, the largest that hardly lengthens the queue of slow links without jitter
/// (docs/attempts.md, "Jitter on long paths").
const MEDIAN_RANGE_DIVISOR: u32 = 16;

/// The jitter of slow start, by three signs:
///
/// 1. The minimum RTT of an interval rises, and falls again. A queue of one's own only rises while
///    the window grows; where the path becomes shorter, or competing flows leave, the minimum RTT
///    falls without a rise. Where packets keep their order, one late packet delays all behind it. A
///    round trip then has a small RTT range, and the next one another minimum RTT.
/// 2. [Lone packets](super::lone_flight) are delayed, which have no queue of one's own to wait in.
/// 3. The RTT ranges have a median. The smoothed range begins with the first flight, which often
///    arrives in a row, and has hardly any range. The last range of slow start has a queue of one's
///    own in it, which a mean would take for noise.
#[derive(Clone, Copy, Debug, Default)]
struct SlowStartJitter {
    intervals: u32,
    /// The RTT ranges of the last ones; an index is that of the interval, modulo their number.
    ranges: [Duration; RECENT_RANGES],
    /// Their lower median.
    range: Duration,
    /// The least minimum RTT, and the largest since then.
    extremes: Option<(Duration, Duration)>,
    /// The smaller of a rise and the fall after it, at most.
    swing: Duration,
    /// The largest delay of a lone packet.
    lone: Duration,
}

impl SlowStartJitter {
    /// Takes the minimum RTT and the RTT range of an interval that has ended.
    fn add(&mut self, min: Duration, range: Duration) {
        self.ranges[self.intervals as usize % RECENT_RANGES] = range;
        self.intervals = self.intervals.saturating_add(1);
        let known = RECENT_RANGES.min(self.intervals as usize);
        let mut ranges = self.ranges;
        ranges[..known].sort_unstable();
        self.range = ranges[(known - 1) / 2];
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

    fn noise(&self, own_delay: Duration, min_rtt: Duration) -> Duration {
        let lone = self.lone.saturating_sub(own_delay);
        let lone = lone.saturating_mul(LONE_TO_NOISE);
        let range = self.range.saturating_sub(own_delay);
        let range = range.min(min_rtt / MEDIAN_RANGE_DIVISOR);
        lone.max(self.swing * SWING_TO_NOISE).max(range)
    }

    /// The largest of the three as they were measured, beyond the delay of the connection's own
    /// datagrams.
    fn measured(&self, own_delay: Duration) -> Duration {
        let alone = self.lone.max(self.range).saturating_sub(own_delay);
        alone.max(self.swing)
    }
}

/// The noise within a round trip, and between the round trips of slow start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RttNoise {
    /// The mean RTT range of a round trip, smoothed exponentially.
    range: Option<Duration>,
    slow_start: SlowStartJitter,
}

impl RttNoise {
    /// Takes an interval that has ended. `grows`: slow start lets the window grow.
    pub(super) fn on_interval(&mut self, interval: &Interval, grows: bool) {
        let last = interval.range();
        if grows {
            self.slow_start.add(interval.min, last);
        } else {
            self.slow_start.pause();
        }
        let range = self.range.unwrap_or(last);
        self.range = Some(range - range / RANGE_EWMA_DIVISOR + last / RANGE_EWMA_DIVISOR);
    }

    /// Takes the delay of a lone packet in slow start, beyond the base RTT of that time.
    pub(super) fn on_lone_packet(&mut self, delay: Duration) {
        self.slow_start.lone = self.slow_start.lone.max(delay);
    }

    /// The path has become longer, with jitter of its own in slow start.
    pub(super) fn on_longer_path(&mut self) {
        self.slow_start = SlowStartJitter::default();
    }

    /// The path has become shorter: what the RTT fell by is no noise.
    pub(super) fn on_shorter_path(&mut self) {
        self.range = Some(Duration::ZERO);
        self.slow_start.pause();
    }

    /// The RTT variation within a round trip, beyond the delay that the connection's own
    /// datagrams add. A round trip's minimum is no more accurate than this.
    ///
    /// It is a mean and not a minimum: with a small window a round trip has few samples,
    /// and the calmest of ten shows hardly any jitter.
    pub(super) fn of_round(&self, own_delay: Duration) -> Duration {
        self.range.unwrap_or_default().saturating_sub(own_delay)
    }

    /// The same, or what slow start shows if that is more.
    pub(super) fn of_slow_start(&self, own_delay: Duration, min_rtt: Duration) -> Duration {
        self.of_round(own_delay)
            .max(self.slow_start.noise(own_delay, min_rtt))
    }

    /// The jitter that slow start has shown, without a factor.
    pub(super) fn measured_in_slow_start(&self, own_delay: Duration) -> Duration {
        self.slow_start.measured(own_delay)
    }

    /// Returns true if slow start has lasted for long enough to tell its noise from a queue.
    pub(super) fn knows_slow_start(&self) -> bool {
        self.slow_start.intervals >= MIN_SLOW_START_INTERVALS
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::events::ms;
    use super::*;

    /// The minimum RTT falls to a new least one before it rises.
    #[test]
    fn the_swing_of_slow_start_is_measured_from_the_least_minimum() {
        let mut jitter = SlowStartJitter::default();
        for min in [95, 90, 100, 90] {
            jitter.add(ms(min), ms(0));
        }
        assert_eq!(jitter.noise(ms(0), ms(90)), ms(12 * 10));
    }

    #[test]
    fn the_jitter_that_was_measured_is_the_largest_sign_without_its_factor() {
        let mut noise = RttNoise::default();
        assert_eq!(noise.measured_in_slow_start(ms(1)), ms(0));
        noise.slow_start.add(ms(90), ms(9));
        assert_eq!(noise.measured_in_slow_start(ms(1)), ms(8));
        noise.on_lone_packet(ms(10));
        assert_eq!(noise.measured_in_slow_start(ms(1)), ms(9));
        noise.slow_start.add(ms(110), ms(9));
        noise.slow_start.add(ms(100), ms(9));
        assert_eq!(noise.measured_in_slow_start(ms(1)), ms(10));
    }

    /// Noise of ranges that follow each other, with a minimum RTT of 160 ms.
    fn noise_of(ranges: &[u64]) -> Duration {
        let mut jitter = SlowStartJitter::default();
        for range in ranges {
            jitter.add(ms(160), ms(*range));
        }
        jitter.noise(ms(2), ms(160))
    }

    #[test]
    fn the_median_range_of_the_last_intervals_is_noise_of_slow_start() {
        assert_eq!(noise_of(&[]), ms(0));
        assert_eq!(noise_of(&[1, 9]), ms(0));
        assert_eq!(noise_of(&[1, 9, 8]), ms(8 - 2));
        assert_eq!(noise_of(&[900, 3, 4, 5]), ms(4 - 2));
        assert_eq!(noise_of(&[1, 1, 9, 8, 7, 5, 6]), ms(7 - 2));
    }

    #[test]
    fn the_fall_of_a_shorter_path_is_no_noise() {
        let mut jitter = SlowStartJitter::default();
        jitter.add(ms(90), ms(0));
        let mut noise = RttNoise {
            range: Some(ms(500)),
            slow_start: jitter,
        };
        noise.on_shorter_path();
        assert_eq!(noise.of_round(ms(0)), ms(0));
        noise.slow_start.add(ms(100), ms(0));
        noise.slow_start.add(ms(90), ms(0));
        assert_eq!(noise.of_slow_start(ms(0), ms(90)), ms(0));
    }

    #[test]
    fn it_is_at_most_a_sixteenth_of_the_minimum_rtt() {
        assert_eq!(noise_of(&[11, 11, 11]), ms(9));
        assert_eq!(noise_of(&[13, 13, 13]), ms(10));
    }

    #[test]
    fn the_largest_delay_of_a_lone_packet_is_noise_beyond_its_transmission() {
        let mut noise = RttNoise::default();
        noise.on_lone_packet(ms(13));
        noise.on_lone_packet(ms(11));
        assert_eq!(noise.of_slow_start(ms(3), ms(90)), ms(4 * 10));
        assert_eq!(noise.of_slow_start(ms(13), ms(90)), ms(0));
        noise.on_longer_path();
        assert_eq!(noise.of_slow_start(ms(3), ms(90)), ms(0));
    }
}
