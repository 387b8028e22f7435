//! Draws bars and dots.

use super::axis::Axis;
use super::canvas::{width, At, Canvas};
use super::legend::{Legend, Sample, FOOT, LINE};
use super::palette::{Rgb, GRID, MUTED, PAPER, TEXT};
use super::{Form, Mark, Rows};

/// Of a bar or dot, and what is free between groups.
const LANE: f64 = 11.0;
const BETWEEN: f64 = 9.0;

/// More of the width than this is not for labels beside the groups: they
/// stand above them.
const LABELS: f64 = 0.4;

/// Rows and the places of all their parts, in points.
pub(super) struct Layout<'a> {
    rows: &'a Rows,
    legend: Legend<'a>,
    axis: Axis,
    /// Both ends of the axis.
    left: f64,
    right: f64,
    /// Puts labels above their groups.
    above: bool,
}

impl<'a> Layout<'a> {
    pub(super) fn new(rows: &'a Rows, room: f64) -> Self {
        let series = rows.series.iter();
        let entries = series.map(|it| (it.name.as_str(), it.ink, Sample::Form(it.form)));
        let labels = rows.whole().iter().map(|group| width(&group.label));
        let widest = labels.fold(0.0, f64::max);
        let above = widest > LABELS * room;
        let values = rows.values();
        // A bar begins at its base, however far an interval goes below.
        let bars = rows.series.iter().all(|it| matches!(it.form, Form::Bar(_)));
        let values = values.map(|value| if bars { value.max(rows.base) } else { value });
        Layout {
            rows,
            legend: Legend::new(entries.collect(), room),
            axis: Axis::new(&rows.scale, values.chain([rows.base])),
            left: if above { 12.0 } else { widest + 10.0 },
            right: room - 14.0,
            above,
        }
    }

    pub(super) fn height(&self) -> f64 {
        self.legend.height + self.rows.groups.len() as f64 * self.group() + FOOT
    }

    /// The height of a group.
    fn group(&self) -> f64 {
        let label = if self.above { LINE } else { 0.0 };
        let lanes = self.rows.series.len() as f64 * LANE;
        label + lanes.max(if self.above { 0.0 } else { LINE - BETWEEN }) + BETWEEN
    }

    pub(super) fn draw(&self, canvas: &mut Canvas) {
        self.legend.draw(canvas, 0.0);
        let top = self.legend.height;
        let bottom = self.height() - FOOT;
        for (value, label) in self.axis.ticks() {
            let x = self.x(value);
            canvas.line(&[(x, top), (x, bottom)], GRID.light, 1.0);
            let spot = (x, bottom + LINE / 2.0 + 2.0);
            canvas.text(&label, At::Middle, spot, MUTED.light);
        }
        let middle = (self.left + self.right) / 2.0;
        let label = &self.rows.scale.label;
        let spot = (middle, bottom + 1.5 * LINE + 2.0);
        canvas.text(label, At::Middle, spot, TEXT.light);
        for (number, group) in self.rows.groups.iter().enumerate() {
            let mut y = top + number as f64 * self.group();
            if self.above {
                let spot = (self.left + 2.0, y + LINE / 2.0);
                canvas.text(&group.label, At::Left, spot, TEXT.light);
                y += LINE;
            } else {
                let middle = y + (self.group() - BETWEEN / 2.0) / 2.0;
                let spot = (self.left - 8.0, middle);
                canvas.text(&group.label, At::Right, spot, TEXT.light);
                let lanes = self.rows.series.len() as f64 * LANE;
                y = middle - lanes / 2.0;
            }
            for (lane, mark) in group.marks.iter().enumerate() {
                if let Some(mark) = mark {
                    let series = &self.rows.series[lane];
                    let colour = group.ink.unwrap_or(series.ink).light;
                    let top = y + lane as f64 * LANE;
                    canvas.of_curve(&series.name);
                    self.mark(canvas, (series.form, colour), top, mark);
                    canvas.of_nothing();
                }
            }
        }
        let base = self.x(self.rows.base);
        canvas.line(&[(base, top), (base, bottom)], TEXT.light, 1.2)
    }

    fn mark(&self, canvas: &mut Canvas, (form, colour): (Form, Rgb), top: f64, mark: &Mark) {
        let middle = top + LANE / 2.0;
        let x = self.x(mark.value);
        let whisker = match form {
            Form::Bar(_) => TEXT.light,
            Form::Mark(_) | Form::Tick => colour,
        };
        if let Form::Bar(shape) = form {
            let base = self.x(self.rows.base);
            let corners = [(base, top + 0.5), (x, top + LANE - 0.5)];
            canvas.rectangle(corners, colour);
            if let Some(shape) = shape.filter(|_| x - base > LANE) {
                canvas.mark((base + LANE / 2.0 + 1.0, middle), 2.5, PAPER.light, shape);
            }
        }
        if let Some((low, high)) = mark.interval {
            let (low, high) = (self.x(low), self.x(high));
            let end = |x| [(x, middle - 2.5), (x, middle + 2.5)];
            let strokes = [[(low, middle), (high, middle)], end(low), end(high)];
            // With an edge, to be seen on a bar of any colour.
            let is_bar = matches!(form, Form::Bar(_));
            let edge = is_bar.then_some((PAPER.light, 2.8));
            for (colour, width) in edge.into_iter().chain([(whisker, 1.2)]) {
                for stroke in &strokes {
                    canvas.line(stroke, colour, width);
                }
            }
        }
        match form {
            Form::Bar(_) => (),
            Form::Mark(shape) => canvas.mark((x, middle), 3.8, colour, shape),
            Form::Tick => canvas.tick((x, middle), colour),
        }
    }

    fn x(&self, value: f64) -> f64 {
        self.left + self.axis.place(value) * (self.right - self.left)
    }
}
