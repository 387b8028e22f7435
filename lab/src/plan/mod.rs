//! Experiments as data: a plan is a TOML file of what to run, over what to
//! sweep, what to show and what to expect.
//!
//! ```text
//!   NAME.toml ── Tree ── Plan ─┬─ Point ─┬─ Run      a scenario with its seed
//!    extends        sweep,     │  ...    └─ ...      and its key
//!                   case       └─ Point
//! ```
//!
//! A plan is read as a tree of values that know their place in the file.
//! Sweeps and cases put their values into the tree, each with its own place;
//! only then does the tree become a [`Scenario`]. So whatever is wrong is told
//! with its line, wherever it was written.

mod axis;
mod case;
mod de;
mod diagnostic;
mod draft;
mod expect;
mod key;
mod known_deviation;
mod number;
mod only;
mod path;
mod points;
mod printed;
mod read;
mod scenario;
mod seeds;
mod space;
mod tree;
mod write;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{ensure, Context, Result};

pub(crate) use axis::MAX_RUNS;
pub use expect::{Expectation, Relation, Selection, Than, Tolerance};
pub use only::Only;
pub(crate) use read::PLAN;
pub(crate) use space::{Gene, Space, Spot};

use crate::backend::Backend;
use crate::results::{Axis, Frames, KnownDeviation, PlanFile, Printed, Versions};
use crate::scenario::Scenario;
use crate::sim;
use diagnostic::{Diagnostic, Sources};
use draft::Draft;
use key::{canonical, hash, key};
use read::Document;
use tree::Table;

/// A plan: runs, and the presentation of their results.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The file's name without `.toml`.
    pub name: String,
    /// The file, and then those that it extends.
    pub files: Vec<PlanFile>,
    /// One line.
    pub title: String,
    /// Description of the measurement and its assumptions.
    pub description: String,
    /// Backend of the runs, unless the command line selects another.
    pub backend: Backend,
    /// The seeds of each point.
    pub seeds: Vec<u64>,
    /// The names of the metrics to show.
    pub metrics: Vec<String>,
    /// The flow under test, of which alone the tables are; `None`: all flows.
    pub subject: Option<u64>,
    /// Keeps time series of each run's flows.
    pub series: bool,
    /// The parts of the run that pictures show; `None` shows all of it.
    pub frames: Option<Frames>,
    /// Printed values to show next to measured ones.
    pub printed: Option<Printed>,
    /// Keeps the qlogs of each run.
    pub qlog: bool,
    /// Axes in which the points differ, besides the case.
    pub axes: Vec<Axis>,
    /// The names of the cases.
    pub cases: Vec<String>,
    /// The controllers as the plan calls them.
    pub controllers: Vec<String>,
    /// Each case at each place of the sweeps.
    pub points: Vec<Point>,
    /// Expectations of the results.
    pub expectations: Vec<Expectation>,
    /// Known deviations from the expectations, with their reasons.
    pub known_deviations: Vec<KnownDeviation>,
}

/// Runs that differ in nothing but their seed.
#[derive(Clone, Debug)]
pub struct Point {
    /// The case's name, where there are cases.
    pub case: Option<String>,
    /// Settings by sweeps and cases, as the plan writes them.
    pub settings: Vec<(String, String)>,
    /// The reference columns of all cases, with this case's numbers.
    pub references: Vec<(String, Option<f64>)>,
    /// The controller of each flow, as the plan calls it.
    pub controllers: Vec<String>,
    /// The scenario, except for the seed.
    pub scenario: Scenario,
}

/// One run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Identity of the run: runs with the same key have the same figures.
    pub key: String,
    /// The scenario.
    pub scenario: Scenario,
}

impl Plan {
    /// Reads the plan at `path` and works out its points.
    ///
    /// # Errors
    ///
    /// What is wrong with the plan, with file, line and field.
    pub fn read(path: &Path) -> Result<Self> {
        let Document { sources, root } = Document::read(path)?;
        if let Some(space) = root.entries.iter().find(|entry| entry.key == "space") {
            let message = "a plan with a space has no runs of its own; expected \
                           `petra-lab hunt`, which searches it";
            return Err(sources.explain(&Diagnostic::at(space.key_place, message)));
        }
        Self::of(&root, sources, path)
    }

    /// The plan `name` of a text that is in no file; its traces are files by their
    /// places from here.
    ///
    /// # Errors
    ///
    /// What is wrong with it, with the field.
    pub fn of_text(name: &str, text: &str) -> Result<Self> {
        let file = PathBuf::from(format!("{name}.toml"));
        let Document { sources, root } = Document::of_text(&file, text)?;
        Self::of(&root, sources, &file)
    }

    /// The plan of these values, as it would be read from `path`.
    fn of(root: &Table, sources: Sources, path: &Path) -> Result<Self> {
        let name = path.file_stem().context("a plan is a file NAME.toml")?;
        let plan = Draft::read(root, sources.folders()).and_then(Draft::plan);
        let mut plan = plan.map_err(|fault| sources.explain(&fault))?;
        plan.name = name.to_string_lossy().into_owned();
        let folder = path.parent().unwrap_or(Path::new(""));
        let in_a_file = sources.are_files();
        plan.files = sources.files_from(folder);
        let checked = check_traces(plan.points.iter().map(|point| &point.scenario));
        match in_a_file {
            true => checked.with_context(|| path.display().to_string())?,
            false => checked?,
        }
        Ok(plan)
    }

    /// Checks that a search can have the plan's results.
    ///
    /// # Errors
    ///
    /// A backend in real time.
    pub(crate) fn check_searchable(&self) -> Result<()> {
        ensure!(
            self.backend == Backend::Sim,
            "backend: a search takes thousands of runs (got {}); expected sim",
            self.backend
        );
        Ok(())
    }

    /// The plan with `count` seeds: the first of its own, and where it has fewer, those that
    /// follow the largest.
    ///
    /// # Errors
    ///
    /// If a plan cannot name as many seeds: results have them as signed numbers.
    pub fn with_seeds(mut self, count: usize) -> Result<Self> {
        let next = self.seeds.iter().max().map_or(1, |largest| largest + 1);
        let more = count.saturating_sub(self.seeds.len());
        let last = i64::MAX as u64;
        self.seeds.extend((next..=last).take(more));
        ensure!(
            self.seeds.len() >= count,
            "{}: too many seeds (got {count}, {more} of them new); expected the last at {last} at most",
            self.name
        );
        self.seeds.truncate(count);
        Ok(self)
    }

    /// Returns the hash of the plan's points and seeds, independent of the backend.
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

    /// Number of runs of the plan.
    pub fn len(&self) -> usize {
        self.points.len() * self.seeds.len()
    }

    /// Returns true if the plan has no runs, which [`Self::read`] refuses.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Checks each trace of some scenarios once.
fn check_traces<'a>(scenarios: impl IntoIterator<Item = &'a Scenario>) -> Result<()> {
    let links = scenarios.into_iter().flat_map(|scenario| &scenario.path);
    let directions = links.flat_map(|link| [&link.down, &link.up]);
    let traces: BTreeSet<&PathBuf> = directions.filter_map(|it| it.trace.as_ref()).collect();
    traces.into_iter().try_for_each(|it| sim::check_trace(it))
}
