//! Figures, and how they become SVG, PDF and PNG.
//!
//! ```text
//!   Figure ── layout ─────── Canvas ── SVG ──┬─ in a page, NAME.svg
//!   (data)   rows, curves,                   └─ tree ─┬─ NAME.pdf
//!            panels of curves                 (usvg)  └─ NAME.png
//! ```

mod axis;
#[cfg(feature = "print")]
mod bitmap;
mod canvas;
mod curves;
mod downsample;
mod image;
mod legend;
pub(crate) mod palette;
mod panels;
#[cfg(feature = "print")]
mod pdf;
mod rows;
mod style;
#[cfg(feature = "print")]
mod tree;

pub(crate) use self::downsample::downsample;
pub(crate) use self::image::{file, svg, KINDS};
pub(crate) use self::style::Style;

use palette::{Dash, Ink, Shape};

/// A picture, as data.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    /// The name of its files, without their endings.
    pub(crate) name: String,
    /// One line over the picture.
    pub(crate) title: String,
    /// Description of the figure, for readers.
    pub(crate) caption: String,
    /// The command that makes it.
    pub(crate) command: String,
    pub(crate) chart: Chart,
}

#[derive(Clone, Debug)]
pub(crate) enum Chart {
    Rows(Rows),
    Curves(Curves),
    /// One under the other, over the same axis.
    Panels(Vec<Curves>),
}

/// A direction of a picture.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scale {
    /// Quantity of the axis, with its unit.
    pub(crate) label: String,
    /// Equal ratios are equal distances.
    pub(crate) log: bool,
}

/// Lines of bars or dots, from left to right.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pub(crate) scale: Scale,
    /// Value at which bars begin, and reference of dots.
    pub(crate) base: f64,
    pub(crate) series: Vec<Series>,
    pub(crate) groups: Vec<Group>,
    /// All groups, where these are a part: the parts have one axis and one place of labels.
    pub(crate) whole: Option<Vec<Group>>,
}

/// Name and appearance of a series of marks.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) ink: Ink,
    pub(crate) form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A bar with a mark in it, which tells it from others without colour.
    Bar(Option<Shape>),
    Mark(Shape),
    /// A short upright line.
    Tick,
}

/// The marks that belong together.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) label: String,
    /// Another colour than that of the series.
    pub(crate) ink: Option<Ink>,
    /// One of each series.
    pub(crate) marks: Vec<Option<Mark>>,
}

/// A value, and the interval around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mark {
    pub(crate) value: f64,
    pub(crate) interval: Option<(f64, f64)>,
}

/// Curves over one axis.
#[derive(Clone, Debug, Default)]
pub(crate) struct Curves {
    pub(crate) x: Scale,
    pub(crate) y: Scale,
    pub(crate) curves: Vec<Curve>,
    /// Bands behind the curves.
    pub(crate) bands: Vec<Band>,
    /// Spots on the curves.
    pub(crate) spots: Vec<Spot>,
}

/// A stretch of the lower axis.
#[derive(Clone, Debug)]
pub(crate) struct Band {
    pub(crate) name: String,
    pub(crate) ink: Ink,
    /// From where to where.
    pub(crate) stretch: (f64, f64),
    /// Lower and upper end, as shares of the height.
    pub(crate) heights: (f64, f64),
}

/// A mark of an event.
#[derive(Clone, Debug)]
pub(crate) struct Spot {
    pub(crate) name: String,
    pub(crate) ink: Ink,
    pub(crate) form: Form,
    pub(crate) at: (f64, f64),
    /// From and to across, and up; of a mean.
    pub(crate) intervals: Option<Intervals>,
}

/// Across, and up.
pub(crate) type Intervals = ((f64, f64), (f64, f64));

#[derive(Clone, Debug)]
pub(crate) struct Curve {
    pub(crate) name: String,
    pub(crate) ink: Ink,
    pub(crate) dash: Dash,
    /// Beside the main curve: thinner, and drawn before it.
    pub(crate) beside: bool,
    pub(crate) points: Vec<(f64, f64)>,
}

