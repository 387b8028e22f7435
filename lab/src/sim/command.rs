//! `petra-lab sim`: controllers on a simulated link, from the command line.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{ensure, Context, Result};
use clap::Args;
use rayon::prelude::*;

use super::{output, run, Report};
use crate::link::{Link, LinkOptions};
use crate::scenario::{Flow, Pacing, Scenario, Traffic};
use crate::units::{parse_duration, parse_size};

/// Download over a simulated link, in virtual time.
///
/// Each controller gets the link for itself, or with --share all get it
/// together. The same arguments give the same figures every time.
#[derive(Args, Clone, Debug)]
pub struct Sim {
    /// The server's congestion controller, options included, and when it
    /// starts: `cubic`, `petra:alpha=0.8`, `reno@5s`. May be repeated.
    #[arg(long, required = true, value_name = "NAME[:OPTIONS][@START]")]
    cc: Vec<Flow>,
    #[command(flatten)]
    link: LinkOptions,
    /// Virtual time from the beginning to the end.
    #[arg(long, default_value = "60s", value_parser = parse_duration)]
    duration: Duration,
    /// Bytes that each flow downloads [default: without end].
    #[arg(long, value_parser = parse_size)]
    size: Option<u64>,
    /// The servers' `max_datagram_size` in bytes.
    #[arg(long, default_value_t = 1350, value_name = "BYTES")]
    datagram: usize,
    /// Seed of all random numbers.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of seeds, counted up from --seed.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// All controllers on one link, instead of each on its own.
    #[arg(long)]
    share: bool,
    /// Make servers treat less room in the window than a datagram as none [default: quiche's, off
    /// for its own controllers and on for PETRA's].
    #[arg(long, value_name = "BOOL")]
    silly_window_avoidance: Option<bool>,
    /// Have cubic undo a reduction for losses alone that proved spurious, as
    /// RFC 9438 does.
    #[arg(long)]
    cubic_spurious_undo: bool,
    /// Switch pacing off.
    #[arg(long, conflicts_with = "hold")]
    no_pacing: bool,
    /// Hold packets until `SendInfo::at`, instead of asking for the release
    /// time before each.
    #[arg(long)]
    hold: bool,
    /// Print every run as JSON.
    #[arg(long)]
    json: bool,
    /// Write the qlogs of both ends of each flow into this folder.
    #[arg(long, value_name = "FOLDER")]
    qlog: Option<PathBuf>,
    /// Write each flow's window, RTT, body and queue over time to this file.
    #[arg(long, value_name = "FILE.csv")]
    series: Option<PathBuf>,
    /// Time between two samples of the series and of the means over time.
    #[arg(long, default_value = "20ms", value_name = "TIME", value_parser = parse_duration)]
    sample: Duration,
}

impl Sim {
    /// Runs what was asked for and prints the results.
    ///
    /// # Errors
    ///
    /// What cannot be run, or a file that cannot be written.
    pub fn execute(&self) -> Result<()> {
        let scenarios = self.scenarios()?;
        let reports = run_all(&scenarios)?;
        if let Some(file) = &self.series {
            output::write_series(file, &reports)
                .with_context(|| format!("cannot write the series {}", file.display()))?;
        }
        if self.json {
            output::print_json(&scenarios, &reports)?;
        } else {
            output::print_table(&reports)?;
        }
        let failures = failures(&reports);
        ensure!(failures.is_empty(), "{}", failures.join("\n"));
        Ok(())
    }

    /// The runs, seed by seed and within a seed controller by controller.
    fn scenarios(&self) -> Result<Vec<Scenario>> {
        let link = self.link.link()?;
        let link = &link;
        let flows: Vec<Flow> = self
            .cc
            .iter()
            .map(|flow| Flow {
                traffic: self.size.map_or(Traffic::Bulk, Traffic::Size),
                silly_window_avoidance: self.silly_window_avoidance,
                cubic_spurious_undo: self.cubic_spurious_undo,
                ..flow.clone()
            })
            .collect();
        let links: Vec<Vec<Flow>> = if self.share {
            vec![flows]
        } else {
            flows.into_iter().map(|flow| vec![flow]).collect()
        };
        let scenarios = (self.seed..).take(self.seeds as usize).flat_map(|seed| {
            links
                .iter()
                .map(move |flows| self.scenario(link, seed, flows))
        });
        Ok(scenarios.collect())
    }

    fn scenario(&self, link: &Link, seed: u64, flows: &[Flow]) -> Scenario {
        Scenario {
            duration: self.duration,
            seed,
            max_datagram_size: self.datagram,
            pacing: match (self.no_pacing, self.hold) {
                (true, _) => Pacing::Off,
                (_, true) => Pacing::Hold,
                _ => Pacing::Release,
            },
            sample_every: self.sample,
            qlog: self.qlog.clone(),
            ..Scenario::new(link.clone(), flows.to_vec())
        }
    }
}

/// Runs all scenarios, as many at a time as there are cores.
fn run_all(scenarios: &[Scenario]) -> Result<Vec<Report>> {
    scenarios.par_iter().map(run).collect()
}

/// A line for each flow that ended before its time.
fn failures(reports: &[Report]) -> Vec<String> {
    let flows = |report: &Report| {
        let seed = report.seed;
        let failed = report.flows.iter().filter_map(move |flow| {
            let failure = flow.failure.as_ref()?;
            Some(format!("{} (seed {seed}) failed: {failure}", flow.cc))
        });
        failed.collect::<Vec<_>>()
    };
    reports.iter().flat_map(flows).collect()
}
