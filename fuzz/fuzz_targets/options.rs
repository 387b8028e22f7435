//! Arbitrary options of the controllers, which are taken or refused.

#![no_main]

use libfuzzer_sys::fuzz_target;

// The other targets and tests use the rest.
#[allow(dead_code)]
#[path = "../../tests/arbitrary/mod.rs"]
mod arbitrary;
#[allow(dead_code)]
#[path = "../../tests/transport/mod.rs"]
mod transport;

fuzz_target!(|bytes: &[u8]| arbitrary::options(bytes));
