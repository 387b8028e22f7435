//! Two sets of results, side by side.
//!
//! ```text
//!   A ──┐
//!       ├── Comparison ──┬── text, summary ── the terminal
//!   B ──┘                └── html ── FILE.html
//! ```
//!
//! Compares B with A: how much more it is, and how many times as
//! much.

mod command;
mod html;
mod pairs;
mod summary;
mod text;

pub use command::Compare;
