//! Description of a table's rows.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Frames, KnownDeviation, Printed};
use crate::shell;

/// A plan's results, but for the rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The plan's name: its file's, without `.toml`.
    pub plan: String,
    /// One line.
    pub title: String,
    /// Description of the measurement and its assumptions.
    pub description: String,
    /// Hash of the plan's points and seeds.
    pub plan_hash: String,
    /// The plan itself, and then what it extends: what it takes to run it again
    /// when nobody has the file any more, but for traces.
    pub files: Vec<PlanFile>,
    /// Backend of the runs: `sim` or `netem`.
    pub backend: String,
    /// Versions of the programs.
    pub versions: Versions,
    /// The command that makes these results again, but for their folder.
    pub command: String,
    /// The seeds of each point.
    pub seeds: Vec<u64>,
    /// The names of the metrics to show, the most important first.
    pub metrics: Vec<String>,
    /// Axes in which the points differ, besides the case.
    pub axes: Vec<Axis>,
    /// The names of the cases, in their order; none where there are no cases.
    pub cases: Vec<String>,
    /// The controllers as the plan calls them, in its order.
    pub controllers: Vec<String>,
    /// The flow under test: of each run tables have this one alone. `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<u64>,
    /// Number of rows, with which a truncated table is detected.
    pub rows: usize,
    /// True if `series/KEY.csv` has time series of each run's flows.
    pub series: bool,
    /// The parts of the run that pictures show; `None` shows all of it.
    #[serde(default)]
    pub frames: Option<Frames>,
    /// Printed values to show next to measured ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<Printed>,
    /// Expectations and their results.
    pub verdicts: Vec<Verdict>,
    /// Known deviations from the expectations, with their reasons.
    #[serde(default)]
    #[serde(alias = "exceptions")]
    pub known_deviations: Vec<KnownDeviation>,
}

impl Manifest {
    /// The command that makes these results again in `folder`.
    pub(crate) fn made_in(&self, folder: &Path) -> String {
        format!("{} -o {}", self.command, shell::path(folder))
    }
}

/// A file that a plan was read from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanFile {
    /// Its place from the plan's folder.
    pub name: String,
    /// The value as a text.
    pub text: String,
}

/// A direction of a sweep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// The field, or the name of several that change together. The setting of
    /// this name in a [`Row`](super::Row) is the row's place on the axis.
    pub name: String,
    /// The fields that change.
    pub fields: Vec<String>,
    /// The places on the axis, in their order.
    pub values: Vec<String>,
    /// True if the axis selects the controller of all flows of a run. A table shows such an axis as
    /// columns.
    pub controllers: bool,
}

/// Of what made the results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versions {
    /// The controllers'.
    pub petra: String,
    /// quiche's.
    pub quiche: String,
    /// The laboratory's.
    pub lab: String,
    /// A hash of the sources of all three, as far as they decide what a run
    /// measures.
    pub sources: String,
}

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            petra,
            quiche,
            lab,
            sources,
        } = self;
        write!(
            f,
            "petra {petra}, quiche {quiche}, petra-lab {lab}, sources {sources}"
        )
    }
}

impl Versions {
    /// Those of this program.
    pub fn current() -> Self {
        Versions {
            petra: locked("petra"),
            quiche: locked("quiche"),
            lab: env!("CARGO_PKG_VERSION").to_owned(),
            sources: env!("PETRA_LAB_SOURCES").to_owned(),
        }
    }
}

/// A crate's version as the lock file has it.
fn locked(name: &str) -> String {
    let head = format!("name = \"{name}\"\nversion = \"");
    let lock = include_str!("../../../Cargo.lock");
    let version = lock
        .split_once(&head)
        .and_then(|(_, rest)| rest.split_once('"'));
    version.map_or_else(|| "unknown".to_owned(), |(version, _)| version.to_owned())
}

/// Result of an expectation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The expectation in words.
    pub expected: String,
    /// The metric that was compared.
    pub metric: String,
    /// True if the expectation holds in all rows, apart from known deviations.
    pub holds: bool,
    /// Each comparison that was made.
    pub comparisons: Vec<Comparison>,
}

/// One comparison of an expectation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The row of the table.
    pub row: String,
    /// The mean of what was expected to be so; `None` where not every run
    /// measured it, which is not what was expected.
    pub value: Option<f64>,
    /// The value of the reference; `None` as above.
    pub reference: Option<f64>,
    /// Tolerance of the comparison.
    pub tolerance: f64,
    /// True if the expectation holds in this row.
    pub holds: bool,
    /// Reason for which the expectation does not hold, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

impl Comparison {
    /// Both sides, with this many digits after the point.
    pub(crate) fn sides(&self, digits: usize) -> String {
        let side = |side: Option<f64>| match side {
            Some(mean) => format!("{mean:.digits$}"),
            None => "not measured in every run".to_owned(),
        };
        format!("{} against {}", side(self.value), side(self.reference))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_knows_its_versions() {
        let versions = Versions::current();
        assert_eq!(versions.quiche, "0.30.0");
        assert_eq!(versions.petra, versions.lab);
        assert_eq!(versions.sources.len(), 16, "{versions}");
    }
}
