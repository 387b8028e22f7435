//! Sweeps: what a plan runs over.

use std::collections::BTreeSet;

use super::diagnostic::{Diagnostic, Position};
use super::number::{range, Spacing};
use super::path::Path;
use super::tree::{Entry, Node, Table, Value};

/// One direction of a sweep: one or more fields, and at each place of the axis
/// a value for each.
pub(super) struct Axis {
    pub(super) name: String,
    pub(super) fields: Vec<(Path, Position)>,
    pub(super) stops: Vec<Stop>,
}

/// A place on an axis.
pub(super) struct Stop {
    pub(super) label: String,
    /// In the order of the axis's fields.
    pub(super) values: Vec<Node>,
    /// Factor of the reference columns.
    pub(super) references: f64,
}

/// The key of a table of fields that names its places.
const NAME: &str = "name";
/// The key of a table of fields that says how many times as large the cases'
/// reference columns are at each place.
const REFERENCES: &str = "references";

/// The most places on one axis, points of a plan, and runs of it.
pub(crate) const MAX_RUNS: usize = 1_000_000;

/// Reads `[sweep]`.
pub(super) fn axes(sweep: &Table) -> Result<Vec<Axis>, Diagnostic> {
    let axis =
        |entry: &Entry| axis(entry).map_err(|fault| fault.within(&entry.key).within("sweep"));
    sweep.entries.iter().map(axis).collect()
}

/// Words of tables and expectations that no axis can have for a name, and what
/// does what such an axis would.
const TAKEN: [(&str, &str); 2] = [
    (
        "controller",
        "a controller with fields of a flow gets a name in [controllers], for a sweep over flow.cc",
    ),
    ("case", "rows with names of their own are [[case]]"),
];

fn axis(entry: &Entry) -> Result<Axis, Diagnostic> {
    if let Some((name, instead)) = TAKEN.iter().find(|(name, _)| *name == entry.key) {
        let message = format!("an axis cannot be called `{name}`: {instead}");
        return Err(Diagnostic::at(entry.key_place, message));
    }
    let axis = match &entry.node.value {
        Value::Table(fields) if fields.get("from").is_none() => together(entry, fields)?,
        _ => {
            let values = values(&entry.node)?;
            let stop = |value: Node| Stop {
                label: value.to_string(),
                values: vec![value],
                references: 1.0,
            };
            Axis {
                name: entry.key.clone(),
                fields: vec![(Path::new(&entry.key, entry.key_place)?, entry.key_place)],
                stops: values.into_iter().map(stop).collect(),
            }
        }
    };
    let mut labels = BTreeSet::new();
    for stop in &axis.stops {
        if !labels.insert(&stop.label) {
            let place = stop
                .values
                .first()
                .map_or(entry.node.place, |value| value.place);
            return Err(Diagnostic::at(
                place,
                format!(
                    "duplicate value (got {}); expected each value once",
                    stop.label
                ),
            ));
        }
    }
    Ok(axis)
}

