//! The simulator: the real quiche with real HTTP/3, client and server in one
//! process, in virtual time over links that are functions.
//!
//! ```text
//!   Server ─┐    down: Channel      down: Channel    ┌─ Client     flow 0
//!   Server ─┼────────────────────┬───────────────────┼─ Client     flow 1
//!   Server ─┘     up: Channel    │   up: Channel     └─ Client     ...
//!                          cross traffic
//! ```
//!
//! Every flow is one connection; flows share the links of the path that they take.
//! Time stands while an endpoint computes and jumps to the next event, so a
//! simulation takes the time of its computation and nothing else. The same
//! [`Scenario`] gives the same packets every time.

mod body;
mod channel;
mod cross;
mod download;
mod endpoint;
mod engine;
mod event_queue;
mod fairness;
mod media;
mod meter;
mod metrics;
mod oracle;
mod path;
mod pool;
mod qlog;
mod recovery;
mod running;
mod supply;
mod tls;
mod upload;
mod watch;
mod world;

use anyhow::Result;

use crate::scenario::Scenario;

pub(crate) use channel::{check_trace, uniform};
pub use channel::{Channel, Nanos, PacketOutcome, QueuedPacket};
pub use meter::Delays;
pub use metrics::{CrossReport, FlowReport, LinkReport, Objects, Report, Sample, Video};
pub(crate) use oracle::{check as check_oracles, is_oracle, register};

/// Runs `scenario` to its end.
///
/// # Errors
///
/// A scenario that cannot be, such as an unknown controller or a datagram size
/// below 1200, a trace that cannot be read, or a qlog that cannot be written.
///
/// # Panics
///
/// When a simulation is running on this thread already.
pub fn run(scenario: &Scenario) -> Result<Report> {
    let mut report = engine::run(scenario)?;
    for (flow, own) in scenario.flows.iter().zip(&mut report.flows) {
        own.recovery = recovery::longest(scenario, flow, own);
    }
    Ok(report)
}
