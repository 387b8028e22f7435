//! Selection of a plan's results.

use super::super::diagnostic::{Diagnostic, Position};
use super::super::tree::Node;
use crate::results::{Axis, Line};

/// Results by their controller, case and places on the axes. What is not said
/// may be anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The controller as the plan calls it.
    pub controller: Option<String>,
    /// Names of axes, or `case`, and what they are to be.
    pub labels: Vec<(String, String)>,
}

/// Names that an expectation may refer to.
pub(in crate::plan) struct Names<'a> {
    pub(in crate::plan) controllers: &'a [String],
    pub(in crate::plan) cases: &'a [String],
    pub(in crate::plan) axes: &'a [Axis],
}

impl Names<'_> {
    /// A controller, a case or a place on an axis, as `axis` has them.
    pub(in crate::plan) fn label(
        &self,
        axis: &str,
        key: Position,
        node: &Node,
    ) -> Result<String, Diagnostic> {
        // An axis of controllers has columns and no lines: they go by their names.
        let mut lines = self.axes.iter().filter(|axis| !axis.controllers);
        let known = match axis {
            "controller" => self.controllers,
            "case" => self.cases,
            _ => match lines.clone().find(|it| it.name == axis) {
                Some(found) => &found.values,
                None => {
                    let axes: Vec<&str> = lines.by_ref().map(|axis| axis.name.as_str()).collect();
                    let message = format!(
                        "`{axis}` selects nothing; expected controller, case, or an axis of the \
                         sweep over something else than controllers ({})",
                        axes.join(", ")
                    );
                    return Err(Diagnostic::at(key, message));
                }
            },
        };
        let text = node.to_string();
        match known.contains(&text) {
            true => Ok(text),
            false => {
                let expected = format!("one of {}", known.join(", "));
                Err(node.unexpected(&expected).within(axis))
            }
        }
    }

    pub(in crate::plan) fn selection(&self, node: &Node) -> Result<Selection, Diagnostic> {
        let mut selection = Selection::default();
        for entry in &node.table()?.entries {
            let text = self.label(&entry.key, entry.key_place, &entry.node)?;
            match entry.key.as_str() {
                "controller" => selection.controller = Some(text),
                key => selection.labels.push((key.to_owned(), text)),
            }
        }
        Ok(selection)
    }
}

impl Selection {
    /// Returns true if it includes all results of `other`, so that there is nothing to compare.
    pub(super) fn adds_nothing_to(&self, other: &Selection) -> bool {
        let controller = self.controller.is_none() || self.controller == other.controller;
        controller && self.labels.iter().all(|label| other.labels.contains(label))
    }

    pub(super) fn takes(&self, line: &Line) -> bool {
        self.labels.iter().all(|label| line.labels.contains(label))
    }

    pub(super) fn words(&self) -> String {
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
