//! `petra-lab check`, `run` and `merge`.

use std::error::Error;
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;

use super::agenda::{Agenda, Overrides};
use super::journal::{line, Entry, Journal};
use super::keep::Shelf;
use super::publish::publish;
use super::shard::Shard;
use super::work::Crew;
use super::{merge, show};
use crate::backend::Backend;
use crate::results::{write_whole, Results};

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
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    seeds: Option<NonZeroUsize>,
}

/// A whole number of at least 1.
pub(crate) fn at_least_one(text: &str) -> Result<NonZeroUsize, String> {
    let number = text.parse();
    number.map_err(|_| "expected a whole number of at least 1".to_owned())
}

impl Plans {
    fn overrides(&self) -> Overrides {
        Overrides {
            backend: self.backend,
            seeds: self.seeds.map(NonZeroUsize::get),
        }
    }

    fn agenda(&self) -> Result<Agenda> {
        Agenda::read(&self.plans, self.overrides())
    }
}

/// Say what is wrong with plans, or how many runs they are.
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
        let agenda = self.plans.agenda()?;
        for planned in &agenda.plans {
            let plan = &planned.plan;
            writeln!(
                io::stdout(),
                "{}: {} points x {} seeds = {} runs by {}",
                planned.file.display(),
                plan.points.len(),
                plan.seeds.len(),
                plan.len(),
                plan.backend
            )?;
        }
        let wanted: usize = agenda.plans.iter().map(|planned| planned.plan.len()).sum();
        let runs = agenda.items.len();
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
    /// Runs at the same time [default: one for each processor; 2 of netem].
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    jobs: Option<NonZeroUsize>,
    /// Only a part of the runs, into shard-I-of-N.jsonl for `petra-lab merge`:
    /// `3/10`, or `env/10` where Slurm or Kubernetes number the jobs.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// For netem: where http3-server and http3-client are [default: `examples`
    /// beside this program].
    #[arg(long, value_name = "FOLDER")]
    programs: Option<PathBuf>,
}

impl Run {
    /// Runs what is missing, writes the results and prints them.
    ///
    /// # Errors
    ///
    /// What could not be run, that it was interrupted, or [`Unmet`].
    pub fn execute(&self) -> Result<()> {
        let agenda = self.plans.agenda()?;
        let crew = Crew {
            jobs: self.jobs.map(NonZeroUsize::get),
            programs: self.programs.clone(),
            shelf: Shelf::new(&self.out),
        };
        if let Some(shard) = self.shard {
            return self.run_shard(agenda.shard(shard), &crew, shard);
        }
        let mut journal = Journal::open(&self.out.join("journal.jsonl"))?;
        crew.work(&agenda.items, &mut journal)?;
        let results = publish(
            &agenda,
            self.plans.overrides(),
            journal.finished(),
            &self.out,
        )?;
        finish(&results, &self.out)
    }

    /// The shard's file has exactly the shard's runs, in the order of their
    /// keys, and is there when they are.
    fn run_shard(&self, agenda: Agenda, crew: &Crew, shard: Shard) -> Result<()> {
        let whole = merge::file(&self.out, shard);
        let partial = merge::partial(&self.out, shard);
        if whole.is_file() && !partial.is_file() {
            fs::rename(&whole, &partial)?;
        }
        let mut journal = Journal::open(&partial)?;
        crew.work(&agenda.items, &mut journal)?;
        write_journal(&whole, &agenda, &journal)?;
        fs::remove_file(&partial)?;
        writeln!(
            io::stdout(),
            "{} runs: {}",
            agenda.items.len(),
            whole.display()
        )?;
        Ok(())
    }
}

fn write_journal(path: &Path, agenda: &Agenda, journal: &Journal) -> Result<()> {
    write_whole(path, |out| {
        for key in agenda.items.keys() {
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
    /// A shard or a run that is missing, or there twice; or [`Unmet`].
    pub fn execute(&self) -> Result<()> {
        let agenda = self.plans.agenda()?;
        let finished = merge::join(&self.out, &agenda)?;
        let results = publish(&agenda, self.plans.overrides(), &finished, &self.out)?;
        finish(&results, &self.out)
    }
}

/// Of so many expectations of plans that do not hold. Nothing went wrong: the
/// results are there.
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

/// Prints results, and says where they are.
fn finish(results: &[Results], folder: &Path) -> Result<()> {
    let mut failed = 0;
    for results in results {
        show::print(results)?;
        let manifest = &results.manifest;
        writeln!(
            io::stdout(),
            "\nresults: {}",
            folder.join(format!("{}.csv", manifest.plan)).display()
        )?;
        let failures = results
            .rows
            .iter()
            .filter(|row| row.failure.is_some())
            .count();
        if failures > 0 {
            writeln!(
                io::stdout(),
                "{failures} flows ended before their time: see the column `failure`"
            )?;
        }
        failed += manifest
            .verdicts
            .iter()
            .filter(|verdict| !verdict.holds)
            .count();
    }
    // A table of the thesis, say: the terminal has no room for what follows of it.
    let rows = results.iter().flat_map(|results| &results.rows);
    let mut references = rows.flat_map(|row| &row.references);
    if references.any(|(name, _)| name.starts_with("printed.")) {
        writeln!(
            io::stdout(),
            "\nprinted beside measured, with ratios and intervals: petra-lab report {}",
            folder.display()
        )?;
    }
    match failed {
        0 => Ok(()),
        failed => Err(Unmet(failed).into()),
    }
}
