//! Searches that know nothing of each other, on as many machines.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use rand_pcg::rand_core::Rng;

use crate::backend::Outcome;
use crate::batch::{Journal, Shard};
use crate::entropy::generator;
use crate::note::note;
use crate::units::parse_at_least_one;

/// The streams of the generator that draw the islands' seeds are this and their number.
const STREAMS: u64 = 1 << 34;

/// The islands of a search: each has as many tries and a seed of its own, and the best
/// of all count. The first is the search without any other.
#[derive(Args, Clone, Debug)]
pub(super) struct Islands {
    /// Searches with seeds of their own, each of as many tries; the best of all count.
    /// Runs that shards have left in the folder are not made again.
    #[arg(long, default_value = "1", value_name = "N", value_parser = parse_at_least_one)]
    islands: NonZeroUsize,
    /// Only the runs of one of N islands, into island-I.jsonl for the same command with
    /// `--islands N`: `3/10`, or `env/10` where Slurm or Kubernetes number the jobs.
    #[arg(long, value_name = "I/N", conflicts_with = "islands")]
    shard: Option<Shard>,
}

impl Islands {
    /// Of these the command searches.
    pub(super) fn numbers(&self) -> RangeInclusive<usize> {
        match self.shard {
            Some(shard) => shard.index..=shard.index,
            None => 1..=self.islands.get(),
        }
    }

    /// The seed of an island.
    pub(super) fn seed(number: usize, seed: u64) -> u64 {
        match number {
            1 => seed,
            other => generator(seed, STREAMS + other as u64).next_u64(),
        }
    }

    /// The journal of the runs that the command makes.
    pub(super) fn journal(&self, folder: &Path) -> PathBuf {
        match self.shard {
            Some(shard) => file(folder, shard.index),
            None => folder.join("journal.jsonl"),
        }
    }

    /// The runs that shards have made for a command with all islands.
    ///
    /// # Errors
    ///
    /// A shard that is still at work, or whose file is no journal.
    pub(super) fn finished(&self, folder: &Path) -> Result<BTreeMap<String, Outcome>> {
        let mut finished = BTreeMap::new();
        if self.shard.is_some() {
            return Ok(finished);
        }
        for number in self.numbers() {
            let file = file(folder, number);
            if file.is_file() {
                finished.extend(Journal::open(&file)?.finished().clone());
            } else if self.islands.get() > 1 {
                note!(
                    "island {number} has no {}: it is searched here",
                    file.display()
                );
            }
        }
        Ok(finished)
    }

    /// The option of the command that has the result, with a space ahead.
    pub(super) fn option(&self) -> String {
        match (self.shard, self.islands.get()) {
            (Some(shard), _) => format!(" --islands {}", shard.of),
            (None, 1) => String::new(),
            (None, islands) => format!(" --islands {islands}"),
        }
    }

    /// Does the command only make runs, for another that has the result?
    pub(super) fn is_shard(&self) -> bool {
        self.shard.is_some()
    }
}

fn file(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("island-{number}.jsonl"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_island_has_a_seed_and_the_first_that_of_the_search() {
        let seeds = |seed| (1..=50).map(move |number| Islands::seed(number, seed));
        assert_eq!(Islands::seed(1, 7), 7);
        assert_eq!(seeds(7).collect::<BTreeSet<u64>>().len(), 50);
        assert_ne!(Islands::seed(2, 7), Islands::seed(2, 8));
    }
}
