//! A comparison as a Markdown table: a line for each plan, controller and metric.

use std::io::{self, Write};

use anyhow::Result;

use super::pairs::{Comparison, Finding, Metric, Pair};
use crate::report::words;

const HEAD: &str = "| plan | controller | metric | rows | less | more | least | mean | largest |\n\
                    |---|---|---|--:|--:|--:|--:|--:|--:|";

pub(super) fn print(comparison: &Comparison) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{HEAD}")?;
    for plan in &comparison.plans {
        for metric in &plan.metrics {
            for controller in controllers(metric) {
                let pairs = metric.pairs.iter().filter(|it| it.controller == controller);
                let line = line(&pairs.collect::<Vec<_>>());
                let title = words::title(&metric.name);
                writeln!(out, "| {} | `{controller}` | {title} | {line} |", plan.name)?;
            }
        }
    }
    Ok(())
}

/// The controllers of a metric's pairs, in their order.
fn controllers(metric: &Metric) -> Vec<&str> {
    let mut controllers = Vec::new();
    for pair in &metric.pairs {
        if !controllers.contains(&pair.controller.as_str()) {
            controllers.push(pair.controller.as_str());
        }
    }
    controllers
}

/// The number of rows; of those, the ones in which B is less or more; and B / A: the least, the
/// geometric mean and the largest. `-` where single seeds cannot tell, and where no row of both is
/// above zero. If only some are, their number follows.
fn line(pairs: &[&Pair]) -> String {
    let number = |wanted: Finding| pairs.iter().filter(|it| it.finding() == wanted).count();
    let [less, more] = match number(Finding::Unknown) {
        0 => [Finding::Less, Finding::More].map(|wanted| number(wanted).to_string()),
        _ => ["-", "-"].map(str::to_owned),
    };
    let ratios = pairs.iter().filter_map(|pair| pair.ratio.as_ref());
    let mut logs: Vec<f64> = ratios.map(|ratio| ratio.value.ln()).collect();
    logs.sort_unstable_by(f64::total_cmp);
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let ratios = match (logs.first(), logs.last()) {
        (Some(least), Some(largest)) => {
            let [least, mean, largest] = [*least, mean, *largest].map(f64::exp);
            format!("{least:.3} | {mean:.4} | {largest:.3}")
        }
        _ => "- | - | -".to_owned(),
    };
    let of = match logs.len() {
        some if some == pairs.len() || some == 0 => String::new(),
        some => format!(" (of {some})"),
    };
    format!("{} | {less} | {more} | {ratios}{of}", pairs.len())
}
