//! Figures as SVG and as PNG.

use std::sync::{Arc, LazyLock};

use anyhow::{Context, Result};
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{fontdb, Options, Tree};

use super::canvas::{escaped, Canvas};
use super::palette::{dark_css, hex, PAPER};
use super::{curves, panels, rows, Chart, Figure};

/// Of most figures, in points: fills a phone, and two are side by side
/// elsewhere.
const WIDTH: f64 = 460.0;

/// Of panels, which are for a screen.
const WIDE: f64 = 920.0;

/// Pixels a point in PNG.
const DENSITY: f32 = 2.0;

/// Margin of a single figure, in points.
const MARGIN: f64 = 12.0;

/// The figure as an element of a page: with no size of its own and no colour
/// behind it.
pub(crate) fn svg(figure: &Figure) -> String {
    let (canvas, width, height) = drawn(figure, None);
    let label = escaped(&format!("{}. {}", figure.title, figure.caption));
    let attributes = format!("viewBox=\"0 0 {width} {height}\" aria-label=\"{label}\"");
    canvas.finish(&attributes, "")
}

/// The figure as a file, with the command that makes it.
pub(crate) fn svg_file(figure: &Figure) -> String {
    svg_sized(figure, None)
}

/// The same in a width in points, without the margin.
pub(crate) fn svg_sized(figure: &Figure, width: Option<f64>) -> String {
    let (canvas, width, height) = drawn(figure, width);
    let (title, about) = (escaped(&figure.title), escaped(&about(figure)));
    let (light, dark, css) = (hex(PAPER.light), hex(PAPER.dark), dark_css("svg"));
    let style = format!(
        "<title>{title}</title>\n<desc>{about}</desc>\n<style>svg{{background:{light}}}\
         @media (prefers-color-scheme:dark){{svg{{background:{dark}}}{css}}}</style>\n"
    );
    canvas.finish(&framed(&title, width, height), &style)
}

/// The attributes of a single figure, with its margin.
fn framed(title: &str, width: f64, height: f64) -> String {
    let (wide, high) = (width + 2.0 * MARGIN, height + 2.0 * MARGIN);
    format!(
        "viewBox=\"-{MARGIN} -{MARGIN} {wide} {high}\" width=\"{wide}\" height=\"{high}\" \
         aria-label=\"{title}\""
    )
}

/// The figure as a bitmap on white, with the command that makes it.
///
/// # Errors
///
/// A figure without a size.
pub(crate) fn png(figure: &Figure) -> Result<Vec<u8>> {
    png_sized(figure, None)
}

/// The same in a width in points, without the margin.
///
/// # Errors
///
/// A figure without a size.
pub(crate) fn png_sized(figure: &Figure, width: Option<f64>) -> Result<Vec<u8>> {
    static OPTIONS: LazyLock<Options> = LazyLock::new(|| {
        let mut fonts = fontdb::Database::new();
        fonts.load_font_data(dejavu::sans::regular().to_vec());
        fonts.set_sans_serif_family("DejaVu Sans");
        Options {
            fontdb: Arc::new(fonts),
            ..Options::default()
        }
    });
    let (canvas, width, height) = drawn(figure, width);
    let tree = Tree::from_str(&canvas.finish(&framed("", width, height), ""), &OPTIONS)?;
    let size = tree.size().to_int_size().scale_by(DENSITY);
    let size = size.context("a figure without a size")?;
    let mut pixels = Pixmap::new(size.width(), size.height()).context("a figure without a size")?;
    pixels.fill(Color::WHITE);
    let scale = Transform::from_scale(DENSITY, DENSITY);
    resvg::render(&tree, scale, &mut pixels.as_mut());

    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, size.width(), size.height());
    // On white, all is opaque: what is multiplied by opacity stays as it is.
    encoder.set_color(png::ColorType::Rgba);
    encoder.add_itxt_chunk("Title".to_owned(), figure.title.clone())?;
    encoder.add_itxt_chunk("Description".to_owned(), about(figure))?;
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels.data())?;
    writer.finish()?;
    Ok(bytes)
}

fn about(figure: &Figure) -> String {
    format!("{} Made by: {}", figure.caption, figure.command)
}

/// The elements of a figure, its width and its height in points.
fn drawn(figure: &Figure, width: Option<f64>) -> (Canvas, f64, f64) {
    let mut canvas = Canvas::default();
    let usual = match &figure.chart {
        Chart::Rows(_) | Chart::Curves(_) => WIDTH,
        Chart::Panels(_) => WIDE,
    };
    let width = width.unwrap_or(usual);
    let height = match &figure.chart {
        Chart::Rows(rows) => {
            let layout = rows::Layout::new(rows, width);
            layout.draw(&mut canvas);
            layout.height()
        }
        Chart::Curves(curves) => {
            let layout = curves::Layout::new(curves, width);
            layout.draw(&mut canvas, 0.0);
            layout.height()
        }
        Chart::Panels(panels) => {
            let layout = panels::Layout::new(panels, width);
            layout.draw(&mut canvas);
            layout.height()
        }
    };
    (canvas, width, height.ceil())
}
