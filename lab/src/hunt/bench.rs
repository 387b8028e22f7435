//! Results of plans that no file has, each run made once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{bail, Result};
use rayon::prelude::*;

use super::islands::Islands;
use crate::backend::{Backend, Outcome, Runner};
use crate::batch::{self, Journal, RunSet};
use crate::plan::Plan;
use crate::results::Results;

/// The simulator and the journal of what it has run.
pub(super) struct Bench {
    runner: Box<dyn Runner>,
    journal: Mutex<Journal>,
    /// Runs that are made already, by shards.
    made: BTreeMap<String, Outcome>,
    /// Set when nobody waits any more.
    pub(super) stop: Arc<AtomicBool>,
    threads: rayon::ThreadPool,
}

impl Bench {
    /// A bench with the journals of `islands` in `folder`, `jobs` runs at a time or one
    /// for each processor.
    ///
    /// # Errors
    ///
    /// A journal that cannot be used.
    pub(super) fn new(
        folder: &Path,
        islands: &Islands,
        jobs: Option<usize>,
        stop: Arc<AtomicBool>,
    ) -> Result<Self> {
        let runner = Backend::Sim.runner(None)?;
        let jobs = jobs.unwrap_or_else(|| runner.workers());
        Ok(Bench {
            threads: rayon::ThreadPoolBuilder::new().num_threads(jobs).build()?,
            journal: Mutex::new(Journal::open(&islands.journal(folder))?),
            made: islands.finished(folder)?,
            runner,
            stop,
        })
    }

    /// Does `work` with the bench's threads.
    pub(super) fn with_threads<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.threads.install(work)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Makes the runs of `plan` that are not there yet.
    ///
    /// # Errors
    ///
    /// A run that cannot be made, or that the bench was stopped.
    pub(super) fn results(&self, plan: Plan) -> Result<Results> {
        plan.check_searchable()?;
        let file = PathBuf::from(format!("{}.toml", plan.name));
        let run_set = RunSet::of(plan, &file)?;
        let missing: Vec<_> = {
            let journal = self.journal();
            let missing = |key: &&String| self.outcome(&journal, key).is_none();
            let keys = run_set.items.keys().filter(missing);
            keys.map(|key| (key, &run_set.items[key])).collect()
        };
        missing.into_par_iter().try_for_each(|(key, item)| {
            if self.is_stopped() {
                bail!("interrupted");
            }
            let outcome = self.runner.run(&item.scenario, &self.stop)?;
            self.journal().add(key.clone(), outcome)
        })?;
        let finished: BTreeMap<String, Outcome> = {
            let journal = self.journal();
            let outcome = |key: &String| Some((key.clone(), self.outcome(&journal, key)?.clone()));
            run_set.items.keys().filter_map(outcome).collect()
        };
        batch::results(&run_set, &run_set.plans[0], &Default::default(), &finished)
    }

    /// Outcome of a run, if it is made.
    fn outcome<'a>(&'a self, journal: &'a Journal, key: &str) -> Option<&'a Outcome> {
        journal.finished().get(key).or_else(|| self.made.get(key))
    }

    /// No worker holds it while it runs anything, so that none can wait for another.
    fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
