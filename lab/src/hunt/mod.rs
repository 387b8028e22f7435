//! Searches: for the scenario in which a plan's expectations fail most, and for the
//! options with which a controller does best. And scenarios at random, without a search.
//!
//! ```text
//!   Space ── draw ── NAME-drawn.toml                    petra-lab draw
//!   Space ── search ── shrink ── NAME-found.toml        petra-lab hunt
//!               │         │
//!             Trials ─────┴── Bench ── journal.jsonl    every run once
//!                               │
//!   options ── search ──────────┴── frontier            petra-lab tune
//! ```
//!
//! The search knows nothing of plans: it has numbers from 0 to 1, and a score. Of several
//! machines each searches an island, whose runs the journal of the whole takes over.

mod bench;
mod command;
mod draw;
mod islands;
mod score;
mod search;
mod shrink;
mod trials;
mod tune;
mod vary;

pub use command::Hunt;
pub use draw::Draw;
pub use tune::Tune;
