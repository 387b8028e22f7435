//! Runs over netem on a machine that may be late.

use std::io::Write;
use std::path::Path;

use serde_json::Value;

/// Returns the record of a run over netem, if the results in `folder` have one.
pub(crate) fn record(folder: &Path, key: &str) -> Option<Value> {
    let json = std::fs::read(folder.join(format!("netem/{key}.json"))).ok()?;
    Some(serde_json::from_slice(&json).unwrap())
}

/// Returns true if the machine kept time in a run, as its record says.
pub(crate) fn kept_time(record: &Value) -> bool {
    record["kept_time"].as_bool().expect("the record says so")
}

/// Says what was not judged, past the test runner, which keeps what a passing test prints.
pub(crate) fn say_skipped(what: &str) {
    let skipped = format!("\nSKIPPED: {what} over netem: this machine did not keep time\n");
    std::io::stderr().write_all(skipped.as_bytes()).unwrap();
}
