//! A plan's files, put together.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::fault::{Fault, Sources};
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

/// The other fields of a plan.
const PLAN: [&str; 16] = [
    "extends",
    "title",
    "description",
    "backend",
    "seeds",
    "metrics",
    "subject",
    "series",
    "frames",
    "qlog",
    "controllers",
    "sweep",
    "space",
    "case",
    "expect",
    "exception",
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

fn read(path: &Path, sources: &mut Sources, deepest: usize) -> Result<Table> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read the plan {}", path.display()))?;
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
        let fault = Fault::at(extends.key_place, "plans extend each other without end");
        return Err(sources.explain(&fault));
    }
    let base_path = path.with_file_name(base);
    if !base_path.is_file() {
        let message = format!("there is no plan {}", base_path.display());
        return Err(sources.explain(&Fault::at(extends.node.place, message)));
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

fn fields(text: &str, file: usize) -> Result<Table, Fault> {
    let Node { value, place } = tree::parse(text, file)?;
    let Value::Table(root) = value else {
        return Err(Fault::at(place, "a plan is a table"));
    };
    for entry in &root.entries {
        if !PLAN.iter().chain(&SCENARIO).any(|name| *name == entry.key) {
            let message = format!(
                "a plan has no field `{}`; it has {}",
                entry.key,
                [&PLAN[..], &SCENARIO[..]].concat().join(", ")
            );
            return Err(Fault::at(entry.key_place, message));
        }
    }
    Ok(root)
}
