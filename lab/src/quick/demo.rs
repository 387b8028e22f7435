//! `petra-lab demo`: what PETRA is about, in one table.

use std::env;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::command::typed;
use crate::backend::Backend;
use crate::batch::{Manner, RunSet};
use crate::plan::Plan;
use crate::units::parse_at_least_one;

/// The plan, which this program has within.
const PLAN: &str = include_str!("../../plans/demo.toml");

/// Download over a lossy link with PETRA, with Westwood, and with quiche's own
/// controllers.
///
/// That is the plan lab/plans/demo.toml: 10 Mbit/s and 45 ms each way with 0.5 % loss,
/// for 20 s. With `--backend netem` it is a real link.
#[derive(Args, Clone, Debug)]
pub struct Demo {
    /// Backend of the runs.
    #[arg(long, value_enum, default_value_t)]
    backend: Backend,
    /// Number of seeds.
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_at_least_one)]
    seeds: NonZeroUsize,
    /// The folder of the results and of the journal of finished runs.
    #[arg(long, short, value_name = "FOLDER", default_value = "results/demo")]
    out: PathBuf,
    #[command(flatten)]
    manner: Manner,
}

impl Demo {
    /// Runs the controllers and prints the table.
    ///
    /// # Errors
    ///
    /// A run that is not possible, or an expectation that does not hold.
    pub fn execute(&self) -> Result<()> {
        let mut plan = Plan::of_text("demo", PLAN)?.with_seeds(self.seeds.get())?;
        plan.backend = self.backend;
        let run_set = RunSet::typed(plan, typed(env::args().skip(1)))?;
        self.manner.perform(&run_set, Some(&self.out))
    }
}
