//! A part of a plan: the points with certain values.

use std::fmt;
use std::str::FromStr;

use anyhow::{bail, ensure, Error, Result};

use super::Plan;

/// The name under which cases are selected, as axes are under theirs.
const CASE: &str = "case";

/// `NAME=VALUE`: the points with this value on an axis, or of this case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Only {
    name: String,
    value: String,
}

impl FromStr for Only {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() && !value.is_empty() => Ok(Self {
                name: name.to_owned(),
                value: value.to_owned(),
            }),
            _ => {
                bail!("not a part of a plan (got {text:?}); expected NAME=VALUE, as flow.cc=petra")
            }
        }
    }
}

impl fmt::Display for Only {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

/// Returns true if points with this value belong to the part: it has no value of this name, or this
/// one.
fn has(parts: &[Only], name: &str, value: &str) -> bool {
    let mut values = parts.iter().filter(|part| part.name == name).peekable();
    values.peek().is_none() || values.any(|part| part.value == value)
}

/// Values that a message lists at most.
const MAX_LISTED: usize = 8;

fn listed(names: &[&str]) -> String {
    match names {
        [] => "a plan with cases or a sweep".to_owned(),
        all if all.len() <= MAX_LISTED => all.join(", "),
        many => format!(
            "{}, and {} more",
            many[..MAX_LISTED].join(", "),
            many.len() - MAX_LISTED
        ),
    }
}

impl Plan {
    /// The part of the plan with these values: of several for one name, with any of them. What
    /// compares points is left out, as the others may be missing: expectations, known deviations
    /// and printed values.
    ///
    /// # Errors
    ///
    /// A name that is no axis of the plan, or a value that its axis does not have.
    pub fn only(mut self, parts: &[Only]) -> Result<Self> {
        if parts.is_empty() {
            return Ok(self);
        }
        for part in parts {
            self.check(part)?;
        }
        self.points.retain(|point| {
            let mut settings = point.settings.iter();
            let case = point.case.as_deref();
            case.is_none_or(|case| has(parts, CASE, case))
                && settings.all(|(name, value)| has(parts, name, value))
        });
        for axis in &mut self.axes {
            axis.values.retain(|value| has(parts, &axis.name, value));
        }
        self.cases.retain(|case| has(parts, CASE, case));
        let points = &self.points;
        let subject = self.subject;
        let shown = |flow: usize| subject.is_none_or(|subject| subject == flow as u64);
        self.controllers.retain(|name| {
            let flows = points
                .iter()
                .flat_map(|it| it.controllers.iter().enumerate());
            let mut shown = flows.filter(|(flow, _)| shown(*flow));
            shown.any(|(_, controller)| controller == name)
        });
        self.expectations.clear();
        self.known_deviations.clear();
        self.printed = None;
        Ok(self)
    }

    /// Checks that the plan has such a value.
    fn check(&self, part: &Only) -> Result<()> {
        let axes = self
            .axes
            .iter()
            .map(|axis| (axis.name.as_str(), &axis.values));
        let cases = (!self.cases.is_empty()).then_some((CASE, &self.cases));
        let sweeps: Vec<(&str, &Vec<String>)> = axes.chain(cases).collect();
        let Some((_, values)) = sweeps.iter().find(|(name, _)| *name == part.name) else {
            let names: Vec<&str> = sweeps.iter().map(|(name, _)| *name).collect();
            bail!(
                "--only: no such sweep (got {:?}); expected {}",
                part.name,
                listed(&names)
            );
        };
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        ensure!(
            values.contains(&part.value.as_str()),
            "--only: {} has no such value (got {:?}); expected {}",
            part.name,
            part.value,
            listed(&values)
        );
        Ok(())
    }
}
