//! The printed values of a plan.

use serde::Deserialize;

use super::diagnostic::Diagnostic;
use super::expect::{metric_name, Names};
use super::tree::Node;
use crate::results::Printed;

/// Reads `[printed]`. `None` if no case has numbers or the list of columns is empty: a plan may
/// have inherited the table.
pub(super) fn printed(
    node: &Node,
    names: &Names,
    references: &[&str],
) -> Result<Option<Printed>, Diagnostic> {
    let printed = Printed::deserialize(node)?;
    let is_metric = |node: &Node| metric_name(node).map(drop);
    field(node, "metric", is_metric)?;
    field(node, "circumstances", |list| each(list, is_metric))?;
    if references.is_empty() || printed.columns.is_empty() {
        return Ok(None);
    }
    // The names say that it is a controller.
    let is_controller = |node: &Node| names.label("controller", node.place, node).map(drop);
    let is_reference = |node: &Node| match node.text()? {
        text if references.contains(&text) => Ok(()),
        _ => Err(node.unexpected(&format!("one of {}", references.join(", ")))),
    };
    let is_column = |node: &Node| {
        field(node, "reference", is_reference)?;
        let controller = node.table()?.get("controller");
        controller.map_or(Ok(()), is_controller)
    };
    let is_order = |node: &Node| match node.list()? {
        [above, below] if above.text()? == below.text()? => {
            Err(below.unexpected("another controller than the first"))
        }
        pair => pair.iter().try_for_each(is_controller),
    };
    field(node, "columns", |list| each(list, is_column))?;
    field(node, "orders", |list| each(list, is_order))?;
    Ok(Some(printed))
}

/// Checks the value of a key, if the table has it.
fn field(
    table: &Node,
    key: &str,
    check: impl Fn(&Node) -> Result<(), Diagnostic>,
) -> Result<(), Diagnostic> {
    let checked = table.table()?.get(key).map_or(Ok(()), check);
    checked.map_err(|fault| fault.within(key))
}

/// Checks each item of a list.
fn each(list: &Node, check: impl Fn(&Node) -> Result<(), Diagnostic>) -> Result<(), Diagnostic> {
    let mut items = list.list()?.iter().enumerate();
    items.try_for_each(|(number, item)| {
        check(item).map_err(|fault| fault.within(&number.to_string()))
    })
}
