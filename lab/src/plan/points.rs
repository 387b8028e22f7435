//! A plan's points: each case at each place of the sweeps.

use std::collections::BTreeSet;

use anyhow::Error;

use super::axis::{self, Axis, Stop};
use super::case::Case;
use super::diagnostic::{Diagnostic, Position};
use super::draft::Draft;
use super::number::product;
use super::scenario::{lower, Lowered};
use super::tree::{Node, Value};
use super::Point;
use crate::scenario::{Part, Scenario};

/// Returns the position of a link, a flow or cross traffic in the plan.
fn part_place(tree: &Node, name: &str, index: usize) -> Option<Position> {
    let part = tree.table().ok()?.get(name)?;
    match &part.value {
        Value::List(parts) => parts.get(index).map(|part| part.place),
        _ => Some(part.place),
    }
}

impl Draft<'_> {
    /// Each case at each place of the axes, of which the last moves first.
    pub(super) fn points(&self) -> Result<Vec<Point>, Diagnostic> {
        let cases: Vec<Option<&Case>> = match &self.cases[..] {
            [] => vec![None],
            cases => cases.iter().map(Some).collect(),
        };
        let places = self.axes.iter().try_fold(cases.len(), |count, axis| {
            count
                .checked_mul(axis.stops.len())
                .filter(|count| *count <= axis::MAX_RUNS)
        });
        let Some(places) = places else {
            let message = format!(
                "sweep: too many points (got more); expected {} at most",
                axis::MAX_RUNS
            );
            let sweep = self.root.entries.iter().find(|entry| entry.key == "sweep");
            return Err(Diagnostic::at(
                sweep.map_or(self.scenario.place, |entry| entry.key_place),
                message,
            ));
        };
        self.check_cases()?;
        let per_case = places / cases.len();
        let mut points = Vec::with_capacity(places);
        for case in cases {
            for place in 0..per_case {
                points.push(self.point(case, place, per_case)?);
            }
        }
        Ok(points)
    }

    /// The scenario of the first point, whose parts need not fit each other.
    pub(super) fn first(&self) -> Result<Scenario, Diagnostic> {
        let stops: Vec<&Stop> = self.axes.iter().filter_map(|it| it.stops.first()).collect();
        let (tree, _) = self.tree(self.cases.first(), &stops)?;
        Ok(lower(&tree, &self.controllers, &self.folders)?.scenario)
    }

    /// The fields with a case's settings and with those of a stop of each axis, and these
    /// settings: what tells a point from others, to be blamed for what cannot be.
    fn tree(
        &self,
        case: Option<&Case>,
        stops: &[&Stop],
    ) -> Result<(Node, Vec<(String, Position)>), Diagnostic> {
        let mut tree = self.scenario.clone();
        let mut culprits = Vec::new();
        for (path, key, value) in case.iter().flat_map(|case| &case.settings) {
            culprits.push((path.text(), value.place));
            path.set(&mut tree, *key, value)?;
        }
        for (axis, stop) in self.axes.iter().zip(stops) {
            for ((path, key), value) in axis.fields.iter().zip(&stop.values) {
                path.set(&mut tree, *key, value)?;
                culprits.push((path.text(), value.place));
            }
        }
        Ok((tree, culprits))
    }

    /// A case's value counts only where no axis puts another in its place: one
    /// that says how many times as large does not.
    fn check_cases(&self) -> Result<(), Diagnostic> {
        let replaces = |axis: &&Axis, name: &str| {
            let mut fields = axis.fields.iter();
            let column = fields.position(|(path, _)| path.text() == name);
            column.is_some_and(|column| {
                let mut values = axis.stops.iter().map(|stop| &stop.values[column]);
                !values.any(|value| matches!(value.value, Value::Table(_)))
            })
        };
        for (number, case) in self.cases.iter().enumerate() {
            for (path, key, _) in &case.settings {
                let name = path.text();
                if let Some(axis) = self.axes.iter().find(|axis| replaces(axis, &name)) {
                    let message = format!(
                        "the sweep over {} sets it anew at each of its places; leave it out of \
                         one of them",
                        axis.name
                    );
                    let fault = Diagnostic::at(*key, message).within(&name).within("set");
                    return Err(fault.within(&number.to_string()).within("case"));
                }
            }
        }
        Ok(())
    }

    fn point(&self, case: Option<&Case>, place: usize, places: usize) -> Result<Point, Diagnostic> {
        let (mut rest, mut left) = (place, places);
        let mut stops = Vec::with_capacity(self.axes.len());
        for axis in &self.axes {
            left /= axis.stops.len();
            stops.push(&axis.stops[rest / left]);
            rest %= left;
        }
        let (tree, culprits) = self.tree(case, &stops)?;
        let names = self.axes.iter().map(|axis| axis.name.clone());
        let labels = names
            .zip(stops.iter().map(|stop| stop.label.clone()))
            .collect();
        let factor: f64 = stops.iter().map(|stop| stop.references).product();
        let Lowered {
            scenario,
            origins,
            controllers,
        } = lower(&tree, &self.controllers, &self.folders)?;
        scenario.check_parts().map_err(|(part, error)| {
            let (name, index) = match part {
                Part::Whole => return Diagnostic::at(tree.place, format!("{error:#}")),
                Part::Link(index) => ("link", index),
                Part::Flow(index) => ("flow", origins[index]),
                Part::Cross(index) => ("cross", index),
            };
            // What set something of it last, or else where it is written. Of controllers all
            // is known to be right.
            let set = |(path, _): &&(String, Position)| {
                let controller = path.ends_with(".cc") || path.contains(".options.");
                path == "duration" || path.starts_with(name) && !controller
            };
            let culprit = culprits.iter().rev().find(set).map(|(_, place)| *place);
            // Unless it is wrong before any of them.
            let culprit = culprit.filter(|_| !self.is_wrong(part, &error));
            let written = || part_place(&tree, name, index).unwrap_or(tree.place);
            Diagnostic::at(culprit.unwrap_or_else(written), format!("{error:#}"))
                .within(&index.to_string())
                .within(name)
        })?;
        Ok(Point {
            case: case.map(|case| case.name.clone()),
            settings: self.settings(labels, &tree),
            references: self.references(case, factor),
            controllers,
            scenario,
        })
    }

    /// Returns true if the plan has this error even without its cases and sweeps.
    fn is_wrong(&self, part: Part, error: &Error) -> bool {
        let bare = lower(&self.scenario, &self.controllers, &self.folders);
        let checked = bare.map(|bare| bare.scenario.check_parts());
        checked.is_ok_and(|checked| {
            checked.is_err_and(|(other, why)| {
                other == part && format!("{why:#}") == format!("{error:#}")
            })
        })
    }

    /// The axes' places, and every field that any point sets, as it is at
    /// this one.
    fn settings(&self, mut settings: Vec<(String, String)>, tree: &Node) -> Vec<(String, String)> {
        let of_axes = self
            .axes
            .iter()
            .flat_map(|axis| axis.fields.iter().map(|(path, _)| path));
        let of_cases = self.cases.iter();
        let of_cases = of_cases.flat_map(|case| case.settings.iter().map(|(path, _, _)| path));
        for path in of_axes.chain(of_cases) {
            let name = path.text();
            if !settings.iter().any(|(other, _)| *other == name) {
                settings.push((name, path.show(tree)));
            }
        }
        settings
    }

    fn references(&self, case: Option<&Case>, factor: f64) -> Vec<(String, Option<f64>)> {
        let names = self.cases.iter().flat_map(|case| &case.references);
        let mut seen = BTreeSet::new();
        let names = names
            .map(|(name, _)| name)
            .filter(|name| seen.insert(*name));
        let number = |name: &String| {
            let references = &case?.references;
            references
                .iter()
                .find(|(other, _)| other == name)
                .map(|(_, number)| product(*number, factor))
        };
        names.map(|name| (name.clone(), number(name))).collect()
    }
}
