//! The simulator: the real quiche with real HTTP/3, client and server in one
//! process, in virtual time over a link that is a function.
//!
//! ```text
//!   Server ─┐            down: Channel            ┌─ Client     flow 0
//!   Server ─┼──────────────────────────────────── ┼─ Client     flow 1
//!   Server ─┘             up: Channel             └─ Client     ...
//! ```
//!
//! Every flow is one connection with one download; all flows share the link.
//! Time stands while an endpoint computes and jumps to the next event, so a
//! simulation takes the time of its computation and nothing else. The same
//! [`Scenario`] gives the same packets every time.

mod agenda;
mod channel;
mod command;
mod endpoint;
mod engine;
mod http;
mod metrics;
mod output;
mod pool;
mod qlog;
mod tls;
mod world;

pub use channel::{Channel, Fate, Nanos};
pub use command::Sim;
pub use engine::run;
pub use metrics::{Delays, FlowReport, Report, Sample};
