//! Evaluation of expectations.

use super::{Expectation, Relation, Than, Tolerance};
use crate::results::{Comparison, KnownDeviation, Line, Results, Summary, Table, Verdict};

impl Expectation {
    /// Compares what there is to compare. What does not hold for a reason that
    /// is known is no surprise.
    pub fn judge(&self, results: &Results) -> Verdict {
        let known = &results.manifest.known_deviations;
        let table = Table::new(results, &self.metric);
        let mut comparisons = Vec::new();
        for line in table.lines.iter().filter(|line| self.of.takes(line)) {
            for (column, controller) in table.controllers.iter().enumerate() {
                let chosen = self.of.controller.as_ref();
                if chosen.is_some_and(|name| name != controller) {
                    continue;
                }
                let value = Side::of(line, column);
                let other = self.than.find(&table, line, controller);
                if let Some((value, other)) = value.zip(other) {
                    let row = match chosen {
                        Some(_) => line.name(),
                        None => format!("{controller}, {}", line.name()),
                    };
                    let mut comparison = self.compare(row, value, other);
                    if !comparison.holds {
                        comparison.because = self.excuse(known, line, controller);
                    }
                    comparisons.push(comparison);
                }
            }
        }
        Verdict {
            expected: self.words(),
            metric: self.metric.clone(),
            holds: !comparisons.is_empty()
                && comparisons
                    .iter()
                    .all(|it| it.holds || it.because.is_some()),
            comparisons,
        }
    }

    /// Returns the known reason for which the expectation does not hold here.
    fn excuse(&self, known: &[KnownDeviation], line: &Line, controller: &str) -> Option<String> {
        let than = match &self.than {
            Than::Number(_) => None,
            Than::Other(other) => Some(other.controller.as_deref().unwrap_or(controller)),
        };
        let mut known = known.iter();
        let excuse = known.find(|it| it.covers(controller, &line.labels, than))?;
        Some(excuse.because.clone())
    }

    fn compare(&self, row: String, value: Side, other: Side) -> Comparison {
        let sides = value.whole().zip(other.whole());
        let (tolerance, holds) = sides.map_or((0.0, false), |(value, other)| {
            let tolerance = self.tolerance.between(value, other);
            let difference = value.mean - other.mean;
            let holds = match self.relation {
                Relation::AtLeast => difference >= -tolerance,
                Relation::AtMost => difference <= tolerance,
                Relation::About => difference.abs() <= tolerance,
            };
            (tolerance, holds)
        });
        Comparison {
            row,
            value: value.whole().map(|summary| summary.mean),
            reference: other.whole().map(|summary| summary.mean),
            tolerance,
            holds,
            because: None,
        }
    }

    fn words(&self) -> String {
        let relation = match self.relation {
            Relation::AtLeast => "at least",
            Relation::AtMost => "at most",
            Relation::About => "about",
        };
        let than = match &self.than {
            Than::Number(number) => number.to_string(),
            Than::Other(selection) => format!("that of {}", selection.words()),
        };
        let tolerance = match self.tolerance {
            Tolerance::Absolute(0.0) => String::new(),
            Tolerance::Absolute(number) => format!(", give or take {number}"),
            Tolerance::Share(share) => format!(", give or take {} %", 100.0 * share),
            Tolerance::Interval => ", or within the intervals".to_owned(),
        };
        let Self { metric, of, .. } = self;
        format!("{metric} of {} is {relation} {than}{tolerance}", of.words())
    }
}

impl Than {
    /// The other side of a comparison whose first side is `controller`'s cell
    /// of `line`.
    fn find(&self, table: &Table, line: &Line, controller: &str) -> Option<Side> {
        let selection = match self {
            Than::Number(number) => {
                return Some(Side {
                    summary: Summary::new(&[*number]),
                    unmeasured: 0,
                })
            }
            Than::Other(selection) => selection,
        };
        let mut labels = line.labels.clone();
        for (name, label) in &mut labels {
            if let Some((_, other)) = selection.labels.iter().find(|(other, _)| other == name) {
                label.clone_from(other);
            }
        }
        let line = table.lines.iter().find(|line| line.labels == labels)?;
        let controller = selection.controller.as_deref().unwrap_or(controller);
        let mut controllers = table.controllers.iter();
        let column = controllers.position(|name| name == controller)?;
        Side::of(line, column)
    }
}

/// A side of a comparison: some runs, of which some did not measure it.
#[derive(Clone, Copy)]
struct Side {
    summary: Option<Summary>,
    unmeasured: usize,
}

impl Side {
    /// A cell of a table; `None` where there was no run.
    fn of(line: &Line, column: usize) -> Option<Side> {
        let (summary, unmeasured) = (line.cells[column], line.unmeasured[column]);
        (summary.is_some() || unmeasured > 0).then_some(Side {
            summary,
            unmeasured,
        })
    }

    /// The mean of all runs: one without the slowest, which did not come to an
    /// end, is no answer.
    fn whole(self) -> Option<Summary> {
        self.summary.filter(|_| self.unmeasured == 0)
    }
}

impl Tolerance {
    fn between(self, value: Summary, other: Summary) -> f64 {
        let interval = |summary: Summary| summary.interval.unwrap_or(0.0);
        match self {
            Tolerance::Absolute(number) => number,
            Tolerance::Share(share) => share * other.mean.abs(),
            Tolerance::Interval => interval(value).hypot(interval(other)),
        }
    }
}
