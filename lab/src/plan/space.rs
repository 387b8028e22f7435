//! Spaces of scenarios: plans that leave open what happens in a run.
//!
//! ```text
//!   NAME.toml ── Space ── Spot ─┬─ Plan       as if the values had been written there
//!    [space]     fields   one   └─ text       of such a plan
//! ```

mod check;

use std::path::{Path, PathBuf};

use anyhow::{ensure, Context, Result};
use rand_pcg::Pcg64;

use super::axis::spacing;
use super::diagnostic::{Diagnostic, Position, Sources};
use super::number::Span;
use super::path;
use super::read::Document;
use super::tree::{self, Entry, Node, Table, Value};
use super::{write, Plan};
use crate::sim::uniform;

/// Digits of the numbers that are drawn.
const DIGITS: usize = 2;

/// The key of the limit on named features.
const MAX_FEATURES_KEY: &str = "features";

/// A plan, and the fields that it leaves open.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    file: PathBuf,
    sources: Sources,
    root: Table,
    features: Vec<Feature>,
    /// Named features at the same time, at most.
    most: Option<usize>,
}

/// Fields that are there together.
#[derive(Clone, Debug)]
struct Feature {
    /// The name of what may be absent.
    name: Option<String>,
    fields: Vec<Field>,
}

#[derive(Clone, Debug)]
struct Field {
    path: path::Path,
    key: Position,
    place: Position,
    values: Values,
}

#[derive(Clone, Debug)]
enum Values {
    Range(Span),
    List(Vec<Node>),
}

/// A choice that a search has, as a number from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gene {
    /// Near numbers are near values.
    Number,
    /// They are not.
    Choice,
}

/// A value of each field, in the order of the space's features; `None` of a feature
/// that is absent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spot(Vec<Option<Vec<Pick>>>);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Pick {
    /// In the range's unit.
    Number(f64),
    /// The place in a list.
    Item(usize),
}

