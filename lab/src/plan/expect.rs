//! Expectations: what a plan says that its results will show.

use super::fault::Fault;
use super::tree::{Entry, Node, Value};
use crate::results::{metric, Comparison, Line, Results, Summary, Table, Verdict, METRICS};

/// A metric of some of the results, compared with a number or with that of
/// other results.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// The metric's name.
    pub metric: String,
    /// Of which results.
    pub of: Selection,
    /// How the two sides are to compare.
    pub relation: Relation,
    /// The other side.
    pub than: Than,
    /// How far it may be off.
    pub tolerance: Tolerance,
}

/// Results by their controller, case and places on the axes. What is not said
/// may be anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The controller as the plan calls it.
    pub controller: Option<String>,
    /// Names of axes, or `case`, and what they are to be.
    pub labels: Vec<(String, String)>,
}

/// How two sides are to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The first is not smaller.
    AtLeast,
    /// The first is not larger.
    AtMost,
    /// Both are the same.
    About,
}

/// What something is compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum Than {
    /// A number in the metric's unit.
    Number(f64),
    /// The same metric of the results that differ from the first as this says.
    Other(Selection),
}

/// How far a comparison may be off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// In the metric's unit.
    Absolute(f64),
    /// As a share of the other side.
    Share(f64),
    /// As far as the 95 % intervals of both sides go.
    Interval,
}

/// What an expectation may refer to.
pub(super) struct Names<'a> {
    pub(super) controllers: &'a [String],
    pub(super) cases: &'a [String],
    /// The axes and the labels on them.
    pub(super) axes: Vec<(&'a str, Vec<&'a str>)>,
}

const RELATIONS: [(&str, Relation); 3] = [
    ("at_least", Relation::AtLeast),
    ("at_most", Relation::AtMost),
    ("about", Relation::About),
];

/// Reads all `[[expect]]`.
pub(super) fn expectations(node: &Node, names: &Names) -> Result<Vec<Expectation>, Fault> {
    let items = node.list()?.iter().enumerate();
    let read = |(number, node): (usize, &Node)| {
        let expectation = expectation(node, names);
        expectation.map_err(|fault| fault.within(&number.to_string()).within("expect"))
    };
    items.map(read).collect()
}

