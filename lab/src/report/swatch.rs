//! A controller in HTML.

use maud::{html, Markup};

use crate::plot::palette::{hex, Ink};

/// A controller's name with its colour.
pub(super) fn controller(name: &str, ink: Ink) -> Markup {
    let style = format!("--light:{};--dark:{}", hex(ink.light), hex(ink.dark));
    let mut parts = name.split_inclusive(':');
    html! {
        span.name { span.swatch style=(style) {} (parts.next().unwrap_or("")) }
        @for part in parts { wbr; (part) }
    }
}
