//! Experiments as data: a plan is a TOML file of what to run, over what to
//! sweep, what to show and what to expect.
//!
//! ```text
//!   NAME.toml ── Tree ── Plan ─┬─ Point ─┬─ Run      a scenario with its seed
//!    extends        sweep,     │  ...    └─ ...      and its key
//!                   case       └─ Point
//! ```
//!
//! A plan is read as a tree of values that know their place in the file.
//! Sweeps and cases put their values into the tree, each with its own place;
//! only then does the tree become a [`Scenario`](crate::scenario::Scenario). So
//! whatever is wrong is told with its line, wherever it was written.

mod axis;
mod case;
mod de;
mod expand;
mod expect;
mod fault;
mod key;
mod number;
mod path;
mod read;
mod scenario;
mod tree;

#[cfg(test)]
mod tests;

pub use expand::{Plan, Point, Run};
pub use expect::{Expectation, Relation, Selection, Than, Tolerance};
