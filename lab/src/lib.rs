//! The laboratory: PETRA and its rivals on links, real and simulated.

pub mod clock;
pub mod demo;
pub mod entropy;
pub mod link;
pub mod netem;
pub mod qlog;
pub mod sim;
pub mod units;