/// Several fields that change together.
fn together(entry: &Entry, table: &Table) -> Result<Axis, Diagnostic> {
    let (mut fields, mut columns) = (Vec::new(), Vec::<Vec<Node>>::new());
    let (mut names, mut references) = (None, None);
    for field in &table.entries {
        let within = |fault: Diagnostic| fault.within(&field.key);
        match field.key.as_str() {
            NAME => {
                let texts = field.node.list().map_err(within)?.iter();
                let texts = texts.map(|name| Ok(name.text()?.to_owned()));
                let texts = texts.collect::<Result<Vec<String>, Diagnostic>>();
                names = Some((&field.node, texts.map_err(within)?));
            }
            REFERENCES => {
                let factors = field.node.list().map_err(within)?.iter();
                let factors = factors
                    .map(Node::number)
                    .collect::<Result<Vec<f64>, Diagnostic>>();
                references = Some((&field.node, factors.map_err(within)?));
            }
            _ => {
                let column = values(&field.node).map_err(within)?;
                if let Some(first) = columns.first().filter(|it| it.len() != column.len()) {
                    let message = format!(
                        "values: not as many as those that change with them (got {}); expected {}",
                        column.len(),
                        first.len()
                    );
                    return Err(within(Diagnostic::at(field.node.place, message)));
                }
                fields.push((Path::new(&field.key, field.key_place)?, field.key_place));
                columns.push(column);
            }
        }
    }
    let Some(count) = columns.first().map(Vec::len) else {
        let message = "no field to sweep over; expected the path of one or more, such as \
                       \"link.rate\" = [\"2mbit\", \"4mbit\"]";
        return Err(Diagnostic::at(entry.key_place, message));
    };
    if let Some((node, names)) = names.as_ref().filter(|(_, names)| names.len() != count) {
        let message = format!("{} names for {count} values", names.len());
        return Err(Diagnostic::at(node.place, message).within(NAME));
    }
    if let Some((node, factors)) = references.as_ref().filter(|(_, it)| it.len() != count) {
        let message = format!("{} factors for {count} values", factors.len());
        return Err(Diagnostic::at(node.place, message).within(REFERENCES));
    }
    let stop = |number: usize| {
        let values: Vec<Node> = columns
            .iter()
            .map(|column| column[number].clone())
            .collect();
        let texts: Vec<String> = values.iter().map(Node::to_string).collect();
        Stop {
            label: names
                .as_ref()
                .map_or(texts.join(" / "), |(_, names)| names[number].clone()),
            values,
            references: references.as_ref().map_or(1.0, |(_, it)| it[number]),
        }
    };
    Ok(Axis {
        name: entry.key.clone(),
        fields,
        stops: (0..count).map(stop).collect(),
    })
}

/// A list, or a range: `{ from = "0%", to = "2%", steps = 5 }`.
fn values(node: &Node) -> Result<Vec<Node>, Diagnostic> {
    let values =
        match &node.value {
            Value::List(items) => items.clone(),
            Value::Table(table) if table.get("from").is_some() => ranged(node, table)?,
            _ => return Err(node.unexpected(
                "a list of values, or a range, such as { from = \"0%\", to = \"2%\", steps = 5 }",
            )),
        };
    if values.is_empty() {
        return Err(Diagnostic::at(
            node.place,
            "a sweep over nothing; a list has at least one value",
        ));
    }
    Ok(values)
}

/// Returns the spacing of a range's values.
pub(super) fn spacing(range: &Table) -> Result<Spacing, Diagnostic> {
    let Some(node) = range.get("spacing") else {
        return Ok(Spacing::Linear);
    };
    match node.to_string().as_str() {
        "linear" => Ok(Spacing::Linear),
        "log" => Ok(Spacing::Log),
        _ => Err(node.unexpected("linear or log").within("spacing")),
    }
}

fn ranged(node: &Node, table: &Table) -> Result<Vec<Node>, Diagnostic> {
    const KEYS: [&str; 4] = ["from", "to", "steps", "spacing"];
    if let Some(entry) = table
        .entries
        .iter()
        .find(|entry| !KEYS.contains(&entry.key.as_str()))
    {
        let message = format!(
            "range: no such key (got {}); expected {}",
            entry.key,
            KEYS.join(", ")
        );
        return Err(Diagnostic::at(entry.key_place, message));
    }
    let need = |key: &str| {
        let missing = || Diagnostic::at(node.place, format!("a range without `{key}`"));
        table.get(key).ok_or_else(missing)
    };
    let steps = need("steps")?;
    let count = match steps.value {
        Value::Integer(count @ 2..) if count as usize <= MAX_RUNS => count as usize,
        _ => {
            return Err(steps
                .unexpected(&format!("a number of values, from 2 to {MAX_RUNS}"))
                .within("steps"))
        }
    };
    let spacing = spacing(table)?;
    let place = node.place;
    let values = range(need("from")?, need("to")?, count, spacing)?;
    Ok(values
        .into_iter()
        .map(|value| Node { value, place })
        .collect())
}
