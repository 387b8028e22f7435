//! Known deviations from a plan's expectations.

use super::diagnostic::Diagnostic;
use super::expect::Names;
use super::tree::{Entry, Node, Value};
use crate::results::KnownDeviation;

/// Reads all `[[known_deviation]]`.
pub(super) fn known_deviations(
    node: &Node,
    names: &Names,
) -> Result<Vec<KnownDeviation>, Diagnostic> {
    let items = node.list()?.iter().enumerate();
    let read = |(number, node): (usize, &Node)| {
        let deviation = deviation(node, names);
        deviation.map_err(|fault| fault.within(&number.to_string()).within("known_deviation"))
    };
    items.map(read).collect()
}

fn deviation(node: &Node, names: &Names) -> Result<KnownDeviation, Diagnostic> {
    let (mut controllers, mut labels) = (Vec::new(), Vec::new());
    let (mut than, mut because) = (Vec::new(), None);
    for entry in &node.table()?.entries {
        let within = |fault: Diagnostic| fault.within(&entry.key);
        match entry.key.as_str() {
            "of" => {
                for entry in &entry.node.table().map_err(within)?.entries {
                    let some = some_of(entry, &entry.key, names).map_err(within)?;
                    match entry.key.as_str() {
                        "controller" => controllers = some,
                        axis => labels.push((axis.to_owned(), some)),
                    }
                }
            }
            "than" => than = some_of(entry, "controller", names).map_err(within)?,
            "because" => because = Some(entry.node.text().map_err(within)?.to_owned()),
            key => {
                let message =
                    format!("known_deviation: no such key (got {key}); expected of, than, because");
                return Err(Diagnostic::at(entry.key_place, message));
            }
        }
    }
    let missing = |what| {
        move || {
            Diagnostic::at(
                node.place,
                format!("known_deviation: no `{what}`; expected `of` and `because`"),
            )
        }
    };
    if controllers.is_empty() && labels.is_empty() {
        return Err(missing("of")());
    }
    Ok(KnownDeviation {
        controllers,
        labels,
        than,
        because: because.ok_or_else(missing("because"))?,
    })
}

/// One label of an axis, or a list of some.
fn some_of(entry: &Entry, axis: &str, names: &Names) -> Result<Vec<String>, Diagnostic> {
    let label = |node: &Node| names.label(axis, entry.key_place, node);
    match &entry.node.value {
        Value::List(items) => items.iter().map(label).collect(),
        _ => Ok(vec![label(&entry.node)?]),
    }
}
