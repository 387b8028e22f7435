//! Tables of metrics.

use maud::{html, Markup};

use super::section::{Section, Shown};
use super::swatch::controller;
use super::words;
use crate::plot::palette::Palette;
use crate::results::{metric as known, order, Line, Order, Sense, Summary};

/// A metric's means: a line for each case and place on the axes, a column for
/// each controller and, if they are wanted, each reference.
pub(super) fn metric(
    section: &Section,
    shown: &Shown,
    palette: &Palette,
    with_references: bool,
) -> Markup {
    let Shown { metric, table, .. } = shown;
    let Some(first) = table.lines.first() else {
        return html! { p.note { "Nothing was measured." } };
    };
    let references = |line: &Line| {
        let references = line.references.iter().filter(|_| with_references);
        references.cloned().collect::<Vec<_>>()
    };
    let (names, settings) = &section.settings;
    let columns = section.settings_are_columns();
    let names = names.iter().filter(|_| columns);
    html! {
        div.scroll {
            table {
                thead {
                    tr {
                        th.l { (first.labels.first().map_or("", |(axis, _)| words::setting(axis))) }
                        @for (axis, _) in first.labels.iter().skip(1) { th.l { (words::setting(axis)) } }
                        @for name in names { th.l { (words::setting(name)) } }
                        @for name in &table.controllers { th { (controller(name, palette.of(name))) } }
                        @for (name, _) in references(first) { th { (name) } }
                    }
                }
                tbody {
                    @for (line, settings) in table.lines.iter().zip(settings) {
                        tr {
                            @match line.labels.split_first() {
                                Some(((_, label), others)) => {
                                    th { (label) }
                                    @for (_, label) in others { td.l { (label) } }
                                }
                                None => { th { "mean" } }
                            }
                            @for value in settings.iter().filter(|_| columns) { td.l { (value) } }
                            @let best = best(metric, &line.cells);
                            @for (cell, best) in line.cells.iter().zip(best) {
                                td { (mean(metric, cell.as_ref(), best)) }
                            }
                            @for (_, value) in references(line) {
                                td.ref { @if let Some(value) = value { (value) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A line for each controller, a column for each metric: of results that
/// differ in nothing else.
pub(super) fn controllers(metrics: &[Shown], palette: &Palette) -> Markup {
    let names = metrics.first().map_or(&[][..], |it| &it.table.controllers);
    let columns = metrics.iter().filter_map(|shown| {
        let cells = &shown.table.lines.first()?.cells;
        Some((shown.metric.as_str(), cells, best(&shown.metric, cells)))
    });
    let columns: Vec<_> = columns.collect();
    html! {
        div.scroll {
            table {
                thead {
                    tr {
                        th { "controller" }
                        @for (metric, _, _) in &columns { th.w { (words::heading(metric)) } }
                    }
                }
                tbody {
                    @for (place, name) in names.iter().enumerate() {
                        tr {
                            th { (controller(name, palette.of(name))) }
                            @for (metric, cells, best) in &columns {
                                td { (mean(metric, cells[place].as_ref(), best[place])) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A mean with its interval.
pub(super) fn mean(metric: &str, summary: Option<&Summary>, best: bool) -> Markup {
    let digits = words::digits(metric);
    html! {
        @match summary {
            None => { "–" }
            Some(summary) => {
                @let mean = format!("{:.digits$}", summary.mean);
                @if best { b.best { (mean) } } @else { (mean) }
                @if let Some(interval) = summary.spread(digits) { span.pm { (format!(" ± {interval:.digits$}")) } }
            }
        }
    }
}

/// Marks the best cells, and those that do not differ from them significantly. It marks none if
/// neither direction is better or all are equal.
fn best(metric: &str, cells: &[Option<Summary>]) -> Vec<bool> {
    let sense = known(metric).map_or(Sense::Neither, |metric| metric.sense);
    let means = || cells.iter().flatten();
    let best = match sense {
        Sense::More => means().max_by(|a, b| a.mean.total_cmp(&b.mean)),
        Sense::Less => means().min_by(|a, b| a.mean.total_cmp(&b.mean)),
        Sense::Neither => None,
    };
    let is_best = |cell: &Option<Summary>| match (cell, best) {
        (Some(cell), Some(best)) => {
            cell.mean == best.mean
                || cell.interval.is_some() && order(cell, best) == Order::Undecided
        }
        _ => false,
    };
    let marked: Vec<bool> = cells.iter().map(is_best).collect();
    let some_differ = marked
        .iter()
        .zip(cells)
        .any(|(best, cell)| !best && cell.is_some());
    marked.into_iter().map(|best| best && some_differ).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_is_marked_with_what_cannot_be_told_from_it() {
        let cells = [
            Summary::new(&[9.0, 9.1, 9.2]),
            Summary::new(&[9.1, 9.0, 9.3]),
            Summary::new(&[2.0, 2.1, 2.2]),
            None,
        ];
        assert_eq!(best("goodput_mbps", &cells), [true, true, false, false]);
        assert_eq!(best("loss_percent", &cells), [false, false, true, false]);
        assert_eq!(best("cwnd_mean_kb", &cells), [false; 4]);
        assert_eq!(best("goodput_mbps", &cells[..2]), [false; 2]);
    }
}
