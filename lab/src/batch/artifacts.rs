//! The files of runs beside their figures: flows over time, qlogs, and records of netem.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};

use super::run_set::{Item, Wanted};
use super::series;
use crate::backend::{Outcome, Runner};
use crate::results::write_whole;
use crate::scenario::Scenario;

/// The places of what is kept, in the folder of the results.
pub(super) struct Artifacts {
    series: PathBuf,
    qlog: PathBuf,
    netem: PathBuf,
}

impl Artifacts {
    pub(super) fn new(folder: &Path) -> Self {
        Artifacts {
            series: folder.join("series"),
            qlog: folder.join("qlog"),
            netem: folder.join("netem"),
        }
    }

    /// Returns true if all requested artifacts of a finished run exist.
    pub(super) fn has(&self, key: &str, wanted: Wanted) -> bool {
        (!wanted.series || self.series_of(key).is_file())
            && (!wanted.qlog || self.qlog.join(key).is_dir())
    }

    /// Makes a run and keeps what is wanted of it, whole or not at all.
    ///
    /// # Errors
    ///
    /// Why there is no outcome, or what cannot be written.
    pub(super) fn run(
        &self,
        runner: &dyn Runner,
        key: &str,
        item: &Item,
        stop: &AtomicBool,
    ) -> Result<Outcome> {
        let qlogs = item.wanted.qlog.then(|| self.qlogs(key)).transpose()?;
        let scenario = Scenario {
            qlog: qlogs.as_ref().map(|(partial, _)| partial.clone()),
            ..item.scenario.clone()
        };
        let outcome = runner.run(&scenario, stop)?;
        if item.wanted.series {
            make(&self.series)?;
            write_whole(&self.series_of(key), |out| {
                series::write(&item.scenario, &outcome.flows, out)
            })?;
        }
        if let Some(record) = &outcome.record {
            make(&self.netem)?;
            write_whole(&self.netem.join(format!("{key}.json")), |out| {
                Ok(serde_json::to_writer_pretty(out, &record.facts)?)
            })?;
            // Those of an earlier run, which was another one.
            remove(&self.qlog.join(key))?;
        }
        if let Some((partial, whole)) = qlogs {
            remove(&whole)?;
            fs::rename(&partial, &whole)
                .with_context(|| format!("cannot make {}", whole.display()))?;
        }
        Ok(outcome)
    }

    fn series_of(&self, key: &str) -> PathBuf {
        self.series.join(format!("{key}.csv"))
    }

    /// A new folder for a run's qlogs, and the name that it gets when they are
    /// whole. What an interrupted run has left goes.
    fn qlogs(&self, key: &str) -> Result<(PathBuf, PathBuf)> {
        let [partial, whole] = [format!(".{key}"), key.to_owned()].map(|it| self.qlog.join(it));
        remove(&partial)?;
        make(&partial)?;
        Ok((partial, whole))
    }
}

/// Removes a folder if it exists.
fn remove(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    Ok(())
}

fn make(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}
