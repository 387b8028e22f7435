//! Draws curves.

use anyhow::Result;
use plotters::prelude::DrawingBackend;

use super::super::palette::{GRID, MUTED, TEXT};
use super::axis::Axis;
use super::canvas::{width, At, Canvas, Spot};
use super::legend::{Legend, LINE};
use super::Curves;

/// The height between the axes.
const HEIGHT: f64 = 190.0;

/// Under the curves: the ticks' labels and the axis's.
const FOOT: f64 = 2.0 * LINE + 4.0;

/// Curves and the places of all their parts, in points.
pub(super) struct Layout<'a> {
    curves: &'a Curves,
    legend: Legend<'a>,
    x: Axis,
    y: Axis,
    left: f64,
    right: f64,
}

impl<'a> Layout<'a> {
    pub(super) fn new(curves: &'a Curves, room: f64) -> Self {
        // Curves of the same name and colour are one in the legend.
        let mut entries = Vec::new();
        for curve in &curves.curves {
            let entry = (curve.name.as_str(), curve.ink, None);
            if !entries.contains(&entry) {
                entries.push(entry);
            }
        }
        let points = || curves.curves.iter().flat_map(|curve| &curve.points);
        let x = Axis::new(&curves.x, points().map(|(x, _)| *x));
        let y = Axis::new(&curves.y, curves.heights());
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

    pub(super) fn draw<B: DrawingBackend>(&self, canvas: &Canvas<B>) -> Result<()>
    where
        B::ErrorType: 'static,
    {
        self.legend.draw(canvas, 0.0)?;
        let (top, bottom) = (self.top(), self.top() + HEIGHT);
        let head = (0.0, self.legend.height + LINE / 2.0);
        canvas.text(&self.curves.y.label, At::Left, head, TEXT.light)?;
        for (value, label) in self.y.ticks() {
            let (_, y) = self.spot((0.0, value));
            canvas.line(&[(self.left, y), (self.right, y)], GRID.light, 1.0)?;
            canvas.text(&label, At::Right, (self.left - 5.0, y), MUTED.light)?;
        }
        for (value, label) in self.x.ticks() {
            let (x, _) = self.spot((value, 0.0));
            canvas.line(&[(x, top), (x, bottom)], GRID.light, 1.0)?;
            let spot = (x, bottom + LINE / 2.0 + 2.0);
            canvas.text(&label, At::Middle, spot, MUTED.light)?;
        }
        let middle = (self.left + self.right) / 2.0;
        let spot = (middle, bottom + 1.5 * LINE + 2.0);
        canvas.text(&self.curves.x.label, At::Middle, spot, TEXT.light)?;
        let axes = [(self.left, top), (self.left, bottom), (self.right, bottom)];
        canvas.line(&axes, TEXT.light, 1.2)?;
        // The main curves over those beside them.
        let order = |beside| {
            self.curves
                .curves
                .iter()
                .filter(move |it| it.beside == beside)
        };
        for curve in order(true).chain(order(false)) {
            let points: Vec<Spot> = curve.points.iter().map(|point| self.spot(*point)).collect();
            let width = if curve.beside { 1.0 } else { 1.6 };
            canvas.line(&points, curve.ink.light, width)?;
        }
        Ok(())
    }

    fn spot(&self, (x, y): (f64, f64)) -> Spot {
        let (top, bottom) = (self.top(), self.top() + HEIGHT);
        (
            self.left + self.x.place(x) * (self.right - self.left),
            bottom - self.y.place(y) * (bottom - top),
        )
    }
}
