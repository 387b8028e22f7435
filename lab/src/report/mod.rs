//! Reports: results as one HTML file that is read anywhere.
//!
//! ```text
//!   ResultSet ── Section (one a plan) ──┬── page ── FILE.html
//!   series/      tables, figures        └── plot ── FILE.plots/*.svg, *.pdf, *.png
//! ```
//!
//! A figure is data first; it is drawn once for the page, and as files beside it.

mod bars;
mod command;
mod distribution;
mod exports;
mod frontier;
mod grid;
mod markdown;
mod page;
mod panels;
mod paper;
mod printed;
mod printed_page;
mod printed_tables;
mod ranking;
mod run_groups;
mod section;
mod series;
mod swatch;
mod tables;
mod time_series;
pub(crate) mod words;

pub use command::Report;
pub(crate) use page::document;
pub use paper::Frontier;
