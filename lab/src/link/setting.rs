//! A key of a direction on the command line, where its value is one word.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{present_key, Aggregate, Direction, GilbertElliott, Handover, LossEvery, Lte, Policer};
use crate::documented::{Documented, Field};

/// The fields of a key whose value is a table, `mean=10mbit,deviation=0.5`.
pub(super) fn table_fields(key: &str) -> Option<&'static [Field]> {
    match key {
        "lte" => Some(Lte::FIELDS),
        "policer" => Some(Policer::FIELDS),
        "burst" => Some(GilbertElliott::FIELDS),
        "loss_every" => Some(LossEvery::FIELDS),
        "aggregate" => Some(Aggregate::FIELDS),
        "handover" => Some(Handover::FIELDS),
        _ => None,
    }
}

/// A key of a direction and its value, as a plan has it.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    key: &'static str,
    value: Value,
}

impl Setting {
    /// Of a text that the key understands; of steps and outages, one.
    pub(super) fn of(key: &'static str, text: &str) -> Result<Self, String> {
        let value = match key {
            "steps" => Value::from([step(text)?]),
            "outages" => Value::from([outage(text)?]),
            "trace" => Value::from(text),
            key if table_fields(key).is_some() => table(text)?,
            _ => scalar(text),
        };
        let alone = Value::from(Map::from_iter([(key.to_owned(), value.clone())]));
        match Direction::deserialize(&alone) {
            Ok(_) => Ok(Setting { key, value }),
            Err(error) => Err(with_keys(error.to_string(), key, text)),
        }
    }

    /// Of the form `key=value`.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let form = || format!("`{text}` is not understood; expected KEY=VALUE, such as delay=30ms");
        let (key, value) = text.split_once('=').ok_or_else(form)?;
        let key = present_key(key.trim());
        let known = Direction::FIELDS.iter().find(|field| field.name == key);
        let unknown = || {
            let names: Vec<&str> = Direction::FIELDS.iter().map(|field| field.name).collect();
            format!(
                "no such key (got {key}); expected one of {}",
                names.join(", ")
            )
        };
        let key = known.ok_or_else(unknown)?.name;
        Setting::of(key, value.trim()).map_err(|error| format!("{key}: {error}"))
    }

    /// Puts it into a table; to a list it adds.
    pub(super) fn put(&self, table: &mut Map<String, Value>) {
        match (table.get_mut(self.key), &self.value) {
            (Some(Value::Array(items)), Value::Array(more)) => items.extend(more.iter().cloned()),
            _ => drop(table.insert(self.key.to_owned(), self.value.clone())),
        }
    }
}

/// The error, with the keys of the table where serde does not list them.
fn with_keys(error: String, key: &str, text: &str) -> String {
    match table_fields(key).filter(|_| error.starts_with("missing field")) {
        None => error,
        Some(fields) => {
            let keys = fields
                .iter()
                .map(|it| format!("{} ({})", it.name, it.values()));
            let keys: Vec<String> = keys.collect();
            format!(
                "{error} (got {text}); expected KEY=VALUE,... of {}",
                keys.join(", ")
            )
        }
    }
}

/// `at=20s,delay=30ms`, or for a rate `20s=2mbit`.
fn step(text: &str) -> Result<Value, String> {
    match text.split_once('=') {
        Some((at, rate)) if at.trim() != "at" => table(&format!("at={at},rate={rate}")),
        Some(_) => table(text),
        None => Err(format!(
            "`{text}` is not understood; expected a step, such as 20s=2mbit or at=20s,delay=30ms"
        )),
    }
}

/// `10s+500ms`.
fn outage(text: &str) -> Result<Value, String> {
    let form = || format!("`{text}` is not understood; expected an outage, such as 10s+500ms");
    let (at, lasts) = text.split_once('+').ok_or_else(form)?;
    table(&format!("at={at},lasts={lasts}"))
}

/// `mean=10mbit,deviation=0.5`.
fn table(text: &str) -> Result<Value, String> {
    let mut table = Map::new();
    for option in text.split(',') {
        let form =
            || format!("`{option}` is not understood; expected KEY=VALUE with commas between");
        let (key, value) = option.split_once('=').ok_or_else(form)?;
        let key = key.trim();
        if table.insert(key.to_owned(), scalar(value)).is_some() {
            return Err(format!("duplicate key (got {key}); expected each key once"));
        }
    }
    Ok(table.into())
}

/// A number or a switch as TOML has it, else a text.
fn scalar(text: &str) -> Value {
    let text = text.trim();
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    match (text.parse::<bool>(), text.parse::<i64>(), number(text)) {
        (Ok(switch), ..) => switch.into(),
        (_, Ok(whole), _) => whole.into(),
        (.., Some(number)) => number.into(),
        _ => text.into(),
    }
}
