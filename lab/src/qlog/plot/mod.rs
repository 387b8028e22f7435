//! Pictures of what moved the congestion window.

mod curves;
mod figure;

use std::env;
use std::path::Path;

use anyhow::{bail, ensure, Result};
use maud::{html, PreEscaped};

pub(super) use curves::Curves;

use crate::plot::{self, svg, Figure, Style};
use crate::report::document;
use crate::results::write_whole;
use crate::shell;

/// A kind of picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Html,
    /// One of [`plot::KINDS`].
    Image(&'static str),
}

impl Format {
    /// By the ending of the name.
    ///
    /// # Errors
    ///
    /// Another one.
    pub(super) fn of(target: &Path) -> Result<Self> {
        let kind = target.extension().and_then(|kind| kind.to_str());
        match kind.unwrap_or("none") {
            "html" => Ok(Format::Html),
            kind => match plot::KINDS.iter().find(|known| **known == kind) {
                Some(known) => Ok(Format::Image(known)),
                None => bail!(
                    "{}: unknown format (got {kind}); expected one of .html, .{}",
                    target.display(),
                    plot::KINDS.join(", .")
                ),
            },
        }
    }
}

/// Gives each trace a name of its own: the one from its label, else its controller or its file.
///
/// # Errors
///
/// Labels that are not as many as the traces, or a label that there is twice.
pub(super) fn distinct(traces: &mut [Curves], files: &[String], labels: &[String]) -> Result<()> {
    if !labels.is_empty() {
        ensure!(
            labels.len() == traces.len(),
            "--label: wrong number (got {}); expected one for each of {} traces",
            labels.len(),
            traces.len()
        );
        for (place, label) in labels.iter().enumerate() {
            ensure!(
                !labels[..place].contains(label),
                "--label: duplicate (got {label} twice); expected labels of their own"
            );
        }
        for (trace, label) in traces.iter_mut().zip(labels) {
            trace.name.clone_from(label);
        }
        return Ok(());
    }
    let names: Vec<String> = traces.iter().map(|trace| trace.name.clone()).collect();
    for (place, trace) in traces.iter_mut().enumerate() {
        let same = |name: &&String| **name == names[place];
        if names.iter().filter(same).count() > 1 {
            let number = 1 + names[..place].iter().filter(same).count();
            trace.name = match files[place] == names[place] {
                true => format!("{} {number}", names[place]),
                false => format!("{} {number}, {}", names[place], files[place]),
            };
        }
    }
    Ok(())
}

/// Draws traces over each other into a file.
///
/// # Errors
///
/// What cannot be drawn or written.
pub(super) fn write(
    traces: &[Curves],
    (format, style): (Format, &Style),
    target: &Path,
) -> Result<()> {
    let figure = figure::figure(traces, shell::command(env::args().skip(1)));
    let bytes = match format {
        Format::Html => page(&figure).into_bytes(),
        Format::Image(kind) => plot::file(&figure, kind, style)?,
    };
    write_whole(target, |file| Ok(file.write_all(&bytes)?))
}

/// A page that needs nothing else.
fn page(figure: &Figure) -> String {
    let main = html! {
        div.sheet {
            h1 { (figure.title) }
            figure.large {
                (PreEscaped(svg(figure)))
                figcaption { (figure.caption) " Made by: " code { (figure.command) } }
            }
        }
    };
    document(&figure.title, &main)
}
