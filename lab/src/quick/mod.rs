//! Experiments without a file: `petra-lab sim`, `netem` and `demo` are plans that
//! the command line writes. All else is as of `petra-lab run`.
//!
//! ```text
//!   options ── plan ── TOML ── Plan ── RunSet ── results, tables, series
//! ```

mod command;
mod demo;
mod plan;

pub use command::Quick;
pub use demo::Demo;
