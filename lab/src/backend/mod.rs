//! What makes a run of a scenario: the simulator or netem.

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

/// What a run measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// In the scenario's order.
    pub flows: Vec<FlowOutcome>,
    /// What else the backend knows of the run; kept beside the figures.
    #[serde(skip)]
    pub record: Option<Record>,
}

/// What a backend knows of a run beside its figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// All of it.
    pub facts: serde_json::Value,
    /// What makes the figures doubtful, if anything.
    pub doubt: Option<String>,
}

/// What a run measured of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowOutcome {
    /// The figures by the names of [`METRICS`](crate::results::METRICS).
    pub figures: Figures,
    /// Why the flow ended before its time, if it did.
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

    /// How many runs at the same time are good for it, at the most.
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

    /// Whether the backend can make a run of this scenario, on a machine that
    /// has what it takes.
    ///
    /// # Errors
    ///
    /// What it cannot do, and what it can.
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
