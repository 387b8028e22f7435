//! What runs looked like over time.

use std::path::Path;

use anyhow::{Context, Result};

use super::distribution::{share, steps};
use super::section::Draft;
use super::series::{read, Series};
use crate::plot::palette::{Ink, MUTED, TEXT};
use crate::plot::{Chart, Curve, Curves, Figure, Scale};
use crate::results::{labels, Results, Row};

/// More scenes than this, and more flows in one, are in the series' files
/// alone.
const SCENES: usize = 12;
const FLOWS: usize = 12;

/// Into so many parts a run's goodput is divided.
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

/// All scenes of a plan.
#[derive(Default)]
pub(super) struct Scenes {
    pub(super) shown: Vec<Scene>,
    /// How many more there are.
    pub(super) left_out: usize,
}

/// A flow with its row.
type Flow<'a> = (&'a Row, Series);

impl Scenes {
    /// The scenes of the plan's first seed.
    ///
    /// # Errors
    ///
    /// A series that cannot be read.
    pub(super) fn new(draft: &Draft, results: &Results, folder: &Path) -> Result<Self> {
        let Results { manifest, rows } = results;
        let Some(seed) = manifest.seeds.first().filter(|_| manifest.series) else {
            return Ok(Scenes::default());
        };
        let several = rows.iter().any(|row| row.flow > 0);
        let mut scenes: Vec<(String, Vec<&Row>)> = Vec::new();
        for row in rows.iter().filter(|row| row.seed == *seed) {
            let title = title(results, row, several);
            match scenes.iter_mut().find(|(it, _)| *it == title) {
                Some((_, rows)) => rows.push(row),
                None => scenes.push((title, vec![row])),
            }
        }
        let all = scenes.len();
        scenes.truncate(SCENES);
        let scenes = scenes.into_iter().map(|(title, mut rows)| {
            rows.truncate(FLOWS);
            let flows = rows.into_iter().map(|row| {
                let path = folder.join(format!("{}.csv", row.key));
                let series = read(&path)?.into_iter().nth(row.flow as usize);
                let missing = || format!("{} has no flow {}", path.display(), row.flow);
                Ok((row, series.with_context(missing)?))
            });
            let flows: Vec<Flow> = flows.collect::<Result<_>>()?;
            Ok(scene(draft, title, &flows, several))
        });
        Ok(Scenes {
            shown: scenes.collect::<Result<_>>()?,
            left_out: all - all.min(SCENES),
        })
    }

    pub(super) fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.shown.iter().flat_map(|scene| {
            let alone = scene.alone.iter().flat_map(|(_, figures)| figures);
            scene.together.iter().chain(alone)
        })
    }
}

/// The line that the row is in, and its run's controllers where a scene is one
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

/// What is drawn of a flow alone: the title, the label of the axis, what
/// values are multiplied with, and the columns: the first that is there is the
/// main one.
struct Panel {
    title: &'static str,
    label: &'static str,
    factor: f64,
    columns: &'static [(&'static str, &'static str)],
}

const PANELS: [Panel; 3] = [
    Panel {
        title: "window",
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
        label: "ms",
        factor: 1.0,
        columns: &[("rtt_ms", "RTT"), ("queue_ms", "queue")],
    },
];

fn scene(draft: &Draft, title: String, flows: &[Flow], several: bool) -> Scene {
    let together = [
        over_time(draft, &title, "goodput", "goodput, Mbit/s", flows, |it| {
            it.growth("body_bytes", PARTS, 8e-6)
        }),
        over_time(draft, &title, "windows", "cwnd, kB", flows, |it| {
            it.points("cwnd_bytes", 1e-3)
        })
        .filter(|_| several),
        spread(draft, &title, ("RTT", "rtt_ms"), flows),
        spread(draft, &title, ("queueing delay", "queue_ms"), flows),
    ];
    let alone = flows.iter().filter(|_| !several).map(|(row, series)| {
        let panels = PANELS.iter();
        let figures = panels.filter_map(|it| panel(draft, &title, it, row, series));
        (row.controller.clone(), figures.collect())
    });
    Scene {
        together: together.into_iter().flatten().collect(),
        alone: alone.collect(),
        title,
    }
}

