//! Results on the terminal: tables, or JSON.

use std::collections::BTreeMap;
use std::io::{self, Write};

use anyhow::Result;
use comfy_table::{presets, CellAlignment, Table as Text};
use serde::Serialize;

use super::run_set::RunSet;
use crate::backend::{FlowOutcome, Outcome};
use crate::report::words;
use crate::results::{metric, Line, Results, Summary, Table, Verdict};
use crate::scenario::Scenario;

/// Maximum letters in a line of a column's head, except for a longer word.
const HEAD: usize = 13;

/// The most controllers that are columns.
const WIDEST: usize = 10;

/// Prints what a plan showed: a table for each of its metrics, or, where the
/// controllers are all that differs, one table of them all; and what came of
/// the expectations.
pub(super) fn print(results: &Results) -> Result<()> {
    let manifest = &results.manifest;
    let mut out = io::stdout().lock();
    let seeds = manifest.seeds.len();
    let plural = if seeds == 1 { "" } else { "s" };
    writeln!(
        out,
        "\n{}: {} ({seeds} seed{plural}, {})",
        manifest.plan, manifest.title, manifest.backend
    )?;
    let tables: Vec<(&str, Table)> = manifest
        .metrics
        .iter()
        .map(|name| (name.as_str(), Table::new(results, name)))
        .collect();
    let spreads = |(name, table): &(&str, Table)| table.spreads(words::digits(name));
    if tables.iter().any(spreads) {
        writeln!(out, "mean ± 95 % interval over the seeds, where it shows")?;
    } else if seeds > 1 {
        writeln!(out, "every seed gave these figures")?;
    }
    if tables.iter().all(|(_, table)| table.lines.len() <= 1) {
        writeln!(out, "\n{}", controllers(&tables).trim_fmt())?;
    } else {
        for (number, (name, table)) in tables.iter().enumerate() {
            writeln!(out, "\n{}", words::heading(name))?;
            let text = match table.controllers.len() {
                0..=WIDEST => lines(name, table, number == 0),
                _ => turned(name, table),
            };
            writeln!(out, "{}", text.trim_fmt())?;
        }
    }
    for verdict in &manifest.verdicts {
        expectation(verdict, &mut out)?;
    }
    Ok(())
}

/// A run as JSON.
#[derive(Serialize)]
struct Run<'a> {
    plan: &'a str,
    key: String,
    scenario: Scenario,
    flows: &'a [FlowOutcome],
}

/// Prints every run with its scenario: plan by plan, point by point, seed by seed.
pub(super) fn json(run_set: &RunSet, finished: &BTreeMap<String, Outcome>) -> Result<()> {
    let mut runs = Vec::new();
    for plan in run_set.plans.iter().map(|planned| &planned.plan) {
        for (point, seed) in plan
            .points
            .iter()
            .flat_map(|point| plan.seeds.iter().map(move |seed| (point, *seed)))
        {
            let run = plan.run(point, seed, &run_set.versions)?;
            runs.push(Run {
                plan: &plan.name,
                flows: &finished[&run.key].flows,
                key: run.key,
                scenario: run.scenario,
            });
        }
    }
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, &runs)?;
    Ok(writeln!(out)?)
}

/// Prints an expectation, its result, and the rows in which it does not hold.
fn expectation(verdict: &Verdict, out: &mut impl Write) -> Result<()> {
    let comparisons = &verdict.comparisons;
    let broken: Vec<_> = comparisons.iter().filter(|it| !it.holds).collect();
    let unknown = broken.iter().filter(|it| it.because.is_none()).count();
    let known = broken.len() - unknown;
    let holds = match (verdict.holds, known) {
        (true, 0) => "holds".to_owned(),
        (true, _) => "holds, but for known deviations".to_owned(),
        (false, _) => format!("DOES NOT HOLD in {unknown} of {} rows", comparisons.len()),
    };
    writeln!(out, "\nexpected: {}: {holds}", verdict.expected)?;
    if comparisons.is_empty() {
        writeln!(out, "  nothing was measured that could tell")?;
    }
    let digits = metric(&verdict.metric).map_or(3, |metric| metric.digits);
    for broken in broken {
        writeln!(out, "  {}: {}", broken.row, broken.sides(digits))?;
        if let Some(cause) = &broken.because {
            writeln!(out, "    known: {cause}")?;
        }
    }
    Ok(())
}

/// A line for each controller, a column for each metric.
fn controllers(tables: &[(&str, Table)]) -> Text {
    let heads = tables.iter().map(|(name, _)| words::title(name));
    let mut text = blank(1, std::iter::once("controller".to_owned()).chain(heads));
    let names = tables
        .first()
        .map_or(&[][..], |(_, table)| &table.controllers);
    for (column, controller) in names.iter().enumerate() {
        let cells = tables.iter().map(|(name, table)| {
            let summary = table.lines.first().and_then(|line| line.cells[column]);
            cell(name, summary)
        });
        text.add_row(std::iter::once(controller.clone()).chain(cells));
    }
    text
}

/// A line for each case and place on the axes, a column for each controller
/// and, if they are wanted, each reference.
fn lines(name: &str, table: &Table, with_references: bool) -> Text {
    let Some(first) = table.lines.first() else {
        return Text::new();
    };
    let labels = first.labels.iter().map(|(axis, _)| axis.clone());
    let references = |line: &Line| {
        let references = line.references.iter().filter(|_| with_references);
        references.cloned().collect::<Vec<_>>()
    };
    let heads = labels
        .chain(table.controllers.iter().cloned())
        .chain(references(first).into_iter().map(|(name, _)| name));
    let mut text = blank(first.labels.len(), heads);
    for line in &table.lines {
        let labels = line.labels.iter().map(|(_, label)| label.clone());
        let cells = line.cells.iter().map(|summary| cell(name, *summary));
        let references = references(line)
            .into_iter()
            .map(|(_, value)| value.map_or_else(String::new, |value| value.to_string()));
        text.add_row(labels.chain(cells).chain(references));
    }
    text
}

/// A line for each controller, where there are too many for columns.
fn turned(name: &str, table: &Table) -> Text {
    let heads = table.lines.iter().map(Line::name);
    let mut text = blank(1, std::iter::once("controller".to_owned()).chain(heads));
    for (column, controller) in table.controllers.iter().enumerate() {
        let cells = table
            .lines
            .iter()
            .map(|line| cell(name, line.cells[column]));
        text.add_row(std::iter::once(controller.clone()).chain(cells));
    }
    text
}

/// A table with its heads; all but the first `left` columns are of numbers.
fn blank(left: usize, heads: impl Iterator<Item = String>) -> Text {
    let mut text = Text::new();
    text.load_preset(presets::NOTHING);
    text.set_header(heads.map(|head| wrapped(&head)));
    for column in text.column_iter_mut().skip(left) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    text
}

/// A head in lines.
fn wrapped(head: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in head.split(' ') {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= HEAD => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

fn cell(name: &str, summary: Option<Summary>) -> String {
    let digits = words::digits(name);
    summary.map_or_else(|| "-".to_owned(), |summary| words::mean(&summary, digits))
}
