//! `stacks-sim STACK CONTROLLER... [--rate MBIT] [--delay MS] [--loss PERCENT] [--seeds N]`, and
//! further options of the link: one row per controller.

use std::time::Duration;

use anyhow::{bail, Context, Result};
use petra_stacks_sim::{transfer, Link, Outcome, Stack};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next();
    let name = name.context("stack: missing; expected quinn, noq or s2n-quic")?;
    let stack: Stack = name.parse()?;
    let mut link = Link::new(10e6, Duration::from_millis(45));
    let (mut controllers, mut seeds, mut seconds) = (vec![], 1, 60.0);
    while let Some(argument) = arguments.next() {
        let Some(option) = argument.strip_prefix("--") else {
            controllers.push(argument);
            continue;
        };
        let text = arguments.next().unwrap_or_default();
        let value: f64 = match text.parse() {
            Ok(value) if value > 0.0 || text == "0" => value,
            _ => bail!("--{option}: invalid value (got {text:?}); expected a number"),
        };
        let ms = Duration::from_secs_f64(value / 1e3);
        match option {
            "rate" => link.rate = value * 1e6,
            "delay" => link.delay = ms,
            "loss" => link.loss = value / 100.0,
            "queue" => link.queue = Some(value as u64),
            "mark-above" => link.mark_above = Some(ms),
            "seeds" => seeds = value as u64,
            "seconds" => seconds = value,
            _ => bail!(
                "--{option}: unknown option; expected rate, delay, loss, queue, mark-above, \
                 seeds or seconds"
            ),
        }
    }
    println!("stack    controller     Mbit/s  share  queue ms   p95 ms  tail drops %  marks %");
    for controller in controllers {
        let time = Duration::from_secs_f64(seconds);
        let outcomes = (1..=seeds)
            .map(|seed| transfer(stack, &controller, &Link { seed, ..link }, time))
            .collect::<Result<Vec<Outcome>>>()?;
        let mean = |value: fn(&Outcome) -> f64| {
            outcomes.iter().map(value).sum::<f64>() / outcomes.len() as f64
        };
        println!(
            "{:8} {controller:14} {:6.3}  {:5.3} {:9.1} {:8.1} {:13.2} {:8.2}",
            name,
            mean(|outcome| outcome.goodput) / 1e6,
            mean(|outcome| outcome.share),
            mean(|outcome| outcome.queue_mean.as_secs_f64()) * 1e3,
            mean(|outcome| outcome.queue_p95.as_secs_f64()) * 1e3,
            mean(|outcome| 100.0 * outcome.tail_drops as f64 / outcome.sent.max(1) as f64),
            mean(|outcome| 100.0 * outcome.marks as f64 / outcome.sent.max(1) as f64),
        );
    }
    Ok(())
}
