//! The thesis's tables: what was printed beside what was measured, and whether
//! the order of the controllers holds.

use super::section::Draft;
use crate::plot::palette::MUTED;
use crate::plot::{Chart, Figure, Form, Group, Mark, Rows, Scale, Series};
use crate::results::{order, ratio, Estimate, Exception, Line, Order, Results, Summary, Table};

/// The printed columns, and the controllers that are these here.
const PRINTED: [(&str, &str); 3] = [
    ("printed.petra", "mechanism"),
    ("printed.westwood", "westwood"),
    ("printed.newreno", "reno"),
];

/// Expected orders of columns: the first of each pair is above the second.
pub(super) const ORDERS: [(&str, &str); 4] = [
    ("mechanism", "westwood"),
    ("petra-thesis", "westwood"),
    ("petra", "westwood"),
    ("westwood", "reno"),
];

/// Metrics of both sides that are shown if the order does not hold.
pub(super) const CIRCUMSTANCES: [&str; 3] = ["share_of_limit", "loss_percent", "queue_mean_ms"];

/// A table of the thesis, again.
pub(super) struct Thesis {
    /// The metric that was printed.
    pub(super) metric: String,
    /// By reading: as printed, packet-scaled.
    pub(super) readings: Vec<Reading>,
}

/// All rows in one reading of the thesis.
pub(super) struct Reading {
    pub(super) name: String,
    pub(super) rows: Vec<Row>,
    pub(super) figures: Vec<Figure>,
}

/// A row of the thesis's table.
pub(super) struct Row {
    pub(super) name: String,
    /// The line of the plan's tables.
    pub(super) line: usize,
    /// PETRA, TCPW and NewReno.
    pub(super) printed: [f64; 3],
    pub(super) measured: [Option<Summary>; 3],
    /// Of [`ORDERS`].
    pub(super) orders: Vec<Verdict>,
}

/// Comparison of two controllers in a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Verdict {
    pub(super) pair: (&'static str, &'static str),
    pub(super) order: Order,
    pub(super) ratio: Option<Estimate>,
    /// The thesis's own ratio, where it has these two.
    pub(super) printed: Option<f64>,
    /// Of both sides, the means of [`CIRCUMSTANCES`].
    pub(super) circumstances: Vec<(&'static str, [Option<f64>; 2])>,
    /// Reason for a reversed order, if the plan has one.
    pub(super) because: Option<String>,
}

impl Row {
    /// PETRA over TCPW and over NewReno, as printed and as measured.
    pub(super) fn ratios(&self) -> [(f64, Option<Estimate>); 2] {
        [1, 2].map(|other| {
            let measured = self.measured[0].zip(self.measured[other]);
            let measured = measured.and_then(|(petra, other)| ratio(&petra, &other));
            (self.printed[0] / self.printed[other], measured)
        })
    }
}

impl Thesis {
    /// `None` of a plan that has not all the printed columns.
    pub(super) fn new(draft: &Draft, results: &Results) -> Option<Self> {
        let metric = results.manifest.metrics.first()?;
        let table = Table::new(results, metric);
        let circumstances = CIRCUMSTANCES.map(|name| (name, Table::new(results, name)));
        let exceptions = &results.manifest.exceptions;
        let mut readings: Vec<Reading> = Vec::new();
        for (number, line) in table.lines.iter().enumerate() {
            let Some(row) = row(&table, &circumstances, exceptions, number) else {
                continue;
            };
            let reading = reading(line);
            match readings.iter_mut().find(|it| it.name == reading) {
                Some(reading) => reading.rows.push(row),
                None => readings.push(Reading {
                    name: reading,
                    rows: vec![row],
                    figures: Vec::new(),
                }),
            }
        }
        for reading in &mut readings {
            reading.figures = [(0, "TCPW"), (1, "NewReno")]
                .map(|(which, other)| figure(draft, reading, which, other))
                .into();
        }
        (!readings.is_empty()).then(|| Thesis {
            metric: metric.clone(),
            readings,
        })
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

fn row(
    table: &Table,
    circumstances: &[(&'static str, Table); 3],
    exceptions: &[Exception],
    number: usize,
) -> Option<Row> {
    let line = &table.lines[number];
    let printed = |(column, _): (&str, &str)| {
        let mut references = line.references.iter();
        references.find(|(name, _)| name == column)?.1
    };
    let [petra, westwood, newreno] = PRINTED.map(printed);
    let printed = [petra?, westwood?, newreno?];
    let of = |controller: &str| {
        let column = PRINTED.iter().position(|(_, name)| *name == controller)?;
        Some(printed[column])
    };
    let orders = ORDERS.iter().filter_map(|pair| {
        let a = cell(table, number, pair.0)?;
        let b = cell(table, number, pair.1)?;
        let both = |(name, table): &(&'static str, Table)| {
            let mean = |controller| cell(table, number, controller).map(|it| it.mean);
            (*name, [mean(pair.0), mean(pair.1)])
        };
        Some(Verdict {
            pair: *pair,
            order: order(&a, &b),
            ratio: ratio(&a, &b),
            printed: of(pair.0).zip(of(pair.1)).map(|(a, b)| a / b),
            circumstances: circumstances.iter().map(both).collect(),
            because: exceptions
                .iter()
                .find(|it| it.covers(pair.0, &line.labels, Some(pair.1)))
                .map(|it| it.because.clone()),
        })
    });
    let case = line.labels.iter().find(|(axis, _)| axis == "case");
    Some(Row {
        name: case.map_or_else(|| line.name(), |(_, name)| name.clone()),
        line: number,
        printed,
        measured: PRINTED.map(|(_, controller)| cell(table, number, controller)),
        orders: orders.collect(),
    })
}

fn cell(table: &Table, line: usize, controller: &str) -> Option<Summary> {
    let column = table
        .controllers
        .iter()
        .position(|name| name == controller)?;
    table.lines[line].cells[column]
}

/// Returns the ratio to another controller, printed and measured.
fn figure(draft: &Draft, reading: &Reading, which: usize, other: &str) -> Figure {
    let name = PRINTED[0].1;
    let series = [
        ("printed", MUTED, Form::Ring),
        ("measured", draft.palette.of(name), Form::Dot),
    ];
    let series = series.map(|(name, ink, form)| Series {
        name: name.to_owned(),
        ink,
        form,
    });
    let groups = reading.rows.iter().map(|row| {
        let (printed, measured) = row.ratios()[which];
        let printed = Mark {
            value: printed,
            interval: None,
        };
        let measured = measured.map(|Estimate { value, interval }| Mark { value, interval });
        Group {
            label: row.name.clone(),
            ink: None,
            marks: vec![Some(printed), measured],
        }
    });
    draft.figure(
        &["ratio", other, &reading.name],
        format!("PETRA over {other}, {}", reading.name),
        format!("Right of 1, PETRA received more. {}", draft.sample()),
        Chart::Rows(Rows {
            scale: Scale {
                label: format!("PETRA / {other}"),
                log: true,
            },
            base: 1.0,
            series: series.into(),
            groups: groups.collect(),
        }),
    )
}