impl Space {
    /// Reads the plan at `path` with its space.
    ///
    /// # Errors
    ///
    /// As [`Self::find`], or that there is no space.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        Self::find(path)?.with_context(|| {
            format!(
                "{}: a plan without a space; expected [space] with the paths of fields and their \
                 ranges",
                path.display()
            )
        })
    }

    /// Reads the plan at `path`; `None` if it has no space.
    ///
    /// # Errors
    ///
    /// A fault of the space; [`Self::check`] finds those of the rest.
    pub(crate) fn find(path: &Path) -> Result<Option<Self>> {
        let Document { sources, mut root } = Document::read(path)?;
        let Some(entry) = root.take("space") else {
            return Ok(None);
        };
        let read = features(&entry.node).map_err(|fault| fault.within("space"));
        let (features, most) = read.map_err(|fault| sources.explain(&fault))?;
        Ok(Some(Space {
            file: path.to_owned(),
            features,
            most,
            sources,
            root,
        }))
    }

    /// The number of fields that it leaves open.
    pub(crate) fn len(&self) -> usize {
        self.features.iter().map(|it| it.fields.len()).sum()
    }

    /// The choices that a spot takes.
    pub(crate) fn genes(&self) -> Vec<Gene> {
        let mut genes: Vec<Gene> = self.most.iter().map(|_| Gene::Number).collect();
        for feature in &self.features {
            genes.extend(feature.name.iter().map(|_| Gene::Choice));
            genes.extend(feature.fields.iter().map(|field| match field.values {
                Values::Range(_) => Gene::Number,
                Values::List(_) => Gene::Choice,
            }));
        }
        genes
    }

    /// The spot of these choices, each from 0 to 1. With a limit on the features, the first
    /// choice is their number, and those with the largest choices are there.
    pub(crate) fn spot(&self, genes: &[f64]) -> Spot {
        let mut genes = genes.iter().copied();
        let mut gene = || genes.next().unwrap_or(0.0).clamp(0.0, 1.0);
        let count = self.most.map(|most| item(gene(), most + 1));
        let mut drawn: Vec<(f64, Vec<Pick>)> = Vec::new();
        for feature in &self.features {
            // What has no name is always there.
            let choice = feature.name.as_ref().map_or(f64::INFINITY, |_| gene());
            let picks = feature.fields.iter().map(|it| it.pick(gene()));
            drawn.push((choice, picks.collect()));
        }
        let choices = drawn.iter().map(|(choice, _)| *choice);
        let least = match count {
            Some(count) => least_of(count, choices.filter(|it| it.is_finite())),
            None => 0.5,
        };
        let there = |(choice, picks): (f64, Vec<Pick>)| (choice >= least).then_some(picks);
        Spot(drawn.into_iter().map(there).collect())
    }

    /// A spot at random.
    pub(crate) fn draw(&self, random: &mut Pcg64) -> Spot {
        let genes: Vec<f64> = self.genes().iter().map(|_| uniform(random)).collect();
        self.spot(&genes)
    }

    /// The names of the features that a spot has.
    pub(crate) fn names<'a>(&'a self, spot: &'a Spot) -> impl Iterator<Item = &'a str> {
        let features = self.features.iter().zip(&spot.0);
        features.filter_map(|(feature, picks)| picks.as_ref().and(feature.name.as_deref()))
    }

    /// The paths of all fields, each once.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        for field in self.features.iter().flat_map(|it| &it.fields) {
            let path = field.path.text();
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths
    }

    /// Returns the scenarios one step simpler than `spot`, largest step first: without one of its
    /// features, with an earlier item of a list, or with a rounder number.
    pub(crate) fn simpler(&self, spot: &Spot) -> Vec<Spot> {
        let mut steps = Vec::new();
        for (index, feature) in self.features.iter().enumerate() {
            if feature.name.is_some() && spot.0[index].is_some() {
                let mut step = spot.clone();
                step.0[index] = None;
                steps.push(step);
            }
        }
        for (index, picks) in spot.0.iter().enumerate() {
            for (number, pick) in picks.iter().flatten().enumerate() {
                for simple in self.features[index].fields[number].simpler(*pick) {
                    let mut step = spot.clone();
                    if let Some(picks) = &mut step.0[index] {
                        picks[number] = simple;
                    }
                    steps.push(step);
                }
            }
        }
        steps
    }

    /// The fields that a spot sets, and their values.
    pub(crate) fn settings(&self, spot: &Spot) -> Vec<(String, String)> {
        let chosen = self.chosen(spot);
        chosen
            .map(|(field, pick)| (field.path.text(), field.node(pick).to_string()))
            .collect()
    }

    /// A spot in one line, the same for the same scenario.
    pub(crate) fn words(&self, spot: &Spot) -> String {
        let settings = self.settings(spot).into_iter();
        let words: Vec<String> = settings
            .map(|(path, value)| format!("{path} = {value}"))
            .collect();
        words.join(", ")
    }

    fn chosen<'a>(&'a self, spot: &'a Spot) -> impl Iterator<Item = (&'a Field, Pick)> {
        let features = self.features.iter().zip(&spot.0);
        features
            .flat_map(|(feature, picks)| feature.fields.iter().zip(picks.iter().flatten().copied()))
    }

    /// The plan at a spot.
    ///
    /// # Errors
    ///
    /// What is wrong with the plan, or only with this spot.
    pub(crate) fn plan(&self, spot: &Spot) -> Result<Plan> {
        let root = self.filled(spot);
        let root = root.map_err(|fault| self.sources.explain(&fault))?;
        Plan::of(&root, self.sources.clone(), &self.file)
    }

    /// The text of the plan at a spot, with these entries in place of its own.
    ///
    /// # Errors
    ///
    /// As [`Self::plan`].
    pub(crate) fn text(&self, spot: &Spot, entries: &str) -> Result<String> {
        let whole = || {
            let Value::Table(over) = tree::parse(entries, 0)?.value else {
                unreachable!("TOML is a table");
            };
            let mut root = over.over(self.filled(spot)?);
            // The file goes elsewhere, its traces stay.
            absolute(&mut root, self.folder());
            Ok(write::text(&root))
        };
        whole().map_err(|fault: Diagnostic| self.sources.explain(&fault))
    }

    /// The text of a plan with these spots as its cases, under these names, and with these
    /// entries in place of its own.
    ///
    /// # Errors
    ///
    /// That the plan has cases of its own.
    pub(crate) fn cases(&self, spots: &[(String, Spot)], entries: toml::Table) -> Result<String> {
        ensure!(
            self.root.get("case").is_none(),
            "{}: a space with cases (got [[case]]); expected a plan without, because each \
             scenario that is drawn becomes one",
            self.file.display()
        );
        let mut root = self.root.clone();
        absolute(&mut root, self.folder());
        let mut root = write::table(&root);
        root.extend(entries);
        let case = |(name, spot): &(String, Spot)| {
            let set = self.chosen(spot).map(|(field, pick)| {
                let (path, mut node) = (field.path.text(), field.node(pick));
                let is_trace = path.rsplit('.').next() == Some("trace");
                walk(&mut node, is_trace, self.folder());
                (path, write::value(&node))
            });
            let set: toml::Table = set.collect();
            let entries = [("name", name.clone().into()), ("set", set.into())];
            let entries = entries.map(|(key, value)| (key.to_owned(), value));
            toml::Value::Table(entries.into_iter().collect())
        };
        let cases: Vec<toml::Value> = spots.iter().map(case).collect();
        root.insert("case".to_owned(), cases.into());
        Ok(root.to_string())
    }

    fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new(""))
    }

    fn filled(&self, spot: &Spot) -> Result<Table, Diagnostic> {
        let mut root = Node {
            place: Position {
                file: 0,
                start: 0,
                end: 0,
            },
            value: Value::Table(self.root.clone()),
        };
        for (field, pick) in self.chosen(spot) {
            let set = field.path.set(&mut root, field.key, &field.node(pick));
            set.map_err(|fault| fault.within("space"))?;
        }
        match root.value {
            Value::Table(root) => Ok(root),
            _ => unreachable!("a path leads into a table"),
        }
    }
}

