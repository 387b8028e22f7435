//! Real traces, whole and broken.

mod arbitrary;
mod check;
mod qvis;
mod read;
mod sample;
mod stats;
