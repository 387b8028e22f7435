//! A plan's files, put together.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::diagnostic::{Diagnostic, Sources};
use super::tree::{self, Node, Table, Value};

/// The fields of a plan that say what happens in a run, and which sweeps and
/// cases may set.
pub(super) const SCENARIO: [&str; 7] = [
    "link",
    "flow",
    "cross",
    "duration",
    "max_datagram_size",
    "pacing",
    "sample_every",
];

/// A field of a plan: its name, values, default, and what it is.
pub(crate) type About = (&'static str, &'static str, &'static str, &'static str);

/// The other fields of a plan.
#[rustfmt::skip]
pub(crate) const PLAN: [About; 17] = [
    ("extends", "file", "none", "Another plan, by its place from this one. What this one says counts over what that one says, table by table; the descriptions follow each other."),
    ("title", "text", "empty", "One line."),
    ("description", "text", "empty", "What is measured and what was assumed."),
    ("backend", "`sim`, `netem`", "`sim`", "Virtual time, the same figures every time; or real time, one flow over one link."),
    ("seeds", "`10`, `[7, 9]`, `{ from = 1, to = 10 }`", "`1`", "How many seeds, or which; at most 1000000."),
    ("metrics", "list of [metrics](#metrics)", "goodput, share, loss, mean queue, mean RTT", "What to show, the most important first; results have all."),
    ("subject", "whole number", "none", "The flow under test, from 0. Tables, expectations and distributions have it alone, and a sweep over its controller (`flow.0.cc`) makes columns; the rows of the results have all flows."),
    ("series", "`true`, `false`", "`false`", "Whether each run's flows are kept over time."),
    ("frames", "table", "the whole run", "The parts of the run that pictures of windows show."),
    ("printed", "table", "none", "What a publication printed in columns of the cases' numbers. A report has these values next to the measured ones, their ratios, and the orders that hold. Unused without such numbers."),
    ("qlog", "`true`, `false`", "`false`", "Whether the qlogs of both ends of each run are kept, with copies for qvis: of 20 s at 20 Mbit/s some 100 MB, with `cubic` and its small datagrams some 400."),
    ("controllers", "table", "empty", "Names for controllers, in the plan, its tables and its results; with `silly_window_avoidance` and `cubic_spurious_undo` where they go with one."),
    ("sweep", "table of lists, ranges, or fields that change together", "empty", "What the runs differ in. A range is `{ from = \"0%\", to = \"2%\", steps = 5, spacing = \"linear\" }` (or `log`), up or down. `references` in a table says how many times as large the cases' numbers are at each place."),
    ("space", "table", "none", "What is left open, for [`petra-lab hunt`](hunt.md) to search; such a plan has no runs of its own."),
    ("case", "list of tables", "empty", "Rows of their own: `name`, `set` and numbers to carry into the results."),
    ("expect", "list of tables", "empty", "What is expected: `metric`, `of`, one of `at_least`, `at_most` and `about`, and `tolerance`."),
    ("known_deviation", "list of tables", "empty", "Where expectations are known not to hold: `of`, `than` and `because`."),
];

/// Maximum depth of plans that extend each other.
const DEEPEST: usize = 8;

/// A plan's values and the files that they come from.
pub(super) struct Document {
    pub(super) sources: Sources,
    pub(super) root: Table,
}

impl Document {
    /// Reads the plan at `path` and what it extends.
    ///
    /// # Errors
    ///
    /// A file that cannot be read or is no TOML, and a field that no plan has.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let mut sources = Sources::default();
        let root = read(path, &mut sources, DEEPEST)?;
        Ok(Document { sources, root })
    }
}

impl Document {
    /// Of a text that would be `file`.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub(super) fn of_text(file: &Path, text: &str) -> Result<Self> {
        let sources = Sources::typed(file.to_owned(), text.to_owned());
        let root = fields(text, 0).map_err(|fault| sources.explain(&fault))?;
        Ok(Document { sources, root })
    }
}

fn read(path: &Path, sources: &mut Sources, deepest: usize) -> Result<Table> {
    let text = fs::read_to_string(path).with_context(|| {
        format!(
            "{}: cannot be read; expected a plan, a TOML file",
            path.display()
        )
    })?;
    let file = sources.add(path.to_owned(), text.clone());
    let mut root = fields(&text, file).map_err(|fault| sources.explain(&fault))?;
    let Some(extends) = root.take("extends") else {
        return Ok(root);
    };
    let base = extends
        .node
        .text()
        .map_err(|fault| sources.explain(&fault))?;
    if deepest == 0 {
        let fault = Diagnostic::at(
            extends.key_place,
            "extends: too many levels; expected at most 8, without a cycle",
        );
        return Err(sources.explain(&fault));
    }
    let base_path = path.with_file_name(base);
    if !base_path.is_file() {
        let message = format!(
            "no such plan (got {}); expected a file",
            base_path.display()
        );
        return Err(sources.explain(&Diagnostic::at(extends.node.place, message)));
    }
    let base = read(&base_path, sources, deepest - 1)?;
    let joined = description(&root, &base);
    let mut root = root.over(base);
    if let Some((node, joined)) = root.get_mut("description").zip(joined) {
        node.value = Value::Text(joined);
    }
    Ok(root)
}

/// The description of a plan, and after it that of what the plan extends.
fn description(root: &Table, base: &Table) -> Option<String> {
    let text = |table: &Table| Some(table.get("description")?.text().ok()?.trim().to_owned());
    Some(format!("{}\n\n{}", text(root)?, text(base)?))
}

fn fields(text: &str, file: usize) -> Result<Table, Diagnostic> {
    let Node { value, place } = tree::parse(text, file)?;
    let Value::Table(root) = value else {
        return Err(Diagnostic::at(
            place,
            "plan: not a table (got another value); expected keys and values",
        ));
    };
    for entry in &root.entries {
        let names = PLAN.iter().map(|(name, ..)| *name).chain(SCENARIO);
        if !names.clone().any(|name| name == entry.key) {
            let message = format!(
                "plan: no such key (got {}); expected {}",
                entry.key,
                names.collect::<Vec<_>>().join(", ")
            );
            return Err(Diagnostic::at(entry.key_place, message));
        }
    }
    Ok(root)
}
