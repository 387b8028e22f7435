//! Arbitrary streams of a server, to the client's requests.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| petra_fuzz::responses(bytes));
