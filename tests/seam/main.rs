//! The controllers inside quiche, on connections in memory.

mod adapter;
mod migration;
mod pair;
mod selection;
