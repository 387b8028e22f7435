//! An SVG, measured in points of the page.

use std::sync::LazyLock;

use ab_glyph::{Font, FontRef};

use super::palette::{hex, Dash, Rgb, Shape, SOLID};

/// Size of all text, in points.
const SIZE: f64 = 11.7;

/// Distance from the middle of a line of text to its baseline, in points.
const BASELINE: f64 = 4.0;

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

/// Width of a text in points, in DejaVu Sans. Few other fonts are wider.
pub(super) fn width(text: &str) -> f64 {
    static MEASURE: LazyLock<FontRef> = LazyLock::new(|| {
        FontRef::try_from_slice(dejavu::sans::regular()).expect("DejaVu Sans is a font")
    });
    let advance = |c| f64::from(MEASURE.h_advance_unscaled(MEASURE.glyph_id(c)));
    let units = f64::from(MEASURE.units_per_em().unwrap_or(1.0));
    text.chars().map(advance).sum::<f64>() * SIZE / units
}

/// The elements of an SVG, so far.
#[derive(Default)]
pub(super) struct Canvas {
    elements: String,
    /// An attribute of all elements that are added.
    mark: String,
}

impl Canvas {
    pub(super) fn line(&mut self, points: &[Spot], colour: Rgb, width: f64) {
        self.dashed(points, colour, width, SOLID);
    }

    /// A line with gaps.
    pub(super) fn dashed(&mut self, points: &[Spot], colour: Rgb, width: f64, dash: Dash) {
        let points: Vec<String> = points
            .iter()
            .map(|(x, y)| format!("{},{}", at(*x), at(*y)))
            .collect();
        let (points, colour) = (points.join(" "), hex(colour));
        let dash = match dash {
            SOLID => String::new(),
            dash => format!(" stroke-dasharray=\"{dash}\""),
        };
        self.add(&format!(
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" \
             stroke-width=\"{width}\"{dash}/>"
        ));
    }

    pub(super) fn rectangle(&mut self, [(a, b), (c, d)]: [Spot; 2], colour: Rgb) {
        let (x, y, colour) = (at(a.min(c)), at(b.min(d)), hex(colour));
        let (width, height) = (at((c - a).abs()), at((d - b).abs()));
        self.add(&format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{colour}\"/>"
        ));
    }

    /// A mark around a place. An outline has the width of a line.
    pub(super) fn mark(&mut self, (x, y): Spot, radius: f64, colour: Rgb, shape: Shape) {
        let colour = hex(colour);
        let style = match shape.is_open {
            false => format!("fill=\"{colour}\""),
            true => format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\""),
        };
        if shape.corners == 0 {
            let (x, y) = (at(x), at(y));
            self.add(&format!(
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" {style}/>"
            ));
            return;
        }
        let corner = |number: u32| {
            let degrees =
                f64::from(shape.turn) + 360.0 * f64::from(number) / f64::from(shape.corners);
            let (sine, cosine) = degrees.to_radians().sin_cos();
            // Larger than the circle, for about its area.
            let radius = 1.25 * radius;
            format!("{},{}", at(x + radius * sine), at(y - radius * cosine))
        };
        let corners: Vec<String> = (0..shape.corners).map(corner).collect();
        let corners = corners.join(" ");
        self.add(&format!("<polygon points=\"{corners}\" {style}/>"));
    }

    /// A short upright line.
    pub(super) fn tick(&mut self, (x, y): Spot, colour: Rgb) {
        self.line(&[(x, y - TICK / 2.0), (x, y + TICK / 2.0)], colour, 1.0);
    }

    pub(super) fn text(&mut self, text: &str, side: At, (x, y): Spot, colour: Rgb) {
        let anchor = match side {
            At::Left => "start",
            At::Middle => "middle",
            At::Right => "end",
        };
        let (x, y, colour, text) = (at(x), at(y + BASELINE), hex(colour), escaped(text));
        self.add(&format!(
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{text}</text>"
        ));
    }

    /// Marks what is added as a part of the curve of this name.
    pub(super) fn of_curve(&mut self, name: &str) {
        self.mark = format!(" data-s=\"{}\"", escaped(name));
    }

    /// Marks what is added as the legend's entry of the curve of this name.
    pub(super) fn of_entry(&mut self, name: &str) {
        self.mark = format!(" data-l=\"{}\"", escaped(name));
    }

    /// Marks nothing from now on.
    pub(super) fn of_nothing(&mut self) {
        self.mark.clear();
    }

    /// An invisible rectangle that has the ends of its axes, for the page's script.
    pub(super) fn axes(&mut self, [(a, b), (c, d)]: [Spot; 2], x: &str, y: &str) {
        let (width, height) = (at((c - a).abs()), at((d - b).abs()));
        self.add(&format!(
            "<rect x=\"{}\" y=\"{}\" width=\"{width}\" height=\"{height}\" fill=\"none\" \
             data-x=\"{x}\" data-y=\"{y}\"/>",
            at(a.min(c)),
            at(b.min(d))
        ));
    }

    fn add(&mut self, element: &str) {
        let (name, rest) = element.split_at(element.find(' ').unwrap_or(element.len()));
        self.elements += name;
        self.elements += &self.mark;
        self.elements += rest;
        self.elements.push('\n');
    }

    /// The SVG around the elements: its fonts, attributes of its root, and what comes first in it.
    pub(super) fn finish(self, family: &str, attributes: &str, first: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" {attributes} role=\"img\" \
             font-family=\"{family}\" font-size=\"{SIZE}\" \
             stroke-linejoin=\"round\">\n{first}{}</svg>\n",
            self.elements,
            family = escaped(family)
        )
    }
}

/// A place with two digits at most.
fn at(points: f64) -> f64 {
    (points * 100.0).round() / 100.0
}

/// Text as XML has it in elements and in attributes.
pub(super) fn escaped(text: &str) -> String {
    maud::Render::render(text).into_string()
}
