//! Real traces, whole and broken.

mod arbitrary;
mod check;
mod qvis;
mod read;
#[path = "../../../tests/replay/mod.rs"]
mod replay;
mod sample;
mod stats;
