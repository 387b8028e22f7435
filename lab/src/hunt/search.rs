//! Random sampling, and then evolution of the best: for the largest score of some
//! numbers from 0 to 1.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{anyhow, Result};
use genetic_algorithm::strategy::evolve::prelude::*;
use rayon::prelude::*;

use crate::entropy::generator;
use crate::plan::Gene;
use crate::sim::uniform;

/// Parents of a generation.
const POPULATION: usize = 24;

/// The share of a generation that its offspring replaces.
const REPLACED: f32 = 0.7;

/// The share of the tries that are random.
const RANDOM: f64 = 0.4;

/// The stream of the generator that draws the random ones.
const STREAM: u64 = 1 << 33;

/// How far a number goes in a mutation.
const REACH: f64 = 0.2;

/// Scores as the whole numbers that the evolution has.
const PRECISION: f64 = 1e-9;

/// Numbers and their score.
pub(super) type Tried = (Vec<f64>, f64);

/// What gives numbers their score; `None` of what cannot be.
pub(super) type Scorer<'a> = &'a (dyn Fn(&[f64]) -> Option<f64> + Sync);

/// Tries about `tries` times, and returns all that has a score, the largest first. The
/// same seed tries the same, with any number of threads.
///
/// # Errors
///
/// When there is nothing to choose.
pub(super) fn search(
    genes: &[Gene],
    tries: usize,
    seed: u64,
    stop: &Arc<AtomicBool>,
    score: Scorer,
) -> Result<Vec<Tried>> {
    let mut random = generator(seed, STREAM);
    let first = ((tries as f64 * RANDOM).ceil() as usize).max(1);
    let mut draw = || genes.iter().map(|_| uniform(&mut random)).collect();
    let drawn: Vec<Vec<f64>> = (0..first).map(|_| draw()).collect();
    let drawn = drawn.into_par_iter();
    let scored = drawn.filter_map(|genes| score(&genes).map(|value| (genes, value)));
    let mut tried: Vec<Tried> = scored.collect();
    rank(&mut tried);
    let generations = (tries.saturating_sub(first) as f32 / (REPLACED * POPULATION as f32)).floor();
    if generations > 0.0 && !tried.is_empty() && !stop.load(Ordering::Relaxed) {
        let parents = tried
            .iter()
            .take(POPULATION)
            .map(|(genes, _)| genes.clone());
        let ground = Ground {
            score,
            tried: Arc::new(Mutex::new(tried.clone())),
        };
        evolve(
            genes,
            parents.collect(),
            generations as usize,
            seed,
            stop,
            &ground,
        )?;
        tried = std::mem::take(&mut *ground.tried.lock().unwrap_or_else(PoisonError::into_inner));
        rank(&mut tried);
    }
    Ok(tried)
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

fn evolve(
    genes: &[Gene],
    parents: Vec<Vec<f64>>,
    generations: usize,
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
        .with_target_population_size(POPULATION)
        .with_max_generations(generations)
        .with_par_fitness(true)
        .with_rng_seed_from_u64(seed)
        .with_abort_flag(stop.clone())
        .call()
        .map_err(|error| anyhow!("cannot search: {}", error.0))?;
    Ok(())
}

/// The score as the evolution asks for it, and all that it asked.
#[derive(Clone)]
struct Ground<'a> {
    score: Scorer<'a>,
    tried: Arc<Mutex<Vec<Tried>>>,
}

impl Fitness for Ground<'_> {
    type Genotype = MultiRangeGenotype<f64>;

    fn calculate_for_chromosome(
        &mut self,
        chromosome: &FitnessChromosome<Self>,
        _genotype: &Self::Genotype,
    ) -> Option<FitnessValue> {
        let value = (self.score)(&chromosome.genes)?;
        let tried = (chromosome.genes.clone(), value);
        let mut all = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(tried);
        fitness_score(value, PRECISION)
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

    const GENES: [Gene; 3] = [Gene::Choice, Gene::Number, Gene::Number];

    fn tried(threads: usize, seed: u64, tries: usize) -> Vec<Tried> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let stop = Arc::new(AtomicBool::new(false));
        let search = || search(&GENES, tries, seed, &stop, &hill).unwrap();
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
        let tried = search(&GENES, 100, 1, &stop, &hill).unwrap();
        assert!(tried.len() <= 40, "{}", tried.len());
    }
}