/// Names traces from everywhere.
fn absolute(table: &mut Table, folder: &Path) {
    for entry in &mut table.entries {
        walk(&mut entry.node, entry.key == "trace", folder);
    }
}

fn walk(node: &mut Node, trace: bool, folder: &Path) {
    match &mut node.value {
        Value::Text(text) if trace => {
            let path = folder.join(&text);
            let path = path.canonicalize().unwrap_or(path);
            *text = path.to_string_lossy().into_owned();
        }
        Value::List(items) => items.iter_mut().for_each(|item| walk(item, trace, folder)),
        Value::Table(table) => absolute(table, folder),
        _ => {}
    }
}

impl Field {
    fn pick(&self, gene: f64) -> Pick {
        match &self.values {
            Values::Range(span) => Pick::Number(span.round(span.at(gene), DIGITS)),
            Values::List(items) => Pick::Item(item(gene, items.len())),
        }
    }

    fn node(&self, pick: Pick) -> Node {
        let value = match (pick, &self.values) {
            (Pick::Item(item), Values::List(items)) => return items[item].clone(),
            (Pick::Number(number), Values::Range(span)) => span.value(number),
            _ => unreachable!("a pick is of its field"),
        };
        Node {
            value,
            place: self.place,
        }
    }

    /// Simpler values, the simplest first.
    fn simpler(&self, pick: Pick) -> Vec<Pick> {
        match (pick, &self.values) {
            (Pick::Item(item), _) => (0..item).map(Pick::Item).collect(),
            (Pick::Number(number), Values::Range(span)) => {
                let rounder = [power(number), one_two_five(number), span.round(number, 1)];
                let mut simple: Vec<Pick> = Vec::new();
                // Not back to what is less round, and not out of the range.
                for rounder in rounder.into_iter().take_while(|it| *it != number) {
                    let pick = Pick::Number(rounder);
                    if span.round(rounder, DIGITS) == rounder && !simple.contains(&pick) {
                        simple.push(pick);
                    }
                }
                simple
            }
            _ => unreachable!("a pick is of its field"),
        }
    }
}

/// The place of a choice, from 0 to 1, among `count` items.
fn item(gene: f64, count: usize) -> usize {
    ((gene * count as f64) as usize).min(count - 1)
}

