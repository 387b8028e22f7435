//! Rows side by side: a line for each case and point of the sweeps, a column
//! for each controller, a mean over the seeds in each cell.

use std::collections::BTreeMap;

use super::manifest::Manifest;
use super::row::Row;
use super::set::Results;
use super::statistics::{mean, Summary};
use crate::sim::is_oracle;

/// One metric of a plan's results.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The controllers, as the plan calls them.
    pub controllers: Vec<String>,
    /// For each controller, true if it is an oracle, whatever the plan calls it: a limit, which
    /// takes no part in comparisons.
    pub oracles: Vec<bool>,
    /// In the plan's order.
    pub lines: Vec<Line>,
}

/// A case at a point of the sweeps.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The case and the places on the axes: `("case", "4.2 row 1")`,
    /// `("link.rate", "2mbit")`.
    pub labels: Vec<(String, String)>,
    /// One for each controller, of the runs that measured it; `None` where none
    /// did.
    pub cells: Vec<Option<Summary>>,
    /// For each controller, how many of its runs did not measure it.
    pub unmeasured: Vec<usize>,
    /// The case's reference columns.
    pub references: Vec<(String, Option<f64>)>,
}

impl Line {
    /// The line in words: `4.2 row 1, link.rate 2mbit`.
    pub fn name(&self) -> String {
        let word = |(axis, label): &(String, String)| match axis.as_str() {
            "case" => label.clone(),
            axis => format!("{axis} {label}"),
        };
        let words: Vec<String> = self.labels.iter().map(word).collect();
        words.join(", ")
    }
}

impl Table {
    /// Returns true if the seeds differ anywhere, in `digits` digits.
    pub fn spreads(&self, digits: usize) -> bool {
        let mut cells = self
            .lines
            .iter()
            .flat_map(|line| line.cells.iter().flatten());
        cells.any(|cell| cell.spread(digits).is_some())
    }

    /// The table of a metric. Of several flows of a controller in one run, the
    /// run's value is the mean.
    pub fn new(results: &Results, metric: &str) -> Self {
        let manifest = &results.manifest;
        let controllers = manifest.controllers.clone();
        let mut lines: Vec<Line> = Vec::new();
        let mut groups: Vec<BTreeMap<(usize, u64), Vec<f64>>> = Vec::new();
        for row in results.shown() {
            let labels = labels(manifest, row);
            let place = lines.iter().position(|line| line.labels == labels);
            let place = place.unwrap_or_else(|| {
                groups.push(BTreeMap::new());
                lines.push(Line {
                    labels,
                    cells: Vec::new(),
                    unmeasured: Vec::new(),
                    references: row.references.clone(),
                });
                lines.len() - 1
            });
            let column = controllers.iter().position(|name| *name == row.controller);
            if let Some(column) = column {
                let flows = groups[place].entry((column, row.seed)).or_default();
                flows.extend(row.metric(metric));
            }
        }
        for (line, group) in lines.iter_mut().zip(&groups) {
            for column in 0..controllers.len() {
                let runs = group.range((column, 0)..=(column, u64::MAX));
                let (measured, not): (Vec<_>, Vec<_>) = runs
                    .map(|(_, flows)| flows)
                    .partition(|flows| !flows.is_empty());
                let means: Vec<f64> = measured.into_iter().map(|flows| mean(flows)).collect();
                line.cells.push(Summary::new(&means));
                line.unmeasured.push(not.len());
            }
        }
        Table {
            oracles: oracles(&controllers, &results.rows),
            controllers,
            lines,
        }
    }

    /// The cells of a line without those of oracles.
    pub fn contestants(&self, line: &Line) -> Vec<Option<Summary>> {
        let cells = self.oracles.iter().zip(&line.cells);
        cells
            .map(|(oracle, cell)| cell.filter(|_| !oracle))
            .collect()
    }
}

/// For each controller, true if its rows are of an oracle.
fn oracles(controllers: &[String], rows: &[Row]) -> Vec<bool> {
    let is = |name: &str, row: &Row| row.controller == name && is_oracle(&row.cc);
    let controllers = controllers.iter();
    controllers
        .map(|name| rows.iter().any(|row| is(name, row)))
        .collect()
}

/// The line that a row belongs to.
pub(crate) fn labels(manifest: &Manifest, row: &Row) -> Vec<(String, String)> {
    let case = row
        .case
        .iter()
        .map(|case| ("case".to_owned(), case.clone()));
    let axes = manifest.axes.iter().filter(|axis| !axis.controllers);
    let places = axes.map(|axis| {
        let place = row.setting(&axis.name).unwrap_or_default();
        (axis.name.clone(), place.to_owned())
    });
    case.chain(places).collect()
}

#[cfg(test)]
mod tests {
    use super::super::row::tests::row;
    use super::*;

    #[test]
    fn an_oracle_is_known_by_any_name() {
        let row = |controller: &str, cc: &str| Row {
            controller: controller.into(),
            cc: cc.into(),
            ..row(true)
        };
        let rows = [
            row("oracle of mine", "petra"),
            row("best", "oracle:queue=10ms"),
        ];
        let controllers = rows.each_ref().map(|row| row.controller.clone());
        assert_eq!(oracles(&controllers, &rows), [false, true]);
    }
}
