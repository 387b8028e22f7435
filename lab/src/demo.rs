//! `petra-lab demo`: what PETRA is about, in one table, over a real link.

use std::io::{self, Write};

use anyhow::Result;
use clap::Args;

use crate::netem::{execute, Options};

/// Download over a real lossy link with PETRA, with Westwood, and with quiche's
/// own controllers.
///
/// That is `scripts/demo --netem`: network namespaces and tc netem, 10 Mbit/s and
/// 45 ms each way with 0.5 % loss by default.
#[derive(Args, Clone, Debug)]
pub struct Demo {
    /// The server's congestion controller, options included: `cubic`,
    /// `petra:alpha=0.8`. May be repeated.
    #[arg(long, value_name = "NAME[:OPTIONS]",
          default_values = ["petra", "westwood", "cubic", "reno", "bbr2"])]
    cc: Vec<String>,
    #[command(flatten)]
    options: Options,
}

impl Demo {
    /// Runs the controllers and prints the table.
    ///
    /// # Errors
    ///
    /// What cannot be run; there are no results then.
    pub fn execute(&self) -> Result<()> {
        execute(&self.cc, &self.options)?;
        writeln!(
            io::stdout(),
            "queue ms: how long packets wait at the bottleneck, on average."
        )?;
        Ok(())
    }
}
