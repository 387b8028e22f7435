//! A trace of arbitrary bytes is an error or a result, in every way there is to read one.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| petra_fuzz::qlog(bytes));
