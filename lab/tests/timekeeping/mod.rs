//! Runs over netem on a machine that may be late, or cannot have them.

use std::io::Write;
use std::path::Path;

use petra_lab::netem::Means;
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

/// Returns false if this machine has netem in user-mode Linux alone, which does not run on its
/// processor. Says so then.
pub(crate) fn has_netem() -> bool {
    let lack = Means::default().check_sandbox().err();
    let lacks = lack.is_some_and(|it| it.to_string().contains("the registers of AMX"));
    if lacks {
        say("a test over netem: user-mode Linux does not run on this processor");
    }
    !lacks
}

/// Says what was not judged.
pub(crate) fn say_skipped(what: &str) {
    say(&format!(
        "{what} over netem: this machine did not keep time"
    ));
}

/// Says what is skipped, past the test runner, which keeps what a passing test prints.
fn say(what: &str) {
    let skipped = format!("\nSKIPPED: {what}\n");
    std::io::stderr().write_all(skipped.as_bytes()).unwrap();
}
