//! `petra-lab compare`.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{ensure, Result};
use clap::Args;

use super::pairs::Comparison;
use super::{html, summary, text};
use crate::results::{check_target, parse_metric, write_whole, ResultSet};

/// Compare two sets of results: what is more or less in B than in A.
///
/// Rows with the same plan, case, places on the axes and controller are
/// compared by their means over the seeds. They differ where the difference
/// exceeds its 95 % interval (Welch's t).
#[derive(Args, Clone, Debug)]
pub struct Compare {
    /// The folder of the results that are compared with, or one plan's
    /// NAME.json.
    #[arg(value_name = "A")]
    a: PathBuf,
    /// Those that are compared. Of one plan each, the plans may have different
    /// names.
    #[arg(value_name = "B")]
    b: PathBuf,
    /// A metric, by the name of its column. May be repeated [default: those
    /// that the plan shows].
    #[arg(long, value_name = "NAME", value_parser = parse_metric)]
    metric: Vec<String>,
    /// Show what does not differ, too.
    #[arg(long)]
    all: bool,
    /// Print a Markdown table instead: for each plan, controller and metric the rows in which B is
    /// less or more, and the least, the geometric mean and the largest of B / A.
    #[arg(long, conflicts_with = "all")]
    summary: bool,
    /// Write it as an HTML file, too.
    #[arg(long, short, value_name = "FILE.html")]
    out: Option<PathBuf>,
}

impl Compare {
    /// Prints the comparison.
    ///
    /// # Errors
    ///
    /// Results that cannot be read, or that have nothing in common; a file that
    /// cannot be written.
    pub fn execute(&self) -> Result<()> {
        if let Some(out) = &self.out {
            check_target(out)?;
        }
        let (a, b) = (ResultSet::read(&self.a)?, ResultSet::read(&self.b)?);
        let comparison = Comparison::new(&a, &b, &self.metric);
        ensure!(
            !comparison.plans.is_empty(),
            "{} and {} have no plan in common: {} and {}",
            self.a.display(),
            self.b.display(),
            names(&a),
            names(&b)
        );
        ensure!(
            comparison.plans.iter().any(|plan| plan.has_rows()),
            "{} and {} have no row in common: the plans differ in their points or seeds",
            self.a.display(),
            self.b.display()
        );
        let title = format!("A: {}, B: {}", self.a.display(), self.b.display());
        match self.summary {
            true => summary::print(&comparison)?,
            false => text::print(&comparison, &title, self.all)?,
        }
        if let Some(out) = &self.out {
            let page = html::page(&comparison, &title, self.all);
            write_whole(out, |file| Ok(file.write_all(page.as_bytes())?))?;
            writeln!(io::stdout(), "\ncomparison: {}", out.display())?;
        }
        Ok(())
    }
}

fn names(set: &ResultSet) -> String {
    let names = set.plans.iter().map(|plan| plan.manifest.plan.as_str());
    names.collect::<Vec<_>>().join(", ")
}
