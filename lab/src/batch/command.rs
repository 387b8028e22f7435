//! `petra-lab check`, `run` and `merge`.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{ensure, Context, Result};
use clap::builder::NonEmptyStringValueParser;
use clap::Args;

use super::journal::{line, Entry, Journal};
use super::manner::finish;
use super::publish::publish;
use super::run_set::{overridden, Overrides, RunSet};
use super::shard::Shard;
use super::work::Executor;
use super::{merge, Manner};
use crate::backend::Backend;
use crate::plan::{Only, Plan, Space};
use crate::results::write_whole;
use crate::units::parse_at_least_one;

/// The plans of a command, and what it says over them.
#[derive(Args, Clone, Debug)]
struct Plans {
    /// A plan: a TOML file, as docs/laboratory.md has it.
    #[arg(required = true, value_name = "PLAN.toml")]
    plans: Vec<PathBuf>,
    /// Backend of the runs [default: the plan's, else sim].
    #[arg(long, value_enum)]
    backend: Option<Backend>,
    /// Number of seeds; beyond the plan's own they continue from its last [default: the plan's].
    #[arg(long, value_name = "N", value_parser = parse_at_least_one)]
    seeds: Option<NonZeroUsize>,
    /// Only the points with this value of a sweep, or of this case: `flow.cc=petra`,
    /// `case=NAME`. May be repeated; of one NAME, points with any of its values. Expectations are
    /// not judged.
    #[arg(long, value_name = "NAME=VALUE")]
    only: Vec<Only>,
}

impl Plans {
    fn overrides(&self) -> Overrides {
        Overrides {
            backend: self.backend,
            seeds: self.seeds.map(NonZeroUsize::get),
            only: self.only.clone(),
        }
    }

    fn run_set(&self) -> Result<RunSet> {
        RunSet::read(&self.plans, &self.overrides())
    }
}

/// Say what is wrong with plans, or how many runs they are.
///
/// Of a plan with a space: whether `petra-lab hunt` can search it, and how many runs each
/// scenario takes.
#[derive(Args, Clone, Debug)]
pub struct Check {
    #[command(flatten)]
    plans: Plans,
}

impl Check {
    /// Prints a line for each plan, and one for all of them.
    ///
    /// # Errors
    ///
    /// What is wrong with a plan.
    pub fn execute(&self) -> Result<()> {
        let overrides = self.plans.overrides();
        let (mut lines, mut plans, mut faults) = (Vec::new(), Vec::new(), Vec::new());
        for file in &self.plans.plans {
            match space_line(file, &overrides) {
                Ok(Some(line)) => lines.push(line),
                Ok(None) => plans.push(file.clone()),
                Err(fault) => faults.push(format!("{fault:#}")),
            }
        }
        let run_set = RunSet::read(&plans, &overrides);
        faults.extend(run_set.as_ref().err().map(|fault| format!("{fault:#}")));
        let mut told = BTreeSet::new();
        faults.retain(|fault| told.insert(fault.clone()));
        ensure!(faults.is_empty(), "{}", faults.join("\n"));
        let run_set = run_set?;
        lines.extend(
            run_set
                .plans
                .iter()
                .map(|it| format!("{}: {}", it.file.display(), runs(&it.plan))),
        );
        for line in lines {
            writeln!(io::stdout(), "{line}")?;
        }
        if plans.is_empty() {
            return Ok(());
        }
        let wanted: usize = run_set.plans.iter().map(|planned| planned.plan.len()).sum();
        let runs = run_set.items.len();
        match wanted - runs {
            0 => writeln!(io::stdout(), "{runs} runs")?,
            shared => writeln!(
                io::stdout(),
                "{runs} runs; {shared} more are the same as one of these"
            )?,
        }
        Ok(())
    }
}

/// The line of a plan with a space; `None` of any other.
fn space_line(file: &Path, overrides: &Overrides) -> Result<Option<String>> {
    let Some(space) = Space::find(file)? else {
        return Ok(None);
    };
    let plan = overridden(space.check()?, file, overrides)?;
    plan.check_searchable()
        .with_context(|| file.display().to_string())?;
    Ok(Some(format!(
        "{}: a space of {} fields for `petra-lab hunt`; each scenario {}",
        file.display(),
        space.len(),
        runs(&plan)
    )))
}

