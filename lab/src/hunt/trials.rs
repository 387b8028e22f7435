//! Scenarios of a space, tried.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Error, Result};

use super::bench::Bench;
use super::score::Score;
use crate::batch::Progress;
use crate::plan::{Space, Spot};

/// A space and what was tried of it.
pub(super) struct Trials<'a> {
    pub(super) space: &'a Space,
    pub(super) bench: &'a Bench,
    seeds: Vec<u64>,
    seen: Mutex<Seen>,
}

/// The number of scenarios tried.
pub(super) struct Count {
    pub(super) tried: usize,
    /// Those of them that cannot be.
    pub(super) refused: usize,
    /// Those in which an expectation fails.
    pub(super) failing: usize,
}

#[derive(Default)]
struct Seen {
    /// By the settings; without a score what cannot be.
    tried: BTreeMap<String, (Spot, Option<Score>)>,
    /// The largest score so far.
    most: f64,
    /// Error of the last invalid scenario.
    refused: Option<Error>,
    trouble: Option<Error>,
}

impl<'a> Trials<'a> {
    /// Trials with these seeds each.
    pub(super) fn new(space: &'a Space, bench: &'a Bench, seeds: Vec<u64>) -> Self {
        let seen = Seen {
            most: -1.0,
            ..Seen::default()
        };
        Trials {
            space,
            bench,
            seeds,
            seen: Mutex::new(seen),
        }
    }

    /// The score of a spot; `None` where there can be no such scenario. Trouble stops
    /// the bench, and is told by [`Self::end`].
    pub(super) fn score(&self, spot: &Spot, progress: Option<&Progress>) -> Option<Score> {
        let settings = self.space.words(spot);
        if let Some((_, score)) = self.seen().tried.get(&settings) {
            return score.clone();
        }
        if self.bench.is_stopped() {
            return None;
        }
        let score = match self.space.plan(spot) {
            Ok(mut plan) => {
                plan.seeds.clone_from(&self.seeds);
                let expectations = plan.expectations.clone();
                match self.bench.results(plan) {
                    Ok(results) => Score::new(&results, &expectations),
                    Err(_) if self.bench.is_stopped() => return None,
                    Err(error) => {
                        self.seen().trouble = Some(error.context(settings));
                        self.bench.stop.store(true, Ordering::Relaxed);
                        return None;
                    }
                }
            }
            Err(error) => {
                self.seen().refused = Some(error);
                None
            }
        };
        let mut seen = self.seen();
        if let Some(progress) = progress {
            progress.done();
            if let Some(score) = score.as_ref().filter(|score| score.value > seen.most) {
                seen.most = score.value;
                progress.say(&format!(
                    "{:+.3}  {}  [{settings}]",
                    score.value, score.words
                ));
            }
        }
        seen.tried.insert(settings, (spot.clone(), score.clone()));
        score
    }

    /// Says why there are no more scores, if that is so.
    ///
    /// # Errors
    ///
    /// Trouble, that it was interrupted, or that no scenario can be.
    pub(super) fn end(&self) -> Result<()> {
        let mut seen = self.seen();
        if let Some(trouble) = seen.trouble.take() {
            return Err(trouble);
        }
        anyhow::ensure!(
            !self.bench.is_stopped(),
            "interrupted; the same command goes on from there"
        );
        if seen.tried.values().all(|(_, score)| score.is_none()) {
            let none = || Error::msg("no expectation compares anything");
            let refused = seen.refused.take().unwrap_or_else(none);
            return Err(refused).context("no scenario of this space has a score");
        }
        Ok(())
    }

    /// The number of scenarios tried.
    pub(super) fn count(&self) -> Count {
        let seen = self.seen();
        let scores = || seen.tried.values().map(|(_, score)| score.as_ref());
        Count {
            tried: seen.tried.len(),
            refused: scores().filter(Option::is_none).count(),
            failing: scores().flatten().filter(|score| score.fails).count(),
        }
    }

    /// Writes a row for each scenario that was tried, those that fail most first: its score, the
    /// expectation that fails most, and the fields of the space. A field is empty where the
    /// scenario does not have it, and the score where there can be no such scenario.
    ///
    /// # Errors
    ///
    /// What `out` says.
    pub(super) fn write_csv(&self, out: &mut dyn Write) -> Result<()> {
        let seen = self.seen();
        let value = |score: &Option<Score>| score.as_ref().map_or(f64::NEG_INFINITY, |it| it.value);
        let mut tried: Vec<_> = seen.tried.values().collect();
        tried.sort_by(|a, b| value(&b.1).total_cmp(&value(&a.1)));
        let paths = self.space.paths();
        let mut writer = csv::Writer::from_writer(out);
        let heads = ["score", "fails", "expectation"].map(str::to_owned);
        writer.write_record(heads.iter().chain(&paths))?;
        for (spot, score) in tried {
            let mut row = match score {
                Some(it) => vec![it.value.to_string(), it.fails.to_string(), it.words.clone()],
                None => vec![String::new(); heads.len()],
            };
            // Later fields count over earlier ones.
            let settings: BTreeMap<_, _> = self.space.settings(spot).into_iter().collect();
            let cell = |path| settings.get(path).cloned().unwrap_or_default();
            row.extend(paths.iter().map(cell));
            writer.write_record(row)?;
        }
        Ok(writer.flush()?)
    }

    /// The error of one of the invalid scenarios, if any.
    pub(super) fn refused(&self) -> Option<String> {
        let seen = self.seen();
        seen.refused.as_ref().map(|error| format!("{error:#}"))
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
