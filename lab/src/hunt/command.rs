//! `petra-lab hunt`.

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::{ensure, Context, Result};
use clap::Args;

use super::bench::Bench;
use super::islands::Islands;
use super::score::Score;
use super::search::{rank, search};
use super::shrink::shrink;
use super::trials::{Count, Trials};
use crate::batch::{interrupted, Progress, Unmet};
use crate::note::note;
use crate::plan::{Plan, Space, Spot};
use crate::results::write_whole;
use crate::shell;
use crate::units::{parse_at_least_one, parse_whole, SEED_RANGE};

/// The scenarios that are tried again with other seeds.
const CANDIDATES: usize = 5;

/// Seeds of the second try, at least.
const SEEDS: usize = 5;

/// Share of the score that a simplified scenario must keep.
const KEPT: f64 = 0.75;

/// Search a plan's space for the scenario that fails its expectations most.
///
/// Random scenarios first, then descendants of the worst. What is found is tried again with
/// other seeds, made as simple as it still fails, and written as a plan for `petra-lab run`. A
/// list has all that was tried. Interrupted, the same command goes on where it was.
#[derive(Args, Clone, Debug)]
pub struct Hunt {
    /// A plan with a space, as docs/hunt.md has it.
    #[arg(value_name = "PLAN.toml")]
    plan: PathBuf,
    /// Scenarios to try on an island, before the found one is made simpler.
    #[arg(long, default_value = "300", value_name = "N", value_parser = parse_at_least_one)]
    tries: NonZeroUsize,
    /// Seed of all random choices.
    #[arg(long, default_value = "1", value_name = "N", allow_hyphen_values = true,
        value_parser = parse_whole(SEED_RANGE))]
    seed: u64,
    #[command(flatten)]
    islands: Islands,
    /// The folder of the journal of finished runs and of what was found.
    #[arg(long, short, value_name = "FOLDER", default_value = "results/hunt")]
    out: PathBuf,
    /// Runs at the same time [default: one for each processor].
    #[arg(long, value_name = "N", value_parser = parse_at_least_one)]
    jobs: Option<NonZeroUsize>,
}

impl Hunt {
    /// Searches, and writes and prints what was found.
    ///
    /// # Errors
    ///
    /// What is wrong with the plan, that it was interrupted, or [`Unmet`] when there is
    /// a scenario that fails an expectation.
    pub fn execute(&self) -> Result<()> {
        let space = Space::read(&self.plan)?;
        let Plan { name, seeds, .. } = space.check()?;
        let jobs = self.jobs.map(NonZeroUsize::get);
        let bench = Bench::new(&self.out, &self.islands, jobs, interrupted()?)?;
        let trials = Trials::new(&space, &bench, seeds.clone());
        let candidates = bench.with_threads(|| self.candidates(&trials))?;
        let Count {
            tried,
            refused,
            failing,
        } = trials.count();
        let mut out = io::stdout().lock();
        writeln!(
            out,
            "{tried} scenarios tried, of which {refused} cannot be; an expectation fails in \
             {failing}"
        )?;
        if let Some(reason) = trials.refused() {
            note!("one that cannot be: {reason}");
        }
        if self.islands.is_shard() {
            let file = self.islands.journal(&self.out);
            writeln!(out, "runs: {}", file.display())?;
            let folder = shell::path(&self.out);
            writeln!(out, "when all have ended: {} --out {folder}", self.again())?;
            return Ok(());
        }
        let list = self.out.join(format!("{name}-tried.csv"));
        write_whole(&list, |out| trials.write_csv(out))?;
        writeln!(out, "all of them: {}", list.display())?;

        // Other seeds than those that the search had its luck with.
        let last = seeds.iter().max().copied().unwrap_or(0);
        let fresh: Vec<u64> = (last + 1..).take(seeds.len().max(SEEDS)).collect();
        let proof = Trials::new(&space, &bench, fresh.clone());
        let found = bench.with_threads(|| confirm(&proof, candidates))?;
        let Some((spot, score)) = found else {
            writeln!(
                out,
                "the expectations hold with other seeds in all of the worst {CANDIDATES}"
            )?;
            return Ok(());
        };
        note!(
            "the worst with other seeds: {:+.3}  {}",
            score.value,
            score.words
        );
        let (spot, score) = bench.with_threads(|| simplest(&proof, spot, &score))?;
        let file = self.write(&proof, &spot, &fresh, tried)?;
        writeln!(out, "\n{:+.3}  {}", score.value, score.words)?;
        for (path, value) in space.settings(&spot) {
            writeln!(out, "    {path} = {value}")?;
        }
        writeln!(out, "\nagain: petra-lab run {}", file.display())?;
        Err(Unmet(1).into())
    }