fn over_time(
    draft: &Draft,
    scene: &str,
    what: &str,
    label: &str,
    flows: &[Flow],
    points: impl Fn(&Series) -> Vec<(f64, f64)>,
) -> Option<Figure> {
    let curve = |(row, series): &Flow| {
        curve(
            &row.controller,
            draft.palette.of(&row.controller),
            points(series),
        )
    };
    let curves: Vec<Curve> = flows.iter().filter_map(curve).collect();
    (!curves.is_empty()).then(|| {
        draft.figure(
            &["time", scene, what],
            of(&format!("{} over time", capital(what)), scene),
            caption(draft, flows),
            chart("seconds", label, curves),
        )
    })
}

/// How often a column had which values.
fn spread(
    draft: &Draft,
    scene: &str,
    (what, column): (&str, &str),
    flows: &[Flow],
) -> Option<Figure> {
    let curve = |(row, series): &Flow| {
        let steps = steps(series.values(column));
        curve(
            &row.controller,
            draft.palette.of(&row.controller),
            thin(steps),
        )
    };
    let curves: Vec<Curve> = flows.iter().filter_map(curve).collect();
    (!curves.is_empty()).then(|| {
        draft.figure(
            &["cdf", scene, what],
            of(&format!("{} over the run", capital(what)), scene),
            format!("Share of the time. {}", caption(draft, flows)),
            Chart::Curves(Curves {
                x: Scale {
                    label: format!("{what}, ms"),
                    log: false,
                },
                y: share(),
                curves,
                ..Curves::default()
            }),
        )
    })
}

fn panel(draft: &Draft, scene: &str, panel: &Panel, row: &Row, series: &Series) -> Option<Figure> {
    let columns = panel.columns.iter().map(|(column, name)| {
        let points = series.points(column, panel.factor);
        (*name, points)
    });
    let there = columns.filter(|(_, points)| points.len() > 1);
    let inks = [draft.palette.of(&row.controller), MUTED, TEXT];
    let curves = there.zip(inks).enumerate();
    let curves = curves.map(|(number, ((name, points), ink))| Curve {
        name: name.to_owned(),
        ink,
        beside: number > 0,
        points,
    });
    let curves: Vec<Curve> = curves.collect();
    // The last column is what the others are seen against.
    let (_, background) = panel.columns.last()?;
    curves.first().filter(|curve| curve.name != *background)?;
    let controller = &row.controller;
    Some(draft.figure(
        &["time", scene, controller, panel.title],
        of(&format!("{controller}: {}", panel.title), scene),
        format!("Seed {}, {}.", row.seed, draft.manifest.backend),
        chart("seconds", panel.label, curves),
    ))
}

fn curve(name: &str, ink: Ink, points: Vec<(f64, f64)>) -> Option<Curve> {
    (points.len() > 1).then(|| Curve {
        name: name.to_owned(),
        ink,
        beside: false,
        points,
    })
}

fn chart(x: &str, y: &str, curves: Vec<Curve>) -> Chart {
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

fn caption(draft: &Draft, flows: &[Flow]) -> String {
    let seed = flows.first().map_or(0, |(row, _)| row.seed);
    format!("Seed {seed}, {}.", draft.manifest.backend)
}

fn of(title: &str, scene: &str) -> String {
    match scene {
        "" => title.to_owned(),
        scene => format!("{title}, {scene}"),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// Every so many of a distribution's points: it rises all the same.
fn thin(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    const MOST: usize = 400;
    let every = points.len().div_ceil(MOST).max(1);
    let last = points.last().copied();
    points.into_iter().step_by(every).chain(last).collect()
}
