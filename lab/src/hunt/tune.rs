//! `petra-lab tune`.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::Mutex;

use anyhow::{ensure, Context, Error, Result};
use clap::Args;
use comfy_table::{presets, Table as Text};

use super::bench::Bench;
use super::islands::Islands;
use super::score::median;
use super::search::search;
use super::vary::Vary;
use crate::batch::{interrupted, Progress};
use crate::plan::Plan;
use crate::results::{metric, parse_metric, Results, Sense};
use crate::units::{parse_at_least_one, parse_whole, SEED_RANGE};

/// Search a controller's options for those with which it does best over some plans.
///
/// What is best is told by metrics, each as a ratio to the controller as it is: the
/// geometric mean over the plans' points, of the median over the seeds. Of several
/// metrics their product counts, and the options that none is better than in all of them
/// are the frontier.
#[derive(Args, Clone, Debug)]
pub struct Tune {
    /// Plans, of which the points count that have the controller.
    #[arg(required = true, value_name = "PLAN.toml")]
    plans: Vec<PathBuf>,
    /// The controller and the ranges of its options.
    #[arg(long, value_name = "petra:alpha=0.5..0.99,drain=on|off")]
    vary: Vary,
    /// Metric to improve. May be repeated.
    #[arg(long, value_name = "METRIC", default_values = ["goodput_mbps", "queue_p95_ms"],
        value_parser = parse_metric)]
    metric: Vec<String>,
    /// Sets of options to try on an island.
    #[arg(long, default_value = "60", value_name = "N", value_parser = parse_at_least_one)]
    tries: NonZeroUsize,
    /// Seed of all random choices.
    #[arg(long, default_value = "1", value_name = "N", allow_hyphen_values = true,
        value_parser = parse_whole(SEED_RANGE))]
    seed: u64,
    #[command(flatten)]
    islands: Islands,
    /// The folder of the journal of finished runs.
    #[arg(long, short, value_name = "FOLDER", default_value = "results/tune")]
    out: PathBuf,
    /// Runs at the same time [default: one for each processor].
    #[arg(long, value_name = "N", value_parser = parse_at_least_one)]
    jobs: Option<NonZeroUsize>,
}

/// A set of options that was tried: for each metric how many times as good it is.
type Tried = (String, Vec<f64>);

impl Tune {
    /// Searches and prints the frontier.
    ///
    /// # Errors
    ///
    /// What is wrong with plans or options, or that it was interrupted.
    pub fn execute(&self) -> Result<()> {
        let signs = self.metric.iter().map(|name| sign(name));
        let signs: Vec<f64> = signs.collect::<Result<_>>()?;
        let plans = self.plans.iter().map(|file| self.plan(file));
        let plans: Vec<Plan> = plans.collect::<Result<_>>()?;
        let genes = self.vary.genes();
        for edge in [0.0, 1.0] {
            let text = self.vary.controller(&vec![edge; genes.len()]);
            quiche::congestion_control::check(&text).map_err(Error::msg)?;
        }
        let jobs = self.jobs.map(NonZeroUsize::get);
        let bench = Bench::new(&self.out, &self.islands, jobs, interrupted()?)?;
        let base = self.measure(&bench, &plans, &self.vary.controller)?;
        let tries = self.tries.get();
        let islands = self.islands.numbers();
        let progress = Progress::new(tries * islands.clone().count(), "sets of options");
        let tried: Mutex<BTreeMap<String, Vec<f64>>> = Mutex::default();
        let trouble = Mutex::new(None);
        let score = |genes: &[f64]| {
            let text = self.vary.controller(genes);
            let known = tried.lock().ok()?.get(&text).cloned();
            let ratios = match known {
                Some(ratios) => ratios,
                None if bench.is_stopped() => return None,
                None => match self.measure(&bench, &plans, &text) {
                    Ok(values) => {
                        progress.done();
                        let ratios = ratios(&values, &base, &signs);
                        tried.lock().ok()?.insert(text, ratios.clone());
                        ratios
                    }
                    Err(error) => {
                        trouble.lock().ok()?.get_or_insert(error);
                        bench.stop.store(true, Ordering::Relaxed);
                        return None;
                    }
                },
            };
            Some(ratios.iter().map(|ratio| ratio.ln()).sum())
        };
        let name = |genes: &[f64]| self.vary.controller(genes);
        for island in islands {
            let seed = Islands::seed(island, self.seed);
            bench.with_threads(|| search(&genes, tries, seed, &bench.stop, &name, &score))?;
        }
        drop(progress);
        if let Some(trouble) = trouble.into_inner().ok().flatten() {
            return Err(trouble);
        }
        ensure!(
            !bench.is_stopped(),
            "interrupted; the same command goes on from there"
        );
        let tried = tried.into_inner().unwrap_or_default();
        self.print(tried.into_iter().collect())
    }

    /// The points of a plan that have the controller.
    fn plan(&self, file: &Path) -> Result<Plan> {
        let mut plan = Plan::read(file)?;
        let name = &self.vary.controller;
        let has = |cc: &String| cc == name;
        plan.points
            .retain(|point| point.scenario.flows.iter().any(|flow| has(&flow.cc)));
        ensure!(
            !plan.points.is_empty(),
            "{}: no flow has the controller to vary (got none of `{name}`); expected a plan \
             with it",
            file.display()
        );
        Ok(plan)
    }

