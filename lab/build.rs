//! Has the linker send BoringSSL's calls of `RAND_bytes` to
//! `petra_lab::entropy`, which is what makes a simulation repeatable; and
//! hashes the sources that decide what a run measures, so that no result of
//! other sources is taken for one of these.

use std::path::Path;

use petra_lab_fingerprint::{dependencies, Fingerprint};

/// From the laboratory's folder: the controllers, HTTP/3, quiche, and what of the
/// laboratory is between a scenario and its figures.
const SOURCES: [&str; 15] = [
    "../http3/src",
    "../src",
    "../vendor/quiche/src",
    "src/clock.rs",
    "src/entropy.rs",
    "src/link",
    "src/link.rs",
    "src/netem",
    "src/results/metrics.rs",
    "src/scenario",
    "src/scenario.rs",
    "src/sim",
    "src/testbed",
    "src/units",
    "src/units.rs",
];

const LOCK: &str = "../Cargo.lock";

/// The crates that a run's packets and figures come from.
const CRATES: [&str; 5] = ["boring", "boring-sys", "libm", "quiche", "rand_pcg"];

fn main() {
    println!("cargo::rustc-link-arg=-Wl,--wrap=RAND_bytes");
    let mut fingerprint = Fingerprint::default();
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
        let added = fingerprint.add(Path::new(source));
        added.unwrap_or_else(|error| panic!("{error:#}"));
    }
    println!("cargo::rerun-if-changed={LOCK}");
    let lock = std::fs::read_to_string(LOCK).unwrap_or_else(|error| panic!("{LOCK}: {error}"));
    let crates = dependencies(&lock, &CRATES).unwrap_or_else(|error| panic!("{error:#}"));
    fingerprint.add_text("Cargo.lock", &crates);
    println!("cargo::rustc-env=PETRA_LAB_SOURCES={}", fingerprint.hex());
}
