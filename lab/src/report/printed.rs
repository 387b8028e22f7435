//! Printed values next to measured ones, and whether the expected orders of the controllers hold.

use super::section::Draft;
use crate::plot::palette::{DISC, MUTED, RING};
use crate::plot::{Chart, Figure, Form, Group, Mark, Rows, Scale, Series};
use crate::results::{
    order, ratio, Column, Estimate, Line, Order, Printed, Results, Summary, Table,
};

/// A publication's table, measured again.
pub(super) struct Comparison {
    pub(super) printed: Printed,
    /// By the places on the axes, such as the thesis's two readings.
    pub(super) readings: Vec<Reading>,
}

/// All rows at one place on the axes.
pub(super) struct Reading {
    /// Empty if there are no axes.
    pub(super) name: String,
    pub(super) rows: Vec<Row>,
    pub(super) figures: Vec<Figure>,
}

/// A row of the table.
pub(super) struct Row {
    pub(super) name: String,
    /// The line of the plan's tables.
    pub(super) line: usize,
    /// By column.
    pub(super) printed: Vec<Option<f64>>,
    pub(super) measured: Vec<Option<Summary>>,
    pub(super) verdicts: Vec<Verdict>,
}

/// Comparison of two controllers in a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Verdict {
    pub(super) pair: (String, String),
    pub(super) order: Order,
    pub(super) ratio: Option<Estimate>,
    /// The printed ratio, if both are printed.
    pub(super) printed: Option<f64>,
    /// Metrics by name, the means of both sides.
    pub(super) circumstances: Vec<(String, [Option<f64>; 2])>,
    /// Reason for a reversed order, if the plan has one.
    pub(super) because: Option<String>,
}

impl Row {
    /// The first column over each of the others, as printed and as measured.
    pub(super) fn ratios(&self) -> Vec<(Option<f64>, Option<Estimate>)> {
        let ratio = |other| {
            let printed = self.printed[0].zip(self.printed[other]);
            let measured = self.measured[0].zip(self.measured[other]);
            (
                printed.map(|(first, other)| first / other),
                measured.and_then(|(first, other)| ratio(&first, &other)),
            )
        };
        (1..self.printed.len()).map(ratio).collect()
    }
}

impl Comparison {
    /// `None` for a plan without printed values.
    pub(super) fn new(draft: &Draft, results: &Results) -> Option<Self> {
        let printed = results.manifest.printed.clone()?;
        let source = Source::new(results, &printed);
        let mut readings: Vec<Reading> = Vec::new();
        for (number, line) in source.table.lines.iter().enumerate() {
            let Some(row) = source.row(number) else {
                continue;
            };
            let name = reading(line);
            match readings.iter_mut().find(|it| it.name == name) {
                Some(reading) => reading.rows.push(row),
                None => readings.push(Reading {
                    name,
                    rows: vec![row],
                    figures: Vec::new(),
                }),
            }
        }
        for reading in &mut readings {
            let others = 0..printed.columns.len() - 1;
            let figures = others.map(|other| figure(draft, reading, &printed.columns, other));
            reading.figures = figures.collect();
        }
        (!readings.is_empty()).then_some(Comparison { printed, readings })
    }

    pub(super) fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.readings.iter().flat_map(|reading| &reading.figures)
    }
}

/// The labels of a line, apart from the case.
fn reading(line: &Line) -> String {
    let others = line.labels.iter().filter(|(axis, _)| axis != "case");
    let others: Vec<&str> = others.map(|(_, label)| label.as_str()).collect();
    others.join(", ")
}

/// The measured tables that the rows come from.
struct Source<'a> {
    results: &'a Results,
    printed: &'a Printed,
    table: Table,
    circumstances: Vec<(&'a String, Table)>,
}

impl<'a> Source<'a> {
    fn new(results: &'a Results, printed: &'a Printed) -> Self {
        let tables = printed.circumstances.iter();
        Source {
            results,
            printed,
            table: Table::new(results, &printed.metric),
            circumstances: tables.map(|it| (it, Table::new(results, it))).collect(),
        }
    }