    /// The worst scenarios, those that fail most first.
    fn candidates(&self, trials: &Trials) -> Result<Vec<Spot>> {
        let space = trials.space;
        let tries = self.tries.get();
        let islands = self.islands.numbers();
        let progress = Progress::new(tries * islands.clone().count(), "scenarios");
        let score = |genes: &[f64]| {
            let score = trials.score(&space.spot(genes), Some(&progress))?;
            Some(score.value)
        };
        let name = |genes: &[f64]| space.words(&space.spot(genes));
        let stop = &trials.bench.stop;
        let mut tried = Vec::new();
        for island in islands {
            let seed = Islands::seed(island, self.seed);
            tried.extend(search(&space.genes(), tries, seed, stop, &name, &score)?);
        }
        rank(&mut tried);
        drop(progress);
        trials.end()?;
        let mut spots: Vec<Spot> = Vec::new();
        for (genes, _) in tried {
            let spot = space.spot(&genes);
            if spots.len() < CANDIDATES && !spots.contains(&spot) {
                spots.push(spot);
            }
        }
        Ok(spots)
    }

    /// The command that has the result.
    fn again(&self) -> String {
        format!(
            "petra-lab hunt {} --tries {} --seed {}{}",
            shell::path(&self.plan),
            self.tries,
            self.seed,
            self.islands.option()
        )
    }

    fn write(&self, proof: &Trials, spot: &Spot, seeds: &[u64], tried: usize) -> Result<PathBuf> {
        let plan = proof.space.plan(spot)?;
        let mut over = toml::Table::new();
        let title = format!("{}: the worst that was found", plan.title);
        over.insert("title".to_owned(), title.into());
        let description = format!(
            "{}\n\nFound by `{}` among {tried} scenarios; these seeds are others than those of \
             the search.",
            plan.description,
            self.again()
        );
        over.insert("description".to_owned(), description.trim().into());
        let seeds: Vec<toml::Value> = seeds.iter().map(|seed| (*seed as i64).into()).collect();
        over.insert("seeds".to_owned(), seeds.into());
        let text = proof.space.text(spot, &over.to_string())?;
        let file = self.out.join(format!("{}-found.toml", plan.name));
        write_whole(&file, |out| Ok(out.write_all(text.as_bytes())?))?;
        Ok(file)
    }
}

/// Of the candidates the one that fails most with the seeds of `proof`; `None` where
/// none fails.
fn confirm(proof: &Trials, candidates: Vec<Spot>) -> Result<Option<(Spot, Score)>> {
    let mut found: Option<(Spot, Score)> = None;
    for spot in candidates {
        let Some(score) = proof.score(&spot, None).filter(shows) else {
            proof.end()?;
            continue;
        };
        if found
            .as_ref()
            .is_none_or(|(_, most)| score.value > most.value)
        {
            found = Some((spot, score));
        }
    }
    Ok(found)
}

/// It fails in most of the seeds, and in the mean over them, which a plan shows.
fn shows(score: &Score) -> bool {
    score.fails && score.value > 0.0
}

fn simplest(proof: &Trials, spot: Spot, score: &Score) -> Result<(Spot, Score)> {
    let least = KEPT * score.value;
    let spot = shrink(proof.space, spot, |spot| {
        let score = proof.score(spot, None);
        ensure!(
            !proof.bench.is_stopped(),
            "interrupted; the same command goes on from there"
        );
        Ok(score.is_some_and(|score| shows(&score) && score.value >= least))
    })?;
    let score = proof.score(&spot, None).context("it had a score")?;
    Ok((spot, score))
}
