//! Scenarios of a space, tried.

use std::collections::BTreeMap;
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

#[derive(Default)]
struct Seen {
    /// By the settings; `None` of what cannot be.
    scores: BTreeMap<String, Option<Score>>,
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
        let settings = self.words(spot);
        if let Some(score) = self.seen().scores.get(&settings) {
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
        seen.scores.insert(settings, score.clone());
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
        if seen.scores.values().all(Option::is_none) {
            let none = || Error::msg("no expectation compares anything");
            let refused = seen.refused.take().unwrap_or_else(none);
            return Err(refused).context("no scenario of this space has a score");
        }
        Ok(())
    }

    /// The number of scenarios tried, and the number of invalid ones.
    pub(super) fn count(&self) -> (usize, usize) {
        let seen = self.seen();
        let refused = seen.scores.values().filter(|score| score.is_none());
        (seen.scores.len(), refused.count())
    }

    /// The error of one of the invalid scenarios, if any.
    pub(super) fn refused(&self) -> Option<String> {
        let seen = self.seen();
        seen.refused.as_ref().map(|error| format!("{error:#}"))
    }

    /// A spot in one line.
    pub(super) fn words(&self, spot: &Spot) -> String {
        let settings = self.space.settings(spot).into_iter();
        let words: Vec<String> = settings
            .map(|(path, it)| format!("{path} = {it}"))
            .collect();
        words.join(", ")
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
