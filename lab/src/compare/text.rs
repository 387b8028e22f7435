//! A comparison on the terminal.

use std::io::{self, Write};

use anyhow::Result;
use comfy_table::{presets, CellAlignment, Table};

use super::pairs::{Comparison, Finding, Metric, Pair, Plan};
use crate::report::words;

pub(super) const HEADS: [&str; 6] = ["row", "controller", "A", "B", "B - A", "B / A"];

pub(super) fn print(comparison: &Comparison, title: &str, all: bool) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{title}")?;
    writeln!(
        out,
        "means over seeds ± 95 % interval; * where the difference exceeds its interval (Welch)"
    )?;
    for plan in &comparison.plans {
        print_plan(&mut out, plan, all)?;
    }
    for (name, only) in ["A", "B"].iter().zip(&comparison.only) {
        if !only.is_empty() {
            writeln!(out, "\nonly in {name}: {}", only.join(", "))?;
        }
    }
    Ok(())
}

fn print_plan(out: &mut impl Write, plan: &Plan, all: bool) -> Result<()> {
    writeln!(out, "\n{}", plan.name)?;
    for (what, [a, b]) in &plan.unlike {
        writeln!(out, "  {what} of A: {a}\n  {what} of B: {b}")?;
    }
    for metric in &plan.metrics {
        writeln!(out, "\n{}: {}", words::title(&metric.name), count(metric))?;
        let shown: Vec<&Pair> = shown(metric, all).collect();
        if !shown.is_empty() {
            writeln!(out, "{}", table(metric, &shown).trim_fmt())?;
        }
    }
    for (name, only) in ["A", "B"].iter().zip(&plan.only) {
        if !only.is_empty() {
            writeln!(out, "\nonly in {name}:")?;
            for row in only {
                writeln!(out, "  {row}")?;
            }
        }
    }
    Ok(())
}

/// The pairs to show: those that differ, or all.
pub(super) fn shown(metric: &Metric, all: bool) -> impl Iterator<Item = &Pair> {
    let pairs = metric.pairs.iter();
    pairs.filter(move |pair| all || pair.finding().differs())
}

/// `3 of 10 differ, 5 are the same to the last digit`
pub(super) fn count(metric: &Metric) -> String {
    let number = |wanted: &dyn Fn(Finding) -> bool| {
        let pairs = metric.pairs.iter();
        pairs.filter(|pair| wanted(pair.finding())).count()
    };
    let all = metric.pairs.len();
    if all == 0 {
        return "no row is in both".to_owned();
    }
    let mut words = vec![format!("{} of {all} differ", number(&Finding::differs))];
    let same = number(&|it| it == Finding::Same);
    if same > 0 {
        words.push(format!("{same} the same to the last digit"));
    }
    let unknown = number(&|it| it == Finding::Unknown);
    if unknown > 0 {
        words.push(format!("{unknown} of a single seed, which cannot tell"));
    }
    words.join(", ")
}

fn table(metric: &Metric, pairs: &[&Pair]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(HEADS.iter().chain(&[""]));
    for column in table.column_iter_mut().skip(2).take(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for pair in pairs {
        table.add_row(cells(metric, pair).into_iter().chain([flag(metric, pair)]));
    }
    table
}

/// A pair in words, under [`HEADS`].
pub(super) fn cells(metric: &Metric, pair: &Pair) -> [String; 6] {
    let digits = words::digits(&metric.name);
    let value = pair.difference.value;
    let difference = match pair.difference.interval {
        None => format!("{value:+.digits$}"),
        Some((low, high)) => format!("{value:+.digits$} ± {:.digits$}", (high - low) / 2.0),
    };
    [
        pair.line.clone(),
        pair.controller.clone(),
        words::mean(&pair.a, digits),
        words::mean(&pair.b, digits),
        difference,
        pair.ratio.as_ref().map_or("-".to_owned(), words::ratio),
    ]
}

/// Returns the mark behind a pair.
pub(super) fn flag(metric: &Metric, pair: &Pair) -> String {
    match (pair.finding().differs(), pair.better(&metric.name)) {
        (false, _) => "",
        (true, None) => "*",
        (true, Some(true)) => "* better",
        (true, Some(false)) => "* worse",
    }
    .to_owned()
}
