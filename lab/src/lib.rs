//! The laboratory: PETRA and other controllers on simulated and real links.

pub mod backend;
pub mod batch;
pub mod clock;
pub mod compare;
pub mod documented;
pub mod entropy;
pub mod hunt;
pub mod link;
mod memory;
pub mod netem;
mod note;
pub mod plan;
mod plot;
pub mod qlog;
pub mod quick;
pub mod reference;
pub mod report;
pub mod results;
pub mod scenario;
mod shell;
pub mod sim;
pub mod testbed;
pub mod units;
