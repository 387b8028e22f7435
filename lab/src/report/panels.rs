//! Time series of a single flow.

use super::run_groups::{chart, of};
use super::section::Draft;
use super::series::Series;
use crate::plot::palette::{Dash, MUTED, SOLID, TEXT};
use crate::plot::{Curve, Figure};
use crate::results::Row;

/// One figure of a single flow: title, label of the axis, factor of the values, and columns. The
/// first column that exists is the main one.
pub(super) struct Panel {
    title: &'static str,
    /// A sentence for the caption.
    note: &'static str,
    label: &'static str,
    factor: f64,
    columns: &'static [(&'static str, &'static str)],
}

pub(super) const PANELS: [Panel; 3] = [
    Panel {
        title: "window",
        note: " A window that has just been reduced is below what is in flight until packets are \
               acknowledged or lost.",
        label: "kB",
        factor: 1e-3,
        columns: &[
            ("cwnd_bytes", "cwnd"),
            ("in_flight_bytes", "bytes in flight"),
            ("ssthresh_bytes", "ssthresh"),
        ],
    },
    Panel {
        title: "rates",
        note: "",
        label: "Mbit/s",
        factor: 1e-6,
        columns: &[
            ("estimate_bps", "estimate"),
            ("pacing_bps", "pacing rate"),
            ("capacity_bps", "true capacity"),
        ],
    },
    Panel {
        title: "delays",
        note: "",
        label: "ms",
        factor: 1.0,
        columns: &[("rtt_ms", "RTT"), ("queue_ms", "queue")],
    },
];

/// The dashes of the columns, in their order.
const DASHES: [Dash; 3] = [SOLID, "2 2", "7 3"];

/// A picture; none of what was not measured.
pub(super) fn panel(
    draft: &Draft,
    group: &str,
    panel: &Panel,
    row: &Row,
    series: &Series,
) -> Option<Figure> {
    let columns = panel.columns.iter().map(|(column, name)| {
        let points = series.points(column, panel.factor);
        (*name, points)
    });
    let there = columns.filter(|(_, points)| points.len() > 1);
    let inks = [draft.palette.of(&row.controller), MUTED, TEXT];
    let curves = there.zip(inks.into_iter().zip(DASHES)).enumerate();
    let curves = curves.map(|(number, ((name, points), (ink, dash)))| Curve {
        name: name.to_owned(),
        ink,
        dash,
        beside: number > 0,
        points,
    });
    let curves: Vec<Curve> = curves.collect();
    // The last column is what the others are seen against.
    let (_, background) = panel.columns.last()?;
    curves.first().filter(|curve| curve.name != *background)?;
    let controller = &row.controller;
    Some(draft.figure(
        &["time", group, controller, panel.title],
        of(&format!("{controller}: {}", panel.title), group),
        format!(
            "Seed {}, {}.{}",
            row.seed, draft.manifest.backend, panel.note
        ),
        chart("seconds", panel.label, curves),
    ))
}
