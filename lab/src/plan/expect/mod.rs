//! Expectations: what a plan says that its results will show.

mod judge;
mod read;
mod selection;

pub(super) use read::{expectations, metric_name};
pub(super) use selection::Names;
pub use selection::Selection;

/// A metric of some of the results, compared with a number or with that of
/// other results.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// The metric's name.
    pub metric: String,
    /// Of which results.
    pub of: Selection,
    /// Relation between the two sides.
    pub relation: Relation,
    /// The other side.
    pub than: Than,
    /// Tolerance of the comparison.
    pub tolerance: Tolerance,
}

/// Relation between two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The first is not smaller.
    AtLeast,
    /// The first is not larger.
    AtMost,
    /// Both are the same.
    About,
}

/// Reference of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub enum Than {
    /// A number in the metric's unit.
    Number(f64),
    /// The same metric of the results that differ from the first as this says.
    Other(Selection),
}

/// Tolerance of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// In the metric's unit.
    Absolute(f64),
    /// As a share of the other side.
    Share(f64),
    /// As far as the 95 % intervals of both sides go.
    Interval,
}
