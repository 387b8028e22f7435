//! The runs side by side.

use comfy_table::{presets, CellAlignment, Table};

use super::results::{RunSummary, Summary};

/// A column: its head, and a run's cell.
type Column = (&'static str, fn(&RunSummary) -> String);

const COLUMNS: &[Column] = &[
    ("controller", |run| run.cc.clone()),
    ("Mbit/s", |run| format!("{:.2}", run.goodput_bps / 1e6)),
    ("of limit", |run| cell(run.share_of_limit, 3)),
    ("lost %", |run| format!("{:.2}", 100.0 * run.loss())),
    ("RTT p50 ms", |run| {
        cell(run.transport.rtt_ms.map(|rtt| rtt.p50), 1)
    }),
    ("RTT p95 ms", |run| {
        cell(run.transport.rtt_ms.map(|rtt| rtt.p95), 1)
    }),
    ("queue ms", |run| {
        cell(run.record.bottleneck_queue.map(|queue| queue.mean_ms), 1)
    }),
];

fn cell(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}

/// One line for each run.
pub(super) fn render(summary: &Summary) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(COLUMNS.iter().map(|(head, _)| *head));
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for run in &summary.runs {
        table.add_row(COLUMNS.iter().map(|(_, cell)| cell(run)));
    }
    table
}
