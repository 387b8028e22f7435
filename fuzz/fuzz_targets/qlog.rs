//! A trace of arbitrary bytes is an error or a result, in every way there is to
//! read one.

#![no_main]

use std::io::{Cursor, Write};

use libfuzzer_sys::fuzz_target;
use petra_qlog::check::check;
use petra_qlog::qvis::{rewrite, Detail};
use petra_qlog::stats::Stats;
use petra_qlog::{Live, Trace};

fuzz_target!(|bytes: &[u8]| {
    for detail in [Detail::All, Detail::Drawn] {
        let mut output = Cursor::new(Vec::new());
        if rewrite(bytes, &mut output, &detail).is_ok() {
            // What is written is a trace, every record of it.
            let copy = output.into_inner();
            let mut trace = Trace::open(&copy[..]).expect("the copy has a header");
            while trace.next_event().expect("the copy is whole").is_some() {}
            assert!(trace.end().is_whole());
        }
    }
    let _ = check(bytes);
    let _ = Stats::read(bytes);
    let mut live = Live::new(Cursor::new(Vec::new()));
    let _ = live.write_all(bytes);
    let _ = live.finish();
});
