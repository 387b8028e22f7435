//! The testbed of real transfers: namespaces of a run, and the programs in them.
//!
//! ```text
//!   sandbox()  all rights in namespaces that end with one command
//!     Testbed  named network namespaces in it, and the commands that made them
//!       Process  a program in one of them, with its priority and its log
//!   Watch      late wake-ups: whether the machine kept time
//! ```
//!
//! [`netem`](crate::netem) lays wires between the namespaces, and interop's link takes the packets
//! itself. The rest of a transfer is the same: a server that listens, a client that ends, and the
//! [qlogs](traces) of both.

mod lateness;
mod namespaces;
mod priority;
mod process;
mod trace;

pub use lateness::{Lateness, Watch};
pub(crate) use namespaces::{in_namespace, output, within, PATH};
pub use namespaces::{sandbox, Program, Testbed};
pub(crate) use priority::schedule;
pub use priority::{Priority, Role};
pub use process::Process;
pub use trace::{statistics, traces};

/// The UDP payload of a full-sized datagram, in bytes: the default of the example server.
pub const MAX_DATAGRAM_SIZE: usize = 1350;
