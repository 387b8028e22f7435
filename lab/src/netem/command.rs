//! `petra-lab netem`: what the command line can say of a run.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{ensure, Result};
use clap::Args;

use crate::link::{Direction, Link, Queue};
use crate::units::{parse_duration, parse_queue, parse_rate, parse_share, parse_size};

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
    /// What provides netem.
    #[arg(long, value_enum, default_value = "auto")]
    pub(super) backend: Choice,
    /// How many runs at the same time, each with a network of its own
    /// [default: 2, or 1 on a machine with one processor].
    #[arg(long, value_name = "RUNS", value_parser = clap::value_parser!(u8).range(1..))]
    pub(super) parallel: Option<u8>,
    /// The folder to make for the results [default: a new one in `results`].
    #[arg(long, value_name = "FOLDER")]
    pub(super) out: Option<PathBuf>,
    /// Where http3-server and http3-client are [default: `examples` beside
    /// this program].
    #[arg(long, value_name = "FOLDER")]
    pub(super) programs: Option<PathBuf>,
    /// More options for http3-server.
    #[arg(last = true, value_name = "SERVER OPTIONS")]
    pub(super) server_options: Vec<String>,
}

/// A link on the command line. Down is the way of the data, up that of the
/// ACKs.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "The link")]
pub struct LinkOptions {
    /// The bottleneck's rate, counted over IP packets.
    #[arg(long, default_value = "10mbit", value_parser = parse_rate)]
    rate: u64,
    /// Propagation delay, each way.
    #[arg(long, default_value = "45ms", value_parser = parse_duration)]
    delay: Duration,
    /// Standard deviation of the delay; order is kept.
    #[arg(long, default_value = "0ms", value_parser = parse_duration)]
    jitter: Duration,
    /// Probability that the link loses a packet.
    #[arg(long, default_value = "0.5%", value_parser = parse_share)]
    loss: f64,
    /// Mean length of a run of losses, in packets [default: independent
    /// losses].
    #[arg(long, value_name = "PACKETS")]
    loss_run: Option<f64>,
    /// Probability that a packet overtakes the delay.
    #[arg(long, default_value = "0%", value_parser = parse_share)]
    reorder: f64,
    /// The bottleneck's queue, `1bdp` or `64kB`.
    #[arg(long, default_value = "1bdp", value_parser = parse_queue)]
    queue: Queue,
    /// Packets arrive only at multiples of this time.
    #[arg(long, default_value = "0ms", value_name = "TIME", value_parser = parse_duration)]
    grid: Duration,

    /// The rate of the way back [default: the same].
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    up_rate: Option<u64>,
    /// The delay of the way back [default: the same].
    #[arg(long, value_name = "DELAY", value_parser = parse_duration)]
    up_delay: Option<Duration>,
    /// The queue of the way back [default: the same].
    #[arg(long, value_name = "QUEUE", value_parser = parse_queue)]
    up_queue: Option<Queue>,
    /// The jitter of the way back.
    #[arg(long, default_value = "0ms", value_name = "JITTER", value_parser = parse_duration)]
    up_jitter: Duration,
    /// The losses of the way back.
    #[arg(long, default_value = "0%", value_name = "LOSS", alias = "ack-loss",
          value_parser = parse_share)]
    up_loss: f64,
    /// The run of losses of the way back.
    #[arg(long, value_name = "PACKETS")]
    up_loss_run: Option<f64>,
    /// The reordering of the way back.
    #[arg(long, default_value = "0%", value_name = "REORDER", value_parser = parse_share)]
    up_reorder: f64,
    /// The grid of the way back.
    #[arg(long, default_value = "0ms", value_name = "TIME", alias = "ack-grid",
          value_parser = parse_duration)]
    up_grid: Duration,
}

impl LinkOptions {
    /// The link that was asked for.
    ///
    /// # Errors
    ///
    /// What contradicts itself.
    pub fn link(&self) -> Result<Link> {
        let link = Link {
            down: Direction {
                rate: Some(self.rate),
                delay: self.delay,
                jitter: self.jitter,
                loss: self.loss,
                loss_run: self.loss_run,
                reorder: self.reorder,
                grid: self.grid,
                queue: self.queue,
            },
            up: Direction {
                rate: Some(self.up_rate.unwrap_or(self.rate)),
                delay: self.up_delay.unwrap_or(self.delay),
                jitter: self.up_jitter,
                loss: self.up_loss,
                loss_run: self.up_loss_run,
                reorder: self.up_reorder,
                grid: self.up_grid,
                queue: self.up_queue.unwrap_or(self.queue),
            },
        };
        for direction in [&link.down, &link.up] {
            ensure!(
                direction.reorder == 0.0 || !direction.delay.is_zero(),
                "a packet can overtake only where there is a delay: reordering needs a delay"
            );
            if let Some(run) = direction.loss_run {
                ensure!(
                    run >= 1.0,
                    "a run of losses has at least 1 packet, not {run}"
                );
                ensure!(
                    direction.loss <= run / (1.0 + run),
                    "a loss of {} cannot come in runs of {run}: good packets would have to be \
                     fewer than one between two runs",
                    direction.loss
                );
            }
        }
        Ok(link)
    }
}
