//! A plan's points, and the runs of each.

use std::collections::BTreeSet;
use std::path::Path as FilePath;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::axis::{self, axes, Axis};
use super::case::{cases, Case};
use super::expect::{expectations, metric_name, Expectation, Names};
use super::fault::{Fault, Place};
use super::key::{canonical, hash, key};
use super::path::Path;
use super::read::{Document, SCENARIO};
use super::scenario::{lower, Controllers, Lowered};
use super::tree::{Node, Table, Value};
use crate::backend::Backend;
use crate::results::{self, Versions};
use crate::scenario::Scenario;

/// What to run, and what to make of it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The file's name without `.toml`.
    pub name: String,
    /// One line.
    pub title: String,
    /// What is measured and what was assumed.
    pub description: String,
    /// What makes the runs, unless the command line says otherwise.
    pub backend: Backend,
    /// The seeds of each point.
    pub seeds: Vec<u64>,
    /// The names of the metrics to show.
    pub metrics: Vec<String>,
    /// Whether each run's flows are kept over time.
    pub series: bool,
    /// What the points differ in, beside the case.
    pub axes: Vec<results::Axis>,
    /// The names of the cases.
    pub cases: Vec<String>,
    /// The controllers as the plan calls them.
    pub controllers: Vec<String>,
    /// Each case at each place of the sweeps.
    pub points: Vec<Point>,
    /// What is expected of the results.
    pub expectations: Vec<Expectation>,
}

/// Runs that differ in nothing but their seed.
#[derive(Clone, Debug)]
pub struct Point {
    /// The case's name, where there are cases.
    pub case: Option<String>,
    /// What sweeps and cases have set, as the plan writes it.
    pub settings: Vec<(String, String)>,
    /// The reference columns of all cases, with this case's numbers.
    pub references: Vec<(String, Option<f64>)>,
    /// The controller of each flow, as the plan calls it.
    pub controllers: Vec<String>,
    /// What happens, but for the seed.
    pub scenario: Scenario,
}

/// One run.
#[derive(Clone, Debug)]
pub struct Run {
    /// What it is: runs of the same key have the same figures.
    pub key: String,
    /// What happens.
    pub scenario: Scenario,
}

/// What a plan shows that does not say it.
const METRICS: [&str; 5] = [
    "goodput_mbps",
    "share_of_limit",
    "loss_percent",
    "queue_mean_ms",
    "rtt_mean_ms",
];

impl Plan {
    /// Reads the plan at `path` and works out its points.
    ///
    /// # Errors
    ///
    /// What is wrong with the plan, with file, line and field.
    pub fn read(path: &FilePath) -> Result<Self> {
        let name = path.file_stem().context("a plan is a file NAME.toml")?;
        let Document { sources, root } = Document::read(path)?;
        let plan = Draft::read(&root).and_then(Draft::plan);
        let mut plan = plan.map_err(|fault| sources.explain(&fault))?;
        plan.name = name.to_string_lossy().into_owned();
        // A trace's file is named from the plan's own place.
        let folder = path.parent().unwrap_or(FilePath::new(""));
        for point in &mut plan.points {
            let links = point.scenario.path.iter_mut();
            for direction in links.flat_map(|link| [&mut link.down, &mut link.up]) {
                if let Some(trace) = &mut direction.trace {
                    *trace = folder.join(&trace);
                }
            }
        }
        Ok(plan)
    }

    /// The plan with `count` seeds: the first of its own, and when there are
    /// not so many, those that follow the largest.
    #[must_use]
    pub fn with_seeds(mut self, count: usize) -> Self {
        let next = self.seeds.iter().max().map_or(1, |largest| largest + 1);
        self.seeds
            .extend((next..).take(count.saturating_sub(self.seeds.len())));
        self.seeds.truncate(count);
        self
    }

    /// What the plan was: a hash of its points and seeds, whatever runs them.
    ///
    /// # Errors
    ///
    /// As [`Self::run`].
    pub fn hash(&self) -> Result<String> {
        let points = self.points.iter().map(|point| {
            let Point {
                case,
                settings,
                references,
                controllers,
                scenario,
            } = point;
            Ok((
                case,
                settings,
                references,
                controllers,
                canonical(scenario)?,
            ))
        });
        hash(&(&self.seeds, points.collect::<Result<Vec<_>>>()?))
    }

