//! Runs in virtual time.

use std::sync::atomic::AtomicBool;
use std::thread;

use anyhow::Result;

use super::{FlowOutcome, Outcome, Runner};
use crate::results::figures;
use crate::scenario::Scenario;
use crate::sim;

/// The simulator, which is ready at any time.
pub(super) struct Sim;

/// Can the simulator make such a run? It can make any, but for an oracle on a shared path.
pub(super) fn accepts(scenario: &Scenario) -> Result<()> {
    sim::check_oracles(scenario)
}

impl Runner for Sim {
    fn run(&self, scenario: &Scenario, _stop: &AtomicBool) -> Result<Outcome> {
        let report = sim::run(scenario)?;
        let flow = |flow: &sim::FlowReport| FlowOutcome {
            figures: figures(flow, &report),
            failure: flow.failure.clone(),
            series: flow.samples.clone(),
        };
        Ok(Outcome {
            flows: report.flows.iter().map(flow).collect(),
            record: None,
        })
    }

    fn workers(&self) -> usize {
        thread::available_parallelism().map_or(1, usize::from)
    }
}
