//! Figures as SVG, and as files.

use anyhow::{bail, Result};

use super::canvas::{escaped, Canvas};
use super::palette::{dark_css, hex, PAPER};
use super::style::Style;
use super::{curves, panels, rows, Chart, Figure};

/// Of most figures, in points: fills a phone, and two are side by side
/// elsewhere.
const WIDTH: f64 = 460.0;

/// Of panels, which are for a screen.
const WIDE: f64 = 920.0;

/// Margin of a single figure, in points.
const MARGIN: f64 = 12.0;

/// The figure as an element of a page: with no size of its own and no colour
/// behind it.
pub(crate) fn svg(figure: &Figure) -> String {
    let style = Style::default();
    let (canvas, width, height) = drawn(figure, &style);
    let label = escaped(&format!("{}. {}", figure.title, figure.caption));
    let attributes = format!("viewBox=\"0 0 {width} {height}\" aria-label=\"{label}\"");
    canvas.finish(&style.family(), &attributes, "")
}

/// Endings of the files that [`file`] can make.
pub(crate) const KINDS: &[&str] = match cfg!(feature = "print") {
    true => &["svg", "pdf", "png"],
    false => &["svg"],
};

/// The figure as a file of a kind of [`KINDS`], with the command that makes it. A width is without
/// the margin.
///
/// # Errors
///
/// Another kind, or a figure without a size.
pub(crate) fn file(figure: &Figure, kind: &str, style: &Style) -> Result<Vec<u8>> {
    match kind {
        "svg" => Ok(svg_file(figure, style).into_bytes()),
        #[cfg(feature = "print")]
        "pdf" => super::pdf::pdf(figure, style),
        #[cfg(feature = "print")]
        "png" => super::bitmap::png(figure, style),
        _ => bail!("figure: unknown kind (got {kind}); expected one of {KINDS:?}"),
    }
}

fn svg_file(figure: &Figure, style: &Style) -> String {
    let (canvas, width, height) = drawn(figure, style);
    let (title, about) = (escaped(&figure.title), escaped(&about(figure)));
    let (light, dark, inks) = (hex(PAPER.light), hex(PAPER.dark), dark_css("svg"));
    let css = format!(
        "<title>{title}</title>\n<desc>{about}</desc>\n<style>svg{{background:{light}}}\
         @media (prefers-color-scheme:dark){{svg{{background:{dark}}}{inks}}}</style>\n"
    );
    canvas.finish(&style.family(), &framed(&title, width, height), &css)
}

/// The attributes of a single figure, with its margin.
pub(super) fn framed(title: &str, width: f64, height: f64) -> String {
    let (wide, high) = (width + 2.0 * MARGIN, height + 2.0 * MARGIN);
    format!(
        "viewBox=\"-{MARGIN} -{MARGIN} {wide} {high}\" width=\"{wide}\" height=\"{high}\" \
         aria-label=\"{title}\""
    )
}

pub(super) fn about(figure: &Figure) -> String {
    format!("{} Made by: {}", figure.caption, figure.command)
}

/// The elements of a figure, its width and its height in points.
pub(super) fn drawn(figure: &Figure, style: &Style) -> (Canvas, f64, f64) {
    let mut canvas = Canvas::default();
    let usual = match &figure.chart {
        Chart::Rows(_) | Chart::Curves(_) => WIDTH,
        Chart::Panels(_) => WIDE,
    };
    let width = style.width.map_or(usual, f64::from);
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
