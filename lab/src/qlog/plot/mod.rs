//! Pictures of what moved the congestion window.

mod curves;
mod draw;

use std::io::Write as _;
use std::path::Path;

use anyhow::{bail, Context, Result};

pub(super) use curves::Curves;

use super::output::Output;

/// Width and height in pixels.
const SIZE: (u32, u32) = (1600, 1200);

/// Draws traces over each other into an .html, .svg or .png file.
///
/// # Errors
///
/// Another kind of file, a trace with nothing to draw, and what cannot be
/// written.
pub(super) fn write(traces: &[Curves], target: &Path) -> Result<()> {
    let kind = target.extension().and_then(|kind| kind.to_str());
    let bytes = match kind {
        Some("svg") => draw::svg(traces, SIZE)?.into_bytes(),
        Some("png") => draw::png(traces, SIZE)?,
        Some("html") => html(&draw::svg(traces, SIZE)?, traces).into_bytes(),
        _ => bail!(
            "{} is no picture that can be made; expected .html, .svg or .png",
            target.display()
        ),
    };
    let mut output = Output::beside(target)?;
    let context = || format!("cannot write {}", target.display());
    output.file().write_all(&bytes).with_context(context)?;
    output.keep()
}

/// A page that needs nothing else.
fn html(svg: &str, traces: &[Curves]) -> String {
    let names: Vec<_> = traces.iter().map(|trace| escape(&trace.name)).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{}</title>\n\
         <style>body {{ margin: 0 }} svg {{ width: 100%; height: auto }}</style>\n{svg}\n</html>\n",
        names.join(", ")
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
