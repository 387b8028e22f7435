//! Experiments as data.
