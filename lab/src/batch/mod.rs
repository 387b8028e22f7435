//! Runs plans: every run once, on all cores, whatever interrupts it.
//!
//! ```text
//!   Plan ──┐                    ┌─ journal.jsonl ─────────┐
//!          ├─ RunSet ── work ───┤                         ├── publish ── NAME.csv ...
//!   Plan ──┘   shard I of N     └─ shard-I-of-N.jsonl ────┘
//!                                         merge
//! ```
//!
//! The set has each run once, by its key, however many plans want it. A
//! finished run is a line of a journal at once. The results of a plan are made
//! of the journal when all its runs are there, and only then.

mod artifacts;
mod command;
mod journal;
mod manner;
mod merge;
mod publish;
mod run_set;
mod series;
mod shard;
mod show;
mod work;

pub use command::{Check, Merge, Run};
pub use journal::{Entry, Journal};
pub(crate) use manner::Manner;
pub use manner::Unmet;
pub(crate) use publish::results;
pub(crate) use run_set::RunSet;
pub use shard::Shard;
pub(crate) use work::{interrupted, Progress};