/// The number of a plan's runs.
fn runs(plan: &Plan) -> String {
    format!(
        "{} points x {} seeds = {} runs by {}",
        plan.points.len(),
        plan.seeds.len(),
        plan.len(),
        plan.backend
    )
}

/// Run plans and keep the results.
///
/// A run that several plans have, or that the folder has from before, is made
/// once. Interrupted, the same command goes on where it was.
#[derive(Args, Clone, Debug)]
pub struct Run {
    #[command(flatten)]
    plans: Plans,
    /// The folder of the results and of the journal of finished runs.
    #[arg(long, short, value_name = "FOLDER", default_value = "results/plans")]
    out: PathBuf,
    /// Only a part of the runs, into shard-I-of-N.jsonl for `petra-lab merge`:
    /// `3/10`, or `env/10` where Slurm or Kubernetes number the jobs.
    #[arg(long, value_name = "I/N", conflicts_with = "json")]
    shard: Option<Shard>,
    /// Also keep the qlogs of the run with this key, or with one that begins so: the column `key`
    /// of the results. A run without its qlogs is made again.
    #[arg(long, value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    qlog: Vec<String>,
    #[command(flatten)]
    manner: Manner,
}

impl Run {
    /// Runs what is missing, writes the results and prints them.
    ///
    /// # Errors
    ///
    /// A key of no run, what could not be run, that it was interrupted, or
    /// [`Unmet`](super::Unmet).
    pub fn execute(&self) -> Result<()> {
        let mut run_set = self.plans.run_set()?;
        for key in &self.qlog {
            run_set.keep_qlogs(key)?;
        }
        if let Some(shard) = self.shard {
            let executor = self.manner.executor(&self.out, true);
            return self.run_shard(run_set.shard(shard), &executor, shard);
        }
        let overrides = self.plans.overrides();
        self.manner
            .perform_in(&run_set, &overrides, &self.out, true)
    }

    /// The shard's file has exactly the shard's runs, in the order of their
    /// keys, and is there when they are.
    fn run_shard(&self, run_set: RunSet, executor: &Executor, shard: Shard) -> Result<()> {
        let whole = merge::file(&self.out, shard);
        let partial = merge::partial(&self.out, shard);
        if whole.is_file() && !partial.is_file() {
            fs::rename(&whole, &partial)?;
        }
        let mut journal = Journal::open(&partial)?;
        executor.work(&run_set.items, &mut journal, &|_, _| Ok(()))?;
        write_journal(&whole, &run_set, &journal)?;
        fs::remove_file(&partial)?;
        writeln!(
            io::stdout(),
            "{} runs: {}",
            run_set.items.len(),
            whole.display()
        )?;
        Ok(())
    }
}

fn write_journal(path: &Path, run_set: &RunSet, journal: &Journal) -> Result<()> {
    write_whole(path, |out| {
        for key in run_set.items.keys() {
            let entry = Entry {
                key: key.clone(),
                again: false,
                outcome: journal.finished()[key].clone(),
            };
            out.write_all(&line(&entry)?)?;
        }
        Ok(())
    })
}

/// Join the shards of a folder into results.
///
/// Takes the plans and the options that the shards were run with.
#[derive(Args, Clone, Debug)]
pub struct Merge {
    #[command(flatten)]
    plans: Plans,
    /// The folder of the shards, which gets the results.
    #[arg(long, short, value_name = "FOLDER", default_value = "results/plans")]
    out: PathBuf,
}

impl Merge {
    /// Writes the results and prints them.
    ///
    /// # Errors
    ///
    /// A shard or a run that is missing, or there twice; or [`Unmet`](super::Unmet).
    pub fn execute(&self) -> Result<()> {
        let run_set = self.plans.run_set()?;
        let finished = merge::join(&self.out, &run_set)?;
        let results = publish(&run_set, &self.plans.overrides(), &finished, &self.out)?;
        finish(&results, Some(&self.out))
    }
}
