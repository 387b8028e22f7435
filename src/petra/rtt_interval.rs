//! Intervals of one round trip, with the minimum and the range of their RTT samples.

use std::time::Duration;

use super::super::bandwidth::GRANULARITY;
use super::super::controller::Time;

/// RTT samples that an interval needs: half of `N_RTT_SAMPLE` of RFC 9406, Section 4.3, as
/// the test uses the minima of two intervals.
const MIN_RTT_SAMPLES: u32 = 4;

/// Fewest aggregates of ACKs in a round trip. On a short path, those as long as the granularity of
/// timers would be too few to show jitter. Of 8 and 16, the latter (docs/attempts.md, "Paths within
/// a site").
const MIN_AGGREGATES: u32 = 16;

/// RTT samples of one interval.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Interval {
    began: Time,
    samples: u32,
    pub(super) min: Duration,
    /// The largest of the aggregates' minima. Samples of one aggregate differ because their
    /// ACKs were held back, which is not jitter of the path.
    max: Duration,
    /// The time within which ACKs belong to one aggregate.
    aggregate_length: Duration,
    aggregate_began: Time,
    aggregate_min: Duration,
}

impl Interval {
    fn add(&mut self, now: Time, latest: Duration, round_trip: Duration) {
        if self.samples == 0 {
            self.aggregate_length = (round_trip / MIN_AGGREGATES).min(GRANULARITY);
            self.min = latest;
            self.aggregate_min = latest;
            self.aggregate_began = now;
        } else if now.saturating_sub(self.aggregate_began) >= self.aggregate_length {
            self.max = self.max.max(self.aggregate_min);
            self.aggregate_min = latest;
            self.aggregate_began = now;
        }
        self.min = self.min.min(latest);
        self.aggregate_min = self.aggregate_min.min(latest);
        self.samples = self.samples.saturating_add(1);
    }

    /// The range of the RTT, apart from ACKs that were held back.
    pub(super) fn range(&self) -> Duration {
        self.max.saturating_sub(self.min)
    }
}

/// The minimum RTT of the present interval and of the previous one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IntervalMinimum {
    current: Interval,
    previous: Option<Duration>,
}

impl IntervalMinimum {
    /// Returns the interval that this sample ends, if any.
    pub(super) fn on_sample(
        &mut self,
        now: Time,
        rtt: Duration,
        length: Duration,
    ) -> Option<Interval> {
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
        self.current.add(now, rtt, length);
        ended
    }

    /// The smaller of both; `None` until an interval has ended.
    pub(super) fn standing(&self) -> Option<Duration> {
        self.previous.map(|previous| previous.min(self.current.min))
    }

    /// The excess of the smaller over `base`; zero until an interval has ended.
    pub(super) fn excess(&self, base: Duration) -> Duration {
        self.standing()
            .map_or(Duration::ZERO, |rtt| rtt.saturating_sub(base))
    }
}
