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
//! [`Scenario`](crate::scenario::Scenario) gives the same packets every time.

mod agenda;
mod channel;
mod cross;
mod download;
mod endpoint;
mod engine;
mod fairness;
mod media;
mod meter;
mod metrics;
mod oracle;
mod path;
mod pool;
mod qlog;
mod running;
mod supply;
mod tls;
mod upload;
mod watch;
mod world;

pub(crate) use channel::{check_trace, uniform};
pub use channel::{Channel, Fate, Nanos, Parcel};
pub use engine::run;
pub use meter::Delays;
pub use metrics::{CrossReport, FlowReport, LinkReport, Objects, Report, Sample, Video};
pub(crate) use oracle::{check as check_oracles, is_oracle, register};
