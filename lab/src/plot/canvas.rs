//! A surface that is measured in points of the page, whatever is behind it.

use std::sync::Once;

use anyhow::{anyhow, Result};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{register_font, FontStyle};

/// The name of the font that measures; a browser takes its own of this kind,
/// which is not wider.
const FONT: &str = "sans-serif";

/// Of all text, in points. plotters makes it 1/1.24 of that.
const SIZE: f64 = 14.5;

/// Of an upright mark, in points.
pub(super) const TICK: f64 = 8.0;

/// A place, in points from the upper left corner.
pub(super) type Spot = (f64, f64);

/// Horizontal alignment of a text. Vertically it is centred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    Left,
    Middle,
    Right,
}

/// Width of a text in points.
pub(super) fn width(text: &str) -> f64 {
    // Measured large, for the font's own measure is in whole pixels.
    let font = font(10.0 * SIZE);
    font.box_size(text)
        .map_or(0.0, |(width, _)| f64::from(width) / 10.0)
}

fn font(size: f64) -> FontDesc<'static> {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // Fails of a broken font alone; then no text can be measured or drawn.
        let _ = register_font(FONT, FontStyle::Normal, dejavu::sans::regular());
    });
    (FONT, size).into_font()
}

/// Drawing area.
pub(super) struct Canvas<B: DrawingBackend> {
    area: DrawingArea<B, Shift>,
    /// Pixels a point. Places are whole pixels in the end, also in SVG.
    scale: f64,
    bitmap: bool,
}

/// Points by which plotters writes text too high into a bitmap.
const SINK: f64 = 2.0;

impl<B: DrawingBackend> Canvas<B>
where
    B::ErrorType: 'static,
{
    /// A surface with this many pixels per point.
    pub(super) fn new(backend: B, scale: f64, bitmap: bool) -> Self {
        Canvas {
            area: backend.into_drawing_area(),
            scale,
            bitmap,
        }
    }

    pub(super) fn fill(&self, colour: RGBColor) -> Result<()> {
        self.area.fill(&colour).map_err(failed)
    }

    pub(super) fn line(&self, points: &[Spot], colour: RGBColor, width: f64) -> Result<()> {
        let points: Vec<(i32, i32)> = points.iter().map(|spot| self.pixel(*spot)).collect();
        let style = colour.stroke_width(self.size(width));
        // Where a wide line turns back on itself, plotters' bitmaps have a
        // spike that is not in the data: they get each stretch by itself.
        let stretch = if self.bitmap { 2 } else { points.len().max(2) };
        for stretch in points.windows(stretch) {
            let path = PathElement::new(stretch, style);
            self.area.draw(&path).map_err(failed)?;
        }
        Ok(())
    }

    pub(super) fn rectangle(&self, corners: [Spot; 2], colour: RGBColor) -> Result<()> {
        let corners = corners.map(|corner| self.pixel(corner));
        self.area
            .draw(&Rectangle::new(corners, colour.filled()))
            .map_err(failed)
    }

    /// A disc, or a ring of a line's width.
    pub(super) fn circle(
        &self,
        middle: Spot,
        radius: f64,
        colour: RGBColor,
        ring: Option<f64>,
    ) -> Result<()> {
        let style = match ring {
            None => colour.filled(),
            Some(width) => colour.stroke_width(self.size(width)),
        };
        let circle = Circle::new(self.pixel(middle), self.size(radius), style);
        self.area.draw(&circle).map_err(failed)
    }

    /// A short upright line.
    pub(super) fn tick(&self, (x, y): Spot, colour: RGBColor) -> Result<()> {
        self.line(&[(x, y - TICK / 2.0), (x, y + TICK / 2.0)], colour, 1.0)
    }

    pub(super) fn text(&self, text: &str, at: At, spot: Spot, colour: RGBColor) -> Result<()> {
        let side = match at {
            At::Left => HPos::Left,
            At::Middle => HPos::Center,
            At::Right => HPos::Right,
        };
        let style = font(SIZE * self.scale)
            .color(&colour)
            .pos(Pos::new(side, VPos::Center));
        let (x, y) = spot;
        let sink = if self.bitmap { SINK } else { 0.0 };
        let text = Text::new(text.to_owned(), self.pixel((x, y + sink)), style);
        self.area.draw(&text).map_err(failed)
    }

    pub(super) fn finish(self) -> Result<()> {
        self.area.present().map_err(failed)
    }

    fn pixel(&self, (x, y): Spot) -> (i32, i32) {
        let whole = |value: f64| (value * self.scale).round() as i32;
        (whole(x), whole(y))
    }

    fn size(&self, points: f64) -> u32 {
        (points * self.scale).round().max(1.0) as u32
    }
}

fn failed<E: std::error::Error + Send + Sync>(error: DrawingAreaErrorKind<E>) -> anyhow::Error {
    anyhow!("cannot draw: {error}")
}
