//! Time that a flow takes to use its path's limit again after the path has changed.

use std::time::Duration;

use super::metrics::{FlowReport, Sample};
use crate::link::Direction;
use crate::scenario::{Flow, Scenario, Traffic};

/// Seconds over which the use of the limit is taken: a queue that drains after an
/// outage, and a burst that waited in it, are no use that lasts.
const WINDOW: f64 = 1.0;

/// The share of what the narrowest link could carry from which on it is used.
const USED: f64 = 0.9;

/// Something that happens to a path.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Change {
    /// Seconds since the beginning.
    at: f64,
    /// Is there anything to come back to: another rate or delay, or the end of an
    /// interruption, which is an outage, a handover or a total loss? Its beginning only
    /// ends the time to recover from what was before.
    settles: bool,
}

/// Seconds of the slowest recovery of `flow` from the changes of its path: from a
/// change to the beginning of the first second in which the client gets 90 % of what
/// the narrowest link can carry.
///
/// A change that another follows within a second counts as a part of that, and one
/// less than a second before the flow's end does not count. 0 where nothing changes;
/// `None` where the flow does not come back before the next change or its end, where
/// no change leaves it a second, and for one that is not a download at full speed.
pub(super) fn longest(scenario: &Scenario, flow: &Flow, report: &FlowReport) -> Option<f64> {
    if !matches!(
        flow.traffic,
        Traffic::Bulk | Traffic::Size(_) | Traffic::Bodies { .. }
    ) {
        return None;
    }
    let (first, last) = flow.hops.unwrap_or((0, scenario.path.len() - 1));
    let links = scenario.path[first..=last].iter();
    let mut changes: Vec<Change> = links
        .flat_map(|link| [&link.down, &link.up])
        .flat_map(|direction| changes(direction, scenario.duration))
        .collect();
    changes.sort_by(|a, b| a.at.total_cmp(&b.at).then(a.settles.cmp(&b.settles)));
    slowest(&changes, report)
}

/// The same of `changes` in the order of time.
fn slowest(changes: &[Change], report: &FlowReport) -> Option<f64> {
    let end = report.start + report.active;
    let counts = |change: &&Change| change.at >= report.start && change.at + WINDOW <= end;
    let own: Vec<&Change> = changes.iter().filter(counts).collect();
    let (mut slowest, mut judged) = (0.0f64, own.is_empty());
    for change in own.iter().filter(|change| change.settles) {
        let next = changes.iter().find(|next| next.at > change.at);
        let until = next.map_or(end, |next| next.at.min(end));
        if until - change.at >= WINDOW {
            slowest = slowest.max(recovery(&report.samples, change.at, until)?);
            judged = true;
        }
    }
    judged.then_some(slowest)
}

/// Seconds from `at` to the first sample from which on the limit is used for a whole
/// [`WINDOW`], all of it before `until`.
fn recovery(samples: &[Sample], at: f64, until: f64) -> Option<f64> {
    let from = samples.partition_point(|sample| sample.time < at);
    let to = samples.partition_point(|sample| sample.time <= until);
    let span = samples.get(from..to)?;
    let (mut last, mut offered) = (0, 0.0);
    let bits = |index: usize| {
        let seconds = span[index].time - span[index - 1].time;
        Some(span[index].capacity? * seconds)
    };
    for (index, first) in span.iter().enumerate() {
        while span[last].time - first.time < WINDOW {
            last += 1;
            if last == span.len() {
                return None;
            }
            offered += bits(last)?;
        }
        let arrived = (span[last].arrived_bytes - first.arrived_bytes) as f64 * 8.0;
        if offered > 0.0 && arrived >= USED * offered {
            return Some(first.time - at);
        }
        offered -= bits(index + 1)?;
    }
    None
}

/// The changes of a direction until `end`, each as often as it comes.
fn changes(direction: &Direction, end: Duration) -> Vec<Change> {
    let stages = direction.stages();
    // A link that loses everything is interrupted as one that stands.
    let interrupted = |stage: &Direction| stage.loss >= 1.0;
    let state = |stage: &Direction| (stage.rate, stage.delay, interrupted(stage));
    let steps = stages
        .windows(2)
        .filter(|pair| state(&pair[0].1) != state(&pair[1].1));
    let mut period: Vec<(Duration, bool)> = steps
        .map(|pair| (pair[1].0, !interrupted(&pair[1].1)))
        .collect();
    for outage in &direction.outages {
        period.extend([(outage.at, false), (outage.at + outage.lasts, true)]);
    }
    let mut all = period.clone();
    if let Some(repeat) = direction.repeat {
        let (first, last) = (&stages[0].1, &stages[stages.len() - 1].1);
        if state(first) != state(last) {
            period.push((Duration::ZERO, !interrupted(first)));
        }
        all.extend(times(repeat, end).flat_map(|begin| {
            period
                .iter()
                .map(move |(at, settles)| (begin + *at, *settles))
        }));
    }
    if let Some(handover) = direction.handover {
        let each = times(handover.every, end);
        all.extend(each.flat_map(|at| [(at, false), (at + handover.gap, true)]));
    }
    let change = |(at, settles): (Duration, bool)| Change {
        at: at.as_secs_f64(),
        settles,
    };
    all.into_iter().map(change).collect()
}

