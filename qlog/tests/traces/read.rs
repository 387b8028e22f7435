//! All readers of traces, as the fuzz target has them.

use std::io::{Cursor, Write};

use petra_qlog::check::check;
use petra_qlog::qvis::{fit, rewrite, Detail, Size};
use petra_qlog::stats::Stats;
use petra_qlog::{Live, Trace};

/// Reads the bytes in every way there is.
pub(crate) fn read(bytes: &[u8]) {
    for detail in [Detail::All, Detail::Drawn] {
        let mut output = Cursor::new(Vec::new());
        if let Ok(summary) = rewrite(bytes, &mut output, &detail) {
            // What is written is right, or was not right to begin with.
            let copy = output.into_inner();
            assert_eq!(copy.len() as u64, summary.size.bytes);
            let mut trace = Trace::open(&copy[..]).unwrap();
            while trace.next_event().unwrap().is_some() {}
            assert!(trace.end().is_whole());
        }
    }
    let _ = check(bytes);
    let _ = Stats::read(bytes);
    let mut live = Live::new(Cursor::new(Vec::new()));
    let _ = live.write_all(bytes);
    let _ = live.finish();
    let file = || tempfile::tempfile().unwrap();
    let budget = Size {
        bytes: 2_000,
        packets: 20,
    };
    let _ = fit(bytes, budget, &mut file(), &mut file());
}
