//! TOML as values that know their place.

use std::fmt;

use toml::de::{DeTable, DeValue};
use toml::Spanned;

use super::diagnostic::{Diagnostic, Position};
use crate::link::present_key;

/// A value and where it was written.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) place: Position,
}

/// A TOML value. Dates have no use in a plan.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    List(Vec<Node>),
    Table(Table),
}

/// Names and their values, in the order of the file.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    pub(super) entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) key_place: Position,
    pub(super) node: Node,
}

/// Parses a file's text.
pub(super) fn parse(text: &str, file: usize) -> Result<Node, Diagnostic> {
    let place = |span: std::ops::Range<usize>| Position {
        file,
        start: span.start,
        end: span.end,
    };
    let table = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or_default();
        Diagnostic::at(place(span), error.message())
    })?;
    Ok(Node {
        place: place(0..0),
        value: Value::Table(convert_table(table.get_ref(), file)?),
    })
}

fn convert(value: &Spanned<DeValue>, file: usize) -> Result<Node, Diagnostic> {
    let span = value.span();
    let place = Position {
        file,
        start: span.start,
        end: span.end,
    };
    let value = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => Value::Integer(
            i64::from_str_radix(number.as_str(), number.radix())
                .map_err(|_| Diagnostic::at(place, "this number is too large"))?,
        ),
        DeValue::Float(number) => {
            let number: f64 = number.as_str().parse().unwrap_or(f64::NAN);
            if !number.is_finite() {
                return Err(Diagnostic::at(
                    place,
                    "number: not finite; expected a finite one",
                ));
            }
            Value::Float(number)
        }
        DeValue::Boolean(value) => Value::Boolean(*value),
        DeValue::Datetime(_) => {
            return Err(Diagnostic::at(place, "a plan has no use for a date"));
        }
        DeValue::Array(items) => Value::List(
            items
                .iter()
                .map(|item| convert(item, file))
                .collect::<Result<_, _>>()?,
        ),
        DeValue::Table(table) => Value::Table(convert_table(table, file)?),
    };
    Ok(Node { value, place })
}

fn convert_table(table: &DeTable, file: usize) -> Result<Table, Diagnostic> {
    let mut entries = Vec::new();
    for (key, value) in table.iter() {
        let span = key.span();
        entries.push(Entry {
            key: present_key(key.get_ref()).to_owned(),
            key_place: Position {
                file,
                start: span.start,
                end: span.end,
            },
            node: convert(value, file)?,
        });
    }
    entries.sort_by_key(|entry| entry.key_place);
    Ok(Table { entries })
}

impl Table {
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        Some(&entry.node)
    }

    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        let entry = self.entries.iter_mut().find(|entry| entry.key == key)?;
        Some(&mut entry.node)
    }

    /// Takes an entry out.
    pub(super) fn take(&mut self, key: &str) -> Option<Entry> {
        let place = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(place))
    }

    /// Lays `self` over `base`: what `self` says counts, and of tables each
    /// entry.
    pub(super) fn over(self, base: Table) -> Table {
        let mut merged = base;
        for entry in self.entries {
            let Some(below) = merged.get_mut(&entry.key) else {
                merged.entries.push(entry);
                continue;
            };
            *below = match (
                entry.node.value,
                std::mem::replace(&mut below.value, Value::Boolean(false)),
            ) {
                (Value::Table(upper), Value::Table(lower)) => Node {
                    value: Value::Table(upper.over(lower)),
                    place: entry.node.place,
                },
                (value, _) => Node {
                    value,
                    place: entry.node.place,
                },
            };
        }
        merged
    }
}

impl Node {
    pub(super) fn text(&self) -> Result<&str, Diagnostic> {
        match &self.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.unexpected("a text in quotes")),
        }
    }

    pub(super) fn list(&self) -> Result<&[Node], Diagnostic> {
        match &self.value {
            Value::List(items) => Ok(items),
            _ => Err(self.unexpected("a list, such as [1, 2]")),
        }
    }

    pub(super) fn table(&self) -> Result<&Table, Diagnostic> {
        match &self.value {
            Value::Table(table) => Ok(table),
            _ => Err(self.unexpected("a table, such as { key = 1 }")),
        }
    }

    /// A number, whole or not.
    pub(super) fn number(&self) -> Result<f64, Diagnostic> {
        match self.value {
            Value::Integer(number) => Ok(number as f64),
            Value::Float(number) => Ok(number),
            _ => Err(self.unexpected("a number")),
        }
    }

    /// That something else was expected here.
    pub(super) fn unexpected(&self, expected: &str) -> Diagnostic {
        Diagnostic::at(
            self.place,
            format!("`{self}` is not understood; expected {expected}"),
        )
    }
}

/// As a plan writes it, without quotes around a text.
impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Value::Text(text) => write!(f, "{text}"),
            Value::Integer(number) => write!(f, "{number}"),
            Value::Float(number) => write!(f, "{number}"),
            Value::Boolean(value) => write!(f, "{value}"),
            Value::List(items) => {
                write!(f, "[")?;
                for (number, item) in items.iter().enumerate() {
                    let comma = if number > 0 { ", " } else { "" };
                    write!(f, "{comma}{item}")?;
                }
                write!(f, "]")
            }
            Value::Table(table) => {
                write!(f, "{{")?;
                for (number, entry) in table.entries.iter().enumerate() {
                    let comma = if number > 0 { ", " } else { " " };
                    write!(f, "{comma}{} = {}", entry.key, entry.node)?;
                }
                write!(f, " }}")
            }
        }
    }
}
