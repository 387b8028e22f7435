//! Which results of a plan are meant.

use super::super::fault::{Fault, Place};
use super::super::tree::Node;
use crate::results::Line;

/// Results by their controller, case and places on the axes. What is not said
/// may be anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The controller as the plan calls it.
    pub controller: Option<String>,
    /// Names of axes, or `case`, and what they are to be.
    pub labels: Vec<(String, String)>,
}

/// What an expectation may refer to.
pub(in crate::plan) struct Names<'a> {
    pub(in crate::plan) controllers: &'a [String],
    pub(in crate::plan) cases: &'a [String],
    /// The axes and the labels on them.
    pub(in crate::plan) axes: Vec<(&'a str, Vec<&'a str>)>,
}

impl Names<'_> {
    /// A controller, a case or a place on an axis, as `axis` has them.
    pub(in crate::plan) fn label(
        &self,
        axis: &str,
        key: Place,
        node: &Node,
    ) -> Result<String, Fault> {
        let found = self.axes.iter().find(|(name, _)| *name == axis);
        let known: Vec<&str> = match (axis, found) {
            ("controller", _) => self.controllers.iter().map(String::as_str).collect(),
            ("case", _) => self.cases.iter().map(String::as_str).collect(),
            (_, Some((_, labels))) => labels.clone(),
            (_, None) => {
                let axes: Vec<&str> = self.axes.iter().map(|(name, _)| *name).collect();
                let message = format!(
                    "`{axis}` selects nothing; expected controller, case, or an axis of the \
                     sweep ({})",
                    axes.join(", ")
                );
                return Err(Fault::at(key, message));
            }
        };
        let text = node.to_string();
        match known.contains(&text.as_str()) {
            true => Ok(text),
            false => {
                let expected = format!("one of {}", known.join(", "));
                Err(node.unexpected(&expected).within(axis))
            }
        }
    }

    pub(in crate::plan) fn selection(&self, node: &Node) -> Result<Selection, Fault> {
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
