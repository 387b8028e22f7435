//! Figures as resolved shapes, with texts as outlines.

use std::sync::{Arc, LazyLock};

use anyhow::Result;
use resvg::usvg::fontdb::Database;
use resvg::usvg::{Options, Tree};

use super::image::{drawn, framed};
use super::style::Style;
use super::Figure;

/// The font of this program.
pub(super) static FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = Database::new();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    Arc::new(fonts)
});

/// The shapes of a figure with its margin, in the colours of paper.
///
/// # Errors
///
/// A figure without a size.
pub(super) fn tree(figure: &Figure, style: &Style) -> Result<Tree> {
    let fonts = style.font.as_ref().map_or(&*FONTS, |font| &font.fonts);
    let options = Options {
        fontdb: fonts.clone(),
        ..Options::default()
    };
    let (canvas, width, height) = drawn(figure, style);
    let svg = canvas.finish(&style.family(), &framed("", width, height), "");
    Ok(Tree::from_str(&svg, &options)?)
}