/// The least of the `count` largest numbers; infinity of none.
fn least_of(count: usize, numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(|a, b| b.total_cmp(a));
    numbers.truncate(count);
    numbers.last().copied().unwrap_or(f64::INFINITY)
}

/// The nearest power of ten, by ratio.
fn power(number: f64) -> f64 {
    nearest(number, &[1.0, 10.0])
}

/// The nearest of 1, 2, 5, 10 and so on, by ratio.
fn one_two_five(number: f64) -> f64 {
    nearest(number, &[1.0, 2.0, 5.0, 10.0])
}

fn nearest(number: f64, steps: &[f64]) -> f64 {
    if number <= 0.0 {
        return number;
    }
    let decade = 10f64.powf(number.log10().floor());
    let distance = |step: &f64| (number / (step * decade)).ln().abs();
    let step = steps
        .iter()
        .min_by(|a, b| distance(a).total_cmp(&distance(b)));
    // In decimal, so that 5 x 0.1 is 0.5.
    let near = step.unwrap_or(&1.0) * decade;
    format!("{near:.3e}").parse().unwrap_or(near)
}

/// Reads `[space]`: a field by its path, which is always there, or a table of fields
/// under a name, which are there together or not at all. The limit on named features, too.
fn features(space: &Node) -> Result<(Vec<Feature>, Option<usize>), Diagnostic> {
    let mut features: Vec<Feature> = Vec::new();
    let mut most = None;
    for entry in &space.table()?.entries {
        let within = |fault: Diagnostic| fault.within(&entry.key);
        if entry.key == MAX_FEATURES_KEY {
            most = match entry.node.value {
                Value::Integer(number) if number > 0 => usize::try_from(number).ok(),
                _ => {
                    let expected = "a whole number from 1, of features at the same time";
                    return Err(within(entry.node.unexpected(expected)));
                }
            };
            continue;
        }
        let (name, fields) = match &entry.node.value {
            Value::Table(table) if table.get("from").is_none() => {
                let fields = table
                    .entries
                    .iter()
                    .map(field)
                    .collect::<Result<Vec<_>, _>>();
                (Some(entry.key.clone()), fields.map_err(within)?)
            }
            _ => (None, vec![field(entry)?]),
        };
        if fields.is_empty() {
            let message = "a feature without fields; expected the path of one or more, such as \
                           \"link.jitter\" = { from = \"1ms\", to = \"50ms\" }";
            return Err(within(Diagnostic::at(entry.node.place, message)));
        }
        features.push(Feature { name, fields });
    }
    if features.is_empty() {
        return Err(Diagnostic::at(
            space.place,
            "a space of nothing; expected fields",
        ));
    }
    Ok((features, most))
}

fn field(entry: &Entry) -> Result<Field, Diagnostic> {
    let within = |fault: Diagnostic| fault.within(&entry.key);
    let node = &entry.node;
    let values = match &node.value {
        Value::List(items) if !items.is_empty() => Values::List(items.clone()),
        Value::Table(range) => Values::Range(span(node, range).map_err(within)?),
        _ => {
            let expected = "a list of values, or a range, such as { from = \"1ms\", to = \"1s\", \
                            spacing = \"log\" }";
            return Err(within(node.unexpected(expected)));
        }
    };
    Ok(Field {
        path: path::Path::new(&entry.key, entry.key_place)?,
        key: entry.key_place,
        place: node.place,
        values,
    })
}

fn span(node: &Node, range: &Table) -> Result<Span, Diagnostic> {
    const KEYS: [&str; 3] = ["from", "to", "spacing"];
    let unknown = |entry: &&Entry| !KEYS.contains(&entry.key.as_str());
    if let Some(entry) = range.entries.iter().find(unknown) {
        let message = format!(
            "range: no such key (got {}); expected {}",
            entry.key,
            KEYS.join(", ")
        );
        return Err(Diagnostic::at(entry.key_place, message));
    }
    let need = |key: &str| {
        let missing = || Diagnostic::at(node.place, format!("a range without `{key}`"));
        range.get(key).ok_or_else(missing)
    };
    Span::new(need("from")?, need("to")?, spacing(range)?)
}
