//! Has the linker send BoringSSL's calls of `RAND_bytes` to
//! `petra_lab::entropy`, which is what makes a simulation repeatable; and
//! hashes the sources that decide what a run measures, so that no result of
//! other sources is taken for one of these.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// From the laboratory's folder: the controllers, quiche, and what of the
/// laboratory is between a scenario and its figures.
const SOURCES: [&str; 14] = [
    "../Cargo.lock",
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
    "src/units",
    "src/units.rs",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg=-Wl,--wrap=RAND_bytes");
    let mut files = Vec::new();
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
        collect(Path::new(source), &mut files);
    }
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        let name = file.to_string_lossy().into_owned();
        let content = fs::read(&file).unwrap_or_else(|error| panic!("{name}: {error}"));
        // With the lengths, so that nothing can pass from one to the next.
        hash.update(format!("{name} {}\n", content.len()));
        hash.update(content);
    }
    let hash = hash.finalize();
    let hex: String = hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=PETRA_LAB_SOURCES={hex}");
}

/// The files of a folder and its folders, or the one file.
fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if !path.is_dir() {
        files.push(path.to_owned());
        return;
    }
    let entries = fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    for entry in entries {
        let entry = entry.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        collect(&entry.path(), files);
    }
}
