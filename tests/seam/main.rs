//! The controllers inside quiche, on connections in memory.

mod adapter;
mod pair;
mod selection;
