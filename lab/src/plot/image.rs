//! Figures as SVG and as PNG.

use anyhow::{Context, Result};
use plotters::prelude::{BitMapBackend, DrawingBackend, SVGBackend};

use super::canvas::Canvas;
use super::palette::{dark_css, hex, PAPER};
use super::{curves, panels, rows, Chart, Figure};

/// Of most figures, in points: fills a phone, and two are side by side
/// elsewhere.
const WIDTH: f64 = 460.0;

/// Of panels, which are for a screen.
const WIDE: f64 = 920.0;

/// Units of SVG a point: a place is a whole number of them.
const FINE: f64 = 4.0;

/// Pixels a point in PNG, and how many times as many are drawn each way, to
/// be smooth.
const DENSITY: f64 = 2.0;
const SMOOTH: usize = 2;

/// Margin of a single figure, in points.
const MARGIN: usize = 12;

/// The figure as an element of a page: with no size of its own and no colour
/// behind it.
pub(crate) fn svg(figure: &Figure) -> Result<String> {
    let (width, height) = pixels(figure, FINE);
    let mut text = String::new();
    draw(
        figure,
        Canvas::new(
            SVGBackend::with_string(&mut text, (width as u32, height as u32)),
            FINE,
            false,
        ),
    )?;
    let (_, content) = text
        .split_once("<svg")
        .and_then(|(_, rest)| rest.split_once('>'))
        .context("plotters has changed its SVG")?;
    let title = escaped(&figure.title);
    Ok(format!(
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-label=\"{title}\" xmlns=\"http://www.w3.org/2000/svg\">{content}"
    ))
}

/// The figure as a file, with the command that makes it.
pub(crate) fn svg_file(figure: &Figure) -> Result<String> {
    let svg = svg(figure)?;
    let (head, content) = svg.split_once('>').context("an element has a head")?;
    let (width, height) = pixels(figure, FINE);
    let margin = MARGIN * FINE as usize;
    let (left, wide, high) = (-(margin as i64), width + 2 * margin, height + 2 * margin);
    let head = head.replacen(
        &format!("viewBox=\"0 0 {width} {height}\""),
        &format!(
            "viewBox=\"{left} {left} {wide} {high}\" width=\"{}\" height=\"{}\"",
            wide / FINE as usize,
            high / FINE as usize
        ),
        1,
    );
    let (light, dark) = (hex(PAPER.light), hex(PAPER.dark));
    let css = dark_css("svg");
    Ok(format!(
        "{head}>\n<title>{}</title>\n<desc>{}</desc>\n<style>svg{{background:{light}}}\
         @media (prefers-color-scheme:dark){{svg{{background:{dark}}}{css}}}</style>{content}",
        escaped(&figure.title),
        escaped(&about(figure)),
    ))
}

/// The figure as a bitmap on white, with the command that makes it.
pub(crate) fn png(figure: &Figure) -> Result<Vec<u8>> {
    let scale = DENSITY * SMOOTH as f64;
    let (width, height) = pixels(figure, scale);
    let mut fine = vec![0; width * height * 3];
    let canvas = Canvas::new(
        BitMapBackend::with_buffer(&mut fine, (width as u32, height as u32)),
        scale,
        true,
    );
    canvas.fill(PAPER.light)?;
    draw(figure, canvas)?;

    let (wide, high, pixels) = framed(&fine, width);
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, wide as u32, high as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.add_itxt_chunk("Title".to_owned(), figure.title.clone())?;
    encoder.add_itxt_chunk("Description".to_owned(), about(figure))?;
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels)?;
    writer.finish()?;
    Ok(bytes)
}

/// The mean of each [`SMOOTH`] by [`SMOOTH`] pixels, in a white frame; with the
/// new width and height.
fn framed(fine: &[u8], width: usize) -> (usize, usize, Vec<u8>) {
    let margin = MARGIN * DENSITY as usize;
    let height = fine.len() / 3 / width;
    let (wide, high) = (width / SMOOTH + 2 * margin, height / SMOOTH + 2 * margin);
    let mut pixels = vec![0xff; wide * high * 3];
    let lines = fine.chunks_exact(width * 3 * SMOOTH);
    let places = pixels.chunks_exact_mut(wide * 3).skip(margin);
    let mut sums = vec![0; width / SMOOTH * 3];
    for (lines, place) in lines.zip(places) {
        sums.fill(0);
        for line in lines.chunks_exact(width * 3) {
            for (sums, block) in sums.chunks_exact_mut(3).zip(line.chunks_exact(3 * SMOOTH)) {
                for pixel in block.chunks_exact(3) {
                    sums[0] += u32::from(pixel[0]);
                    sums[1] += u32::from(pixel[1]);
                    sums[2] += u32::from(pixel[2]);
                }
            }
        }
        for (to, sum) in place[margin * 3..].iter_mut().zip(&sums) {
            *to = (sum / (SMOOTH * SMOOTH) as u32) as u8;
        }
    }
    (wide, high, pixels)
}

fn about(figure: &Figure) -> String {
    format!("{} Made by: {}", figure.caption, figure.command)
}

/// The size at this many pixels per point: a multiple of [`SMOOTH`].
fn pixels(figure: &Figure, scale: f64) -> (usize, usize) {
    let height = match &figure.chart {
        Chart::Rows(rows) => rows::Layout::new(rows, WIDTH).height(),
        Chart::Curves(curves) => curves::Layout::new(curves, WIDTH).height(),
        Chart::Panels(panels) => panels::Layout::new(panels, WIDE).height(),
    };
    let whole = |points: f64| (points * scale / SMOOTH as f64).ceil() as usize * SMOOTH;
    (whole(width(&figure.chart)), whole(height))
}

fn width(chart: &Chart) -> f64 {
    match chart {
        Chart::Rows(_) | Chart::Curves(_) => WIDTH,
        Chart::Panels(_) => WIDE,
    }
}

fn draw<B: DrawingBackend>(figure: &Figure, canvas: Canvas<B>) -> Result<()>
where
    B::ErrorType: 'static,
{
    match &figure.chart {
        Chart::Rows(rows) => rows::Layout::new(rows, WIDTH).draw(&canvas)?,
        Chart::Curves(curves) => curves::Layout::new(curves, WIDTH).draw(&canvas, 0.0)?,
        Chart::Panels(panels) => panels::Layout::new(panels, WIDE).draw(&canvas)?,
    }
    canvas.finish()
}

/// Text as XML has it in elements and in attributes.
fn escaped(text: &str) -> String {
    maud::Render::render(text).into_string()
}