/// The multiples of `every` before `end`, from the first on.
fn times(every: Duration, end: Duration) -> impl Iterator<Item = Duration> {
    let next = move |at: &Duration| Some(*at + every);
    std::iter::successors(Some(every), next).take_while(move |at| *at < end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{Handover, Outage, Step};

    const SECOND: Duration = Duration::from_secs(1);

    /// A flow of 20 s over 8 Mbit/s, to which `share(time)` of that comes.
    fn flow(share: impl Fn(f64) -> f64) -> FlowReport {
        let mut arrived = 0.0;
        let samples = (1..=1000).map(|tick| {
            let time = f64::from(tick) / 50.0;
            arrived += share(time) * 20_000.0;
            Sample {
                time,
                arrived_bytes: arrived as u64,
                capacity: Some(8e6),
                ..Sample::default()
            }
        });
        FlowReport {
            active: 20.0,
            samples: samples.collect(),
            ..FlowReport::default()
        }
    }

    fn settled(at: f64) -> Change {
        Change { at, settles: true }
    }

    fn begun(at: f64) -> Change {
        Change { at, settles: false }
    }

    #[test]
    fn a_recovery_ends_where_a_second_of_use_begins() {
        let late = flow(|time| if time > 8.5 { 1.0 } else { 0.1 });
        // A tenth of the second may be idle, which 0.1 of the limit makes a bit longer.
        let seconds = slowest(&[settled(5.0)], &late).unwrap();
        assert!((3.36..=3.42).contains(&seconds), "{seconds}");
        // A queue that drains for 0.8 s is no use that lasts.
        let drains = |time: f64| (5.0..5.8).contains(&time) || time > 7.0;
        let drained = flow(|time| f64::from(u8::from(drains(time))));
        let seconds = slowest(&[settled(5.0)], &drained).unwrap();
        assert!((1.88..=1.92).contains(&seconds), "{seconds}");
        assert_eq!(slowest(&[settled(5.0)], &flow(|_| 0.95)), Some(0.0));
    }

    #[test]
    fn the_slowest_counts_and_none_that_is_not_over() {
        let late = flow(|time| if (5.0..8.5).contains(&time) { 0.1 } else { 1.0 });
        let both = slowest(&[settled(2.0), settled(5.0)], &late).unwrap();
        assert_eq!(Some(both), slowest(&[settled(5.0)], &late));
        // The next change comes before.
        assert_eq!(slowest(&[settled(5.0), begun(8.0)], &late), None);
        assert_eq!(slowest(&[settled(5.0)], &flow(|_| 0.5)), None);
    }

    #[test]
    fn changes_close_to_each_other_are_one_and_the_last_second_has_none() {
        let late = flow(|time| if time > 8.0 { 1.0 } else { 0.0 });
        let last = slowest(&[settled(5.0), settled(5.5)], &late);
        assert_eq!(last, slowest(&[settled(5.5)], &late));
        let too_late = flow(|time| if time < 19.0 { 1.0 } else { 0.0 });
        assert_eq!(slowest(&[settled(19.5)], &too_late), Some(0.0));
        // Before the flow begins nothing is to be recovered from.
        let mut second = flow(|_| 0.5);
        second.start = 10.0;
        assert_eq!(slowest(&[settled(5.0)], &second), Some(0.0));
        // No change leaves time to judge it by.
        let restless: Vec<Change> = (1..=40)
            .map(|half| settled(f64::from(half) / 2.0))
            .collect();
        assert_eq!(slowest(&restless, &flow(|_| 1.0)), None);
    }

    #[test]
    fn changes_are_other_rates_and_delays_and_ends_of_interruptions() {
        let step = |at: u32, rate| Step {
            at: at * SECOND,
            rate,
            ..Step::default()
        };
        let loss = |at, loss| Step {
            loss: Some(loss),
            ..step(at, None)
        };
        let direction = Direction {
            rate: Some(1_000_000),
            // The second changes nothing, the third the loss alone; then all is lost.
            steps: vec![
                step(2, Some(2_000_000)),
                step(3, Some(2_000_000)),
                loss(4, 0.1),
                loss(7, 1.0),
                loss(9, 0.0),
            ],
            outages: vec![Outage {
                at: 5 * SECOND,
                lasts: SECOND,
            }],
            repeat: Some(10 * SECOND),
            ..Direction::default()
        };
        let period = |from: f64| {
            let steps = [settled(from + 2.0), begun(from + 7.0), settled(from + 9.0)];
            let outage = [begun(from + 5.0), settled(from + 6.0)];
            [&steps[..], &outage].concat()
        };
        let (once, again) = (period(0.0), [period(10.0), vec![settled(10.0)]].concat());
        assert_eq!(changes(&direction, 20 * SECOND), [once, again].concat());
        let handover = Direction {
            handover: Some(Handover {
                every: 4 * SECOND,
                gap: SECOND,
                delay: SECOND,
            }),
            ..Direction::default()
        };
        let gaps = [begun(4.0), settled(5.0), begun(8.0), settled(9.0)];
        assert_eq!(changes(&handover, 10 * SECOND), gaps);
    }

    #[test]
    fn what_is_no_download_at_full_speed_has_none() {
        let mut flow_of_pauses = Flow::new("reno");
        let link = crate::link::Link::symmetric(Direction::default());
        let scenario = Scenario::new(link, vec![flow_of_pauses.clone()]);
        let report = flow(|_| 0.1);
        assert_eq!(longest(&scenario, &flow_of_pauses, &report), Some(0.0));
        flow_of_pauses.traffic = Traffic::OnOff {
            on: SECOND,
            off: SECOND,
        };
        assert_eq!(longest(&scenario, &flow_of_pauses, &report), None);
    }
}
