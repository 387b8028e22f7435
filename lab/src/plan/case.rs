//! Cases: rows of a plan that are written out, with what others measured.

use super::diagnostic::{Diagnostic, Position};
use super::path::Path;
use super::tree::{Entry, Node, Value};

/// A row of its own.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) place: Position,
    /// Settings of the case, before those of any sweep.
    pub(super) settings: Vec<(Path, Position, Node)>,
    /// Reference values that are copied into the results.
    pub(super) references: Vec<(String, f64)>,
}

/// Reads all `[[case]]`.
pub(super) fn cases(node: &Node) -> Result<Vec<Case>, Diagnostic> {
    let mut cases = Vec::<Case>::new();
    for (number, node) in node.list()?.iter().enumerate() {
        let within = |fault: Diagnostic| fault.within(&number.to_string()).within("case");
        let case = case(node).map_err(within)?;
        if cases.iter().any(|other| other.name == case.name) {
            let message = format!("there is another case `{}`", case.name);
            return Err(within(Diagnostic::at(case.place, message)));
        }
        cases.push(case);
    }
    Ok(cases)
}

fn case(node: &Node) -> Result<Case, Diagnostic> {
    let (mut name, mut settings, mut references) = (None, Vec::new(), Vec::new());
    for entry in &node.table()?.entries {
        match entry.key.as_str() {
            "name" => name = Some(entry.node.text()?.to_owned()),
            "set" => {
                for entry in &entry
                    .node
                    .table()
                    .map_err(|fault| fault.within("set"))?
                    .entries
                {
                    let path = Path::new(&entry.key, entry.key_place)?;
                    settings.push((path, entry.key_place, entry.node.clone()));
                }
            }
            _ => reference(entry, &entry.key, &mut references)?,
        }
    }
    let missing = || Diagnostic::at(node.place, "a case without `name`");
    Ok(Case {
        name: name.ok_or_else(missing)?,
        place: node.place,
        settings,
        references,
    })
}

/// A number under its name, or a table of such.
fn reference(entry: &Entry, name: &str, found: &mut Vec<(String, f64)>) -> Result<(), Diagnostic> {
    match &entry.node.value {
        Value::Table(table) => table
            .entries
            .iter()
            .try_for_each(|entry| reference(entry, &format!("{name}.{}", entry.key), found)),
        Value::Integer(_) | Value::Float(_) => {
            found.push((name.to_owned(), entry.node.number()?));
            Ok(())
        }
        _ => Err(entry
            .node
            .unexpected(
                "a number, or a table of numbers: a case has `name`, `set`, and columns of \
                 numbers under names of yours",
            )
            .within(name)),
    }
}
