//! A part of a plan: the points with certain values.

use std::str::FromStr;

use anyhow::{anyhow, bail, ensure, Error, Result};

use super::{Plan, Point};

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

impl std::fmt::Display for Only {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

impl Only {
    fn selects(&self, point: &Point) -> bool {
        match self.name.as_str() {
            CASE => point.case.as_deref() == Some(self.value.as_str()),
            name => point
                .settings
                .iter()
                .any(|(axis, value)| axis == name && *value == self.value),
        }
    }
}

impl Plan {
    /// The part of the plan with these values: of several for one name, with any of them. What
    /// compares points is left out, as the others may be missing: expectations, known deviations
    /// and printed values.
    ///
    /// # Errors
    ///
    /// A name that is no axis of the plan, a value that its axis does not have, or no point with
    /// all of them.
    pub fn only(mut self, parts: &[Only]) -> Result<Self> {
        if parts.is_empty() {
            return Ok(self);
        }
        for part in parts {
            self.check(part)?;
        }
        let any = |name: &str, point: &Point| {
            let mut parts = parts.iter().filter(|part| part.name == name);
            parts.any(|part| part.selects(point))
        };
        self.points
            .retain(|point| parts.iter().all(|part| any(&part.name, point)));
        ensure!(
            !self.points.is_empty(),
            "{}: no point has all of these values; expected those of a point",
            self.name
        );
        let points = &self.points;
        for axis in &mut self.axes {
            axis.values.retain(|value| {
                let mut settings = points.iter().flat_map(|point| &point.settings);
                settings.any(|(name, other)| *name == axis.name && other == value)
            });
        }
        self.cases
            .retain(|case| points.iter().any(|it| it.case.as_ref() == Some(case)));
        self.controllers
            .retain(|name| points.iter().any(|it| it.controllers.contains(name)));
        self.expectations.clear();
        self.known_deviations.clear();
        self.printed = None;
        Ok(self)
    }

    /// Checks that the plan has such a value.
    fn check(&self, part: &Only) -> Result<()> {
        let mut names: Vec<&str> = self.axes.iter().map(|axis| axis.name.as_str()).collect();
        if !self.cases.is_empty() {
            names.push(CASE);
        }
        let values = match part.name.as_str() {
            CASE => Some(&self.cases).filter(|cases| !cases.is_empty()),
            name => {
                let axis = self.axes.iter().find(|axis| axis.name == name);
                axis.map(|axis| &axis.values)
            }
        };
        let expected = |expected: &[&str]| match expected {
            [] => "a plan with cases or a sweep".to_owned(),
            some => some.join(", "),
        };
        let values = values.ok_or_else(|| {
            anyhow!(
                "--only: {} sweeps no such field (got {:?}); expected {}",
                self.name,
                part.name,
                expected(&names)
            )
        })?;
        let known: Vec<&str> = values.iter().map(String::as_str).collect();
        ensure!(
            known.contains(&part.value.as_str()),
            "--only: {} has no such value of {} (got {:?}); expected {}",
            self.name,
            part.name,
            part.value,
            expected(&known)
        );
        Ok(())
    }
}
