//! A plan's values as TOML.

use super::tree::{Node, Table, Value};

/// The text of a plan.
pub(super) fn text(root: &Table) -> String {
    table(root).to_string()
}

pub(super) fn table(from: &Table) -> toml::Table {
    let entries = from.entries.iter();
    entries
        .map(|entry| (entry.key.clone(), value(&entry.node)))
        .collect()
}

pub(super) fn value(node: &Node) -> toml::Value {
    match &node.value {
        Value::Text(text) => toml::Value::String(text.clone()),
        Value::Integer(number) => toml::Value::Integer(*number),
        Value::Float(number) => toml::Value::Float(*number),
        Value::Boolean(value) => toml::Value::Boolean(*value),
        Value::List(items) => toml::Value::Array(items.iter().map(value).collect()),
        Value::Table(entries) => toml::Value::Table(table(entries)),
    }
}
