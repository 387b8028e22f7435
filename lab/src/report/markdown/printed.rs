//! Printed and measured values in Markdown.

use super::super::grid::one_line;
use super::super::printed::{titled, Comparison};
use super::super::printed_tables::{counts, known_deviations, orders, side_by_side, Overview};
use super::super::section::Section;
use super::super::words;

/// Over all plans with the same title: how often the orders hold, and where they do not.
pub(super) fn overview(overview: &Overview) -> String {
    let mut text = String::new();
    for (name, rows) in &overview.readings {
        let count = words::count(rows.len(), "row");
        text += &format!("## {}\n\n", titled(&count, ", ", name));
        text += &counts(rows).markdown();
        if rows.iter().all(|(section, _)| section.is_one_seed()) {
            text += &format!("{}\n\n", words::ONE_SEED);
        }
        let Some(known_deviations) = known_deviations(rows, overview.printed) else {
            text += "No order is reversed in any row.\n\n";
            continue;
        };
        let count = words::count(known_deviations.count, "known deviation");
        text += &format!("{count}:\n\n{}", known_deviations.grid.markdown());
        for (number, cause) in (1..).zip(&known_deviations.causes) {
            text += &format!("{number}. {}\n", one_line(cause));
        }
        text += if known_deviations.causes.is_empty() {
            ""
        } else {
            "\n"
        };
    }
    text
}

/// A publication's table in all its readings.
pub(super) fn tables(section: &Section, comparison: &Comparison) -> String {
    let readings = comparison.readings.iter().map(|reading| {
        let title = |of: &str| match reading.name.as_str() {
            "" => format!("{of}\n\n"),
            name => format!("{name}: {of}\n\n"),
        };
        let values = side_by_side(section, comparison, reading).markdown();
        let orders = orders(reading).map(|grid| title("the order") + &grid.markdown());
        title(&words::title(&comparison.printed.metric)) + &values + &orders.unwrap_or_default()
    });
    readings.collect()
}
