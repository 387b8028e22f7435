//! The line that says which colour is what.

use super::canvas::{width, At, Canvas};
use super::palette::{Ink, TEXT};
use super::Form;

/// The height of a line of text.
pub(super) const LINE: f64 = 18.0;

/// The height under what is drawn: the ticks' labels and the axis's.
pub(super) const FOOT: f64 = 2.0 * LINE + 4.0;

const SWATCH: f64 = 12.0;
const GAP: f64 = 5.0;
const BETWEEN: f64 = 14.0;

/// An entry: what the colour is of, and how its mark looks; a curve has none.
pub(super) type Entry<'a> = (&'a str, Ink, Option<Form>);

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
                let wide = SWATCH + GAP + width(entry.0);
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
        for (x, y, (name, ink, form)) in &self.places {
            let (x, y) = (*x, top + y + LINE / 2.0);
            let middle = (x + SWATCH / 2.0, y);
            match form {
                Some(Form::Bar) => {
                    let corners = [(x, y - SWATCH / 2.0), (x + SWATCH, y + SWATCH / 2.0)];
                    canvas.rectangle(corners, ink.light);
                }
                Some(Form::Dot) => canvas.circle(middle, 4.0, ink.light, None),
                Some(Form::Tick) => canvas.tick(middle, ink.light),
                Some(Form::Ring) => canvas.circle(middle, 4.0, ink.light, Some(1.5)),
                None => canvas.line(&[(x, y), (x + SWATCH, y)], ink.light, 2.5),
            }
            canvas.text(name, At::Left, (x + SWATCH + GAP, y), TEXT.light);
        }
    }
}
