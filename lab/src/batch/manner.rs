//! The options of all commands that make runs, and their results as they are shown.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Mutex;

use anyhow::{Context, Result};
use clap::Args;

use super::artifacts::Artifacts;
use super::journal::Journal;
use super::publish::{publish_plan, replaces_none};
use super::run_set::{Overrides, RunSet};
use super::show;
use super::work::Executor;
use crate::backend::Outcome;
use crate::netem::Means;
use crate::note::note;
use crate::results::{labels, Results, Row};
use crate::units::parse_at_least_one;

/// The options of all commands that make runs.
#[derive(Args, Clone, Debug)]
pub(crate) struct Manner {
    /// Runs at the same time [default: one for each processor; 2 of netem].
    #[arg(long, value_name = "N", value_parser = parse_at_least_one)]
    jobs: Option<NonZeroUsize>,
    #[command(flatten)]
    means: Means,
    /// Print every run with its scenario and all its figures as JSON, instead of tables.
    #[arg(long)]
    json: bool,
}

impl Manner {
    /// Makes the runs that `out` does not have, writes the results there and prints
    /// them. Without a folder nothing else is left.
    ///
    /// # Errors
    ///
    /// Results of another command in `out`, what could not be run, that it was interrupted,
    /// or [`Unmet`].
    pub(crate) fn perform(&self, run_set: &RunSet, out: Option<&Path>) -> Result<()> {
        match out {
            Some(out) => {
                replaces_none(run_set, out)?;
                self.perform_in(run_set, &Overrides::default(), out, true)
            }
            None => {
                let out = tempfile::tempdir().context("cannot make a folder for the runs")?;
                self.perform_in(run_set, &Overrides::default(), out.path(), false)
            }
        }
    }

    /// The same in a folder, which is `kept` or goes.
    pub(super) fn perform_in(
        &self,
        run_set: &RunSet,
        overrides: &Overrides,
        out: &Path,
        kept: bool,
    ) -> Result<()> {
        let mut journal = Journal::open(&out.join("journal.jsonl"))?;
        let published = Mutex::new(BTreeMap::new());
        let whole = |plan: usize, finished: &BTreeMap<String, Outcome>| {
            let results = publish_plan(run_set, plan, overrides, finished, out)?;
            let mut published = published.lock().expect("no worker panics");
            published.insert(plan, results);
            Ok(())
        };
        self.executor(out, kept)
            .work(&run_set.items, &mut journal, &whole)?;
        let published = published.into_inner().expect("no worker panics");
        let results: Vec<Results> = published.into_values().collect();
        if self.json {
            show::json(run_set, journal.finished())?;
            return judged(&results);
        }
        finish(&results, kept.then_some(out))
    }

    /// The executor of the runs, which keeps what is wanted of them in `out`.
    pub(super) fn executor(&self, out: &Path, kept: bool) -> Executor {
        Executor {
            jobs: self.jobs.map(NonZeroUsize::get),
            means: self.means.clone(),
            artifacts: Artifacts::new(out),
            rest: match kept {
                true => "the same command goes on from there",
                false => "a command with --out FOLDER goes on where it was",
            },
        }
    }
}

/// The number of expectations that do not hold. Nothing else went wrong: the results are there.
#[derive(Debug)]
pub struct Unmet(pub(crate) usize);

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => write!(f, "1 expectation does not hold"),
            failed => write!(f, "{failed} expectations do not hold"),
        }
    }
}

impl Error for Unmet {}

/// The most flows whose end is told one by one.
const TOLD: usize = 5;

/// Prints results, and says where they are if they are kept.
pub(super) fn finish(results: &[Results], folder: Option<&Path>) -> Result<()> {
    let mut out = io::stdout().lock();
    for results in results {
        show::print(results)?;
        let rows = results.rows.iter();
        let failures: Vec<_> = rows.filter(|row| row.failure.is_some()).collect();
        if !failures.is_empty() {
            writeln!(
                out,
                "\nflows that ended before their time: {}",
                failures.len()
            )?;
        }
        for row in failures.iter().take(TOLD) {
            let failure = row.failure.as_deref().unwrap_or_default();
            writeln!(out, "  {}: {failure}", who(results, row))?;
        }
        let dead: Vec<String> = results
            .rows
            .iter()
            .filter(|row| is_dead(row))
            .map(|row| who(results, row))
            .collect();
        if !dead.is_empty() {
            writeln!(out, "\nflows that received nothing: {}", dead.len())?;
        }
        for who in dead.iter().take(TOLD) {
            writeln!(out, "  {who}")?;
        }
        if !dead.is_empty() {
            writeln!(
                out,
                "the run may be shorter than the round trips before the first data"
            )?;
        }
        match folder {
            Some(folder) => {
                let file = folder.join(format!("{}.csv", results.manifest.plan));
                writeln!(out, "\nresults: {}", file.display())?;
            }
            None => note!("nothing is kept; --out FOLDER keeps results, series and qlogs"),
        }
    }
    // The terminal has no room for both.
    let mut manifests = results.iter().map(|results| &results.manifest);
    if let Some(folder) = folder.filter(|_| manifests.any(|it| it.printed.is_some())) {
        writeln!(
            out,
            "\nprinted beside measured, with ratios and intervals: petra-lab report {}",
            folder.display()
        )?;
    }
    judged(results)
}

/// A flow by its controller, its seed, and its case and places on the axes.
fn who(results: &Results, row: &Row) -> String {
    let labels = labels(&results.manifest, row).into_iter();
    let labels: String = labels
        .map(|(axis, label)| format!(", {axis} {label}"))
        .collect();
    format!("{} with seed {}{labels}", row.controller, row.seed)
}

/// Did the flow receive nothing, and did no failure end it?
fn is_dead(row: &Row) -> bool {
    row.failure.is_none() && row.metric("received_mb") == Some(0.0)
}

/// Fails if an expectation does not hold.
fn judged(results: &[Results]) -> Result<()> {
    let verdicts = results
        .iter()
        .flat_map(|results| &results.manifest.verdicts);
    match verdicts.filter(|verdict| !verdict.holds).count() {
        0 => Ok(()),
        failed => Err(Unmet(failed).into()),
    }
}
