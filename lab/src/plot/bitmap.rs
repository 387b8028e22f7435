//! Figures as PNG.

use anyhow::{Context, Result};
use resvg::tiny_skia::{Color, Pixmap, Transform};

use super::image::about;
use super::style::Style;
use super::tree::tree;
use super::Figure;

/// Pixels a point.
const DENSITY: f32 = 2.0;

/// The figure as a bitmap on white, with the command that makes it.
///
/// # Errors
///
/// A figure without a size.
pub(super) fn png(figure: &Figure, style: &Style) -> Result<Vec<u8>> {
    let tree = tree(figure, style)?;
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
