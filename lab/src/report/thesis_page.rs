//! The thesis's tables on the page.

use anyhow::Result;
use maud::{html, Markup};

use super::page::{controller, Frame};
use super::section::Section;
use super::thesis::{Reading, Row, Thesis, Verdict, ORDERS};
use super::words;
use crate::results::{Order, Summary};

impl Frame {
    pub(super) fn thesis(&self, section: &Section, thesis: &Thesis) -> Result<Markup> {
        let readings = thesis.readings.iter().map(|reading| {
            Ok(html! {
                h3 { "Printed and measured: " (reading.name) }
                (side_by_side(section, thesis, reading))
                (self.figures(&reading.figures)?)
                h4 { "Whether the order holds: " (reading.name) }
                (self.orders(reading))
            })
        });
        let readings: Vec<Markup> = readings.collect::<Result<_>>()?;
        Ok(html! { @for reading in readings { (reading) } })
    }

    /// Row by row: the ratio with its interval, and what follows of it.
    fn orders(&self, reading: &Reading) -> Markup {
        let pairs: Vec<_> = pairs(reading);
        html! {
            div.scroll {
                table {
                    thead {
                        tr {
                            th { "row" }
                            @for (above, below) in &pairs {
                                th {
                                    (controller(above, self.palette.of(above))) " / "
                                    (controller(below, self.palette.of(below)))
                                }
                            }
                        }
                    }
                    tbody {
                        @for row in &reading.rows {
                            tr {
                                th { (row.name) }
                                @for verdict in &row.orders { td { (decided(verdict)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The pairs that a reading's rows have all.
fn pairs(reading: &Reading) -> Vec<(&'static str, &'static str)> {
    let first = reading.rows.first();
    first.map_or(Vec::new(), |row| {
        row.orders.iter().map(|it| it.pair).collect()
    })
}

fn decided(verdict: &Verdict) -> Markup {
    let (class, word) = match verdict.order {
        Order::Above => ("good", "holds"),
        Order::Undecided => ("open", "undecided"),
        Order::Below => ("bad", "reversed"),
    };
    html! {
        @if let Some(ratio) = &verdict.ratio { (words::ratio(ratio)) " " }
        span class=(class) { (word) }
    }
}

fn side_by_side(section: &Section, thesis: &Thesis, reading: &Reading) -> Markup {
    let (names, settings) = &section.settings;
    html! {
        div.scroll {
            table {
                thead {
                    tr {
                        th rowspan="2" { "row" }
                        @for name in names { th.l rowspan="2" { (name) } }
                        th colspan="2" { "PETRA / TCPW" }
                        th colspan="2" { "PETRA / NewReno" }
                        th colspan="3" { "printed, MB" }
                        th colspan="3" { "measured, " (words::title(&thesis.metric)) }
                    }
                    tr {
                        @for _ in 0..2 { th { "printed" } th { "measured" } }
                        @for name in ["PETRA", "TCPW", "NewReno", "mechanism", "westwood", "reno"] { th { (name) } }
                    }
                }
                tbody {
                    @for row in &reading.rows {
                        tr {
                            th { (row.name) }
                            @for value in &settings[row.line] { td.l { (value) } }
                            @for (printed, measured) in row.ratios() {
                                td.ref { (format!("{printed:.2}")) }
                                td { @if let Some(measured) = measured { (words::ratio(&measured)) } }
                            }
                            @for value in row.printed { td.ref { (format!("{value:.2}")) } }
                            @for cell in &row.measured { td { (plain(&thesis.metric, cell)) } }
                        }
                    }
                }
            }
        }
    }
}

/// A mean alone: its interval is in the metric's own table, and in the ratio's.
fn plain(metric: &str, summary: &Option<Summary>) -> String {
    let digits = words::digits(metric);
    summary.map_or("–".to_owned(), |it| format!("{:.digits$}", it.mean))
}

/// A row with the plan that it is in.
type Placed<'a> = (&'a Section, &'a Row);

/// An order of a row, with both.
type Judged<'a> = (&'a Section, &'a Row, &'a Verdict);

/// The rows of all tables of the thesis, by their reading.
pub(super) fn placed(sections: &[Section]) -> Vec<(&str, Vec<Placed<'_>>)> {
    let mut readings: Vec<(&str, Vec<Placed>)> = Vec::new();
    for section in sections {
        for reading in section.thesis.iter().flat_map(|thesis| &thesis.readings) {
            let rows = reading.rows.iter().map(|row| (section, row));
            match readings.iter_mut().find(|(name, _)| *name == reading.name) {
                Some((_, all)) => all.extend(rows),
                None => readings.push((&reading.name, rows.collect())),
            }
        }
    }
    readings
}

fn verdicts<'a>(rows: &'a [Placed]) -> impl Iterator<Item = Judged<'a>> {
    rows.iter()
        .flat_map(|(section, row)| row.orders.iter().map(|it| (*section, *row, it)))
}

/// An order over all rows.
pub(super) struct Count {
    pub(super) pair: (&'static str, &'static str),
    /// In how many rows the thesis prints it, where it has these two.
    pub(super) printed: Option<usize>,
    /// In how many it holds, is undecided, and is reversed.
    pub(super) measured: [usize; 3],
}

pub(super) fn counted(rows: &[Placed]) -> Vec<Count> {
    let count = |pair| {
        let own = verdicts(rows).filter(|it| it.2.pair == pair);
        let own: Vec<&Verdict> = own.map(|(_, _, verdict)| verdict).collect();
        let measured = |order| own.iter().filter(|it| it.order == order).count();
        let printed: Option<Vec<f64>> = own.iter().map(|it| it.printed).collect();
        let above = |ratios: Vec<f64>| ratios.into_iter().filter(|ratio| *ratio > 1.0).count();
        (!own.is_empty()).then(|| Count {
            pair,
            printed: printed.map(above),
            measured: [Order::Above, Order::Undecided, Order::Below].map(measured),
        })
    };
    ORDERS.into_iter().filter_map(count).collect()
}

/// Returns the thesis's value, if it has one.
pub(super) fn of_thesis(printed: Option<impl ToString>) -> String {
    printed.map_or_else(|| "–".to_owned(), |it| it.to_string())
}

/// The orders that are reversed.
pub(super) fn reversed<'a>(rows: &'a [Placed]) -> Vec<Judged<'a>> {
    verdicts(rows)
        .filter(|(_, _, it)| it.order == Order::Below)
        .collect()
}

/// The causes of reversed orders, each once.
pub(super) fn causes<'a>(reversed: &[Judged<'a>]) -> Vec<&'a str> {
    let mut causes = Vec::new();
    for because in reversed.iter().filter_map(|it| it.2.because.as_deref()) {
        if !causes.contains(&because) {
            causes.push(because);
        }
    }
    causes
}

/// The number, from 1, of an order's cause among these.
pub(super) fn cause(verdict: &Verdict, causes: &[&str]) -> String {
    let place = |because| causes.iter().position(|it| *it == because);
    let place = verdict.because.as_deref().and_then(place);
    place.map_or_else(|| "not known".to_owned(), |place| (place + 1).to_string())
}

/// Over all tables of the thesis: how often the order holds, and where it does
/// not. Nothing where there are none.
pub(super) fn summary(sections: &[Section]) -> Markup {
    let readings = placed(sections);
    html! {
        @if !readings.is_empty() {
            section id="thesis" {
                h2 { "The thesis's tables: does the order hold?" }
                p {
                    "The order that the thesis claims is PETRA above TCPW above NewReno; in some rows it prints another \
                     itself. Each row asks whether one controller received more than another. It is decided where the \
                     difference of the means exceeds its 95 % interval (Welch), and undecided elsewhere. "
                    code { "mechanism" } " is the one mechanism that the table measured, over its base."
                }
                @for (name, rows) in &readings {
                    h3 { (name) ", " (words::count(rows.len(), "row")) }
                    (counts(rows))
                    (exceptions(rows))
                }
            }
        }
    }
}

fn counts(rows: &[Placed]) -> Markup {
    html! {
        div.scroll {
            table {
                thead { tr { th { "above" } th { "printed so" } th { "holds" } th { "undecided" } th { "reversed" } } }
                tbody {
                    @for Count { pair, printed, measured: [holds, open, reversed] } in counted(rows) {
                        tr {
                            th { (pair.0) " over " (pair.1) }
                            td.ref { (of_thesis(printed)) }
                            td { span.good { (holds) } }
                            td { (open) }
                            td { span.bad[reversed > 0] { (reversed) } }
                        }
                    }
                }
            }
        }
    }
}

/// Every row that has an order reversed, with what may explain it.
fn exceptions(rows: &[Placed]) -> Markup {
    let reversed = reversed(rows);
    let causes = causes(&reversed);
    let heads = reversed
        .first()
        .map_or(&[][..], |(_, _, it)| &it.circumstances);
    html! {
        @if reversed.is_empty() {
            p.note { "No order is reversed in any row." }
        } @else {
            details open[reversed.len() <= 12] {
                summary { (words::count(reversed.len(), "exception")) }
                div.scroll {
                    table {
                        thead {
                            tr {
                                th { "row" } th.l { "reversed" } th { "printed" } th { "ratio" }
                                @for (name, _) in heads { th.w { (words::title(name)) } }
                                th { "cause" }
                            }
                        }
                        tbody {
                            @for (section, row, verdict) in &reversed {
                                tr {
                                    th { a href={ "#" (words::slug(&section.manifest.plan)) } { (section.manifest.plan) } " " (row.name) }
                                    td.l { (verdict.pair.0) " / " (verdict.pair.1) }
                                    td.ref { (of_thesis(verdict.printed.map(|it| format!("{it:.2}")))) }
                                    td { @if let Some(ratio) = &verdict.ratio { (words::ratio(ratio)) } }
                                    @for (name, both) in &verdict.circumstances {
                                        td { (against(name, both)) }
                                    }
                                    td { (cause(verdict, &causes)) }
                                }
                            }
                        }
                    }
                }
                ol { @for cause in &causes { li { (words::prose(cause)) } } }
            }
        }
    }
}

/// `0.987 | 0.991`: of the one and of the other.
pub(super) fn against(name: &str, both: &[Option<f64>; 2]) -> String {
    let digits = words::digits(name);
    let text = |value: &Option<f64>| value.map_or("–".to_owned(), |it| format!("{it:.digits$}"));
    both.iter().map(text).collect::<Vec<_>>().join(" | ")
}
