//! The fields of a scenario by their path: `link.rate`, `flow.0.cc`.

use super::diagnostic::{Diagnostic, Position};
use super::number::times;
use super::read::SCENARIO;
use super::tree::{Entry, Node, Table, Value};
use crate::link::present_key;

/// The only key of a value that multiplies instead of replacing:
/// `{ times = 3.375 }`.
const TIMES: &str = "times";

/// The key of the list of cross traffic.
const CROSS: &str = "cross";

/// The way from a scenario to one of its fields, or to the same field of all
/// its links or flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path(Vec<String>);

impl Path {
    /// The steps between the points of `text`.
    pub(super) fn new(text: &str, place: Position) -> Result<Self, Diagnostic> {
        let steps = text.split('.').map(present_key);
        let steps: Vec<String> = steps.map(str::to_owned).collect();
        if steps.iter().any(String::is_empty) {
            let message = format!("`{text}` is not understood; expected the path of a field, such as link.rate or flow.0.cc");
            return Err(Diagnostic::at(place, message));
        }
        if !SCENARIO.contains(&steps[0].as_str()) {
            let message = format!(
                "key: not of a run (got {}); expected {}",
                steps[0],
                SCENARIO.join(", ")
            );
            return Err(Diagnostic::at(place, message));
        }
        Ok(Path(steps))
    }

    pub(super) fn text(&self) -> String {
        self.0.join(".")
    }

    /// Returns true if the field is the controller of every flow that tables show: of all `flows`
    /// flows, or of the `subject`.
    pub(super) fn is_every_controller(&self, flows: usize, subject: Option<u64>) -> bool {
        match &self.0[..] {
            [flow, cc] => flow == "flow" && cc == "cc",
            [flow, number, cc] => {
                let shown = match subject {
                    Some(subject) => number.parse() == Ok(subject),
                    None => flows == 1 && number == "0",
                };
                shown && flow == "flow" && cc == "cc"
            }
            _ => false,
        }
    }

    /// Puts `value` at the end of the path. Where the path meets a list, its
    /// next step is the number of an item, or else all items are meant.
    pub(super) fn set(
        &self,
        root: &mut Node,
        key: Position,
        value: &Node,
    ) -> Result<(), Diagnostic> {
        set(root, &self.0, 0, key, value).map_err(|fault| fault.within(&self.text()))
    }

    /// Returns the distinct values at the end of the path.
    pub(super) fn show(&self, root: &Node) -> String {
        let mut found = Vec::new();
        show(root, &self.0, &mut found);
        found.join(" and ")
    }
}

/// Sets the value at the end of `path`, of which the steps up to `at` lead to the node.
fn set(
    node: &mut Node,
    path: &[String],
    at: usize,
    key: Position,
    value: &Node,
) -> Result<(), Diagnostic> {
    let Some((step, rest)) = path[at..].split_first() else {
        *node = match factor(value)? {
            Some(factor) => Node {
                value: times(node, factor)?,
                place: value.place,
            },
            None => value.clone(),
        };
        return Ok(());
    };
    let table = match &mut node.value {
        Value::List(items) => match step.parse::<usize>() {
            Ok(number) => {
                // A list is begun or continued: outages, cross traffic. A link or a flow more would
                // be another scenario.
                let continues = at > 1 || path[0] == CROSS || items.is_empty();
                let end = items.len() + usize::from(continues);
                if number >= end {
                    let message = format!(
                        "list: no such number (got {number}); expected less than {end}, from 0"
                    );
                    return Err(Diagnostic::at(key, message));
                }
                if number == items.len() {
                    items.push(empty(value.place));
                }
                return set(&mut items[number], path, at + 1, key, value);
            }
            Err(_) => {
                return items
                    .iter_mut()
                    .try_for_each(|item| set(item, path, at, key, value));
            }
        },
        Value::Table(table) => table,
        // A single link or flow may do without being a list.
        _ => {
            return Err(Diagnostic::at(
                key,
                format!("`{node}` has no field `{step}`"),
            ))
        }
    };
    if table.get(step).is_none() && step == "0" {
        return set(node, path, at + 1, key, value);
    }
    let table = match &mut node.value {
        Value::Table(table) => table,
        _ => unreachable!("it was one"),
    };
    if table.get(step).is_none() {
        let begun = match rest.first().map(String::as_str) {
            Some("0") => Value::List(Vec::new()),
            Some(number) if number.parse::<usize>().is_ok() => {
                let message =
                    format!("{step}: no list yet (got item {number}); expected item 0 before it");
                return Err(Diagnostic::at(key, message));
            }
            _ => Value::Table(Table::default()),
        };
        if factor(value)?.is_some() {
            let message =
                format!("{step}: nothing to multiply (got a factor); expected a value in the base");
            return Err(Diagnostic::at(value.place, message));
        }
        table.entries.push(Entry {
            key: step.clone(),
            key_place: key,
            node: Node {
                value: begun,
                place: value.place,
            },
        });
    }
    let child = table.get_mut(step).expect("it is there now");
    set(child, path, at + 1, key, value)
}

/// A table without entries.
fn empty(place: Position) -> Node {
    Node {
        value: Value::Table(Table::default()),
        place,
    }
}

/// The factor of a value that multiplies.
fn factor(value: &Node) -> Result<Option<f64>, Diagnostic> {
    let Value::Table(table) = &value.value else {
        return Ok(None);
    };
    match &table.entries[..] {
        [entry] if entry.key == TIMES => {
            let factor = entry.node.number()?;
            if factor > 0.0 {
                Ok(Some(factor))
            } else {
                Err(entry.node.unexpected("a factor larger than 0"))
            }
        }
        _ => Ok(None),
    }
}

fn show(node: &Node, steps: &[String], found: &mut Vec<String>) {
    let Some((step, rest)) = steps.split_first() else {
        let text = node.to_string();
        if !found.contains(&text) {
            found.push(text);
        }
        return;
    };
    match &node.value {
        Value::List(items) => match step.parse::<usize>() {
            Ok(number) => items
                .get(number)
                .into_iter()
                .for_each(|item| show(item, rest, found)),
            Err(_) => items.iter().for_each(|item| show(item, steps, found)),
        },
        Value::Table(table) => match table.get(step) {
            Some(child) => show(child, rest, found),
            None if step == "0" => show(node, rest, found),
            None => {}
        },
        _ => {}
    }
}
