//! Arbitrary paths under a connection, whose controller keeps its properties after each event.

#![no_main]

#[path = "../../lab/tests/arbitrary/path.rs"]
mod path;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| path::path(bytes));
