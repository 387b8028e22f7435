//! Results of plans: what a run measured, as rows that say how to repeat it.
//!
//! ```text
//!   Backend ── Outcome ── journal.jsonl ──┐
//!                                         ├── Row ── NAME.csv, NAME.parquet
//!   Plan ─────────────────────────────────┤
//!                                         └── Manifest ── NAME.json
//! ```
//!
//! A [`Row`] is one flow of one run. A [`Manifest`] is what a table needs to
//! know of its rows: title, axes, metrics to show, expectations and how they
//! came out. [`ResultSet::read`] reads a folder of them back.

mod csv;
mod effect;
mod file;
mod frames;
mod known_deviation;
mod manifest;
mod metrics;
#[cfg(feature = "parquet")]
mod parquet;
mod printed;
mod row;
mod set;
mod statistics;
mod table;
mod welch;

pub use csv::{read_csv, write_csv};
pub use effect::{effects, switches, Effect, Effects};
pub(crate) use file::check_target;
pub use file::write_whole;
pub use frames::Frames;
pub use known_deviation::KnownDeviation;
pub use manifest::{Axis, Comparison, Manifest, PlanFile, Verdict, Versions};
pub(crate) use metrics::{figures, parse_metric, present_metric};
pub use metrics::{metric, Figures, Metric, Sense, METRICS};
#[cfg(feature = "parquet")]
pub use parquet::write_parquet;
pub use petra_qlog::stats::quantile;
pub use printed::{Column, Printed};
pub use row::{Cell, Row};
pub use set::{ResultSet, Results};
pub use statistics::Summary;
pub(crate) use table::labels;
pub use table::{Line, Table};
pub use welch::{difference, order, ratio, Estimate, Order};
