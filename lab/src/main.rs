//! `petra-lab`: the laboratory's command line.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use petra_lab::backend::Backend;
use petra_lab::{batch, compare, hunt, netem, qlog, quick, reference, report};

/// PETRA and other controllers on simulated and real links.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Download over a simulated link, in virtual time: the same arguments give
    /// the same figures every time.
    ///
    /// This is a plan that the command line writes, and `petra-lab run` in all else.
    /// Each controller gets the link for itself, or with --share all get it together.
    Sim(quick::Quick),
    /// Download over a real link made of network namespaces and tc netem.
    ///
    /// As `petra-lab sim`, in real time: each run has a new network that is measured
    /// first. Needs no root where the kernel lets users have namespaces, and runs in
    /// user-mode Linux where the kernel has no netem.
    Netem(quick::Quick),
    Demo(quick::Demo),
    Check(batch::Check),
    Run(batch::Run),
    Merge(batch::Merge),
    Draw(hunt::Draw),
    Hunt(hunt::Hunt),
    Tune(hunt::Tune),
    Report(report::Report),
    Frontier(report::Frontier),
    Compare(compare::Compare),
    Qlog(qlog::Qlog),
    Reference(reference::Reference),
    /// Within a sandbox: do its job.
    #[command(hide = true)]
    Inside {
        folder: PathBuf,
    },
    /// As the init of a user-mode Linux: do the job and power off.
    #[command(hide = true)]
    Boot {
        folder: PathBuf,
        /// Arguments that user-mode Linux adds to any command line.
        additions: Vec<String>,
    },
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Sim(quick) => quick.execute(Backend::Sim),
        Command::Netem(quick) => quick.execute(Backend::Netem),
        Command::Demo(demo) => demo.execute(),
        Command::Check(check) => check.execute(),
        Command::Run(run) => run.execute(),
        Command::Merge(merge) => merge.execute(),
        Command::Draw(draw) => draw.execute(),
        Command::Hunt(hunt) => hunt.execute(),
        Command::Tune(tune) => tune.execute(),
        Command::Report(report) => report.execute(),
        Command::Frontier(frontier) => frontier.execute(),
        Command::Compare(compare) => compare.execute(),
        Command::Qlog(qlog) => qlog.execute(),
        Command::Reference(reference) => reference.execute(),
        Command::Inside { folder } => netem::inside(&folder),
        Command::Boot { folder, .. } => netem::boot(&folder).map(|never| match never {}),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Its reader may have closed it.
            let _ = writeln!(io::stderr(), "petra-lab: {error:#}");
            // As `diff` does: 1 is an answer, 2 is an error, also with the
            // command line.
            match error.is::<batch::Unmet>() {
                true => ExitCode::from(1),
                false => ExitCode::from(2),
            }
        }
    }
}
