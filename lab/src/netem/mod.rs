//! Real packets over `tc netem`, in network namespaces that exist for one run.
//!
//! ```text
//!   client ─────── near ═══════════ far ─────── server       network namespaces
//!             <- delay line     <- bottleneck                down, the data
//!                  bottleneck ->     delay line ->           up, the ACKs
//! ```
//!
//! netem shapes what leaves an interface, drops before it delays, and counts
//! delayed packets in its queue. So each direction takes two interfaces of the
//! path's routers: one with the rate and the queue, and behind it one with
//! loss, delay and what else happens on the way. A lost packet has used the
//! bottleneck, and the queue holds nothing but what waits.
//!
//! A [`Job`] is one run. It happens in a sandbox of namespaces made by the
//! kernel of this machine or, where that has no netem, by a user-mode Linux;
//! [`inside`], a run builds the network, measures it and starts the pair of
//! programs. When the sandbox ends, the kernel removes all of it.

mod bench;
mod calibration;
mod counters;
mod facts;
mod network;
mod pair;
mod processor;
mod qlog;
mod queue;
mod run;
mod sandbox;
mod series;
mod tc;
mod timekeeping;
mod uml;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{ensure, Result};
use clap::Args;
use serde::{Deserialize, Serialize};

pub use bench::{check, Bench, Measured, Transfer};
pub(crate) use processor::runs_at_a_time;
pub use run::inside;
pub(crate) use tc::KEYS;
pub use uml::boot;

use crate::link::Link;
use crate::sim;
use sandbox::Choice;

/// The programs and the sandbox that netem takes.
#[derive(Args, Clone, Debug, Default)]
pub struct Means {
    /// For netem: where http3-server and http3-client are [default: `examples`
    /// beside this program].
    #[arg(long, value_name = "FOLDER")]
    programs: Option<PathBuf>,
    /// For netem: whose kernel shapes the packets.
    #[arg(long, value_enum, default_value_t)]
    sandbox: Choice,
}

/// Checks that the example server, a program of its own, can have this controller.
///
/// # Errors
///
/// The oracle, which is part of the simulator.
pub(crate) fn check_controller(cc: &str) -> Result<()> {
    ensure!(
        !sim::is_oracle(cc),
        "{cc}: no real link tells its state; expected a controller of quiche or of the plugin, \
         or the simulator, which has the oracle"
    );
    Ok(())
}

/// Complete description of one run, as passed to its sandbox.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// The path that the packets take.
    pub link: Link,
    /// The server's, by its name in quiche, options included.
    pub congestion_control: String,
    /// The length of the body.
    pub bytes: u64,
    /// Latest end of the transfer.
    pub time_limit: Duration,
    /// The program http3-server.
    pub server: PathBuf,
    /// The program http3-client.
    pub client: PathBuf,
    /// In user-mode Linux: the library that gives both programs a clock.
    pub uml_clock: Option<PathBuf>,
}
