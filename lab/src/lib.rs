//! The laboratory: PETRA and other controllers on simulated and real links.
//!
//! ```text
//!  command line ─ quick ─┐                ┌─ sim ───┐
//!                        ▼                │         ▼
//!  plan.toml ────────▶ plan ─▶ batch ─▶ backend   results ─▶ report, compare, plot
//!                        ▲      ▲         │         ▲
//!                       hunt ───┘         └─ netem ─┘
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`plan`], [`quick`] | experiments as data: a TOML file, or what the command line writes |
//! | [`scenario`], [`link`], [`units`] | one run: its flows, its links, and quantities with units |
//! | [`batch`] | all runs of a plan, each once, on all cores, with resumption |
//! | [`backend`] | the two ways to carry out a run |
//! | [`sim`], [`clock`], [`entropy`] | quiche and HTTP/3 in virtual time, with seeded randomness |
//! | [`netem`], [`testbed`] | programs over `tc netem`, in network namespaces |
//! | [`results`] | metrics of runs as rows, in CSV, JSON and Parquet |
//! | [`report`], `plot`, [`compare`] | pages, figures, and two sets of results side by side |
//! | [`hunt`] | searches for scenarios that fail, and for options that do best |
//! | [`qlog`] | `petra-lab qlog`: traces |
//! | [`documented`], [`mod@reference`] | the keys of a plan: help and page from one doc comment |

pub mod backend;
pub mod batch;
pub mod clock;
pub mod compare;
pub mod documented;
pub mod entropy;
pub mod hunt;
pub mod link;
mod memory;
pub mod netem;
mod note;
pub mod plan;
mod plot;
pub mod qlog;
pub mod quick;
pub mod reference;
pub mod report;
pub mod results;
pub mod scenario;
mod shell;
pub mod sim;
pub mod testbed;
pub mod units;
