//! `petra-lab reference`: every key of a plan and every metric, in Markdown.

use std::io::{self, Write};

use anyhow::Result;
use clap::Args;
use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::{json, Map, Value};

use crate::documented::{Documented, Field};
use crate::link::{
    option_name, Aggregate, Direction, GilbertElliott, Handover, LossEvery, Lte, Outage, Policer,
    Step,
};
use crate::netem;
use crate::plan::PLAN;
use crate::results::{Column, Frames, Printed, METRICS};
use crate::scenario::{CrossTraffic, FlowKeys, Media, Scenario, Web};

/// Print the page of reference, docs/reference.md: every key of a plan with its values
/// and its default, and every metric with its meaning.
#[derive(Args, Clone, Debug)]
pub struct Reference {}

const HEAD: &str = "# Reference

Every key of a [plan](laboratory.md) and every [metric](#metrics), as `petra-lab reference` prints
them; a test holds this page to it. A key without a default has to be there.

| values | written | range |
|---|---|---|
| rate | `400kbit`, `10mbit`, `2.5gbit` (bits per second) | `1bit` to `1000000gbit` |
| duration | `10ns`, `250us`, `45ms`, `60s`, `2min`, `1h` | 0 to 366 days |
| share | `0.5%` or `0.005` | 0 to `100%`, which a `1` is not |
| size | `1500B`, `64kB`, `200MB`, `1GB`, `64KiB`, `1MiB` | |
| queue | bandwidth-delay products, `1bdp`; a size; a duration, `80ms` | more than 0 |
| number, whole number | `0.5`, `16` | from 0 |
";

const LINK: &str = "
## `[link]` and `[link.up]`

The way of the data has any of these keys, and the way back (`[link.up]`, `--up KEY=VALUE`) too.
Rate, delay and queue are the same on the way back if it says nothing; all else is absent there.
`petra-lab sim` and `netem` have `--rate 10mbit`, `--delay 45ms` and `--loss 0.5%` if nothing is
said. What [netem](netem.md) does not make is refused before it runs.
";

const METRICS_HEAD: &str = "
## Metrics

The names of `metrics`, of expectations and of the columns of results. Reports have the titles and
the meanings. [simulator.md](simulator.md#what-is-measured) has details.

";

impl Reference {
    /// Prints the page.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn execute(&self) -> Result<()> {
        Ok(io::stdout().lock().write_all(page()?.as_bytes())?)
    }
}

/// The page.
///
/// # Errors
///
/// A struct that is not written as it is read.
pub fn page() -> Result<String> {
    let mut page = HEAD.to_owned();
    page += "\n## A plan\n\n";
    page += &head(&["key", "values", "default", ""]);
    for (name, values, default, about) in PLAN {
        page += &row(&[&code(name), values, default, about]);
    }
    let run = json!({"path": [], "flows": []});
    // A plan calls these otherwise, or has them above.
    let others = ["path", "flows", "cross", "seed", "qlog"];
    page += &rows::<Scenario>(&run, &others)?;
    page += &row(&[
        "`link`",
        "table, or list of tables",
        "",
        "One link, or several in a row, in the order in which the data passes them.",
    ]);
    page += &row(&[
        "`flow`",
        "table, or list of tables",
        "",
        "The connections that share the path.",
    ]);
    page += &row(&[
        "`cross`",
        "table, or list of tables",
        "none",
        "What else is on the path.",
    ]);
    page += LINK;
    page += "\n";
    page += &head(&["key", "option", "values", "default", "netem", ""]);
    let defaults = defaults::<Direction>(&json!({}))?;
    for field in Direction::FIELDS {
        let option = format!("`--{}`", option_name(field));
        let netem = match netem::KEYS.contains(&field.name) {
            true => "yes",
            false => "no",
        };
        let default = default(field, &defaults, false);
        page += &row(&[
            &code(field.name),
            &option,
            field.values(),
            &default,
            netem,
            &field.about(),
        ]);
    }
    page += &section::<Step>("An item of `steps`", json!({"at": "1s"}))?;
    page += &section::<Outage>("An item of `outages`", json!({"at": "1s", "lasts": "1s"}))?;
    page += &section::<Lte>("`lte`", json!({"mean": "1mbit"}))?;
    page += &section::<Policer>("`policer`", json!({"rate": "1mbit", "burst": "2kB"}))?;
    let burst = json!({"to_bad": "1%", "to_good": "1%"});
    page += &section::<GilbertElliott>("`burst`", burst)?;
    page += &section::<LossEvery>("`loss_every`", json!({"packets": 2, "burst": 1}))?;
    page += &section::<Aggregate>("`aggregate`", json!({"packets": 1, "at_most": "1s"}))?;
    let handover = json!({"every": "2s", "gap": "1s", "delay": "1s"});
    page += &section::<Handover>("`handover`", handover)?;
    page += &section::<FlowKeys>("`[[flow]]`", json!({"cc": "reno"}))?;
    page += &row(&[
        "`count`",
        "whole number",
        "`1`",
        "How many such flows there are, 1 to 10000.",
    ]);
    page += &row(&[
        "`options`",
        "table",
        "empty",
        "The controller's options, one by one, for sweeps.",
    ]);
    page += &section::<Web>("`web` of a flow", json!({"size": "1kB", "think": "1s"}))?;
    page += &section::<Media>("`media` of a flow", json!({"rate": "1mbit"}))?;
    page += &section::<CrossTraffic>("`[[cross]]`", json!({"rate": "1mbit"}))?;
    page += &section::<Frames>("`frames`", json!({"to": "1s"}))?;
    let printed = json!({"title": "", "metric": "", "columns": []});
    page += &section::<Printed>("`printed`", printed)?;
    let column = json!({"reference": "", "name": "", "controller": ""});
    page += &section::<Column>("A column of `printed`", column)?;
    page += METRICS_HEAD;
    page += &head(&["metric", "title", "unit", "meaning"]);
    for metric in METRICS {
        let meaning = metric.meaning();
        page += &row(&[&code(metric.name), metric.title, metric.unit, &meaning]);
    }
    Ok(page)
}

/// A table of all keys; `least` is what has to be said.
fn section<T: Written>(title: &str, least: Value) -> Result<String> {
    let head = head(&["key", "values", "default", ""]);
    let rows = rows::<T>(&least, &[])?;
    Ok(format!("\n## {title}\n\n{head}{rows}"))
}

fn rows<T: Written>(least: &Value, without: &[&str]) -> Result<String> {
    let defaults = defaults::<T>(least)?;
    let fields = T::FIELDS
        .iter()
        .filter(|field| !without.contains(&field.name));
    let row = |field: &Field| {
        let default = default(field, &defaults, least.get(field.name).is_some());
        row(&[&code(field.name), field.values(), &default, &field.about()])
    };
    Ok(fields.map(row).collect())
}

/// The keys of text formats that the program documents.
trait Written: Documented + Serialize + DeserializeOwned {}

impl<T: Documented + Serialize + DeserializeOwned> Written for T {}

/// The text of a value with only the required parts.
fn defaults<T: Written>(least: &Value) -> Result<Map<String, Value>> {
    let value = serde_json::to_value(T::deserialize(least)?)?;
    Ok(value.as_object().cloned().unwrap_or_default())
}

fn default(field: &Field, defaults: &Map<String, Value>, needed: bool) -> String {
    match defaults.get(field.name) {
        _ if needed => String::new(),
        Some(Value::String(text)) if text == "0ns" => code("0s"),
        Some(Value::String(text)) if text.is_empty() => "empty".to_owned(),
        Some(Value::String(text)) => code(text),
        Some(value) => code(&value.to_string()),
        None => field.blank().to_owned(),
    }
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn head(cells: &[&str]) -> String {
    row(cells) + &"|---".repeat(cells.len()) + "|\n"
}

fn row(cells: &[&str]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With `UPDATE_PAGES` in the environment it writes the page instead.
    #[test]
    fn the_committed_page_is_what_the_program_prints() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference.md");
        let printed = page().unwrap();
        if std::env::var_os("UPDATE_PAGES").is_some() {
            std::fs::write(file, &printed).unwrap();
        }
        let committed = std::fs::read_to_string(file).unwrap();
        assert!(
            committed == printed,
            "docs/reference.md: out of date; expected the output of \
             `UPDATE_PAGES=1 cargo test -p petra-lab --lib reference::`"
        );
    }

    #[test]
    fn a_key_with_its_default_is_as_without_it() {
        let defaults = defaults::<Direction>(&json!({})).unwrap();
        for field in Direction::FIELDS {
            let text = default(field, &defaults, false);
            let text = text.trim_matches('`');
            if text == "none" {
                continue;
            }
            let number = text.parse::<i64>().map(Value::from);
            let switch = text.parse::<bool>().map(Value::from);
            let value = number.or(switch).unwrap_or_else(|_| text.into());
            let said = Value::from(Map::from_iter([(field.name.to_owned(), value)]));
            let direction: Direction = serde_json::from_value(said).unwrap();
            assert_eq!(direction, Direction::default(), "{}", field.name);
        }
    }
}
