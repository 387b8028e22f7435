//! Plans that somebody mistyped.

use petra_lab::plan::Plan;

/// Reads a plan, which is taken or refused with a reason.
pub(crate) fn plan(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match Plan::of_text("fuzz", text) {
        Ok(plan) => assert!(!plan.hash().unwrap().is_empty()),
        Err(error) => assert!(!format!("{error:#}").is_empty()),
    }
}
