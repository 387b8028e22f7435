//! Arbitrary plans, which are taken or refused.

#![no_main]

#[path = "../../lab/tests/arbitrary/plan.rs"]
mod plan;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| plan::plan(bytes));
