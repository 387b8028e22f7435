//! A link on the command line, the same for every backend.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;

use super::set::Setting;
use super::{
    Aggregate, Aqm, Direction, Distribution, GilbertElliott, Handover, Link, LossEvery, Lte,
    Outage, Policer, Queue, Step,
};
use crate::units::{parse_duration, parse_queue, parse_rate, parse_share};

/// A link on the command line. Down is the way of the data, up that of the
/// ACKs.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "The link")]
pub struct LinkOptions {
    /// The bottleneck's rate, counted over IP packets.
    #[arg(long, default_value = "10mbit", value_parser = parse_rate)]
    rate: u64,
    /// Another rate from a time on, `20s=2mbit`, or other values:
    /// `at=20s,rate=2mbit,delay=30ms,jitter=5ms,loss=1%,queue=80ms`. May be
    /// repeated.
    #[arg(long, value_name = "TIME=RATE|OPTIONS")]
    step: Vec<Step>,
    /// The bottleneck carries nothing, `10s+500ms`; packets wait. May be repeated.
    #[arg(long, value_name = "TIME+TIME")]
    outage: Vec<Outage>,
    /// Steps and outages start over after this time.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    repeat: Option<Duration>,
    /// Instead of a rate: a mahimahi trace of packet-delivery opportunities.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rate", "lte"])]
    trace: Option<PathBuf>,
    /// Instead of a rate: what an LTE cell does,
    /// `mean=10mbit,deviation=0.5,coherence=100ms,block_errors=10%`.
    #[arg(long, value_name = "OPTIONS", conflicts_with = "rate")]
    lte: Option<Lte>,
    /// A token bucket ahead of the queue, `rate=10mbit,burst=30kB`: what finds
    /// no tokens is dropped.
    #[arg(long, value_name = "OPTIONS")]
    policer: Option<Policer>,
    /// The most that waits for the bottleneck, `1bdp`, `64kB` or `80ms`.
    #[arg(long, default_value = "1bdp", value_parser = parse_queue)]
    queue: Queue,
    /// Active queue management: `drop-tail`, `codel`, `fq_codel`, `red`, with options as in
    /// `codel:target=5ms,interval=100ms`.
    #[arg(long, value_name = "NAME[:OPTIONS]", default_value_t)]
    aqm: Aqm,
    /// Propagation delay, each way.
    #[arg(long, default_value = "45ms", value_parser = parse_duration)]
    delay: Duration,
    /// Standard deviation of the delay.
    #[arg(long, default_value = "0ms", value_parser = parse_duration)]
    jitter: Duration,
    /// The distribution of the delay: `normal`, `uniform`, `pareto` or
    /// `paretonormal`.
    #[arg(long, value_name = "NAME", default_value = "normal")]
    jitter_distribution: Distribution,
    /// Packets within the same such time have the same jitter.
    #[arg(long, default_value = "0ms", value_name = "TIME", value_parser = parse_duration)]
    jitter_hold: Duration,
    /// Let packets overtake each other by jitter [default: order is kept].
    #[arg(long)]
    jitter_reorders: bool,
    /// Probability that the link loses a packet.
    #[arg(long, default_value = "0.5%", value_parser = parse_share)]
    loss: f64,
    /// Mean length of a run of losses, in packets [default: independent
    /// losses].
    #[arg(long, value_name = "PACKETS")]
    loss_run: Option<f64>,
    /// Instead of --loss: losses in two states (Gilbert and Elliott),
    /// `to_bad=1%,to_good=25%,loss_good=0%,loss_bad=50%`.
    #[arg(long, value_name = "OPTIONS", conflicts_with_all = ["loss", "loss_run"])]
    burst: Option<GilbertElliott>,
    /// A burst of losses at a fixed distance, `packets=500,burst=8`.
    #[arg(long, value_name = "OPTIONS")]
    loss_every: Option<LossEvery>,
    /// Probability that a packet overtakes the delay.
    #[arg(long, default_value = "0%", value_parser = parse_share)]
    reorder: f64,
    /// Packets arrive only at multiples of this time.
    #[arg(long, default_value = "0ms", value_name = "TIME", value_parser = parse_duration)]
    grid: Duration,
    /// Changes of the path, `every=10s,gap=50ms,delay=30ms`.
    #[arg(long, value_name = "OPTIONS")]
    handover: Option<Handover>,

    /// The rate of the way back [default: the same].
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    up_rate: Option<u64>,
    /// The queue of the way back [default: the same].
    #[arg(long, value_name = "QUEUE", value_parser = parse_queue)]
    up_queue: Option<Queue>,
    /// The delay of the way back [default: the same].
    #[arg(long, value_name = "DELAY", value_parser = parse_duration)]
    up_delay: Option<Duration>,
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
    /// On the way back packets go together, `packets=16,at_most=10ms`.
    #[arg(long, value_name = "OPTIONS", alias = "ack-aggregate")]
    up_aggregate: Option<Aggregate>,
    /// Of small packets on the way back only every n-th passes.
    #[arg(long, value_name = "N", default_value_t = 1, alias = "ack-decimate")]
    up_decimate: u32,
    /// Any key of the way back, as a plan's [link.up] has it:
    /// `trace=FILE`, `steps=20s=2mbit`, `outages=10s+500ms`, `loss_run=5`. May
    /// be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    up: Vec<Setting>,
}

impl LinkOptions {
    /// The link that was asked for.
    ///
    /// # Errors
    ///
    /// What contradicts itself.
    pub fn link(&self) -> Result<Link> {
        let shaped = self.trace.is_some() || self.lte.is_some();
        let down = Direction {
            rate: (!shaped).then_some(self.rate),
            steps: self.step.clone(),
            outages: self.outage.clone(),
            repeat: self.repeat,
            trace: self.trace.clone(),
            lte: self.lte,
            policer: self.policer,
            queue: self.queue,
            aqm: self.aqm,
            delay: self.delay,
            jitter: self.jitter,
            jitter_distribution: self.jitter_distribution,
            jitter_hold: self.jitter_hold,
            jitter_reorders: self.jitter_reorders,
            loss: if self.burst.is_some() { 0.0 } else { self.loss },
            loss_run: self.loss_run,
            burst: self.burst,
            loss_every: self.loss_every,
            reorder: self.reorder,
            grid: self.grid,
            handover: self.handover,
            ..Direction::default()
        };
        // As that of the data, unless something takes its place.
        let same = down
            .rate
            .filter(|_| !self.up.iter().any(Setting::is_capacity));
        let mut up = Direction {
            rate: self.up_rate.or(same),
            queue: self.up_queue.unwrap_or(self.queue),
            delay: self.up_delay.unwrap_or(self.delay),
            jitter: self.up_jitter,
            loss: self.up_loss,
            loss_run: self.up_loss_run,
            reorder: self.up_reorder,
            grid: self.up_grid,
            aggregate: self.up_aggregate,
            decimate: self.up_decimate,
            ..Direction::default()
        };
        for setting in &self.up {
            setting.apply(&mut up).map_err(anyhow::Error::msg)?;
        }
        let link = Link { down, up };
        link.check()?;
        Ok(link)
    }
}
