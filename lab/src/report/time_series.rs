//! Time series of several flows in one figure.

use super::distribution::{share, steps};
use super::run_groups::{capital, chart, curve, of, Flow};
use super::section::Draft;
use super::series::Series;
use crate::plot::{Chart, Curve, Curves, Figure, Scale};

/// Data that all figures of a group of runs share.
pub(super) struct TimeSeries<'a> {
    pub(super) draft: &'a Draft<'a>,
    pub(super) group: &'a str,
    pub(super) caption: String,
    pub(super) flows: &'a [Flow<'a>],
}

impl TimeSeries<'_> {
    /// The windows over time, in the plan's frames where it has some.
    pub(super) fn windows(&self) -> Vec<Figure> {
        let label = "cwnd, kB";
        let window = |it: &Series| it.points("cwnd_bytes", 1e-3);
        let Some(frames) = &self.draft.manifest.frames else {
            let all = self.over_time("windows", "windows over time", label, window);
            return all.into_iter().collect();
        };
        let frames = frames.seconds().into_iter();
        let figure = |frame: (f64, f64)| {
            let (from, to) = frame;
            let (name, title) = (
                format!("windows-{from}"),
                format!("windows, {from} to {to} s"),
            );
            self.over_time(&name, &title, label, |it| window(&it.between(frame)))
        };
        frames.filter_map(figure).collect()
    }

    pub(super) fn over_time(
        &self,
        name: &str,
        title: &str,
        label: &str,
        points: impl Fn(&Series) -> Vec<(f64, f64)>,
    ) -> Option<Figure> {
        let curves = self.curves(points);
        (!curves.is_empty()).then(|| {
            self.draft.figure(
                &["time", self.group, name],
                of(&capital(title), self.group),
                self.caption.clone(),
                chart("seconds", label, curves),
            )
        })
    }

    /// Returns the distribution of a column's values.
    pub(super) fn spread(&self, what: &str, column: &str) -> Option<Figure> {
        let curves = self.curves(|it| downsampled(steps(it.values(column))));
        (!curves.is_empty()).then(|| {
            self.draft.figure(
                &["cdf", self.group, what],
                of(&format!("{} over the run", capital(what)), self.group),
                format!("Share of the time. {}", self.caption),
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

    fn curves(&self, points: impl Fn(&Series) -> Vec<(f64, f64)>) -> Vec<Curve> {
        let curve = |(row, series): &Flow| {
            let name = &row.controller;
            curve(name, self.draft.palette.look(name), points(series))
        };
        self.flows.iter().filter_map(curve).collect()
    }
}

/// Every n-th of a distribution's points: it rises all the same.
fn downsampled(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    const MAX_POINTS: usize = 400;
    let every = points.len().div_ceil(MAX_POINTS).max(1);
    let last = points.last().copied();
    points.into_iter().step_by(every).chain(last).collect()
}
