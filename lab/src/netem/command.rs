//! `petra-lab netem`: what the command line can say of a run.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;

use crate::link::LinkOptions;
use crate::units::{parse_duration, parse_size};

use super::experiment;
use super::sandbox::Choice;

/// Download over a real link made of network namespaces and tc netem.
///
/// Each controller gets the link for itself, with a new network that is
/// measured first. Needs no root where the kernel lets users have namespaces,
/// and runs in user-mode Linux where the kernel has no netem.
#[derive(Args, Clone, Debug)]
pub struct Netem {
    /// The server's congestion controller, options included: `cubic`,
    /// `petra:alpha=0.8`. May be repeated.
    #[arg(long, required = true, value_name = "NAME[:OPTIONS]")]
    cc: Vec<String>,
    #[command(flatten)]
    options: Options,
}

impl Netem {
    /// Runs what was asked for, prints the table and where the results are.
    ///
    /// # Errors
    ///
    /// What cannot be run; there are no results then.
    pub fn execute(&self) -> Result<()> {
        experiment::execute(&self.cc, &self.options)
    }
}

/// Everything but the controllers.
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[command(flatten)]
    pub(super) link: LinkOptions,
    /// A transfer ends after this time, or when its body is whole.
    #[arg(long, default_value = "20s", value_parser = parse_duration)]
    pub(super) duration: Duration,
    /// Bytes of the body [default: more than the link carries in the time].
    #[arg(long, value_parser = parse_size)]
    pub(super) size: Option<u64>,
    /// Provider of netem.
    #[arg(long, value_enum, default_value = "auto")]
    pub(super) backend: Choice,
    /// Number of concurrent runs, each with a network of its own [default: 2, or 1 on a machine
    /// with one processor].
    #[arg(long, value_name = "RUNS", value_parser = clap::value_parser!(u8).range(1..))]
    pub(super) parallel: Option<u8>,
    /// The folder to make for the results [default: a new one in `results`].
    #[arg(long, value_name = "FOLDER")]
    pub(super) out: Option<PathBuf>,
    /// Folder of http3-server and http3-client [default: `examples` in the folder of this program].
    #[arg(long, value_name = "FOLDER")]
    pub(super) programs: Option<PathBuf>,
    /// More options for http3-server.
    #[arg(last = true, value_name = "SERVER OPTIONS")]
    pub(super) server_options: Vec<String>,
}