    /// `None` for a line of which nothing is printed.
    fn row(&self, number: usize) -> Option<Row> {
        let line = &self.table.lines[number];
        let columns = &self.printed.columns;
        let printed: Vec<Option<f64>> = columns.iter().map(|it| value(line, it)).collect();
        if printed.iter().all(Option::is_none) {
            return None;
        }
        let of = |controller: &str| {
            let column = columns.iter().position(|it| it.controller == controller)?;
            printed[column]
        };
        let orders = self.printed.orders.iter();
        let case = line.labels.iter().find(|(axis, _)| axis == "case");
        Some(Row {
            name: case.map_or_else(|| line.name(), |(_, name)| name.clone()),
            line: number,
            measured: columns
                .iter()
                .map(|column| cell(&self.table, number, &column.controller))
                .collect(),
            verdicts: orders
                .filter_map(|pair| self.verdict(number, pair, of))
                .collect(),
            printed,
        })
    }

    /// `None` if one of the two was not measured.
    fn verdict(
        &self,
        number: usize,
        pair: &(String, String),
        printed: impl Fn(&str) -> Option<f64>,
    ) -> Option<Verdict> {
        let (above, below) = pair;
        let a = cell(&self.table, number, above)?;
        let b = cell(&self.table, number, below)?;
        let both = |(name, table): &(&String, Table)| {
            let mean = |controller| cell(table, number, controller).map(|it| it.mean);
            ((*name).clone(), [mean(above), mean(below)])
        };
        let labels = &self.table.lines[number].labels;
        let mut known_deviations = self.results.manifest.known_deviations.iter();
        let deviation = known_deviations.find(|it| it.covers(above, labels, Some(below)));
        Some(Verdict {
            pair: pair.clone(),
            order: order(&a, &b),
            ratio: ratio(&a, &b),
            printed: printed(above).zip(printed(below)).map(|(a, b)| a / b),
            circumstances: self.circumstances.iter().map(both).collect(),
            because: deviation.map(|it| it.because.clone()),
        })
    }
}

fn value(line: &Line, column: &Column) -> Option<f64> {
    let mut references = line.references.iter();
    references.find(|(name, _)| *name == column.reference)?.1
}

fn cell(table: &Table, line: usize, controller: &str) -> Option<Summary> {
    let column = table
        .controllers
        .iter()
        .position(|name| name == controller)?;
    table.lines[line].cells[column]
}

/// The ratio of the first column to another one, printed and measured.
fn figure(draft: &Draft, reading: &Reading, columns: &[Column], which: usize) -> Figure {
    let (first, other) = (&columns[0], &columns[which + 1].name);
    let series = [
        ("printed", MUTED, Form::Mark(RING)),
        (
            "measured",
            draft.palette.of(&first.controller),
            Form::Mark(DISC),
        ),
    ];
    let series = series.map(|(name, ink, form)| Series {
        name: name.to_owned(),
        ink,
        form,
    });
    let groups = reading.rows.iter().map(|row| {
        let (printed, measured) = &row.ratios()[which];
        let printed = printed.map(|value| Mark {
            value,
            interval: None,
        });
        let measured = measured.map(|Estimate { value, interval }| Mark { value, interval });
        Group {
            label: row.name.clone(),
            ink: None,
            marks: vec![printed, measured],
        }
    });
    let first = &first.name;
    draft.figure(
        &["ratio", other, &reading.name],
        titled(&format!("{first} over {other}"), ", ", &reading.name),
        format!("Right of 1, {first} is above {other}. {}", draft.sample()),
        Chart::Rows(Rows {
            scale: Scale {
                label: format!("{first} / {other}"),
                log: true,
            },
            base: 1.0,
            series: series.into(),
            groups: groups.collect(),
            whole: None,
        }),
    )
}

/// A title and the name of the reading, if it has one.
pub(super) fn titled(title: &str, between: &str, reading: &str) -> String {
    match reading {
        "" => title.to_owned(),
        reading => format!("{title}{between}{reading}"),
    }
}
