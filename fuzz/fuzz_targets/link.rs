//! Arbitrary options of links, which are taken or refused.

#![no_main]

#[path = "../../lab/tests/arbitrary/link.rs"]
mod link;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| link::link(bytes));
