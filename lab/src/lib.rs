//! The laboratory: PETRA and its rivals on links, real and simulated.

pub mod backend;
pub mod batch;
pub mod clock;
pub mod compare;
pub mod documented;
pub mod entropy;
pub mod hunt;
pub mod link;
pub mod netem;
pub mod plan;
mod plot;
pub mod qlog;
pub mod quick;
pub mod reference;
pub mod report;
pub mod results;
pub mod scenario;
pub mod sim;
pub mod units;

/// A simulation allocates many times per packet; this saves it a tenth of its
/// time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
