//! Arbitrary options of the controllers, which are taken or refused.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| petra_fuzz::options(bytes));
