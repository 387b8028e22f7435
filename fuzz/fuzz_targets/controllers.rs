//! Arbitrary events through the controllers, which keep their properties after each.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| petra_fuzz::controllers(bytes));
