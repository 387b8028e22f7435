//! A tree as a scenario.

use std::path::PathBuf;

use serde::Deserialize;

use super::diagnostic::Diagnostic;
use super::tree::{parse, Entry, Node, Table, Value};
use crate::scenario::Scenario;
use crate::sim;

/// The controllers that a plan has names for.
pub(super) struct Controllers {
    named: Vec<Controller>,
}

/// A controller by the plan's name.
struct Controller {
    name: String,
    /// Name and options of the controller, as passed to quiche.
    cc: String,
    /// Fields of the flow that go with it.
    fields: Vec<Entry>,
}

/// Controllers that have a name in every plan. A plan may give the name to another one.
///
/// quiche's `cubic` fills its window with partial datagrams, and undoes reductions in more cases
/// than RFC 9438, Section 4.9 allows (<https://www.rfc-editor.org/rfc/rfc9438#section-4.9>).
const BUILT_IN: &str = r#"
rfc-cubic = { cc = "cubic", silly_window_avoidance = true, cubic_spurious_undo = true }
"#;

/// The fields of a flow that can go with a controller: what changes its
/// behaviour in quiche.
const FIELDS: [&str; 2] = ["silly_window_avoidance", "cubic_spurious_undo"];

/// A scenario, and the controller of each of its flows as the plan calls it.
pub(super) struct Lowered {
    pub(super) scenario: Scenario,
    /// Of each flow, which `[[flow]]` it is of.
    pub(super) origins: Vec<usize>,
    pub(super) controllers: Vec<String>,
}

/// The most flows of one `[[flow]]`.
const MAX_FLOWS: i64 = 10_000;

impl Controllers {
    /// Reads `[controllers]`.
    pub(super) fn read(table: Option<&Table>) -> Result<Self, Diagnostic> {
        sim::register();
        let none = Controllers { named: Vec::new() };
        let named = none.names_of(parse(BUILT_IN, 0)?.table()?)?;
        let built_in = Controllers { named };
        let mut named = table.map_or(Ok(Vec::new()), |table| built_in.names_of(table))?;
        // The first one of a name counts.
        named.extend(built_in.named);
        Ok(Controllers { named })
    }

    /// Reads names for controllers, which may stand for one of these.
    fn names_of(&self, table: &Table) -> Result<Vec<Controller>, Diagnostic> {
        let named = |entry: &Entry| {
            let named = self.named(entry);
            named.map_err(|fault| fault.within(&entry.key))
        };
        table.entries.iter().map(named).collect()
    }

    /// Returns the name and options of the controller, as passed to quiche, and its fields of a
    /// flow. The name is the plan's or quiche's.
    fn resolve(&self, node: &Node) -> Result<(String, &[Entry]), Diagnostic> {
        let text = node.text()?;
        match self.named.iter().find(|named| named.name == text) {
            Some(named) => Ok((named.cc.clone(), &named.fields)),
            None => Ok((checked(text, node)?.to_owned(), &[])),
        }
    }

    /// `petra`, or `{ cc = "cubic", cubic_spurious_undo = true }`.
    fn named(&self, entry: &Entry) -> Result<Controller, Diagnostic> {
        let (mut cc, mut fields) = (None, Vec::new());
        match &entry.node.value {
            Value::Table(table) => {
                for field in &table.entries {
                    match field.key.as_str() {
                        "cc" => cc = Some(&field.node),
                        key if FIELDS.contains(&key) => fields.push(field.clone()),
                        key => {
                            let known = FIELDS.join(", ");
                            let message = format!(
                                "controller: no such key (got {key}); expected cc, {known}"
                            );
                            return Err(Diagnostic::at(field.key_place, message));
                        }
                    }
                }
            }
            _ => cc = Some(&entry.node),
        }
        let missing = || Diagnostic::at(entry.node.place, "a controller without `cc`");
        let (cc, known) = self.resolve(cc.ok_or_else(missing)?)?;
        Ok(Controller {
            name: entry.key.clone(),
            cc,
            // A field that the plan sets comes last, and counts.
            fields: known.iter().cloned().chain(fields).collect(),
        })
    }
}

/// quiche's other names of bbr2. Results under them would be taken for those of another controller.
const ALIASES: [&str; 2] = ["bbr", "bbr2_gcongestion"];

fn checked<'a>(cc: &'a str, node: &Node) -> Result<&'a str, Diagnostic> {
    let checked = match ALIASES.contains(&cc) {
        true => Err(format!("another name of bbr2 (got {cc}); expected bbr2")),
        false => quiche::congestion_control::check(cc),
    };
    match checked {
        Ok(()) => Ok(cc),
        Err(error) => Err(Diagnostic::at(node.place, error)),
    }
}

