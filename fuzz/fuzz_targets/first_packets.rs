//! Arbitrary datagrams to a server that accepts connections.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| petra_fuzz::first_packets(bytes));
