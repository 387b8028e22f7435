//! Tables of metrics.

use maud::{html, Markup};

use super::ranking::emphasised;
use super::section::Shown;
use super::swatch::controller;
use super::words;
use crate::plot::palette::Palette;
use crate::results::{Line, Summary};
use crate::units::magnitude;

/// Columns with the intervals beside the means; of more, the intervals are below.
const ROOMY: usize = 9;

/// A metric's means: a line for each case and place on the axes, a column for
/// each controller and, if they are wanted, each reference.
pub(super) fn metric(shown: &Shown, palette: &Palette, with_references: bool) -> Markup {
    let Shown { metric, table, .. } = shown;
    let Some(first) = table.lines.first() else {
        return html! { p.note { "Nothing was measured." } };
    };
    let references = |line: &Line| {
        let references = line.references.iter().filter(|_| with_references);
        references.cloned().collect::<Vec<_>>()
    };
    let columns = first.labels.len() + table.controllers.len() + references(first).len();
    html! {
        div.scroll tabindex="0" role="group" aria-label=(words::heading(metric)) {
            table.many[columns > ROOMY] {
                thead {
                    tr {
                        th.l { (first.labels.first().map_or("", |(axis, _)| words::setting(axis))) }
                        @for (axis, _) in first.labels.iter().skip(1) { th.l { (words::setting(axis)) } }
                        @for name in &table.controllers { th { (controller(name, palette.of(name))) } }
                        @for (name, _) in references(first) { th { (name) } }
                    }
                }
                tbody {
                    @for line in &table.lines {
                        tr {
                            @match line.labels.split_first() {
                                Some(((_, label), others)) => {
                                    th data-v=[magnitude(label)] { (label) }
                                    @for (_, label) in others {
                                        td.l data-v=[magnitude(label)] { (label) }
                                    }
                                }
                                None => { th { "mean" } }
                            }
                            @let best = emphasised(metric, &table.contestants(line));
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
        let line = shown.table.lines.first()?;
        let best = emphasised(&shown.metric, &shown.table.contestants(line));
        Some((shown.metric.as_str(), &line.cells, best))
    });
    let columns: Vec<_> = columns.collect();
    html! {
        div.scroll tabindex="0" role="group" aria-label="means of the metrics" {
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
