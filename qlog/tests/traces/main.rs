//! Real traces, whole and broken.

mod arbitrary;
mod check;
mod qvis;
mod sample;
mod stats;
