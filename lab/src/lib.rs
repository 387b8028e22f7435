//! The laboratory: PETRA and its rivals on links, real and simulated.

pub mod backend;
pub mod batch;
pub mod clock;
pub mod compare;
pub mod demo;
pub mod entropy;
pub mod hunt;
pub mod link;
mod memory;
pub mod netem;
pub mod plan;
mod plot;
pub mod qlog;
pub mod report;
pub mod results;
pub mod scenario;
pub mod sim;
pub mod units;
