//! A link in real time between two TUN devices, which are for two network
//! namespaces:
//!
//! ```text
//!  client ── TUN ──▶ channel ──▶ impairments ──▶ translation ──▶ TUN ── server
//!                                                    and the same back
//! ```
//!
//! The channel is the laboratory's, the one that simulations use. Impairments and
//! translation are those of the QUIC interop runner's scenarios. Captures are
//! taken where packets enter and leave. On SIGINT or SIGTERM it prints what it has
//! carried and the most that it can carry, as JSON, and ends.
//!
//! `petra-link run` makes the namespaces, too, and a transfer over the link.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use anyhow::Result;
use clap::{Parser, Subcommand};

mod capture;
mod figures;
mod impairments;
mod job;
mod link;
mod packet;
mod tally;
mod translation;
mod tun;

use link::Link;

/// Creates two TUN devices and carries packets between them over a link.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    link: link::Options,
}

#[derive(Subcommand)]
enum Command {
    /// Make a transfer over a link between two network namespaces, and print its figures
    Run {
        /// Link, server and client, as JSON: `Job` in interop/link/src/job.rs
        job: PathBuf,
    },
    /// Within the sandbox of `run`: do its job
    #[command(hide = true)]
    Inside { job: PathBuf },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match cli.command {
        None => carry(&cli.link),
        Some(Command::Run { job }) => job::run(&job),
        Some(Command::Inside { job }) => job::inside(&job),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("petra-link: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Carries packets until a signal.
fn carry(options: &link::Options) -> Result<()> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, stop.clone())?;
    }
    let mut link = Link::open(options)?;
    println!("ready");
    link.run(&stop)?;
    println!("{}", serde_json::to_string(&link.report())?);
    Ok(())
}
