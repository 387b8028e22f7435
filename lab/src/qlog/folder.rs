//! Traces in folders.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{ensure, Context, Result};
use petra_qlog::QVIS_SUFFIX;

/// Endings of compressions, the first of which is none.
const COMPRESSIONS: [&str; 3] = ["", ".gz", ".zst"];

/// Is it the name of a copy for qvis?
pub(super) fn is_copy(path: &Path) -> bool {
    ends(path, QVIS_SUFFIX)
}

fn ends(path: &Path, suffix: &str) -> bool {
    let name = path.to_string_lossy();
    let mut compressions = COMPRESSIONS.iter();
    compressions.any(|compression| name.ends_with(&format!("{suffix}{compression}")))
}

/// The paths, with the raw traces of folders and what is in them instead of the folders.
///
/// # Errors
///
/// A folder that cannot be read, or that has no traces.
pub(super) fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let before = files.len();
        collect(path, &mut files)?;
        ensure!(
            files.len() > before,
            "{}: no traces (got a folder without); expected files that end in .sqlog, .sqlog.gz or \
             .sqlog.zst",
            path.display()
        );
        files[before..].sort();
    }
    Ok(files)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let context = || format!("cannot read the folder {}", folder.display());
    for entry in fs::read_dir(folder).with_context(context)? {
        let entry = entry.with_context(context)?;
        let path = entry.path();
        // Without links, which may lead back.
        if entry.file_type().with_context(context)?.is_dir() {
            collect(&path, files)?;
        } else if ends(&path, ".sqlog") && !is_copy(&path) {
            files.push(path);
        }
    }
    Ok(())
}
