//! Panels over one time axis: windows, rates and delays.

use super::curves::{Curves as Trace, Points};
use crate::plot::palette::{Dash, Ink, Palette, BANDS, DISC, MUTED, SERIES, SOLID};
use crate::plot::{downsample, Band, Chart, Curve, Curves, Figure, Form, Scale, Spot};

/// As many parts as the picture has pixels, or nearly so.
const PARTS: usize = 800;

/// Height of the strip of a trace's phases, as a share of the panel, in a figure of several traces.
const STRIP: f64 = 0.04;

/// Reasons for reductions, with their colours.
const REASONS: [(&str, Ink); 6] = [
    ("loss", SERIES[0]),
    ("pto", SERIES[3]),
    ("persistent_congestion", SERIES[4]),
    ("queue", SERIES[5]),
    ("shorter_path", SERIES[9]),
    ("mtu", SERIES[7]),
];

const PHASES: [(&str, Ink); 3] = [
    ("slow_start", BANDS[0]),
    ("recovery", BANDS[1]),
    ("congestion_avoidance", BANDS[2]),
];

/// Phases that are none of the above, such as those of BBR2.
const OTHER_PHASE: Ink = BANDS[3];

/// Dashes of what is beside another line.
const DOTTED: Dash = "2 3";

/// A value of a trace over time.
struct Line {
    name: &'static str,
    points: fn(&Trace) -> &Points,
    ink: Ink,
    /// Of a single trace.
    dash: Dash,
    /// Beside the line before: thinner, and its peaks may be cut off.
    beside: bool,
}

const fn line(name: &'static str, points: fn(&Trace) -> &Points, ink: Ink) -> Line {
    Line {
        name,
        points,
        ink,
        dash: SOLID,
        beside: false,
    }
}

impl Line {
    const fn dashed(self, dash: Dash) -> Self {
        Line { dash, ..self }
    }

    const fn beside(self) -> Self {
        Line {
            beside: true,
            ..self
        }
    }
}

/// Groups of curves with a common unit. The first has the window.
const GROUPS: [(&str, &[Line]); 5] = [
    (
        "kB",
        &[
            line("congestion window", |trace| &trace.window, SERIES[1]),
            line("bytes in flight", |trace| &trace.in_flight, SERIES[6]).beside(),
            line("ssthresh", |trace| &trace.ssthresh, SERIES[2]).dashed("7 3"),
        ],
    ),
    (
        "Mbit/s",
        &[line("sending rate", |trace| &trace.sending, SERIES[1])],
    ),
    (
        "Mbit/s",
        &[line("receiving rate", |trace| &trace.receiving, SERIES[1])],
    ),
    (
        "Mbit/s",
        &[
            line("bandwidth estimate", |trace| &trace.estimate, SERIES[1]),
            line("bandwidth sample", |trace| &trace.sample, SERIES[6]).beside(),
            line("pacing rate", |trace| &trace.pacing, SERIES[0]).dashed("7 3"),
        ],
    ),
    (
        "ms",
        &[
            line(
                "latest RTT above the minimum",
                |trace| &trace.queueing,
                SERIES[1],
            ),
            line("smoothed RTT", |trace| &trace.smoothed, SERIES[0]).dashed("7 3"),
        ],
    ),
];

/// The traces over each other. Of one trace each line has its colour; of several
/// each trace has, and what is not beside another line a panel.
pub(super) fn figure(traces: &[Trace], command: String) -> Figure {
    let names: Vec<&String> = traces.iter().map(|trace| &trace.name).collect();
    let palette = Palette::new(names.iter().copied());
    let panels = GROUPS
        .iter()
        .enumerate()
        .flat_map(|(group, (unit, lines))| {
            let panels: Vec<&[Line]> = match traces {
                [_] => vec![lines],
                _ => lines.chunk_by(|_, next| next.beside).collect(),
            };
            let palette = &palette;
            panels.into_iter().enumerate().map(move |(place, lines)| {
                let panel = panel(traces, palette, unit, lines);
                match (group, place) {
                    (0, 0) => with_events(panel, traces, palette),
                    _ => panel,
                }
            })
        });
    Figure {
        name: String::new(),
        title: names
            .into_iter()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(", "),
        caption:
            "Congestion control over time. Values hold until the next; the bands are the phases, \
                  the dots the reductions of the window, and the ticks at the bottom losses."
                .to_owned(),
        command,
        // Stock quiche logs no rate but BBR2's.
        chart: Chart::Panels(panels.filter(|panel| !panel.curves.is_empty()).collect()),
    }
}

