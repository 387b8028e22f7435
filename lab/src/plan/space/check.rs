//! Faults of a space that show before any run.

use anyhow::{ensure, Context, Error, Result};

use super::super::draft::Draft;
use super::super::{check_traces, Plan};
use super::{Field, Pick, Space, Spot, Values};
use crate::entropy::generator;

/// Random scenarios, of which one at least has to be valid.
const DRAWS: usize = 100;

/// The stream of the generator that draws them.
const STREAM: u64 = (1 << 33) + 1;

impl Space {
    /// Checks all that needs no run, and returns the plan at a valid spot. Each path and each
    /// value is read, of a range its ends and its middle. Values that do not fit each other
    /// are no fault, as long as others do.
    ///
    /// # Errors
    ///
    /// The first fault.
    pub(crate) fn check(&self) -> Result<Plan> {
        for (index, feature) in self.features.iter().enumerate() {
            for (number, field) in feature.fields.iter().enumerate() {
                for pick in field.samples() {
                    self.check_value(index, number, pick)?;
                }
            }
        }
        let plan = self.example()?;
        ensure!(
            !plan.expectations.is_empty(),
            "{}: a space without an objective; expected [[expect]], whose worst failure a hunt \
             searches for",
            self.file.display()
        );
        let searchable = || {
            plan.check_searchable()?;
            let mut points = plan.points.iter();
            points.try_for_each(|point| plan.backend.accepts(&point.scenario))
        };
        searchable().with_context(|| self.file.display().to_string())?;
        Ok(plan)
    }

    /// Reads a value of a field beside all features, or else beside none but its own: a
    /// feature may go on with the table of another.
    fn check_value(&self, index: usize, number: usize, pick: Pick) -> Result<()> {
        let with = |there: &dyn Fn(usize) -> bool| {
            let mut spot = self.middle(there);
            if let Some(picks) = &mut spot.0[index] {
                picks[number] = pick;
            }
            self.check_spot(&spot)
        };
        with(&|_| true).or_else(|_| with(&|other| other == index))
    }

    /// Reads the first point at a spot, and its traces.
    fn check_spot(&self, spot: &Spot) -> Result<()> {
        let first = || Draft::read(&self.filled(spot)?, self.sources.folders())?.first();
        let scenario = first().map_err(|fault| self.sources.explain(&fault))?;
        check_traces([&scenario]).with_context(|| self.file.display().to_string())
    }

    /// The plan at a valid spot, without features if it can be. Of several faults, the error
    /// is the most frequent.
    fn example(&self) -> Result<Plan> {
        let mut random = generator(1, STREAM);
        let draws = (0..DRAWS).map(|_| self.draw(&mut random));
        let mut faults: Vec<(Error, usize)> = Vec::new();
        for spot in [self.middle(&|_| false)].into_iter().chain(draws) {
            let fault = match self.plan(&spot) {
                Ok(plan) => return Ok(plan),
                Err(fault) => fault,
            };
            let same = |it: &&mut (Error, usize)| format!("{:#}", it.0) == format!("{fault:#}");
            match faults.iter_mut().find(same) {
                Some((_, count)) => *count += 1,
                None => faults.push((fault, 1)),
            }
        }
        // Of equals the first.
        let most = faults.into_iter().rev().max_by_key(|(_, count)| *count);
        let (fault, _) = most.context("a fault of each spot")?;
        Err(fault)
    }

    /// The middle of each range and the first item of each list, with some of the features.
    fn middle(&self, there: &dyn Fn(usize) -> bool) -> Spot {
        let features = self.features.iter().enumerate();
        let picks = features.map(|(index, feature)| {
            let fields = feature.fields.iter().map(Field::middle);
            (feature.name.is_none() || there(index)).then(|| fields.collect())
        });
        Spot(picks.collect())
    }
}

impl Field {
    fn middle(&self) -> Pick {
        match self.values {
            Values::Range(_) => self.pick(0.5),
            Values::List(_) => Pick::Item(0),
        }
    }

    /// The items of a list, or the ends and the middle of a range.
    fn samples(&self) -> Vec<Pick> {
        match &self.values {
            Values::Range(_) => [0.0, 0.5, 1.0].map(|part| self.pick(part)).to_vec(),
            Values::List(items) => (0..items.len()).map(Pick::Item).collect(),
        }
    }
}
