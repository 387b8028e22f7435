//! Errors in a plan, with their position.

use std::fmt::{self, Write};
use std::path::{Path, PathBuf};

use crate::link::present_key;
use crate::results::PlanFile;

/// A place in one of a plan's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    /// The file, by its number in [`Sources`].
    pub(super) file: usize,
    /// The first byte.
    pub(super) start: usize,
    /// The byte after the last.
    pub(super) end: usize,
}

/// An error with its field and position.
#[derive(Clone, Debug)]
pub(super) struct Diagnostic {
    place: Option<Position>,
    /// The names and numbers that lead to the field, the innermost first.
    path: Vec<String>,
    message: String,
}

impl Diagnostic {
    pub(super) fn at(place: Position, message: impl fmt::Display) -> Self {
        Diagnostic {
            place: Some(place),
            path: Vec::new(),
            message: message.to_string(),
        }
    }

    /// Gives the fault a place if it has none yet.
    pub(super) fn or_at(mut self, place: Position) -> Self {
        self.place.get_or_insert(place);
        self
    }

    /// Says that the fault is in a part of something larger.
    pub(super) fn within(mut self, step: &str) -> Self {
        self.path.push(step.to_owned());
        self
    }

    /// Calls the outermost part as the plan does.
    pub(super) fn rename(mut self, from: &str, to: &str) -> Self {
        if let Some(step) = self.path.last_mut().filter(|step| *step == from) {
            to.clone_into(step);
        }
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, step) in self.path.iter().rev().enumerate() {
            let point = if number > 0 { "." } else { "" };
            write!(f, "{point}{step}")?;
        }
        let colon = if self.path.is_empty() { "" } else { ": " };
        write!(f, "{colon}{}", self.message)
    }
}

impl std::error::Error for Diagnostic {}

impl serde::de::Error for Diagnostic {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Diagnostic {
            place: None,
            path: Vec::new(),
            message: message.to_string(),
        }
    }

    /// As serde says it, with present keys only.
    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let present = expected.iter().filter(|key| present_key(key) == **key);
        let keys: Vec<String> = present.map(|key| format!("`{key}`")).collect();
        let expected = match &keys[..] {
            [] => "none".to_owned(),
            [key] => key.clone(),
            keys => format!("one of {}", keys.join(", ")),
        };
        Self::custom(format!("unknown field `{field}`, expected {expected}"))
    }
}

/// The files that a plan was read from.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources {
    files: Vec<(PathBuf, String)>,
    /// Returns true if the reader does not see the text.
    typed: bool,
}

impl Sources {
    /// Those of a text that is in no file.
    pub(super) fn typed(name: PathBuf, text: String) -> Self {
        Sources {
            files: vec![(name, text)],
            typed: true,
        }
    }

    /// Adds a file and returns its number.
    pub(super) fn add(&mut self, path: PathBuf, text: String) -> usize {
        self.files.push((path, text));
        self.files.len() - 1
    }

    /// Does the reader see the text?
    pub(super) fn are_files(&self) -> bool {
        !self.typed
    }

    /// The folder of each file.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let folder = |(path, _): &(PathBuf, String)| path.parent().map(Path::to_owned);
        self.files
            .iter()
            .map(|file| folder(file).unwrap_or_default())
            .collect()
    }

    /// The files, named by their places from a folder.
    pub(super) fn files_from(self, folder: &Path) -> Vec<PlanFile> {
        let file = |(path, text): (PathBuf, String)| PlanFile {
            name: path
                .strip_prefix(folder)
                .unwrap_or(&path)
                .display()
                .to_string(),
            text,
        };
        self.files.into_iter().map(file).collect()
    }

    /// The fault with file, line and column, over the line itself:
    ///
    /// ```text
    /// lab/plans/demo.toml:8:8: link.rate: `ten` is not understood; expected ...
    ///   8 | rate = "ten"
    ///     |        ^^^^^
    /// ```
    pub(super) fn explain(&self, fault: &Diagnostic) -> anyhow::Error {
        if self.typed {
            return anyhow::Error::msg(fault.to_string());
        }
        let place = fault.place.unwrap_or(Position {
            file: 0,
            start: 0,
            end: 0,
        });
        let (path, text) = &self.files[place.file];
        let start = place.start.min(text.len());
        let before = &text[..start];
        let line = before.matches('\n').count() + 1;
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        let content = text[line_start..].lines().next().unwrap_or("");
        let column = text[line_start..start].chars().count();
        let rest = content.chars().count().saturating_sub(column);
        let length = text[start..place.end.clamp(start, text.len())]
            .chars()
            .count();
        let marks = "^".repeat(length.clamp(1, rest.max(1)));
        let gap = " ".repeat(line.to_string().len());
        let mut out = format!("{}:{line}:{}: {fault}\n", path.display(), column + 1);
        // A string takes all that there is to write.
        let _ = writeln!(out, "  {line} | {content}");
        let _ = write!(out, "  {gap} | {}{marks}", " ".repeat(column));
        anyhow::Error::msg(out)
    }
}
