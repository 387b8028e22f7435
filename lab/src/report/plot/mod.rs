//! Figures, and how they become SVG and PNG: one drawing code for both.
//!
//! ```text
//!   Figure ── layout ── Canvas ──┬─ plotters, SVG ──── in the page, NAME.svg
//!   (data)   rows, curves        └─ plotters, bitmap ─ NAME.png
//! ```

mod axis;
mod canvas;
mod curves;
mod image;
mod legend;
mod rows;

pub(super) use self::image::{png, svg, svg_file};
use super::palette::Ink;

/// A picture, as data.
#[derive(Clone, Debug)]
pub(super) struct Figure {
    /// The name of its files, without their endings.
    pub(super) name: String,
    /// One line over the picture.
    pub(super) title: String,
    /// What there is to see, for people.
    pub(super) caption: String,
    /// The command that makes it.
    pub(super) command: String,
    pub(super) chart: Chart,
}

#[derive(Clone, Debug)]
pub(super) enum Chart {
    Rows(Rows),
    Curves(Curves),
}

/// A direction of a picture.
#[derive(Clone, Debug, Default)]
pub(super) struct Scale {
    /// What it is, with its unit.
    pub(super) label: String,
    /// Equal ratios are equal distances.
    pub(super) log: bool,
}

/// Lines of bars or dots, from left to right.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    pub(super) scale: Scale,
    /// Where bars begin, and what dots are compared with.
    pub(super) base: f64,
    pub(super) series: Vec<Series>,
    pub(super) groups: Vec<Group>,
}

/// What the marks of one colour and form are.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) ink: Ink,
    pub(super) form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Bar,
    Dot,
    /// A ring: what was not measured here.
    Ring,
}

/// The marks that belong together.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) label: String,
    /// Another colour than that of the series.
    pub(super) ink: Option<Ink>,
    /// One of each series.
    pub(super) marks: Vec<Option<Mark>>,
}

/// A value, and the interval around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mark {
    pub(super) value: f64,
    pub(super) interval: Option<(f64, f64)>,
}

/// Curves over one axis.
#[derive(Clone, Debug)]
pub(super) struct Curves {
    pub(super) x: Scale,
    pub(super) y: Scale,
    pub(super) curves: Vec<Curve>,
}

#[derive(Clone, Debug)]
pub(super) struct Curve {
    pub(super) name: String,
    pub(super) ink: Ink,
    /// Beside the main curve: thinner, and drawn before it.
    pub(super) beside: bool,
    pub(super) points: Vec<(f64, f64)>,
}

impl Curves {
    /// What the upright axis has to have room for: all of the main curves, and
    /// of those beside them as much as does not make these small. A linear
    /// axis begins at 0.
    fn heights(&self) -> impl Iterator<Item = f64> + '_ {
        let of = |beside: bool| {
            let curves = self.curves.iter().filter(move |it| it.beside == beside);
            curves.flat_map(|curve| curve.points.iter().map(|(_, y)| *y))
        };
        let most = 1.4 * of(false).fold(0.0, f64::max);
        let limit = if most > 0.0 { most } else { f64::INFINITY };
        let beside = of(true).map(move |y| y.min(limit));
        let base = (!self.y.log).then_some(0.0);
        of(false).chain(beside).chain(base)
    }
}
