//! The thesis's tables: printed and measured, and whether the order holds.

use super::super::section::Section;
use super::super::thesis::{Reading, Thesis, Verdict};
use super::super::thesis_page::{
    against, cause, causes, counted, of_thesis, placed, reversed, Count,
};
use super::super::words;
use super::{one_line, Grid};
use crate::results::{Order, Summary};

/// Over all tables: how often the order holds, and where it does not.
pub(super) fn summary(sections: &[Section]) -> String {
    let mut text = String::new();
    for (name, rows) in placed(sections) {
        text += &format!("## {}, {name}\n\n", words::count(rows.len(), "row"));
        let mut grid = Grid::new(1, ["above", "printed so", "holds", "undecided", "reversed"]);
        for count in counted(&rows) {
            let Count { pair, printed, .. } = count;
            let fixed = [format!("{} over {}", pair.0, pair.1), of_thesis(printed)];
            let measured = count.measured.iter().map(usize::to_string);
            grid.row(fixed.into_iter().chain(measured));
        }
        text += &grid.finish();
        let mut grid = Grid::new(
            2,
            [
                "row",
                "reversed",
                "printed",
                "ratio",
                "share of the limit",
                "lost, %",
                "queue, ms",
                "cause",
            ],
        );
        let reversed = reversed(&rows);
        let causes = causes(&reversed);
        for (section, row, verdict) in &reversed {
            let both = verdict.circumstances.iter();
            let both = both.map(|(name, both)| against(name, both));
            let fixed = [
                format!("{} {}", section.manifest.plan, row.name),
                format!("{} / {}", verdict.pair.0, verdict.pair.1),
                of_thesis(verdict.printed.map(|it| format!("{it:.2}"))),
                ratio(verdict),
            ];
            let cause = cause(verdict, &causes);
            grid.row(fixed.into_iter().chain(both).chain([cause]));
        }
        text += &match reversed.len() {
            0 => "No order is reversed in any row.\n\n".to_owned(),
            count => format!("{}:\n\n{}", words::count(count, "exception"), grid.finish()),
        };
        for (number, cause) in (1..).zip(&causes) {
            text += &format!("{number}. {}\n", one_line(cause));
        }
        text += if causes.is_empty() { "" } else { "\n" };
    }
    text
}

/// A table of the thesis in all its readings.
pub(super) fn tables(section: &Section, thesis: &Thesis) -> String {
    let readings = thesis.readings.iter().map(|reading| {
        let (name, metric) = (&reading.name, words::title(&thesis.metric));
        format!(
            "{name}: {metric}\n\n{}{name}: the order\n\n{}",
            side_by_side(section, thesis, reading),
            orders(reading)
        )
    });
    readings.collect()
}

fn side_by_side(section: &Section, thesis: &Thesis, reading: &Reading) -> String {
    let (names, settings) = &section.settings;
    let heads = [
        "PETRA printed",
        "TCPW printed",
        "NewReno printed",
        "mechanism",
        "westwood",
        "reno",
        "PETRA/TCPW printed",
        "measured",
        "PETRA/NewReno printed",
        "measured",
    ];
    let left = 1 + names.len();
    let heads = ["row"]
        .into_iter()
        .chain(names.iter().map(String::as_str))
        .chain(heads);
    let mut grid = Grid::new(left, heads);
    let digits = words::digits(&thesis.metric);
    for row in &reading.rows {
        let mut cells = vec![row.name.clone()];
        cells.extend(settings[row.line].iter().cloned());
        cells.extend(row.printed.iter().map(|it| format!("{it:.digits$}")));
        cells.extend(row.measured.iter().map(|it| mean(it, digits)));
        for (printed, measured) in row.ratios() {
            cells.push(format!("{printed:.2}"));
            cells.push(measured.map_or_else(|| "–".to_owned(), |it| words::ratio(&it)));
        }
        grid.row(cells);
    }
    grid.finish()
}

fn mean(summary: &Option<Summary>, digits: usize) -> String {
    let mean = |it: &Summary| words::mean(it, digits);
    summary.as_ref().map_or_else(|| "–".to_owned(), mean)
}

/// Row by row: the ratio with its interval, and what follows of it.
fn orders(reading: &Reading) -> String {
    let Some(first) = reading.rows.first() else {
        return String::new();
    };
    let pairs = first
        .orders
        .iter()
        .map(|it| format!("{} / {}", it.pair.0, it.pair.1));
    let mut grid = Grid::new(1, ["row".to_owned()].into_iter().chain(pairs));
    for row in &reading.rows {
        let decided = row.orders.iter().map(|verdict| {
            let word = match verdict.order {
                Order::Above => "holds",
                Order::Undecided => "undecided",
                Order::Below => "**reversed**",
            };
            format!("{} {word}", ratio(verdict))
        });
        grid.row([row.name.clone()].into_iter().chain(decided));
    }
    grid.finish()
}

fn ratio(verdict: &Verdict) -> String {
    verdict
        .ratio
        .as_ref()
        .map_or_else(|| "–".to_owned(), words::ratio)
}
