//! Random sampling, and then evolution of the best: for the largest score of some
//! numbers from 0 to 1.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{anyhow, Result};
use genetic_algorithm::strategy::evolve::prelude::*;
use rayon::prelude::*;

use crate::entropy::generator;
use crate::plan::Gene;
use crate::sim::uniform;

/// Parents of a generation, at most.
const POPULATION: usize = 24;

/// The share of a generation that its offspring replaces.
const REPLACED: f32 = 0.7;

/// The share of the tries that are random.
const RANDOM: f64 = 0.4;

/// The stream of the generator that draws the random ones.
pub(super) const STREAM: u64 = 1 << 33;

/// Range of a number in a mutation.
const REACH: f64 = 0.2;

/// Scores as the whole numbers that the evolution has.
const PRECISION: f64 = 1e-9;

/// Random draws in a row that are all known, after which a space has no more to try.
pub(super) const KNOWN: usize = 1000;

/// Numbers and their score.
pub(super) type Tried = (Vec<f64>, f64);

/// Returns the scenario that numbers stand for, the same text for the same scenario.
pub(super) type Namer<'a> = &'a (dyn Fn(&[f64]) -> String + Sync);

/// Returns the score of a set of numbers; `None` for an invalid scenario.
pub(super) type Scorer<'a> = &'a (dyn Fn(&[f64]) -> Option<f64> + Sync);

/// Tries `tries` different scenarios, or what a smaller space has, and returns all that
/// has a score, the largest first. An invalid scenario counts as a try. The same seed tries the
/// same, with any number of threads.
///
/// Offspring that is known already costs nothing. What it leaves of the tries goes to
/// generations that fit, and the last of it to random scenarios.
///
/// # Errors
///
/// When there is nothing to choose.
pub(super) fn search(
    genes: &[Gene],
    tries: usize,
    seed: u64,
    stop: &Arc<AtomicBool>,
    name: Namer,
    score: Scorer,
) -> Result<Vec<Tried>> {
    let mut random = generator(seed, STREAM);
    let ground = Ground {
        name,
        score,
        seen: Arc::default(),
    };
    let mut draw = || genes.iter().map(|_| uniform(&mut random)).collect();
    let mut sample = |count| ground.sample(count, &mut draw);
    let left = || tries.saturating_sub(ground.seen().names.len());
    sample(((tries as f64 * RANDOM).ceil() as usize).max(1));
    for round in 0.. {
        let rest = left();
        let fits = |population: &usize| offspring(*population) <= rest;
        let Some(population) = (2..=POPULATION).rev().find(fits) else {
            break;
        };
        let parents = ground.best(population);
        if parents.is_empty() || stop.load(Ordering::Relaxed) {
            break;
        }
        let generations = rest / offspring(population);
        let seed = seed.wrapping_add(round);
        evolve(
            genes,
            parents,
            (population, generations),
            seed,
            stop,
            &ground,
        )?;
        if left() == rest {
            break;
        }
    }
    if !stop.load(Ordering::Relaxed) {
        sample(left());
    }
    let mut tried = std::mem::take(&mut ground.seen().scored);
    rank(&mut tried);
    Ok(tried)
}

/// Maximum offspring of a generation of this size.
fn offspring(population: usize) -> usize {
    (population as f32 * REPLACED).ceil() as usize
}

/// The largest score first. Of the same score, the numbers decide, and not who was first.
pub(super) fn rank(tried: &mut Vec<Tried>) {
    tried.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| compare(&a.0, &b.0)));
    tried.dedup();
}

fn compare(a: &[f64], b: &[f64]) -> std::cmp::Ordering {
    let mut pairs = a.iter().zip(b);
    let differs = pairs.find_map(|(a, b)| Some(a.total_cmp(b)).filter(|order| order.is_ne()));
    differs.unwrap_or(std::cmp::Ordering::Equal)
}

/// Evolves a population for a number of generations.
fn evolve(
    genes: &[Gene],
    parents: Vec<Vec<f64>>,
    (population, generations): (usize, usize),
    seed: u64,
    stop: &Arc<AtomicBool>,
    ground: &Ground,
) -> Result<()> {
    let mutation = |gene: &Gene| match gene {
        Gene::Number => MutationType::Range(REACH),
        Gene::Choice => MutationType::Random,
    };
    let genotype = MultiRangeGenotype::<f64>::builder()
        .with_allele_ranges(vec![0.0..=1.0; genes.len()])
        .with_mutation_types(genes.iter().map(mutation).collect())
        .with_seed_genes_list(parents)
        .build()
        .map_err(|error| anyhow!("cannot search: {}", error.0))?;
    Evolve::builder()
        .with_genotype(genotype)
        .with_select(SelectTournament::new(REPLACED, 0.1, 3))
        .with_crossover(CrossoverUniform::new(REPLACED, 0.8))
        .with_mutate(MutateMultiGeneRange::new(1..=2, 0.8))
        .with_fitness(ground.clone())
        .with_target_population_size(population)
        .with_max_generations(generations)
        .with_par_fitness(true)
        .with_rng_seed_from_u64(seed)
        .with_abort_flag(stop.clone())
        .call()
        .map_err(|error| anyhow!("cannot search: {}", error.0))?;
    Ok(())
}

