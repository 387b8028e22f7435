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

#[cfg(test)]
mod tests {
    use std::process::Command;

    use clap::Args;

    use super::*;

    const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/demo");

    #[test]
    fn the_script_has_every_option_of_the_command() {
        let help = Command::new(SCRIPT).arg("--help").output().unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        let command = Demo::augment_args(clap::Command::new("demo"));
        // The backend is what the script's --netem is for.
        let options = command.get_arguments().filter_map(|it| it.get_long());
        for name in options.filter(|name| *name != "backend") {
            assert!(help.contains(&format!("--{name}")), "{name}");
        }
    }

    #[test]
    fn the_script_refuses_wrong_options_before_it_builds() {
        for (words, says) in [
            ("--what", "option: unknown (got --what)"),
            ("--seeds", "--seeds: missing value"),
            ("--seeds=0", "--seeds: out of range (got 0)"),
            ("--jobs many", "--jobs: out of range (got many)"),
            ("--sandbox none", "--sandbox: unknown (got none)"),
            ("--out=", "--out: empty"),
            ("--json=foo", "--json: unexpected value (got foo)"),
            ("--netem=no", "--netem: unexpected value (got no)"),
            ("--seeds=1000001", "--seeds: out of range (got 1000001)"),
            (
                "--seeds=99999999999999999999999",
                "--seeds: out of range (got 99999999999999999999999)",
            ),
            (
                "--programs=nowhere",
                "--programs: not a folder (got nowhere)",
            ),
        ] {
            let output = Command::new(SCRIPT).args(words.split(' ')).output();
            let output = output.unwrap();
            let error = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{words}");
            assert!(error.contains(says), "{words}: {error}");
            assert!(output.stdout.is_empty(), "{words}");
        }
    }
}
