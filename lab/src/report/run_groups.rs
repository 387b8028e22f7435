//! Time series of runs.

use std::path::Path;

use anyhow::{Context, Result};

use super::panels::{panel, PANELS};
use super::section::Draft;
use super::series::{read, Series};
use super::time_series::TimeSeries;
use crate::plot::palette::{Look, MUTED};
use crate::plot::{Chart, Curve, Curves, Figure, Scale};
use crate::results::{labels, Results, Row};

/// More run_groups than this, and more flows in one, are in the series' files
/// alone.
const RUN_GROUPS: usize = 12;
const FLOWS: usize = 12;

/// Number of parts of a run's time, for its goodput.
const PARTS: usize = 60;

/// Flows to see beside each other: those of one run, or, where runs have one
/// flow each, those of all controllers on the same link.
pub(super) struct Scene {
    pub(super) title: String,
    /// All flows in the same picture.
    pub(super) together: Vec<Figure>,
    /// A controller, with pictures of its flow alone.
    pub(super) alone: Vec<(String, Vec<Figure>)>,
}

/// All run_groups of a plan.
#[derive(Default)]
pub(super) struct RunGroups {
    pub(super) shown: Vec<Scene>,
    /// Number of further runs.
    pub(super) left_out: usize,
}

/// A flow with its row.
pub(super) type Flow<'a> = (&'a Row, Series);

impl RunGroups {
    /// The run_groups of the plan's first seed.
    ///
    /// # Errors
    ///
    /// A series that cannot be read.
    pub(super) fn new(draft: &Draft, results: &Results, folder: &Path) -> Result<Self> {
        let Results { manifest, rows } = results;
        let Some(seed) = manifest.seeds.first().filter(|_| manifest.series) else {
            return Ok(RunGroups::default());
        };
        let several = rows.iter().any(|row| row.flow > 0);
        let mut run_groups: Vec<(String, Vec<&Row>)> = Vec::new();
        for row in rows.iter().filter(|row| row.seed == *seed) {
            let title = title(results, row, several);
            match run_groups.iter_mut().find(|(it, _)| *it == title) {
                Some((_, rows)) => rows.push(row),
                None => run_groups.push((title, vec![row])),
            }
        }
        let all = run_groups.len();
        run_groups.truncate(RUN_GROUPS);
        let run_groups = run_groups.into_iter().map(|(title, mut rows)| {
            let flows = rows.len();
            rows.truncate(FLOWS);
            let caption = caption(draft, *seed, flows);
            let flows = rows.into_iter().map(|row| {
                let path = folder.join(format!("{}.csv", row.key));
                let series = read(&path)?.into_iter().nth(row.flow as usize);
                let missing = || format!("{} has no flow {}", path.display(), row.flow);
                Ok((row, series.with_context(missing)?))
            });
            let flows: Vec<Flow> = flows.collect::<Result<_>>()?;
            Ok(group(draft, title, caption, &flows, several))
        });
        Ok(RunGroups {
            shown: run_groups.collect::<Result<_>>()?,
            left_out: all - all.min(RUN_GROUPS),
        })
    }

    pub(super) fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.shown.iter().flat_map(|group| {
            let alone = group.alone.iter().flat_map(|(_, figures)| figures);
            group.together.iter().chain(alone)
        })
    }
}

/// The line that the row is in, and its run's controllers where a group is one
/// run of many.
fn title(results: &Results, row: &Row, several: bool) -> String {
    let labels = labels(&results.manifest, row).into_iter();
    let controllers = results.manifest.axes.iter().filter(|axis| axis.controllers);
    let controllers = controllers.filter(|_| several).map(|axis| {
        let place = row.setting(&axis.name).unwrap_or_default();
        (axis.name.clone(), place.to_owned())
    });
    let words = labels
        .chain(controllers)
        .map(|(axis, label)| match axis.as_str() {
            "case" => label,
            axis => format!("{axis} {label}"),
        });
    words.collect::<Vec<_>>().join(", ")
}

fn group(draft: &Draft, title: String, caption: String, flows: &[Flow], several: bool) -> Scene {
    let time_series = TimeSeries {
        draft,
        group: &title,
        caption,
        flows,
    };
    let mut together = time_series.windows();
    let goodput = |it: &Series| it.growth("body_bytes", PARTS, 8e-6);
    let goodput = time_series.over_time("goodput", "goodput over time", "goodput, Mbit/s", goodput);
    together.extend(goodput.map(|figure| with_capacity(figure, flows)));
    together.extend(time_series.spread("RTT", "rtt_ms"));
    together.extend(time_series.spread("queueing delay", "queue_ms"));
    let alone = flows.iter().filter(|_| !several).map(|(row, series)| {
        let panels = PANELS.iter();
        let figures = panels.filter_map(|it| panel(draft, &title, it, row, series));
        (row.controller.clone(), figures.collect())
    });
    Scene {
        together,
        alone: alone.collect(),
        title,
    }
}

/// Adds the rate of the bottleneck, where the series have it, which goodput may exceed for a time.
fn with_capacity(mut figure: Figure, flows: &[Flow]) -> Figure {
    let capacity = flows
        .iter()
        .map(|(_, series)| series.points("capacity_bps", 1e-6));
    let capacity = capacity.into_iter().find(|points| points.len() > 1);
    if let (Chart::Curves(chart), Some(points)) = (&mut figure.chart, capacity) {
        chart.curves.push(Curve {
            name: "rate of the link".to_owned(),
            ink: MUTED,
            dash: "2 2",
            beside: false,
            points,
        });
        figure.caption += " Goodput counts bytes in order: what waits behind a lost packet counts \
                           when that has come, and may exceed the rate of the link for a time.";
    }
    figure
}

pub(super) fn curve(name: &str, look: Look, points: Vec<(f64, f64)>) -> Option<Curve> {
    (points.len() > 1).then(|| Curve {
        name: name.to_owned(),
        ink: look.ink,
        dash: look.dash,
        beside: false,
        points,
    })
}

pub(super) fn chart(x: &str, y: &str, curves: Vec<Curve>) -> Chart {
    let scale = |label: &str| Scale {
        label: label.to_owned(),
        log: false,
    };
    Chart::Curves(Curves {
        x: scale(x),
        y: scale(y),
        curves,
        ..Curves::default()
    })
}

pub(super) fn of(title: &str, group: &str) -> String {
    match group {
        "" => title.to_owned(),
        group => format!("{title}, {group}"),
    }
}

pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// Returns the caption: the run, and its flows that are not shown.
fn caption(draft: &Draft, seed: u64, flows: usize) -> String {
    let run = format!("Seed {seed}, {}.", draft.manifest.backend);
    match flows {
        0..=FLOWS => run,
        _ => format!("{run} The first {FLOWS} of {flows} flows; the rest is in the series."),
    }
}
