//! `petra-lab sim` and `petra-lab netem`.

use std::env;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;

use super::plan;
use crate::backend::Backend;
use crate::batch::{Manner, RunSet};
use crate::link::LinkOptions;
use crate::note::note;
use crate::plan::Plan;
use crate::scenario::Flow;
use crate::shell;
use crate::units::{parse_duration, parse_size, parse_whole, SEED_RANGE};

/// An experiment of the command line: controllers on one link.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = controllers())]
pub struct Quick {
    /// The server's congestion controller.
    #[arg(long, required = true, value_name = "NAME[:OPTIONS][@START]", help = cc_help())]
    pub(super) cc: Vec<Flow>,
    #[command(flatten)]
    pub(super) link: LinkOptions,
    /// From the beginning of a run to its end [default: 60s, and 20s of netem].
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_duration)]
    pub(super) duration: Option<Duration>,
    /// Bytes that each flow downloads [default: without end].
    #[arg(long, allow_hyphen_values = true, value_parser = parse_size)]
    pub(super) size: Option<u64>,
    /// The servers' `max_datagram_size` in bytes.
    #[arg(long, default_value = "1350", value_name = "BYTES", allow_hyphen_values = true,
        value_parser = parse_whole(0..=65_527_u64))]
    pub(super) datagram: u64,
    /// Seed of all random numbers except netem's own.
    #[arg(long, default_value = "1", value_name = "N", allow_hyphen_values = true,
        value_parser = parse_whole(SEED_RANGE))]
    pub(super) seed: u64,
    /// Number of seeds, counted up from --seed.
    #[arg(long, default_value = "1", value_name = "N", allow_hyphen_values = true,
        value_parser = parse_whole(1..=1_000_000_u64))]
    pub(super) seeds: u64,
    /// All controllers on one link, instead of each on its own.
    #[arg(long)]
    pub(super) share: bool,
    /// Treats less room in the window than a datagram as none, in servers
    /// [default: quiche's, off for its own controllers and on for ours].
    #[arg(long, value_name = "BOOL")]
    pub(super) silly_window_avoidance: Option<bool>,
    /// Have cubic undo a reduction for losses alone that proved spurious, as
    /// RFC 9438 does.
    #[arg(long)]
    pub(super) cubic_spurious_undo: bool,
    /// Packets that clients acknowledge together, 1 to 100.
    #[arg(long, default_value = "1", value_name = "PACKETS", allow_hyphen_values = true,
        value_parser = parse_whole(1..=100_u32))]
    pub(super) ack_every: u32,
    /// Switch pacing off.
    #[arg(long, conflicts_with = "hold")]
    pub(super) no_pacing: bool,
    /// Hold packets until `SendInfo::at`, instead of asking for the release
    /// time before each.
    #[arg(long)]
    pub(super) hold: bool,
    /// Time between two samples of the series and of the means over time [default: 20ms].
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_duration)]
    pub(super) sample: Option<Duration>,
    /// The metrics to show, by their names in a plan [default: the usual ones].
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(super) metrics: Vec<String>,
    /// Keep each run's flows over time.
    #[arg(long, requires = "out")]
    pub(super) series: bool,
    /// Keep the qlogs of both ends of each flow.
    #[arg(long, requires = "out")]
    pub(super) qlog: bool,
    /// The folder of the results and of the journal of finished runs [default: nothing
    /// is kept but the table].
    #[arg(long, short, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print the plan that this is, for a file, and run nothing.
    #[arg(long)]
    plan: bool,
    #[command(flatten)]
    manner: Manner,
}

impl Quick {
    /// Runs what was asked for with `backend` and prints the results.
    ///
    /// # Errors
    ///
    /// A run that is not possible, or a file that cannot be written.
    pub fn execute(&self, backend: Backend) -> Result<()> {
        let text = plan::text(self, backend)?;
        let plan = Plan::of_text(backend.name(), &text)?;
        if self.plan {
            return Ok(io::stdout().write_all(text.as_bytes())?);
        }
        note!("{}", self.begins(&plan));
        let run_set = RunSet::typed(plan, typed(env::args().skip(1)))?;
        self.manner.perform(&run_set, self.out.as_deref())
    }

    /// The announcement of the runs: the link, and which parts of it nobody asked for.
    fn begins(&self, plan: &Plan) -> String {
        let runs = match plan.len() {
            1 => "1 run".to_owned(),
            several => format!("{several} runs"),
        };
        let mut text = format!("{runs} by {}, {}", plan.backend, plan.title);
        let defaults: Vec<String> = self.link.defaults().collect();
        if !defaults.is_empty() {
            text += &format!("\nby default: {}", defaults.join(", "));
        }
        text
    }
}

/// The help of `--cc`.
fn cc_help() -> String {
    let own: Vec<&str> = petra::registry::names().collect();
    format!(
        "The server's congestion controller: {}, quiche's reno, cubic or bbr2, or oracle. With \
         options: `petra:alpha=0.8,undo=off`; with --share also with its start: `reno@5s`. May be \
         repeated",
        own.join(", ")
    )
}

/// The end of the long help: the options of the controllers.
fn controllers() -> String {
    format!(
        "Controllers and their options, as in --cc petra:alpha=0.8,undo=off:\n\n{}\
         oracle: a sender that knows the true state of its path, alone on it\n    \
         queue                  the queue that it allows itself (a duration; default 10ms)\n\
         reno, cubic, bbr2: quiche's own, without options\n\n\
         docs/options.md explains the options, docs/controllers.md the controllers.\n",
        petra::registry::describe()
    )
}

/// The command with these arguments, but for where its results go.
pub(super) fn typed(mut arguments: impl Iterator<Item = String>) -> String {
    let mut words = Vec::new();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--out" | "-o" => drop(arguments.next()),
            word if word.starts_with("--out=") || word.starts_with("-o") => (),
            _ => words.push(argument),
        }
    }
    shell::command(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_as_it_was_typed_but_for_its_folder() {
        let words = "sim --cc petra:alpha=0.8 --out here -o there --out=x --up steps=1s=1mbit a|b";
        let command = typed(words.split(' ').map(str::to_owned));
        let expected = "petra-lab sim --cc petra:alpha=0.8 --up steps=1s=1mbit 'a|b'";
        assert_eq!(command, expected);
    }
}