    /// The run of a point with one of the seeds.
    ///
    /// # Errors
    ///
    /// When a file that the scenario names cannot be read.
    pub fn run(&self, point: &Point, seed: u64, versions: &Versions) -> Result<Run> {
        let scenario = Scenario {
            seed,
            ..point.scenario.clone()
        };
        let key = key(&scenario, self.backend.name(), versions)?;
        Ok(Run { key, scenario })
    }

    /// How many runs the plan has.
    pub fn len(&self) -> usize {
        self.points.len() * self.seeds.len()
    }

    /// Whether there is nothing to run, which [`Self::read`] does not let
    /// pass.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A plan whose points are still a tree, axes and cases.
struct Draft<'a> {
    root: &'a Table,
    /// Of all that a run is.
    scenario: Node,
    controllers: Controllers,
    axes: Vec<Axis>,
    cases: Vec<Case>,
    seeds: Vec<u64>,
}

impl<'a> Draft<'a> {
    fn read(root: &'a Table) -> Result<Self, Fault> {
        let within = |key: &'static str| move |fault: Fault| fault.within(key);
        let entries = root.entries.iter();
        let part = |entry: &&super::tree::Entry| SCENARIO.contains(&entry.key.as_str());
        let scenario = Node {
            place: Place {
                file: 0,
                start: 0,
                end: 0,
            },
            value: Value::Table(Table {
                entries: entries.filter(part).cloned().collect(),
            }),
        };
        let table = |key: &'static str| match root.get(key) {
            Some(node) => node.table().map(Some).map_err(within(key)),
            None => Ok(None),
        };
        Ok(Draft {
            root,
            scenario,
            controllers: Controllers::read(table("controllers")?).map_err(within("controllers"))?,
            axes: table("sweep")?.map_or(Ok(Vec::new()), axes)?,
            cases: root.get("case").map_or(Ok(Vec::new()), cases)?,
            seeds: root
                .get("seeds")
                .map_or(Ok(vec![1]), seeds)
                .map_err(within("seeds"))?,
        })
    }

    fn plan(self) -> Result<Plan, Fault> {
        let points = self.points()?;
        let flows = self.flows();
        let axes: Vec<results::Axis> = self
            .axes
            .iter()
            .map(|axis| described(axis, flows))
            .collect();
        let cases: Vec<String> = self.cases.iter().map(|case| case.name.clone()).collect();
        let mut controllers = Vec::new();
        for controller in points.iter().flat_map(|point| &point.controllers) {
            if !controllers.contains(controller) {
                controllers.push(controller.clone());
            }
        }
        let names = Names {
            controllers: &controllers,
            cases: &cases,
            axes: axes
                .iter()
                .map(|axis| {
                    (
                        axis.name.as_str(),
                        axis.values.iter().map(String::as_str).collect(),
                    )
                })
                .collect(),
        };
        let expectations = match self.root.get("expect") {
            Some(node) => expectations(node, &names)?,
            None => Vec::new(),
        };
        let text = |key: &str| match self.root.get(key) {
            Some(node) => Ok(node
                .text()
                .map_err(|fault| fault.within(key))?
                .trim()
                .to_owned()),
            None => Ok(String::new()),
        };
        Ok(Plan {
            name: String::new(),
            title: text("title")?,
            description: text("description")?,
            backend: self.field("backend")?.unwrap_or_default(),
            metrics: self.metrics()?,
            series: self.field("series")?.unwrap_or_default(),
            seeds: self.seeds,
            axes,
            cases,
            controllers,
            points,
            expectations,
        })
    }

    fn field<T: Deserialize<'a>>(&self, key: &str) -> Result<Option<T>, Fault> {
        let node = self.root.get(key);
        let value = node.map(|node| T::deserialize(node).map_err(|fault| fault.within(key)));
        value.transpose()
    }

    fn metrics(&self) -> Result<Vec<String>, Fault> {
        let Some(node) = self.root.get("metrics") else {
            return Ok(METRICS.map(str::to_owned).to_vec());
        };
        let names: Result<Vec<String>, Fault> = node
            .list()
            .and_then(|items| items.iter().map(metric_name).collect());
        match names.map_err(|fault| fault.within("metrics"))? {
            names if names.is_empty() => {
                Err(node.unexpected("at least one metric").within("metrics"))
            }
            names => Ok(names),
        }
    }

    /// How many flows are written down, for all that sweeps may do.
    fn flows(&self) -> usize {
        let flow = self.root.get("flow");
        flow.and_then(|node| node.list().ok())
            .map_or(1, <[Node]>::len)
    }

    /// Each case at each place of the axes, of which the last moves first.
    fn points(&self) -> Result<Vec<Point>, Fault> {
        let cases: Vec<Option<&Case>> = match &self.cases[..] {
            [] => vec![None],
            cases => cases.iter().map(Some).collect(),
        };
        let places = self.axes.iter().try_fold(cases.len(), |count, axis| {
            count
                .checked_mul(axis.stops.len())
                .filter(|count| *count <= axis::MOST)
        });
        let Some(places) = places else {
            let message = format!("more than {} points; sweep over less", axis::MOST);
            let sweep = self.root.entries.iter().find(|entry| entry.key == "sweep");
            return Err(Fault::at(
                sweep.map_or(self.scenario.place, |entry| entry.key_place),
                message,
            ));
        };
        let per_case = places / cases.len();
        let mut points = Vec::with_capacity(places);
        for case in cases {
            for place in 0..per_case {
                points.push(self.point(case, place, per_case)?);
            }
        }
        Ok(points)
    }

    fn point(&self, case: Option<&Case>, place: usize, places: usize) -> Result<Point, Fault> {
        let mut tree = self.scenario.clone();
        // What tells this point from others, to be blamed for what cannot be.
        let mut culprit = None;
        if let Some(case) = case {
            culprit = Some(case.place);
            for (path, key, value) in &case.settings {
                path.set(&mut tree, *key, value)?;
            }
        }
        let mut labels = Vec::new();
        let (mut rest, mut left) = (place, places);
        for axis in &self.axes {
            left /= axis.stops.len();
            let stop = &axis.stops[rest / left];
            rest %= left;
            for ((path, key), value) in axis.fields.iter().zip(&stop.values) {
                path.set(&mut tree, *key, value)?;
                culprit = Some(value.place);
            }
            labels.push((axis.name.clone(), stop.label.clone()));
        }
        let Lowered {
            scenario,
            controllers,
        } = lower(&tree, &self.controllers)?;
        scenario.check().map_err(|error| {
            let tree = tree.table().ok();
            let link = tree
                .and_then(|tree| tree.get("link"))
                .map(|link| link.place);
            Fault::at(
                culprit.or(link).unwrap_or(self.scenario.place),
                format!("{error:#}"),
            )
        })?;
        Ok(Point {
            case: case.map(|case| case.name.clone()),
            settings: self.settings(labels, &tree),
            references: self.references(case),
            controllers,
            scenario,
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

    fn references(&self, case: Option<&Case>) -> Vec<(String, Option<f64>)> {
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
                .map(|(_, number)| *number)
        };
        names.map(|name| (name.clone(), number(name))).collect()
    }
}

fn described(axis: &Axis, flows: usize) -> results::Axis {
    let paths = || axis.fields.iter().map(|(path, _)| path);
    results::Axis {
        name: axis.name.clone(),
        fields: paths().map(Path::text).collect(),
        values: axis.stops.iter().map(|stop| stop.label.clone()).collect(),
        controllers: paths().all(|path| path.is_every_controller(flows)),
    }
}

/// A count, a list, or a range: `10`, `[7, 9]`, `{ from = 1, to = 10 }`.
fn seeds(node: &Node) -> Result<Vec<u64>, Fault> {
    let whole = |node: &Node| match node.value {
        Value::Integer(number @ 0..) => Ok(number as u64),
        _ => Err(node.unexpected("a whole number of at least 0")),
    };
    let seeds: Vec<u64> = match &node.value {
        Value::Integer(count @ 1..) if *count as usize <= axis::MOST => {
            (1..=*count as u64).collect()
        }
        Value::List(items) if !items.is_empty() => {
            items.iter().map(whole).collect::<Result<_, _>>()?
        }
        Value::Table(table) => match (table.get("from"), table.get("to"), table.entries.len()) {
            (Some(from), Some(to), 2) => (whole(from)?..=whole(to)?).take(axis::MOST).collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    let distinct: BTreeSet<&u64> = seeds.iter().collect();
    if seeds.is_empty() || distinct.len() < seeds.len() {
        return Err(node.unexpected(
            "how many seeds, a list of different ones, such as [7, 9], or a range, such as \
             { from = 1, to = 10 }",
        ));
    }
    Ok(seeds)
}
