//! Key of a run: a short text that identifies its figures.

use std::fs;

use anyhow::{Context, Result};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::results::Versions;
use crate::scenario::Scenario;

/// The key of `scenario` run by `backend`, seed included.
///
/// # Errors
///
/// As [`canonical`].
pub(super) fn key(scenario: &Scenario, backend: &str, versions: &Versions) -> Result<String> {
    hash(&(canonical(scenario)?, backend, versions))
}

/// The scenario as it is on every machine: of a trace the content counts, not
/// the place.
///
/// # Errors
///
/// When a trace cannot be read.
pub(super) fn canonical(scenario: &Scenario) -> Result<Scenario> {
    let mut scenario = scenario.clone();
    let links = scenario.path.iter_mut();
    for direction in links.flat_map(|link| [&mut link.down, &mut link.up]) {
        if let Some(trace) = &mut direction.trace {
            let content = fs::read(&trace)
                .with_context(|| format!("cannot read the trace {}", trace.display()))?;
            *trace = hex(Sha256::digest(content)).into();
        }
    }
    Ok(scenario)
}

/// A hash of what `value` is in JSON, which is the same on every machine.
pub(super) fn hash(value: &impl Serialize) -> Result<String> {
    Ok(hex(Sha256::digest(serde_json::to_vec(value)?)))
}

/// The first 128 bits.
fn hex(hash: impl AsRef<[u8]>) -> String {
    let bytes = hash.as_ref().iter().take(16);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}
