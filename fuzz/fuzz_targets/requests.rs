//! Arbitrary streams of a client, to the server's responses.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| petra_fuzz::requests(bytes));
