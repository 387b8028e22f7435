//! Figures as PNG.

use std::sync::{Arc, LazyLock};

use anyhow::{Context, Result};
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{fontdb, Options, Tree};

use super::image::{about, drawn, framed};
use super::Figure;

/// Pixels a point.
const DENSITY: f32 = 2.0;

/// The figure as a bitmap on white, with the command that makes it, in a width in points without
/// the margin.
///
/// # Errors
///
/// A figure without a size.
pub(super) fn png(figure: &Figure, width: Option<f64>) -> Result<Vec<u8>> {
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
