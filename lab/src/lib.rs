//! The laboratory: PETRA and other controllers on simulated and real links.

pub mod backend;
pub mod batch;
pub mod clock;
pub mod compare;
pub mod demo;
pub mod entropy;
pub mod hunt;
pub mod link;
pub mod netem;
pub mod plan;
mod plot;
pub mod qlog;
pub mod report;
pub mod results;
pub mod scenario;
pub mod sim;
pub mod units;

/// A simulation allocates many times per packet; this saves it a tenth of its
/// time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
