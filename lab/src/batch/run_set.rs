//! The set of runs: each run once, even if several plans need it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{ensure, Context, Result};

use super::shard::Shard;
use crate::backend::Backend;
use crate::plan::{Only, Plan, MAX_RUNS};
use crate::results::Versions;
use crate::scenario::Scenario;

/// Plans, and the runs that they take together.
pub(crate) struct RunSet {
    pub(crate) plans: Vec<Planned>,
    /// By their keys. A key is a hash, so that the order of the keys mixes
    /// long runs and short ones, as shards of one size want it.
    pub(crate) items: BTreeMap<String, Item>,
    pub(super) versions: Versions,
}

/// A plan and where it is from.
pub(crate) struct Planned {
    pub(super) plan: Plan,
    pub(super) file: PathBuf,
    /// The command that made it, where there is no file.
    pub(super) typed: Option<String>,
}

/// A run that has to be there.
#[derive(Clone)]
pub(crate) struct Item {
    pub(super) backend: Backend,
    pub(crate) scenario: Scenario,
    /// Artifacts that plans request of the run.
    pub(super) wanted: Wanted,
    /// The plans that have it, by their numbers, the first one first.
    pub(super) plans: Vec<usize>,
}

/// Artifacts that plans request of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    /// Its flows over time.
    pub(super) series: bool,
    /// The qlogs of both ends.
    pub(super) qlog: bool,
}

/// Options of the command line that override the plans.
#[derive(Clone, Default)]
pub(crate) struct Overrides {
    pub(super) backend: Option<Backend>,
    pub(super) seeds: Option<usize>,
    pub(super) only: Vec<Only>,
}

impl RunSet {
    /// Reads the plans and puts their runs together.
    ///
    /// # Errors
    ///
    /// What is wrong with each plan, or what its backend cannot do.
    pub(super) fn read(files: &[PathBuf], overrides: &Overrides) -> Result<Self> {
        let mut run_set = RunSet::empty();
        let seeds = overrides.seeds.unwrap_or(1);
        ensure!(
            seeds <= MAX_RUNS,
            "seeds: too many (got {seeds}); expected {MAX_RUNS} at most"
        );
        let (mut plans, mut faults) = (Vec::new(), Vec::new());
        for file in files {
            match read(file, overrides) {
                Ok(plan) => plans.push((file, plan)),
                Err(fault) => faults.push(format!("{fault:#}")),
            }
        }
        // Plans that extend the same one have its faults in common.
        let mut told = BTreeSet::new();
        faults.retain(|fault| told.insert(fault.clone()));
        ensure!(faults.is_empty(), "{}", faults.join("\n"));
        for (file, plan) in plans {
            let other = run_set
                .plans
                .iter()
                .find(|other| other.plan.name == plan.name);
            if let Some(other) = other {
                anyhow::bail!(
                    "{} and {}: one name (got {} twice); expected names of their own, as results have them",
                    other.file.display(),
                    file.display(),
                    plan.name
                );
            }
            run_set
                .add(plan, file, None)
                .with_context(|| file.display().to_string())?;
        }
        Ok(run_set)
    }

    /// The runs of one plan that is from `file`.
    ///
    /// # Errors
    ///
    /// What its backend cannot do.
    pub(crate) fn of(plan: Plan, file: &Path) -> Result<Self> {
        let mut run_set = RunSet::empty();
        run_set.add(plan, file, None)?;
        Ok(run_set)
    }

    /// The runs of a plan that a command is.
    ///
    /// # Errors
    ///
    /// As [`Self::of`].
    pub(crate) fn typed(plan: Plan, command: String) -> Result<Self> {
        let mut run_set = RunSet::empty();
        run_set.add(plan, Path::new(""), Some(command))?;
        Ok(run_set)
    }

    fn empty() -> Self {
        RunSet {
            plans: Vec::new(),
            items: BTreeMap::new(),
            versions: Versions::current(),
        }
    }

    fn add(&mut self, plan: Plan, file: &Path, typed: Option<String>) -> Result<()> {
        let number = self.plans.len();
        for point in &plan.points {
            plan.backend.accepts(&point.scenario)?;
            for seed in &plan.seeds {
                let run = plan.run(point, *seed, &self.versions)?;
                let item = self.items.entry(run.key).or_insert(Item {
                    backend: plan.backend,
                    scenario: run.scenario,
                    wanted: Wanted::default(),
                    plans: Vec::new(),
                });
                if item.plans.last() != Some(&number) {
                    item.plans.push(number);
                }
                item.wanted.series |= plan.series;
                item.wanted.qlog |= plan.qlog;
            }
        }
        self.plans.push(Planned {
            plan,
            file: file.to_owned(),
            typed,
        });
        Ok(())
    }

    /// Requests the qlogs of the run whose key begins with `key`.
    ///
    /// # Errors
    ///
    /// No such run, or several.
    pub(super) fn keep_qlogs(&mut self, key: &str) -> Result<()> {
        let found = self
            .items
            .iter_mut()
            .filter(|(run, _)| run.starts_with(key));
        let mut found: Vec<(&String, &mut Item)> = found.collect();
        ensure!(
            found.len() == 1,
            "--qlog: {} runs have such a key (got {key:?}); expected one: the column `key` of \
             results with these plans, --only, seeds, backend and versions, or enough of its \
             beginning",
            found.len()
        );
        found[0].1.wanted.qlog = true;
        Ok(())
    }

    /// Only the runs of a shard.
    #[must_use]
    pub(super) fn shard(mut self, shard: Shard) -> Self {
        let items = std::mem::take(&mut self.items).into_iter().enumerate();
        let own = items.filter(|(number, _)| shard.has(*number));
        self.items = own.map(|(_, item)| item).collect();
        self
    }
}

fn read(file: &Path, overrides: &Overrides) -> Result<Plan> {
    overridden(Plan::read(file)?, file, overrides)
}

/// The plan that is from `file`, with what the command line has in place of its own.
pub(super) fn overridden(plan: Plan, file: &Path, overrides: &Overrides) -> Result<Plan> {
    let part = plan.only(&overrides.only);
    let mut plan = part.with_context(|| file.display().to_string())?;
    if let Some(seeds) = overrides.seeds {
        plan = plan.with_seeds(seeds)?;
    }
    ensure!(
        plan.len() <= MAX_RUNS,
        "{}: too many runs (got {} points x {} seeds); expected {MAX_RUNS} at most, in several plans",
        file.display(),
        plan.points.len(),
        plan.seeds.len()
    );
    plan.backend = overrides.backend.unwrap_or(plan.backend);
    Ok(plan)
}
