//! Effect of a switch: the difference between the same runs with it and without it.

use std::collections::BTreeMap;

use super::manifest::{Axis, Manifest};
use super::row::Row;
use super::set::Results;
use super::statistics::{mean, Summary};

/// Difference that one switch makes to a metric, for one controller in one row: the value with it
/// minus the value without it, of runs with the same seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The axis.
    pub switch: String,
    /// The effect while all other switches are off.
    pub alone: Option<Summary>,
    /// The effect while all other switches are on.
    pub last: Option<Summary>,
    /// The mean over all settings of the other switches.
    pub mean: Option<Summary>,
}

/// All switches' effects on one controller in one place.
#[derive(Clone, Debug, PartialEq)]
pub struct Effects {
    /// The case and the places on axes that are no switches.
    pub place: String,
    /// As the plan calls it.
    pub controller: String,
    /// The metric's mean with all switches on.
    pub all: Option<Summary>,
    /// The metric's mean with all switches off.
    pub none: Option<Summary>,
    /// In the plan's order.
    pub switches: Vec<Effect>,
}

/// The axes of a plan that are switches: `on` and `off`.
pub fn switches(manifest: &Manifest) -> Vec<&Axis> {
    let is_switch = |axis: &&Axis| {
        let mut values: Vec<&str> = axis.values.iter().map(String::as_str).collect();
        values.sort_unstable();
        values == ["off", "on"]
    };
    manifest.axes.iter().filter(is_switch).collect()
}

/// The effects on a metric, place by place and controller by controller.
pub fn effects(results: &Results, metric: &str) -> Vec<Effects> {
    let Results { manifest, rows } = results;
    let switches = switches(manifest);
    let others = |row: &Row| {
        let axes = manifest.axes.iter();
        let axes = axes.filter(|axis| !axis.controllers && !switches.contains(axis));
        let places = axes.filter_map(|axis| row.setting(&axis.name));
        let words: Vec<&str> = row.case.as_deref().into_iter().chain(places).collect();
        (words.join(", "), row.controller.clone())
    };
    let mut groups: Vec<((String, String), Flows)> = Vec::new();
    for row in rows {
        let Some(value) = row.metric(metric) else {
            continue;
        };
        let group = others(row);
        let on = |axis: &&Axis| row.setting(&axis.name) == Some("on");
        let setting: Vec<bool> = switches.iter().map(on).collect();
        let place = groups.iter().position(|(it, _)| *it == group);
        let place = place.unwrap_or_else(|| {
            groups.push((group, Flows::new()));
            groups.len() - 1
        });
        let flows = groups[place].1.entry((setting, row.seed));
        flows.or_default().push(value);
    }
    let effects = groups.into_iter().map(|((place, controller), flows)| {
        let runs = Runs::of(flows);
        let effect = |(number, axis): (usize, &&Axis)| Effect {
            switch: axis.name.clone(),
            alone: runs.change(number, |others| others.iter().all(|on| !on)),
            last: runs.change(number, |others| others.iter().all(|on| *on)),
            mean: runs.change(number, |_| true),
        };
        Effects {
            place,
            controller,
            all: runs.with(&vec![true; switches.len()]),
            none: runs.with(&vec![false; switches.len()]),
            switches: switches.iter().enumerate().map(effect).collect(),
        }
    });
    effects.collect()
}

/// A metric by the setting of all switches and the seed, of each flow.
type Flows = BTreeMap<(Vec<bool>, u64), Vec<f64>>;

/// The same of each run: of several flows their mean, as in a [`super::Table`].
#[derive(Default)]
struct Runs(BTreeMap<(Vec<bool>, u64), f64>);

impl Runs {
    fn of(flows: Flows) -> Self {
        let runs = flows.into_iter();
        Runs(runs.map(|(run, values)| (run, mean(&values))).collect())
    }

    fn with(&self, setting: &[bool]) -> Option<Summary> {
        let runs = self.0.iter().filter(|((it, _), _)| it == setting);
        let values: Vec<f64> = runs.map(|(_, value)| *value).collect();
        Summary::new(&values)
    }

    /// With the switch less without it: of each seed the mean over the settings
    /// of the others that count.
    fn change(&self, switch: usize, counts: impl Fn(&[bool]) -> bool) -> Option<Summary> {
        let mut seeds: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for ((setting, seed), with) in &self.0 {
            let mut others = setting.clone();
            if !others.remove(switch) || !counts(&others) {
                continue;
            }
            let mut off = setting.clone();
            off[switch] = false;
            if let Some(without) = self.0.get(&(off, *seed)) {
                seeds.entry(*seed).or_default().push(with - without);
            }
        }
        let means: Vec<f64> = seeds.values().map(|changes| mean(changes)).collect();
        Summary::new(&means)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_flows_it_is_the_mean() {
        let run = |on: bool| (vec![on], 1);
        let flows = [(run(false), vec![1.0, 3.0]), (run(true), vec![4.0, 6.0])];
        let runs = Runs::of(flows.into());
        assert_eq!(runs.change(0, |_| true).unwrap().mean, 3.0);
    }

    #[test]
    fn a_change_is_of_the_same_seed_and_the_same_other_switches() {
        let mut runs = Runs::default();
        for seed in [1, 2] {
            for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
                // The first is worth 1 alone and 4 beside the second; a seed is
                // worth ten times as much.
                let value = match (a, b) {
                    (true, false) => 1.0,
                    (true, true) => 4.0,
                    _ => 0.0,
                };
                let value = value + 10.0 * seed as f64;
                runs.0.insert((vec![a, b], seed), value);
            }
        }
        let mean = |summary: Option<Summary>| summary.map(|it| (it.mean, it.interval));
        let none = |others: &[bool]| others.iter().all(|on| !on);
        let all = |others: &[bool]| others.iter().all(|on| *on);
        assert_eq!(mean(runs.change(0, none)), Some((1.0, Some(0.0))));
        assert_eq!(mean(runs.change(0, all)), Some((4.0, Some(0.0))));
        assert_eq!(mean(runs.change(0, |_| true)), Some((2.5, Some(0.0))));
        assert_eq!(runs.with(&[true, true]).unwrap().mean, 19.0);
        // Without the other side there is nothing to compare.
        runs.0.retain(|(setting, _), _| setting[0]);
        assert_eq!(runs.change(0, all), None);
    }
}