/// Makes a scenario of a plan's `link`, `flow` and so on, with seed 1.
///
/// A trace is named from the folder of the file that names it: of these, each
/// file has one.
pub(super) fn lower(
    tree: &Node,
    controllers: &Controllers,
    folders: &[PathBuf],
) -> Result<Lowered, Diagnostic> {
    let mut parts = tree.table()?.clone();
    let (mut names, mut counts) = (Vec::new(), Vec::new());
    for (singular, plural) in [("link", "path"), ("flow", "flows"), ("cross", "cross")] {
        let Some(mut entry) = parts.take(singular) else {
            if singular == "cross" {
                continue;
            }
            let message = format!("plan: no [{singular}] (got none); expected at least one");
            return Err(Diagnostic::at(tree.place, message));
        };
        // One may do without being a list.
        if let Value::Table(_) = entry.node.value {
            entry.node = Node {
                place: entry.node.place,
                value: Value::List(vec![entry.node]),
            };
        }
        if singular == "link" {
            traces(&mut entry.node, folders);
        }
        if singular == "flow" {
            flows(&mut entry.node, controllers, &mut names, &mut counts)?;
        }
        entry.key = plural.to_owned();
        parts.entries.push(entry);
    }
    let node = Node {
        place: tree.place,
        value: Value::Table(parts),
    };
    let mut scenario = Scenario::deserialize(&node)
        .map_err(|fault| fault.rename("path", "link").rename("flows", "flow"))?;
    let flows = scenario.flows.iter().zip(&counts);
    scenario.flows = flows
        .flat_map(|(flow, count)| vec![flow.clone(); *count])
        .collect();
    let repeated = names.iter().zip(&counts);
    Ok(Lowered {
        scenario,
        origins: (0..)
            .zip(&counts)
            .flat_map(|(index, count)| vec![index; *count])
            .collect(),
        controllers: repeated
            .flat_map(|(name, count)| vec![name.clone(); *count])
            .collect(),
    })
}

/// Puts its folder before the name of each trace.
fn traces(node: &mut Node, folders: &[PathBuf]) {
    match &mut node.value {
        Value::List(links) => links.iter_mut().for_each(|link| traces(link, folders)),
        Value::Table(link) => {
            if let Some(up) = link.get_mut("up") {
                traces(up, folders);
            }
            if let Some(trace) = link.get_mut("trace") {
                if let Value::Text(name) = &mut trace.value {
                    let path = folders[trace.place.file].join(&*name);
                    *name = path.to_string_lossy().into_owned();
                }
            }
        }
        _ => {}
    }
}

/// Takes out of each flow what only a plan has: how many there are, the plan's
/// name of the controller, and its options one by one.
fn flows(
    node: &mut Node,
    controllers: &Controllers,
    names: &mut Vec<String>,
    counts: &mut Vec<usize>,
) -> Result<(), Diagnostic> {
    let Value::List(flows) = &mut node.value else {
        return Err(node
            .unexpected("a table or a list of tables")
            .within("flow"));
    };
    for (number, flow) in flows.iter_mut().enumerate() {
        let within = |fault: Diagnostic| fault.within(&number.to_string()).within("flow");
        let Value::Table(table) = &mut flow.value else {
            return Err(within(
                flow.unexpected("a table, such as { cc = \"petra\" }"),
            ));
        };
        let count = match table.take("count").map(|entry| entry.node) {
            None => 1,
            Some(node) => match node.value {
                Value::Integer(count @ 1..=MAX_FLOWS) => count as usize,
                _ => {
                    let fault = node.unexpected("how many such flows there are, 1 to 10000");
                    return Err(within(fault.within("count")));
                }
            },
        };
        counts.push(count);
        let options = table.take("options").map(|entry| entry.node);
        let Some(node) = table.get_mut("cc") else {
            continue;
        };
        names.push(
            node.text()
                .map_err(|fault| within(fault.within("cc")))?
                .to_owned(),
        );
        let resolved = controllers.resolve(node);
        let (mut cc, fields) = resolved.map_err(|fault| within(fault.within("cc")))?;
        if let Some(options) = options {
            let with = with_options(&cc, &options);
            cc = with.map_err(|fault| within(fault.within("options")))?;
        }
        node.value = Value::Text(cc);
        for field in fields {
            table.take(&field.key);
            table.entries.push(field.clone());
        }
    }
    Ok(())
}

/// A controller with more options: `petra` with `{ alpha = 0.8 }`.
fn with_options(cc: &str, options: &Node) -> Result<String, Diagnostic> {
    let mut text = cc.to_owned();
    for option in &options.table()?.entries {
        let comma = if text.contains(':') { ',' } else { ':' };
        text.push_str(&format!("{comma}{}={}", option.key, option.node));
        let checked = checked(&text, &option.node).map(|_| ());
        checked.map_err(|fault| fault.within(&option.key))?;
    }
    Ok(text)
}