/// The score as the evolution asks for it, and all that was asked.
#[derive(Clone)]
struct Ground<'a> {
    name: Namer<'a>,
    score: Scorer<'a>,
    seen: Arc<Mutex<Seen>>,
}

/// The names of all scenarios that were tried, and those that have a score.
#[derive(Default)]
struct Seen {
    names: BTreeSet<String>,
    scored: Vec<Tried>,
}

impl Ground<'_> {
    /// Tries `count` that are not known, or all of a small space.
    fn sample(&self, count: usize, mut draw: impl FnMut() -> Vec<f64>) {
        let (mut drawn, mut known) = (Vec::new(), 0);
        while drawn.len() < count && known < KNOWN {
            let genes = draw();
            if self.seen().names.insert((self.name)(&genes)) {
                drawn.push(genes);
                known = 0;
            } else {
                known += 1;
            }
        }
        drawn.into_par_iter().for_each(|genes| {
            self.score(&genes);
        });
    }

    fn score(&self, genes: &[f64]) -> Option<f64> {
        self.seen().names.insert((self.name)(genes));
        let value = (self.score)(genes)?;
        self.seen().scored.push((genes.to_vec(), value));
        Some(value)
    }

    /// Up to `count` of those with the largest scores.
    fn best(&self, count: usize) -> Vec<Vec<f64>> {
        let mut tried = self.seen().scored.clone();
        rank(&mut tried);
        let best = tried.into_iter().take(count);
        best.map(|(genes, _)| genes).collect()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fitness for Ground<'_> {
    type Genotype = MultiRangeGenotype<f64>;

    fn calculate_for_chromosome(
        &mut self,
        chromosome: &FitnessChromosome<Self>,
        _genotype: &Self::Genotype,
    ) -> Option<FitnessValue> {
        fitness_score(self.score(&chromosome.genes)?, PRECISION)
    }
}

impl fmt::Debug for Ground<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ground")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hill at 0.8 and 0.3 that is there only with the first choice, on one side of
    /// which nothing has a score.
    fn hill(genes: &[f64]) -> Option<f64> {
        let [choice, x, y] = *genes else {
            panic!("three numbers");
        };
        let height = 1.0 - (x - 0.8).abs() - (y - 0.3).abs();
        (y < 0.9).then_some(if choice < 0.2 { height } else { -1.0 })
    }

    /// Numbers that differ at all are different scenarios.
    fn exact(genes: &[f64]) -> String {
        format!("{genes:?}")
    }

    /// One of thirty items of a list.
    fn item(genes: &[f64]) -> String {
        format!("{}", (genes[0] * 29.99) as usize)
    }

    const GENES: [Gene; 3] = [Gene::Choice, Gene::Number, Gene::Number];

    fn tried(threads: usize, seed: u64, tries: usize) -> Vec<Tried> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let stop = Arc::new(AtomicBool::new(false));
        let search = || search(&GENES, tries, seed, &stop, &exact, &hill).unwrap();
        pool.build().unwrap().install(search)
    }

    #[test]
    fn evolution_is_nearer_to_the_top_than_chance() {
        for seed in 1..=5 {
            let mut random = generator(seed, STREAM);
            let mut draw = || [(); 3].map(|()| uniform(&mut random));
            let chance = (0..400).filter_map(|_| hill(&draw())).fold(-1.0, f64::max);
            let evolved = tried(2, seed, 400)[0].1;
            assert!(evolved > chance && evolved > 0.98, "{evolved} {chance}");
        }
    }

    #[test]
    fn a_seed_tries_the_same_with_any_number_of_threads() {
        let one = tried(1, 7, 200);
        assert_eq!(one, tried(4, 7, 200));
        assert_ne!(one, tried(1, 8, 200));
        assert!((150..=260).contains(&one.len()), "{}", one.len());
        assert!(one.is_sorted_by(|a, b| a.1 >= b.1));
    }

    #[test]
    fn what_is_stopped_tries_no_more() {
        let stop = Arc::new(AtomicBool::new(true));
        let tried = search(&GENES, 100, 1, &stop, &exact, &hill).unwrap();
        assert!(tried.len() <= 40, "{}", tried.len());
    }

    #[test]
    fn as_many_are_tried_as_asked_for() {
        for (name, most) in [(&exact as Namer, usize::MAX), (&item, 30)] {
            for tries in [1, 2, 4, 10, 12, 30, 60, 150, 300, 3000] {
                let names: Mutex<BTreeSet<String>> = Mutex::default();
                let score = |genes: &[f64]| {
                    names.lock().unwrap().insert(name(genes));
                    hill(genes)
                };
                let stop = Arc::new(AtomicBool::new(false));
                search(&GENES, tries, 1, &stop, name, &score).unwrap();
                assert_eq!(names.into_inner().unwrap().len(), tries.min(most));
            }
        }
    }
}