    /// The median of each metric at each point of each plan, with `cc` as the controller.
    fn measure(&self, bench: &Bench, plans: &[Plan], cc: &str) -> Result<Vec<Vec<f64>>> {
        let mut values = vec![Vec::new(); self.metric.len()];
        for plan in plans {
            let mut plan = plan.clone();
            plan.expectations.clear();
            for point in &mut plan.points {
                for flow in &mut point.scenario.flows {
                    if flow.cc == self.vary.controller {
                        cc.clone_into(&mut flow.cc);
                    }
                }
            }
            let points = plan.points.len();
            let name = plan.name.clone();
            let results = bench.results(plan)?;
            for (metric, values) in self.metric.iter().zip(&mut values) {
                for point in 0..points as u64 {
                    let value = value(&results, point, cc, metric);
                    values.push(value.with_context(|| {
                        format!(
                            "{name}: a run of `{cc}` has no {metric}; expected one that all have"
                        )
                    })?);
                }
            }
        }
        Ok(values)
    }

    /// Prints the options that none is better than, the best first.
    fn print(&self, mut tried: Vec<Tried>) -> Result<()> {
        let count = tried.len();
        let product = |tried: &Tried| tried.1.iter().product::<f64>();
        tried.sort_by(|a, b| {
            product(b)
                .total_cmp(&product(a))
                .then_with(|| a.0.cmp(&b.0))
        });
        let mut table = Text::new();
        table.load_preset(presets::NOTHING);
        let heads = self.metric.iter().map(|name| format!("{name} x"));
        table.set_header(
            ["product".to_owned()]
                .into_iter()
                .chain(heads)
                .chain(["options".to_owned()]),
        );
        for one in frontier(&tried) {
            let numbers = one.1.iter().map(|ratio| format!("{ratio:.3}"));
            let product = format!("{:.3}", product(one));
            table.add_row([product].into_iter().chain(numbers).chain([one.0.clone()]));
        }
        let mut out = io::stdout().lock();
        writeln!(
            out,
            "{count} sets of options; the frontier, as times as good as {}:\n{}",
            self.vary.controller,
            table.trim_fmt()
        )?;
        if self.islands.is_shard() {
            let option = self.islands.option();
            writeln!(
                out,
                "\nof all islands, when they have ended: the same with{option}"
            )?;
        }
        Ok(())
    }
}

/// More is better, or less.
fn sign(name: &str) -> Result<f64> {
    let known = metric(name).context("names are checked when they are read")?;
    match known.sense {
        Sense::More => Ok(1.0),
        Sense::Less => Ok(-1.0),
        Sense::Neither => anyhow::bail!("metric: no better direction (got {name}); expected one of which more or less is better"),
    }
}

/// The median over the seeds of the mean over the controller's flows.
fn value(results: &Results, point: u64, cc: &str, metric: &str) -> Option<f64> {
    let seeds = results.manifest.seeds.iter().map(|seed| {
        let rows = results.rows.iter();
        let own = rows.filter(|row| row.point == point && row.seed == *seed && row.cc == cc);
        let values: Vec<f64> = own.map(|row| row.metric(metric)).collect::<Option<_>>()?;
        Some(values.iter().sum::<f64>() / values.len() as f64)
    });
    median(seeds.collect::<Option<_>>()?)
}

/// Of each metric the geometric mean of how many times as good the values are. What is
/// next to nothing counts as that: of two queues of microseconds neither is the better.
fn ratios(values: &[Vec<f64>], base: &[Vec<f64>], signs: &[f64]) -> Vec<f64> {
    const NOTHING: f64 = 1e-3;
    let ratio = |((values, base), sign): ((&Vec<f64>, &Vec<f64>), &f64)| {
        let pairs = values.iter().zip(base);
        let logs = pairs.map(|(value, base)| (value.max(NOTHING) / base.max(NOTHING)).ln());
        (sign * logs.sum::<f64>() / values.len() as f64).exp()
    };
    values.iter().zip(base).zip(signs).map(ratio).collect()
}

/// Returns the Pareto-optimal trials: no other is at least as good in all metrics and better in
/// one. Of equal trials it returns the first.
fn frontier(tried: &[Tried]) -> impl Iterator<Item = &Tried> {
    let beats = |a: &Tried, b: &Tried| {
        let mut pairs = a.1.iter().zip(&b.1);
        pairs.all(|(a, b)| a >= b) && a.1 != b.1
    };
    let beaten = move |one: &Tried| tried.iter().any(|other| beats(other, one));
    let known = |(index, one): (usize, &Tried)| tried[..index].iter().any(|it| it.1 == one.1);
    let all = tried.iter().enumerate();
    all.filter(move |(index, one)| !beaten(one) && !known((*index, one)))
        .map(|(_, one)| one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frontier_is_what_nothing_beats() {
        let tried = [
            ("a", [1.0, 1.0]),
            ("b", [1.2, 0.9]),
            ("c", [0.9, 0.9]),
            ("d", [1.0, 1.0]),
        ];
        let tried = tried.map(|(name, ratios)| (name.to_owned(), ratios.to_vec()));
        let names: Vec<&str> = frontier(&tried).map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn a_ratio_is_above_1_where_it_is_better() {
        let values = [vec![2.0, 8.0], vec![10.0, 40.0]];
        let base = [vec![1.0, 4.0], vec![20.0, 80.0]];
        let ratios = ratios(&values, &base, &[1.0, -1.0]);
        assert!(
            ratios.iter().all(|ratio| (ratio - 2.0).abs() < 1e-9),
            "{ratios:?}"
        );
    }
}
