//! `petra-lab check`, `run` and `merge`.

use std::fs;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;

use super::agenda::{Agenda, Overrides};
use super::journal::{line, Entry, Journal};
use super::manner::finish;
use super::publish::publish;
use super::shard::Shard;
use super::work::Crew;
use super::{merge, Manner};
use crate::backend::Backend;
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
    /// Only a part of the runs, into shard-I-of-N.jsonl for `petra-lab merge`:
    /// `3/10`, or `env/10` where Slurm or Kubernetes number the jobs.
    #[arg(long, value_name = "I/N", conflicts_with = "json")]
    shard: Option<Shard>,
    #[command(flatten)]
    manner: Manner,
}

impl Run {
    /// Runs what is missing, writes the results and prints them.
    ///
    /// # Errors
    ///
    /// What could not be run, that it was interrupted, or [`Unmet`](super::Unmet).
    pub fn execute(&self) -> Result<()> {
        let agenda = self.plans.agenda()?;
        if let Some(shard) = self.shard {
            let crew = self.manner.crew(&self.out, true);
            return self.run_shard(agenda.shard(shard), &crew, shard);
        }
        let overrides = self.plans.overrides();
        self.manner.perform_in(&agenda, overrides, &self.out, true)
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
    /// A shard or a run that is missing, or there twice; or [`Unmet`](super::Unmet).
    pub fn execute(&self) -> Result<()> {
        let agenda = self.plans.agenda()?;
        let finished = merge::join(&self.out, &agenda)?;
        let results = publish(&agenda, self.plans.overrides(), &finished, &self.out)?;
        finish(&results, Some(&self.out))
    }
}