fn expectation(node: &Node, names: &Names) -> Result<Expectation, Fault> {
    let (mut metric, mut of, mut sides) = (None, Selection::default(), Vec::new());
    let mut tolerance = Tolerance::Absolute(0.0);
    for entry in &node.table()?.entries {
        let Entry { key, node, .. } = entry;
        let within = |fault: Fault| fault.within(key);
        match key.as_str() {
            "metric" => metric = Some(metric_name(node).map_err(within)?),
            "of" => of = names.selection(node).map_err(within)?,
            "tolerance" => tolerance = read_tolerance(node).map_err(within)?,
            _ => {
                let Some((_, relation)) = RELATIONS.iter().find(|(name, _)| name == key) else {
                    let message = format!(
                        "an expectation has no `{key}`; it has metric, of, at_least, at_most, \
                         about, tolerance"
                    );
                    return Err(Fault::at(entry.key_place, message));
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
    let missing = |what| move || Fault::at(node.place, format!("an expectation without {what}"));
    let metric = metric.ok_or_else(missing("`metric`"))?;
    if sides.len() > 1 {
        let message = "only one of at_least, at_most and about in one expectation";
        return Err(Fault::at(node.place, message));
    }
    let (relation, than) = sides
        .pop()
        .ok_or_else(missing("at_least, at_most or about"))?;
    Ok(Expectation {
        metric,
        of,
        relation,
        than,
        tolerance,
    })
}

/// A text that is a metric's name.
pub(super) fn metric_name(node: &Node) -> Result<String, Fault> {
    let name = node.text()?;
    if metric(name).is_none() {
        let known: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
        return Err(node.unexpected(&format!("one of {}", known.join(", "))));
    }
    Ok(name.to_owned())
}

fn read_tolerance(node: &Node) -> Result<Tolerance, Fault> {
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

impl Names<'_> {
    fn selection(&self, node: &Node) -> Result<Selection, Fault> {
        let mut selection = Selection::default();
        for entry in &node.table()?.entries {
            let text = entry.node.to_string();
            let axis = self.axes.iter().find(|(name, _)| *name == entry.key);
            let known: Vec<&str> = match (entry.key.as_str(), axis) {
                ("controller", _) => self.controllers.iter().map(String::as_str).collect(),
                ("case", _) => self.cases.iter().map(String::as_str).collect(),
                (_, Some((_, labels))) => labels.clone(),
                (key, None) => {
                    let axes: Vec<&str> = self.axes.iter().map(|(name, _)| *name).collect();
                    let message = format!(
                        "`{key}` selects nothing; expected controller, case, or an axis of the \
                         sweep ({})",
                        axes.join(", ")
                    );
                    return Err(Fault::at(entry.key_place, message));
                }
            };
            if !known.contains(&text.as_str()) {
                let expected = format!("one of {}", known.join(", "));
                return Err(entry.node.unexpected(&expected).within(&entry.key));
            }
            match entry.key.as_str() {
                "controller" => selection.controller = Some(text),
                key => selection.labels.push((key.to_owned(), text)),
            }
        }
        Ok(selection)
    }
}

impl Expectation {
    /// Compares what there is to compare.
    pub fn judge(&self, results: &Results) -> Verdict {
        let table = Table::new(results, &self.metric);
        let mut comparisons = Vec::new();
        for line in table.lines.iter().filter(|line| self.of.takes(line)) {
            for (controller, cell) in table.controllers.iter().zip(&line.cells) {
                let chosen = self.of.controller.as_ref();
                let Some(value) = cell.filter(|_| chosen.is_none_or(|name| name == controller))
                else {
                    continue;
                };
                if let Some(other) = self.than.find(&table, line, controller) {
                    let row = match chosen {
                        Some(_) => line.name(),
                        None => format!("{controller}, {}", line.name()),
                    };
                    comparisons.push(self.compare(row, value, other));
                }
            }
        }
        Verdict {
            expected: self.words(),
            metric: self.metric.clone(),
            holds: !comparisons.is_empty() && comparisons.iter().all(|it| it.holds),
            comparisons,
        }
    }

    fn compare(&self, row: String, value: Summary, other: Summary) -> Comparison {
        let interval = |summary: Summary| summary.interval.unwrap_or(0.0);
        let tolerance = match self.tolerance {
            Tolerance::Absolute(number) => number,
            Tolerance::Share(share) => share * other.mean.abs(),
            Tolerance::Interval => interval(value).hypot(interval(other)),
        };
        let difference = value.mean - other.mean;
        Comparison {
            row,
            value: value.mean,
            reference: other.mean,
            tolerance,
            holds: match self.relation {
                Relation::AtLeast => difference >= -tolerance,
                Relation::AtMost => difference <= tolerance,
                Relation::About => difference.abs() <= tolerance,
            },
        }
    }

    fn words(&self) -> String {
        let relation = match self.relation {
            Relation::AtLeast => "at least",
            Relation::AtMost => "at most",
            Relation::About => "about",
        };
        let than = match &self.than {
            Than::Number(number) => number.to_string(),
            Than::Other(selection) => format!("that of {}", selection.words()),
        };
        let tolerance = match self.tolerance {
            Tolerance::Absolute(0.0) => String::new(),
            Tolerance::Absolute(number) => format!(", give or take {number}"),
            Tolerance::Share(share) => format!(", give or take {} %", 100.0 * share),
            Tolerance::Interval => ", or within the intervals".to_owned(),
        };
        let Self { metric, of, .. } = self;
        format!("{metric} of {} is {relation} {than}{tolerance}", of.words())
    }
}

impl Selection {
    fn takes(&self, line: &Line) -> bool {
        self.labels.iter().all(|label| line.labels.contains(label))
    }

    fn words(&self) -> String {
        let controller = self.controller.iter().cloned();
        let labels = self
            .labels
            .iter()
            .map(|(name, label)| format!("{name} {label}"));
        let words: Vec<String> = controller.chain(labels).collect();
        if words.is_empty() {
            "every controller".to_owned()
        } else {
            words.join(", ")
        }
    }
}

impl Than {
    /// The other side of a comparison whose first side is `controller`'s cell
    /// of `line`.
    fn find(&self, table: &Table, line: &Line, controller: &str) -> Option<Summary> {
        let selection = match self {
            Than::Number(number) => return Summary::new(&[*number]),
            Than::Other(selection) => selection,
        };
        let mut labels = line.labels.clone();
        for (name, label) in &mut labels {
            if let Some((_, other)) = selection.labels.iter().find(|(other, _)| other == name) {
                label.clone_from(other);
            }
        }
        let line = table.lines.iter().find(|line| line.labels == labels)?;
        let controller = selection.controller.as_deref().unwrap_or(controller);
        let column = table
            .controllers
            .iter()
            .position(|name| name == controller)?;
        line.cells[column]
    }
}