impl Rows {
    /// Returns the groups on which the layout depends.
    fn whole(&self) -> &[Group] {
        self.whole.as_deref().unwrap_or(&self.groups)
    }

    /// Returns all values, with the ends of their intervals.
    fn values(&self) -> impl Iterator<Item = f64> + '_ {
        let marks = self.whole().iter().flat_map(|group| &group.marks).flatten();
        marks.flat_map(|mark| {
            let (low, high) = mark.interval.unwrap_or((mark.value, mark.value));
            [mark.value, low, high]
        })
    }
}

impl Curves {
    /// Returns the values that the lower axis must include.
    fn widths(&self) -> impl Iterator<Item = f64> + '_ {
        let points = self.curves.iter().flat_map(|curve| &curve.points);
        let spots = self.means();
        let spots = spots.flat_map(|(at, ((from, to), _))| [from, at.0, to]);
        points.map(|(x, _)| *x).chain(spots)
    }

    /// The spots that have intervals, with these.
    fn means(&self) -> impl Iterator<Item = ((f64, f64), Intervals)> + '_ {
        let spots = self.spots.iter();
        spots.filter_map(|spot| Some((spot.at, spot.intervals?)))
    }

    /// Returns the values that the upright axis must include: all of the main curves, and as much
    /// of the others as does not make the main ones small. A linear axis begins at 0.
    fn heights(&self) -> impl Iterator<Item = f64> + '_ {
        let of = |beside: bool| {
            let curves = self.curves.iter().filter(move |it| it.beside == beside);
            curves.flat_map(|curve| curve.points.iter().map(|(_, y)| *y))
        };
        let most = 1.4 * of(false).fold(0.0, f64::max);
        let limit = if most > 0.0 { most } else { f64::INFINITY };
        let beside = of(true).map(move |y| y.min(limit));
        let base = (!self.y.log).then_some(0.0);
        let spots = self.means();
        let spots = spots.flat_map(|(at, (_, (from, to)))| [from, at.1, to]);
        of(false).chain(beside).chain(base).chain(spots)
    }
}

#[cfg(test)]
mod tests {
    use super::palette::{DISC, MUTED};
    use super::*;

    #[test]
    fn a_logarithmic_axis_has_room_for_a_mean_whose_interval_begins_at_0() {
        let spot = Spot {
            name: String::new(),
            ink: MUTED,
            form: Form::Mark(DISC),
            at: (3.0, 0.5),
            intervals: Some(((0.0, 80.0), (0.0, 1.0))),
        };
        let curves = Curves {
            spots: vec![spot],
            ..Curves::default()
        };
        assert!(curves.widths().any(|x| x == 3.0) && curves.heights().any(|y| y == 0.5));
    }

    #[test]
    fn what_the_axis_cuts_off_has_marks_and_is_in_the_legend() {
        let curve = |name: &str, high| Curve {
            name: name.to_owned(),
            ink: MUTED,
            dash: palette::SOLID,
            beside: name == "pacing",
            points: vec![(0.0, 1.0), (1.0, high), (2.0, 1.0)],
        };
        let drawn = |high| {
            svg(&Figure {
                name: String::new(),
                title: String::new(),
                caption: String::new(),
                command: String::new(),
                chart: Chart::Curves(Curves {
                    curves: vec![curve("estimate", 1.0), curve("pacing", high)],
                    ..Curves::default()
                }),
            })
        };
        let marks = |svg: &str| svg.matches("<polygon data-s=\"pacing\"").count();
        let (cut, whole) = (drawn(100.0), drawn(1.0));
        assert_eq!((marks(&cut), marks(&whole)), (1, 0));
        assert!(cut.contains(">above the axis<") && !whole.contains(">above the axis<"));
    }
}
