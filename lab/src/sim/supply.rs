//! What the path could have carried, over any time of a run.

use super::channel::{Capacity, Nanos, Schedule};
use crate::link::{self, Policer};
use crate::scenario::Scenario;

/// The capacity of every link, the way of the data, noted again and again.
pub(super) struct Supply {
    links: Vec<Link>,
    times: Vec<Nanos>,
    /// Share of the packets that get from a link's bottleneck to its end.
    passing: Vec<Schedule<f64>>,
    max_datagram_size: usize,
}

struct Link {
    capacity: Capacity,
    policer: Option<Policer>,
    /// Bits until each of the times.
    offered: Vec<f64>,
}

impl Supply {
    pub(super) fn new(scenario: &Scenario, capacities: Vec<Capacity>) -> Self {
        let policers = scenario.path.iter().map(|link| link.down.policer);
        let links = capacities.into_iter().zip(policers);
        let links = links.map(|(capacity, policer)| Link {
            capacity,
            policer,
            offered: Vec::new(),
        });
        let passing =
            |link: &link::Link| Schedule::new(&link.down, |stage| 1.0 - stage.mean_loss());
        let mut supply = Supply {
            links: links.collect(),
            times: Vec::new(),
            passing: scenario.path.iter().map(passing).collect(),
            max_datagram_size: scenario.max_datagram_size,
        };
        supply.note(0);
        supply
    }

    /// It is `now`, which is not before the last time.
    pub(super) fn note(&mut self, now: Nanos) {
        self.times.push(now);
        for link in &mut self.links {
            // A constant rate needs no notes.
            if !matches!(link.capacity, Capacity::Constant(_)) {
                link.offered.extend(link.capacity.offered(now));
            }
        }
    }

    /// The mean rate of a link in bits per second, without its policer's burst;
    /// `None` when it has no limit.
    fn rate(&self, link: usize, from: Nanos, to: Nanos) -> Option<f64> {
        let policed = self.links[link].policer.map(|policer| policer.rate as f64);
        smaller(self.bottleneck(link, from, to), policed)
    }

    /// The most that a link carries from one time to another, as a mean rate in
    /// bits per second: its policer may have a burst left.
    pub(super) fn most(&self, link: usize, from: Nanos, to: Nanos) -> Option<f64> {
        let seconds = to.saturating_sub(from).max(1) as f64 / 1e9;
        let policed = self.links[link]
            .policer
            .map(|policer| policer.rate as f64 + policer.burst as f64 * 8.0 / seconds);
        smaller(self.bottleneck(link, from, to), policed)
    }

    fn bottleneck(&self, link: usize, from: Nanos, to: Nanos) -> Option<f64> {
        let Link {
            capacity, offered, ..
        } = &self.links[link];
        if let Capacity::Constant(rate) = capacity {
            return Some(*rate as f64);
        }
        let bits = self.until(offered, to)? - self.until(offered, from)?;
        Some(bits * 1e9 / to.saturating_sub(from).max(1) as f64)
    }

    /// Bits until `at`, on a straight line between two notes.
    fn until(&self, offered: &[f64], at: Nanos) -> Option<f64> {
        let after = self.times.partition_point(|time| *time < at);
        let last = *offered.last()?;
        let (Some(right), Some(to)) = (offered.get(after), self.times.get(after)) else {
            return Some(last);
        };
        let Some(before) = after.checked_sub(1) else {
            return Some(*right);
        };
        let (left, from) = (offered[before], self.times[before]);
        let share = (at - from) as f64 / (to - from) as f64;
        Some(left + share * (right - left))
    }

    /// The narrowest link's mean rate in bits per second.
    pub(super) fn narrowest(
        &self,
        links: impl Iterator<Item = usize>,
        from: Nanos,
        to: Nanos,
    ) -> Option<f64> {
        links
            .filter_map(|link| self.rate(link, from, to))
            .min_by(f64::total_cmp)
    }

    /// The most HTTP/3 body bits per second that these links can carry.
    pub(super) fn goodput_limit(
        &self,
        links: std::ops::RangeInclusive<usize>,
        from: Nanos,
        to: Nanos,
    ) -> Option<f64> {
        let last = *links.end();
        links
            .filter_map(|link| {
                let size = self.max_datagram_size;
                let after = &self.passing[link..=last];
                let constant: Option<Vec<f64>> =
                    after.iter().map(|it| it.constant().copied()).collect();
                Some(match constant {
                    Some(passing) => {
                        let rate = self.most(link, from, to)?.round() as u64;
                        let passing: f64 = passing.iter().product();
                        link::goodput_limit(rate, 1.0 - passing, size)
                    }
                    None => {
                        let rate = self.rate_behind(link, after, from, to)?.round() as u64;
                        link::goodput_limit(rate, 0.0, size)
                    }
                })
            })
            .min_by(f64::total_cmp)
    }

