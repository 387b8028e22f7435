//! Draws curves.

use super::axis::Axis;
use super::canvas::{width, At, Canvas, Spot, TICK};
use super::legend::{Entry, Legend, Sample, FOOT, LINE};
use super::palette::{CLIPPED_MARK, DISC, GRID, MUTED, TEXT};
use super::{Curve, Curves, Form};

/// The height between the axes.
const HEIGHT: f64 = 190.0;

/// The radius of a mark.
const DOT: f64 = 3.0;

/// Curves and the places of all their parts, in points.
pub(super) struct Layout<'a> {
    curves: &'a Curves,
    legend: Legend<'a>,
    pub(super) x: Axis,
    y: Axis,
    /// Left end of the lower axis.
    pub(super) left: f64,
    right: f64,
}

impl<'a> Layout<'a> {
    pub(super) fn new(curves: &'a Curves, room: f64) -> Self {
        // What has the same name and colour is one in the legend.
        let mut entries: Vec<Entry> = Vec::new();
        let lines = curves.curves.iter();
        let lines = lines.map(|it| (it.name.as_str(), it.ink, Sample::Line(it.dash)));
        let bands = curves.bands.iter();
        let bar = Sample::Form(Form::Bar(None));
        let bands = bands.map(|band| (band.name.as_str(), band.ink, bar));
        // What is on a curve of its name is in the legend with the curve.
        let apart = |name: &str| curves.curves.iter().all(|curve| curve.name != name);
        let spots = curves.spots.iter().filter(|spot| apart(&spot.name));
        let spots = spots.map(|it| (it.name.as_str(), it.ink, Sample::Form(it.form)));
        for entry in lines.chain(spots).chain(bands) {
            if !entries.contains(&entry) {
                entries.push(entry);
            }
        }
        let x = Axis::new(&curves.x, curves.widths());
        let y = Axis::new(&curves.y, curves.heights());
        let is_cut = |curve: &&Curve| curve.points.iter().any(|(_, value)| y.is_above(*value));
        if let Some(cut) = curves.curves.iter().find(is_cut) {
            let mark = Sample::Form(Form::Mark(CLIPPED_MARK));
            entries.push(("above the axis", cut.ink, mark));
        }
        let ticks = y.ticks();
        let labels = ticks.iter().map(|(_, label)| width(label));
        Layout {
            curves,
            legend: Legend::new(entries, room),
            x,
            left: labels.fold(0.0, f64::max) + 8.0,
            right: room - 14.0,
            y,
        }
    }

    pub(super) fn height(&self) -> f64 {
        self.top() + HEIGHT + FOOT
    }

    /// Under the legend and the label of the upright axis.
    fn top(&self) -> f64 {
        self.legend.height + LINE + 6.0
    }

    /// Draws all of it, `start` points below the canvas's upper edge.
    pub(super) fn draw(&self, canvas: &mut Canvas, start: f64) {
        self.legend.draw(canvas, start);
        let top = start + self.top();
        let bottom = top + HEIGHT;
        let head = (0.0, start + self.legend.height + LINE / 2.0);
        for band in &self.curves.bands {
            let (from, to) = band.stretch;
            let (low, high) = band.heights;
            let across = |x: f64| self.left + self.x.place(x) * (self.right - self.left);
            let up = |share: f64| bottom - share * HEIGHT;
            let corners = [(across(from), up(high)), (across(to), up(low))];
            canvas.rectangle(corners, band.ink.light);
        }
        canvas.text(&self.curves.y.label, At::Left, head, TEXT.light);
        for (value, label) in self.y.ticks() {
            let (_, y) = self.spot(top, (0.0, value));
            canvas.line(&[(self.left, y), (self.right, y)], GRID.light, 1.0);
            canvas.text(&label, At::Right, (self.left - 5.0, y), MUTED.light);
        }
        for (value, label) in self.x.ticks() {
            let (x, _) = self.spot(top, (value, 0.0));
            canvas.line(&[(x, top), (x, bottom)], GRID.light, 1.0);
            let spot = (x, bottom + LINE / 2.0 + 2.0);
            canvas.text(&label, At::Middle, spot, MUTED.light);
        }
        let middle = (self.left + self.right) / 2.0;
        let spot = (middle, bottom + 1.5 * LINE + 2.0);
        canvas.text(&self.curves.x.label, At::Middle, spot, TEXT.light);
        let axes = [(self.left, top), (self.left, bottom), (self.right, bottom)];
        canvas.line(&axes, TEXT.light, 1.2);
        // The main curves over those beside them.
        let order = |beside| {
            self.curves
                .curves
                .iter()
                .filter(move |it| it.beside == beside)
        };
        for curve in order(true).chain(order(false)) {
            let points: Vec<Spot> = curve
                .points
                .iter()
                .map(|point| self.spot(top, *point))
                .collect();
            let width = if curve.beside { 1.0 } else { 1.6 };
            canvas.of_curve(&curve.name);
            canvas.dashed(&points, curve.ink.light, width, curve.dash);
            for x in self.cut(curve) {
                canvas.mark((x, top + DOT), DOT, curve.ink.light, CLIPPED_MARK);
            }
        }
        for spot in &self.curves.spots {
            canvas.of_curve(&spot.name);
            let (at, colour) = (self.spot(top, spot.at), spot.ink.light);
            if let Some(((left, right), (low, high))) = spot.intervals {
                let (x, y) = spot.at;
                for ends in [[(left, y), (right, y)], [(x, low), (x, high)]] {
                    canvas.line(&ends.map(|end| self.spot(top, end)), colour, 1.2);
                }
            }
            match spot.form {
                Form::Tick => canvas.tick((at.0, at.1 - TICK / 2.0), colour),
                Form::Mark(shape) => canvas.mark(at, DOT, colour, shape),
                Form::Bar(_) => canvas.mark(at, DOT, colour, DISC),
            }
        }
        canvas.of_nothing();
        let corners = [(self.left, top), (self.right, bottom)];
        canvas.axes(corners, &self.x.ends(), &self.y.ends());
    }

    /// Returns the places at which a curve is cut off by the upper end of the axis, not closer
    /// than marks are wide.
    fn cut(&self, curve: &Curve) -> Vec<f64> {
        let above = curve.points.iter().filter(|(_, y)| self.y.is_above(*y));
        let mut places: Vec<f64> = Vec::new();
        for (x, _) in above {
            let x = self.left + self.x.place(*x) * (self.right - self.left);
            if places.last().is_none_or(|last| x - last > 4.0 * DOT) {
                places.push(x);
            }
        }
        places
    }

    /// Returns the position of values, with axes that begin at `top`.
    fn spot(&self, top: f64, (x, y): (f64, f64)) -> Spot {
        (
            self.left + self.x.place(x) * (self.right - self.left),
            top + (1.0 - self.y.place(y)) * HEIGHT,
        )
    }
}
