//! Options of figures that are files.

#[cfg(feature = "print")]
use std::sync::Arc;

use clap::Args;
#[cfg(feature = "print")]
use resvg::usvg::fontdb::{Database, Source};

#[cfg(feature = "print")]
use super::tree::FONTS;
use crate::units::parse_whole;

/// Widths of pictures in points that have room for axes and legends.
const WIDTHS: std::ops::RangeInclusive<u16> = 240..=4000;

/// Width and font of figures. HTML pages have their own.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Style {
    /// Width of figures in points, 72 an inch on paper [default: 460, and 920 for traces and
    /// time series].
    #[arg(long, value_name = "POINTS", value_parser = parse_whole(WIDTHS))]
    pub(crate) width: Option<u16>,
    /// A TrueType or OpenType font for figures, whose viewers need it for an SVG [default:
    /// DejaVu Sans].
    #[cfg(feature = "print")]
    #[arg(long, value_name = "FILE", value_parser = Typeface::read)]
    pub(crate) font: Option<Typeface>,
}

impl Style {
    /// Returns an option that was given.
    pub(crate) fn option(&self) -> Option<&'static str> {
        #[cfg(feature = "print")]
        if self.font.is_some() {
            return Some("--font");
        }
        self.width.is_some().then_some("--width")
    }

    /// Returns the fonts of a text, by preference, as an attribute of SVG.
    pub(super) fn family(&self) -> String {
        #[cfg(feature = "print")]
        if let Some(font) = &self.font {
            return format!("'{}', sans-serif", font.family);
        }
        "sans-serif".to_owned()
    }
}

/// A font of the user.
#[cfg(feature = "print")]
#[derive(Clone)]
pub(crate) struct Typeface {
    pub(super) family: String,
    /// That of this program, and this one.
    pub(super) fonts: Arc<Database>,
}

#[cfg(feature = "print")]
impl Typeface {
    fn read(path: &str) -> Result<Self, String> {
        let bytes = std::fs::read(path).map_err(|e| format!("cannot read it ({e})"))?;
        let mut fonts = FONTS.as_ref().clone();
        let faces = fonts.load_font_source(Source::Binary(Arc::new(bytes)));
        let face = faces.first().and_then(|face| fonts.face(*face));
        let family = face.and_then(|face| face.families.first());
        let (family, _) = family.ok_or("not a font; expected a TrueType or OpenType font")?;
        Ok(Self {
            // It is a string in quotes of an SVG.
            family: family.replace('\'', ""),
            fonts: Arc::new(fonts),
        })
    }
}

#[cfg(feature = "print")]
impl std::fmt::Debug for Typeface {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&self.family)
    }
}