    /// The mean rate of what gets over a link and past losses that change with
    /// time, from note to note.
    fn rate_behind(
        &self,
        link: usize,
        passing: &[Schedule<f64>],
        from: Nanos,
        to: Nanos,
    ) -> Option<f64> {
        let notes = self
            .times
            .iter()
            .copied()
            .filter(|at| from < *at && *at < to);
        let (mut begun, mut bits) = (from, 0.0);
        for at in notes.chain([to]) {
            let share = |it: &Schedule<f64>| {
                let area = |at| it.integral(at, |share| *share);
                (area(at) - area(begun)) * 1e9 / at.saturating_sub(begun).max(1) as f64
            };
            let time = at.saturating_sub(begun) as f64 / 1e9;
            bits += self.rate(link, begun, at)? * time * passing.iter().map(share).product::<f64>();
            begun = at;
        }
        Some(bits * 1e9 / to.saturating_sub(from).max(1) as f64)
    }
}

/// The smaller of two limits, of which each may be missing.
fn smaller(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    [one, other].into_iter().flatten().min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::link::{Direction, Step};
    use crate::scenario::Flow;
    use crate::sim::path::Path;

    #[test]
    fn the_narrowest_link_is_the_limit_at_its_rate_of_the_time() {
        let stepped = Direction {
            rate: Some(4_000_000),
            steps: vec![Step {
                at: Duration::from_secs(1),
                rate: Some(12_000_000),
                ..Step::default()
            }],
            loss: 0.5,
            ..Direction::default()
        };
        let wide = Direction {
            rate: Some(10_000_000),
            ..Direction::default()
        };
        let mut scenario = Scenario::new(link::Link::symmetric(stepped), vec![Flow::new("reno")]);
        scenario.path.push(link::Link::symmetric(wide));
        scenario.path.push(link::Link::default());
        let capacities = Path::new(&scenario).unwrap().capacities();
        let mut supply = Supply::new(&scenario, capacities);
        for tick in 1..=20 {
            supply.note(tick * 100_000_000);
        }
        let second = 1_000_000_000;
        let narrowest = |from, to| supply.narrowest(0..3, from, to);
        assert_eq!(narrowest(0, second), Some(4e6));
        assert_eq!(narrowest(0, 2 * second), Some(8e6));
        assert_eq!(narrowest(second, 2 * second), Some(10e6));
        assert_eq!(supply.narrowest(2..3, 0, second), None);
        // Half of 8 Mbit/s gets out of the first link, all of the second.
        let limit = supply.goodput_limit(0..=2, 0, 2 * second);
        assert_eq!(limit, Some(link::goodput_limit(8_000_000, 0.5, 1350)));
    }

    #[test]
    fn losses_that_change_count_when_they_are() {
        // 10 Mbit/s of which all comes through, and 1 of which a half does.
        let lossy = Direction {
            rate: Some(10_000_000),
            steps: vec![Step {
                at: Duration::from_secs(1),
                rate: Some(1_000_000),
                loss: Some(0.5),
                ..Step::default()
            }],
            repeat: Some(Duration::from_secs(2)),
            ..Direction::default()
        };
        let scenario = Scenario::new(link::Link::symmetric(lossy), vec![Flow::new("reno")]);
        let capacities = Path::new(&scenario).unwrap().capacities();
        let mut supply = Supply::new(&scenario, capacities);
        for tick in 1..=40 {
            supply.note(tick * 100_000_000);
        }
        let second = 1_000_000_000;
        let expected = link::goodput_limit(5_250_000, 0.0, 1350);
        assert_eq!(supply.goodput_limit(0..=0, 0, 4 * second), Some(expected));
        let slow = link::goodput_limit(500_000, 0.0, 1350);
        assert_eq!(
            supply.goodput_limit(0..=0, 3 * second, 4 * second),
            Some(slow)
        );
    }

    #[test]
    fn a_policer_is_a_limit_and_its_burst_counts_once() {
        let policed = Direction {
            rate: Some(10_000_000),
            policer: Some(crate::link::Policer {
                rate: 2_000_000,
                burst: 250_000,
            }),
            ..Direction::default()
        };
        let scenario = Scenario::new(link::Link::symmetric(policed), vec![Flow::new("reno")]);
        let capacities = Path::new(&scenario).unwrap().capacities();
        let supply = Supply::new(&scenario, capacities);
        let second = 1_000_000_000;
        assert_eq!(supply.narrowest(0..1, 0, second), Some(2e6));
        assert_eq!(supply.most(0, 0, 4 * second), Some(2.5e6));
        assert_eq!(supply.most(0, 0, second / 10), Some(10e6));
    }
}
