//! A plan's means.

use super::super::grid::Grid;
use super::super::section::{Section, Shown};
use super::super::words;

/// A table for each metric.
pub(super) fn tables(section: &Section) -> String {
    section.metrics.iter().map(table).collect()
}

fn table(shown: &Shown) -> String {
    let Shown { metric, table, .. } = shown;
    let Some(first) = table.lines.first() else {
        return String::new();
    };
    let digits = words::digits(metric);
    let axes = first.labels.iter().map(|(axis, _)| words::setting(axis));
    let heads = axes.chain(table.controllers.iter().map(String::as_str));
    let mut grid = Grid::new(first.labels.len(), heads);
    for line in &table.lines {
        let labels = line.labels.iter().map(|(_, label)| label.clone());
        let cells = line.cells.iter().map(|cell| {
            cell.as_ref()
                .map_or_else(|| "–".to_owned(), |it| words::mean(it, digits))
        });
        grid.row(labels.chain(cells));
    }
    format!("{}:\n\n{}", words::title(metric), grid.markdown())
}
