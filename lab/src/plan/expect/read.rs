//! Expectations as plans write them.

use super::super::diagnostic::Diagnostic;
use super::super::tree::{Entry, Node, Value};
use super::{Expectation, Names, Relation, Selection, Than, Tolerance};
use crate::results::{present_metric, METRICS};

const RELATIONS: [(&str, Relation); 3] = [
    ("at_least", Relation::AtLeast),
    ("at_most", Relation::AtMost),
    ("about", Relation::About),
];

/// Reads all `[[expect]]`.
pub(in crate::plan) fn expectations(
    node: &Node,
    names: &Names,
) -> Result<Vec<Expectation>, Diagnostic> {
    let items = node.list()?.iter().enumerate();
    let read = |(number, node): (usize, &Node)| {
        let expectation = expectation(node, names);
        expectation.map_err(|fault| fault.within(&number.to_string()).within("expect"))
    };
    items.map(read).collect()
}

fn expectation(node: &Node, names: &Names) -> Result<Expectation, Diagnostic> {
    let (mut metric, mut of, mut sides) = (None, Selection::default(), Vec::new());
    let mut tolerance = Tolerance::Absolute(0.0);
    for entry in &node.table()?.entries {
        let Entry { key, node, .. } = entry;
        let within = |fault: Diagnostic| fault.within(key);
        match key.as_str() {
            "metric" => metric = Some(metric_name(node).map_err(within)?),
            "of" => of = names.selection(node).map_err(within)?,
            "tolerance" => tolerance = read_tolerance(node).map_err(within)?,
            _ => {
                let Some((_, relation)) = RELATIONS.iter().find(|(name, _)| name == key) else {
                    let message = format!(
                        "expectation: no such key (got {key}); expected metric, of, at_least, \
                         at_most, about, tolerance"
                    );
                    return Err(Diagnostic::at(entry.key_place, message));
                };
                let than = match &node.value {
                    Value::Integer(_) | Value::Float(_) => Than::Number(node.number()?),
                    Value::Table(_) => Than::Other(names.selection(node).map_err(within)?),
                    _ => {
                        let expected = "a number, or other results, such as \
                                        { controller = \"reno\" }";
                        return Err(within(node.unexpected(expected)));
                    }
                };
                sides.push((*relation, than));
            }
        }
    }
    let missing =
        |what| move || Diagnostic::at(node.place, format!("an expectation without {what}"));
    let metric = metric.ok_or_else(missing("`metric`"))?;
    if sides.len() > 1 {
        let message = "only one of at_least, at_most and about in one expectation";
        return Err(Diagnostic::at(node.place, message));
    }
    let (relation, than) = sides
        .pop()
        .ok_or_else(missing("at_least, at_most or about"))?;
    if matches!(&than, Than::Other(other) if other.adds_nothing_to(&of)) {
        let message = "an expectation that compares results with themselves; expected another \
                       controller, case or place on an axis than in `of`";
        return Err(Diagnostic::at(node.place, message));
    }
    Ok(Expectation {
        metric,
        of,
        relation,
        than,
        tolerance,
    })
}

/// A text that is a metric's name.
pub(in crate::plan) fn metric_name(node: &Node) -> Result<String, Diagnostic> {
    let metric = present_metric(node.text()?);
    metric.map(|it| it.name.to_owned()).ok_or_else(|| {
        let known: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
        node.unexpected(&format!("one of {}", known.join(", ")))
    })
}

fn read_tolerance(node: &Node) -> Result<Tolerance, Diagnostic> {
    let expected = "a number in the metric's unit, a percentage, such as \"5%\", or \"interval\"";
    let tolerance = match &node.value {
        Value::Text(text) if text == "interval" => Some(Tolerance::Interval),
        Value::Text(text) => text
            .strip_suffix('%')
            .and_then(|number| number.trim().parse().ok())
            .map(|percent: f64| Tolerance::Share(percent / 100.0)),
        _ => node.number().ok().map(Tolerance::Absolute),
    };
    match tolerance {
        Some(Tolerance::Absolute(number) | Tolerance::Share(number)) if number < 0.0 => None,
        tolerance => tolerance,
    }
    .ok_or_else(|| node.unexpected(expected))
}
