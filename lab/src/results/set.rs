//! A folder of results, read back.

use std::fs;
use std::path::Path;

use anyhow::{ensure, Context, Result};

use super::csv::read_csv;
use super::manifest::Manifest;
use super::row::Row;

/// A plan's results.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// Description of the results.
    pub manifest: Manifest,
    /// One of each flow of each run, in the order of the plan's points, and of
    /// the seeds within a point.
    pub rows: Vec<Row>,
}

impl Results {
    /// The rows that tables and distributions are made of.
    pub fn shown(&self) -> impl Iterator<Item = &Row> {
        let subject = self.manifest.subject;
        let shown = move |row: &&Row| subject.is_none_or(|flow| row.flow == flow);
        self.rows.iter().filter(shown)
    }
}

/// Contents of the folder that `petra-lab run` writes.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultSet {
    /// The results of each plan, in the order of the plans' names.
    pub plans: Vec<Results>,
}

impl ResultSet {
    /// Reads all results in `folder`, or those of one plan when `path` is its
    /// `NAME.json`.
    ///
    /// # Errors
    ///
    /// When there are none, or a file of theirs cannot be read or belongs to
    /// other ones.
    pub fn read(path: &Path) -> Result<Self> {
        if path.is_file() {
            let plans = vec![Results::read(path)?];
            return Ok(ResultSet { plans });
        }
        let entries = fs::read_dir(path).with_context(|| {
            let path = path.display();
            format!("{path}: cannot be read; expected the folder of results, or a NAME.json in it")
        })?;
        let mut manifests = Vec::new();
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|kind| kind == "json") {
                manifests.push(path);
            }
        }
        ensure!(
            !manifests.is_empty(),
            "{}: no results (got no NAME.json); expected a NAME.json and a NAME.csv for each plan, \
             which `petra-lab run` writes after all runs",
            path.display()
        );
        manifests.sort();
        let plans = manifests.iter().map(|path| Results::read(path));
        Ok(ResultSet {
            plans: plans.collect::<Result<_>>()?,
        })
    }
}

impl Manifest {
    /// Reads a manifest without the rows that it describes.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or is not a manifest of this version.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_slice(&text).with_context(|| {
            format!(
                "{} is not of a plan's results, or of another petra-lab's",
                path.display()
            )
        })
    }
}

impl Results {
    /// Reads the results whose manifest is at `path`, with the rows in its folder.
    ///
    /// # Errors
    ///
    /// As [`ResultSet::read`].
    pub fn read(path: &Path) -> Result<Self> {
        let manifest = Manifest::read(path)?;
        let table = path.with_extension("csv");
        let rows = read_csv(&table)?;
        ensure!(
            rows.iter().all(|row| row.plan_hash == manifest.plan_hash),
            "{} and {} are not of the same results",
            path.display(),
            table.display()
        );
        ensure!(
            rows.len() == manifest.rows,
            "{} has {} rows where {} says {}: a part is missing, or was added",
            table.display(),
            rows.len(),
            path.display(),
            manifest.rows
        );
        Ok(Results { manifest, rows })
    }
}
