//! The line that says which colour is what.

use super::canvas::{width, At, Canvas};
use super::palette::{Dash, Ink, PAPER, TEXT};
use super::Form;

/// The height of a line of text.
pub(super) const LINE: f64 = 18.0;

/// The height under what is drawn: the ticks' labels and the axis's.
pub(super) const FOOT: f64 = 2.0 * LINE + 4.0;

const SWATCH: f64 = 12.0;

/// Width of the sample of a line, which shows its dashes.
const STROKE: f64 = 34.0;

const GAP: f64 = 5.0;
const BETWEEN: f64 = 14.0;

/// The mark of an entry before its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sample {
    Line(Dash),
    Form(Form),
}

impl Sample {
    fn width(self) -> f64 {
        match self {
            Sample::Line(_) => STROKE,
            Sample::Form(_) => SWATCH,
        }
    }
}

/// An entry: name, colour and sample.
pub(super) type Entry<'a> = (&'a str, Ink, Sample);

/// Entries, and where each begins.
pub(super) struct Legend<'a> {
    places: Vec<(f64, f64, Entry<'a>)>,
    /// In points.
    pub(super) height: f64,
}

impl<'a> Legend<'a> {
    /// As many entries a line as there is room for. One entry alone says
    /// nothing that the title does not.
    pub(super) fn new(entries: Vec<Entry<'a>>, room: f64) -> Self {
        let (mut x, mut y) = (0.0, 0.0);
        let mut places = Vec::new();
        if entries.len() > 1 {
            for entry in entries {
                let wide = entry.2.width() + GAP + width(entry.0);
                if x > 0.0 && x + wide > room {
                    (x, y) = (0.0, y + LINE);
                }
                places.push((x, y, entry));
                x += wide + BETWEEN;
            }
        }
        let height = if places.is_empty() {
            0.0
        } else {
            y + LINE + 4.0
        };
        Legend { places, height }
    }

    pub(super) fn draw(&self, canvas: &mut Canvas, top: f64) {
        for (x, y, (name, ink, sample)) in &self.places {
            let (x, y) = (*x, top + y + LINE / 2.0);
            canvas.of_entry(name);
            let middle = (x + SWATCH / 2.0, y);
            match sample {
                Sample::Line(dash) => {
                    canvas.dashed(&[(x, y), (x + STROKE, y)], ink.light, 2.5, dash);
                }
                Sample::Form(Form::Bar(shape)) => {
                    let corners = [(x, y - SWATCH / 2.0), (x + SWATCH, y + SWATCH / 2.0)];
                    canvas.rectangle(corners, ink.light);
                    if let Some(shape) = shape {
                        canvas.mark(middle, 2.8, PAPER.light, *shape);
                    }
                }
                Sample::Form(Form::Mark(shape)) => canvas.mark(middle, 4.0, ink.light, *shape),
                Sample::Form(Form::Tick) => canvas.tick(middle, ink.light),
            }
            let text = (x + sample.width() + GAP, y);
            canvas.text(name, At::Left, text, TEXT.light);
        }
        canvas.of_nothing();
    }
}
