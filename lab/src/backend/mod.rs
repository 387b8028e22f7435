//! Backends that carry out a run of a scenario: the simulator or netem.

mod netem;
mod sim;

use std::fmt;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::netem::Means;
use crate::results::Figures;
use crate::scenario::Scenario;

/// The backends by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// The simulator: in virtual time, the same figures every time
    #[default]
    Sim,
    /// Network namespaces and tc netem: in real time
    Netem,
}

/// Measurements of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// In the scenario's order.
    pub flows: Vec<FlowOutcome>,
    /// Other facts about the run, kept with the figures.
    #[serde(skip)]
    pub record: Option<Record>,
}

/// Facts about a run in addition to its figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// All of it.
    pub facts: serde_json::Value,
    /// Reason to doubt the figures, if any.
    pub doubt: Option<String>,
}

/// Measurements of a flow in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowOutcome {
    /// The figures by the names of [`METRICS`](crate::results::METRICS).
    pub figures: Figures,
    /// Reason for which the flow ended early, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The flow over time; only when it was asked for, and not kept with the
    /// figures.
    #[serde(skip)]
    pub series: Vec<crate::sim::Sample>,
}

/// Something that can make runs.
pub trait Runner: Sync {
    /// Makes one run. `stop` is set when nobody waits for it any more.
    ///
    /// # Errors
    ///
    /// Why there is no outcome.
    fn run(&self, scenario: &Scenario, stop: &AtomicBool) -> Result<Outcome>;

    /// Maximum number of concurrent runs.
    fn workers(&self) -> usize;
}

impl Backend {
    /// As command lines, plans and results write it.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Sim => "sim",
            Backend::Netem => "netem",
        }
    }

    /// Makes the backend ready, netem with these means.
    ///
    /// # Errors
    ///
    /// When this machine does not have what it takes.
    pub fn runner(self, means: Option<&Means>) -> Result<Box<dyn Runner>> {
        Ok(match self {
            Backend::Sim => Box::new(sim::Sim),
            Backend::Netem => Box::new(netem::Netem::new(means.cloned().unwrap_or_default())?),
        })
    }

    /// Checks that the backend supports this scenario, on a machine with its requirements.
    ///
    /// # Errors
    ///
    /// The unsupported feature, and the supported ones.
    pub fn accepts(self, scenario: &Scenario) -> Result<()> {
        match self {
            Backend::Sim => sim::accepts(scenario),
            Backend::Netem => netem::accepts(scenario),
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
