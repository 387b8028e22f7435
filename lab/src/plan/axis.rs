//! Sweeps: what a plan runs over.

use super::fault::{Fault, Place};
use super::number::{range, Spacing};
use super::path::Path;
use super::tree::{Entry, Node, Table, Value};

/// One direction of a sweep: one or more fields, and at each place of the axis
/// a value for each.
pub(super) struct Axis {
    pub(super) name: String,
    pub(super) fields: Vec<(Path, Place)>,
    pub(super) stops: Vec<Stop>,
}

/// A place on an axis.
pub(super) struct Stop {
    pub(super) label: String,
    /// In the order of the axis's fields.
    pub(super) values: Vec<Node>,
}

/// The key of a table of fields that names its places.
const NAME: &str = "name";

/// The most places on one axis, and the most points of a plan.
pub(super) const MOST: usize = 1_000_000;

/// Reads `[sweep]`.
pub(super) fn axes(sweep: &Table) -> Result<Vec<Axis>, Fault> {
    let axis =
        |entry: &Entry| axis(entry).map_err(|fault| fault.within(&entry.key).within("sweep"));
    sweep.entries.iter().map(axis).collect()
}

fn axis(entry: &Entry) -> Result<Axis, Fault> {
    let axis = match &entry.node.value {
        Value::Table(fields) if fields.get("from").is_none() => together(entry, fields)?,
        _ => {
            let values = values(&entry.node)?;
            let stop = |value: Node| Stop {
                label: value.to_string(),
                values: vec![value],
            };
            Axis {
                name: entry.key.clone(),
                fields: vec![(Path::new(&entry.key, entry.key_place)?, entry.key_place)],
                stops: values.into_iter().map(stop).collect(),
            }
        }
    };
    for (number, stop) in axis.stops.iter().enumerate() {
        if axis.stops[..number]
            .iter()
            .any(|other| other.label == stop.label)
        {
            let place = stop
                .values
                .first()
                .map_or(entry.node.place, |value| value.place);
            return Err(Fault::at(place, format!("`{}` stands twice", stop.label)));
        }
    }
    Ok(axis)
}

/// Several fields that change together.
fn together(entry: &Entry, table: &Table) -> Result<Axis, Fault> {
    let (mut fields, mut columns, mut names) = (Vec::new(), Vec::<Vec<Node>>::new(), None);
    for field in &table.entries {
        if field.key == NAME {
            let texts = field.node.list()?.iter();
            let texts = texts.map(|name| Ok(name.text()?.to_owned()));
            names = Some((&field.node, texts.collect::<Result<Vec<_>, Fault>>()?));
            continue;
        }
        let column = values(&field.node).map_err(|fault| fault.within(&field.key))?;
        if let Some(first) = columns.first().filter(|first| first.len() != column.len()) {
            let message = format!(
                "{} values; those before have {}, and they change together",
                column.len(),
                first.len()
            );
            return Err(Fault::at(field.node.place, message).within(&field.key));
        }
        fields.push((Path::new(&field.key, field.key_place)?, field.key_place));
        columns.push(column);
    }
    let Some(count) = columns.first().map(Vec::len) else {
        let message = "no field to sweep over; expected the path of one or more, such as \
                       \"link.rate\" = [\"2mbit\", \"4mbit\"]";
        return Err(Fault::at(entry.key_place, message));
    };
    if let Some((node, names)) = names.as_ref().filter(|(_, names)| names.len() != count) {
        let message = format!("{} names for {count} values", names.len());
        return Err(Fault::at(node.place, message).within(NAME));
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
        }
    };
    Ok(Axis {
        name: entry.key.clone(),
        fields,
        stops: (0..count).map(stop).collect(),
    })
}

/// A list, or a range: `{ from = "0%", to = "2%", steps = 5 }`.
fn values(node: &Node) -> Result<Vec<Node>, Fault> {
    let values =
        match &node.value {
            Value::List(items) => items.clone(),
            Value::Table(table) if table.get("from").is_some() => ranged(node, table)?,
            _ => return Err(node.unexpected(
                "a list of values, or a range, such as { from = \"0%\", to = \"2%\", steps = 5 }",
            )),
        };
    if values.is_empty() {
        return Err(Fault::at(
            node.place,
            "a sweep over nothing; a list has at least one value",
        ));
    }
    Ok(values)
}

fn ranged(node: &Node, table: &Table) -> Result<Vec<Node>, Fault> {
    const KEYS: [&str; 4] = ["from", "to", "steps", "spacing"];
    if let Some(entry) = table
        .entries
        .iter()
        .find(|entry| !KEYS.contains(&entry.key.as_str()))
    {
        let message = format!("a range has no `{}`; it has {}", entry.key, KEYS.join(", "));
        return Err(Fault::at(entry.key_place, message));
    }
    let need = |key: &str| {
        let missing = || Fault::at(node.place, format!("a range without `{key}`"));
        table.get(key).ok_or_else(missing)
    };
    let steps = need("steps")?;
    let count = match steps.value {
        Value::Integer(count @ 2..) if count as usize <= MOST => count as usize,
        _ => {
            return Err(steps
                .unexpected("a number of values, at least 2")
                .within("steps"))
        }
    };
    let spacing = match table.get("spacing").map(|node| (node, node.to_string())) {
        None => Spacing::Linear,
        Some((_, text)) if text == "linear" => Spacing::Linear,
        Some((_, text)) if text == "log" => Spacing::Log,
        Some((node, _)) => return Err(node.unexpected("linear or log").within("spacing")),
    };
    let place = node.place;
    let values = range(need("from")?, need("to")?, count, spacing)?;
    Ok(values
        .into_iter()
        .map(|value| Node { value, place })
        .collect())
}