fn panel(traces: &[Trace], palette: &Palette, unit: &str, lines: &[Line]) -> Curves {
    let curve = |line: &Line, trace: &Trace| {
        let points = (line.points)(trace);
        (!points.is_empty()).then(|| Curve {
            name: match traces {
                [_] => line.name.to_owned(),
                _ if line.beside => format!("{}: {}", trace.name, line.name),
                _ => trace.name.clone(),
            },
            ink: match traces {
                [_] => line.ink,
                _ => palette.of(&trace.name),
            },
            dash: match traces {
                [_] => line.dash,
                // The line that it is beside has the dashes of the trace.
                _ if line.beside => DOTTED,
                _ => palette.look(&trace.name).dash,
            },
            beside: line.beside,
            points: steps(&downsample(points.clone(), PARTS), trace.end),
        })
    };
    let curves = lines
        .iter()
        .flat_map(|line| traces.iter().filter_map(|trace| curve(line, trace)));
    let curves: Vec<Curve> = curves.collect();
    let scale = |label: &str| Scale {
        label: label.to_owned(),
        log: false,
    };
    Curves {
        x: scale("time, s"),
        y: match traces {
            // One line alone has no legend.
            [_] if lines.len() == 1 => scale(&format!("{}, {unit}", lines[0].name)),
            [_] => scale(unit),
            _ if curves.len() == 1 => {
                scale(&format!("{} of {}, {unit}", lines[0].name, curves[0].name))
            }
            _ => scale(&format!("{}, {unit}", lines[0].name)),
        },
        curves,
        ..Curves::default()
    }
}

/// A value holds until the next one.
fn steps(points: &[(f64, f64)], end: f64) -> Points {
    let ends = points.iter().skip(1).map(|(time, _)| *time).chain([end]);
    let holds = |((time, value), end): (&(f64, f64), f64)| [(*time, *value), (end, *value)];
    points.iter().zip(ends).flat_map(holds).collect()
}

/// The panel of the window with phases, reductions and losses.
fn with_events(panel: Curves, traces: &[Trace], palette: &Palette) -> Curves {
    let bands = traces.iter().enumerate().flat_map(|(place, trace)| {
        let heights = match traces {
            [_] => (0.0, 1.0),
            _ => (1.0 - STRIP * (place + 1) as f64, 1.0 - STRIP * place as f64),
        };
        phases(trace, heights)
    });
    Curves {
        bands: bands.collect(),
        spots: traces
            .iter()
            .flat_map(reductions)
            .chain(traces.iter().flat_map(|trace| {
                let several = traces.len() > 1;
                losses(trace, several.then(|| palette.of(&trace.name)))
            }))
            .collect(),
        ..panel
    }
}

fn phases(trace: &Trace, heights: (f64, f64)) -> impl Iterator<Item = Band> + '_ {
    let ends = trace.phases.iter().skip(1).map(|(time, _)| *time);
    let ends = ends.chain([trace.end]);
    trace
        .phases
        .iter()
        .zip(ends)
        .map(move |((start, name), end)| {
            let known = PHASES.iter().find(|(phase, _)| phase == name);
            Band {
                name: known.map_or("another phase", |(name, _)| name).to_owned(),
                ink: known.map_or(OTHER_PHASE, |(_, ink)| *ink),
                stretch: (*start, end),
                heights,
            }
        })
}

/// Returns the window after each reduction.
fn reductions(trace: &Trace) -> impl Iterator<Item = Spot> + '_ {
    trace.reductions.iter().map(|(time, window, reason)| {
        let known = REASONS.iter().find(|(name, _)| name == reason);
        Spot {
            name: format!(
                "reduction: {}",
                if reason.is_empty() {
                    "no reason given"
                } else {
                    reason
                }
            ),
            ink: known.map_or(MUTED, |(_, ink)| *ink),
            form: Form::Mark(DISC),
            at: (*time, *window),
            intervals: None,
        }
    })
}

/// At the bottom; in the colour of the trace where there are several.
fn losses(trace: &Trace, own: Option<Ink>) -> impl Iterator<Item = Spot> + '_ {
    let name = match own {
        Some(_) => format!("{}: loss", trace.name),
        None => "loss".to_owned(),
    };
    trace.losses.iter().map(move |time| Spot {
        name: name.clone(),
        ink: own.unwrap_or(SERIES[0]),
        form: Form::Tick,
        at: (*time, 0.0),
        intervals: None,
    })
}
