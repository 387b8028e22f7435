//! A plan between its tree and its runs.

use std::path::PathBuf;

use serde::Deserialize;

use super::axis::{axes, Axis};
use super::case::{cases, Case};
use super::diagnostic::{Diagnostic, Position};
use super::expect::{expectations, metric_name, Names};
use super::known_deviation::known_deviations;
use super::path::Path;
use super::printed::printed;
use super::read::SCENARIO;
use super::scenario::Controllers;
use super::seeds::seeds;
use super::tree::{Entry, Node, Table, Value};
use super::{Plan, Point};
use crate::results;

/// Default metrics of a plan.
const METRICS: [&str; 5] = [
    "goodput_mbps",
    "share_of_limit",
    "loss_percent",
    "queue_mean_ms",
    "rtt_mean_ms",
];

/// A plan whose points are still a tree, axes and cases.
pub(super) struct Draft<'a> {
    pub(super) root: &'a Table,
    /// Of all that a run is.
    pub(super) scenario: Node,
    pub(super) controllers: Controllers,
    pub(super) axes: Vec<Axis>,
    pub(super) cases: Vec<Case>,
    pub(super) seeds: Vec<u64>,
    /// The folder of each of the plan's files.
    pub(super) folders: Vec<PathBuf>,
}

impl<'a> Draft<'a> {
    pub(super) fn read(root: &'a Table, folders: Vec<PathBuf>) -> Result<Self, Diagnostic> {
        let within = |key: &'static str| move |fault: Diagnostic| fault.within(key);
        let entries = root.entries.iter();
        let part = |entry: &&Entry| SCENARIO.contains(&entry.key.as_str());
        let scenario = Node {
            place: Position {
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
            folders,
        })
    }

    pub(super) fn plan(self) -> Result<Plan, Diagnostic> {
        let points = self.points()?;
        let flows = self.flows();
        let subject = self.subject(&points)?;
        let axes: Vec<results::Axis> = self
            .axes
            .iter()
            .map(|axis| described(axis, flows, subject))
            .collect();
        let cases: Vec<String> = self.cases.iter().map(|case| case.name.clone()).collect();
        let mut controllers = Vec::new();
        let shown = |flow: &(usize, &String)| subject.is_none_or(|it| it == flow.0 as u64);
        let flows = points.iter();
        let flows = flows.flat_map(|point| point.controllers.iter().enumerate());
        for (_, controller) in flows.filter(shown) {
            if !controllers.contains(controller) {
                controllers.push(controller.clone());
            }
        }
        let names = Names {
            controllers: &controllers,
            cases: &cases,
            axes: &axes,
        };
        let expectations = match self.root.get("expect") {
            Some(node) => expectations(node, &names)?,
            None => Vec::new(),
        };
        let known_deviations = match self.root.get("known_deviation") {
            Some(node) => known_deviations(node, &names)?,
            None => Vec::new(),
        };
        let printed = match self.root.get("printed") {
            Some(node) => {
                let columns = points.first().map_or(&[][..], |point| &point.references);
                let columns: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
                printed(node, &names, &columns).map_err(|fault| fault.within("printed"))?
            }
            None => None,
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
            files: Vec::new(),
            title: text("title")?,
            description: text("description")?,
            backend: self.field("backend")?.unwrap_or_default(),
            metrics: self.metrics()?,
            subject,
            series: self.field("series")?.unwrap_or_default(),
            frames: self.field("frames")?,
            printed,
            qlog: self.field("qlog")?.unwrap_or_default(),
            seeds: self.seeds,
            axes,
            cases,
            controllers,
            points,
            expectations,
            known_deviations,
        })
    }

    fn field<T: Deserialize<'a>>(&self, key: &str) -> Result<Option<T>, Diagnostic> {
        let node = self.root.get(key);
        let value = node.map(|node| T::deserialize(node).map_err(|fault| fault.within(key)));
        value.transpose()
    }

    /// The flow under test, which every point has.
    fn subject(&self, points: &[Point]) -> Result<Option<u64>, Diagnostic> {
        let subject: Option<u64> = self.field("subject")?;
        let fewest = points.iter().map(|point| point.controllers.len()).min();
        match (self.root.get("subject"), subject.zip(fewest)) {
            (Some(node), Some((flow, fewest))) if flow >= fewest as u64 => {
                let expected = format!("the number of a flow, from 0 to {}", fewest - 1);
                Err(node.unexpected(&expected).within("subject"))
            }
            _ => Ok(subject),
        }
    }

    fn metrics(&self) -> Result<Vec<String>, Diagnostic> {
        let Some(node) = self.root.get("metrics") else {
            return Ok(METRICS.map(str::to_owned).to_vec());
        };
        let names: Result<Vec<String>, Diagnostic> = node
            .list()
            .and_then(|items| items.iter().map(metric_name).collect());
        match names.map_err(|fault| fault.within("metrics"))? {
            names if names.is_empty() => {
                Err(node.unexpected("at least one metric").within("metrics"))
            }
            names => Ok(names),
        }
    }

    /// Number of flows in the plan, apart from sweeps.
    fn flows(&self) -> usize {
        let flow = self.root.get("flow");
        flow.and_then(|node| node.list().ok())
            .map_or(1, <[Node]>::len)
    }
}

fn described(axis: &Axis, flows: usize, subject: Option<u64>) -> results::Axis {
    let paths = || axis.fields.iter().map(|(path, _)| path);
    results::Axis {
        name: axis.name.clone(),
        fields: paths().map(Path::text).collect(),
        values: axis.stops.iter().map(|stop| stop.label.clone()).collect(),
        controllers: paths().all(|path| path.is_every_controller(flows, subject)),
    }
}
