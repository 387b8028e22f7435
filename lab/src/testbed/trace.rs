//! Traces that the endpoints of a transfer leave.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use petra_qlog::stats::Stats;
use petra_qlog::QVIS_SUFFIX;

/// Returns the qlogs in a folder, the largest first; without the copies for qvis.
///
/// # Errors
///
/// A folder that cannot be read.
pub fn traces(folder: &Path) -> Result<Vec<PathBuf>> {
    let context = || format!("cannot read the folder of qlogs {}", folder.display());
    let mut logs = Vec::new();
    for entry in folder.read_dir().with_context(context)? {
        let path = entry.with_context(context)?.path();
        let name = path.to_string_lossy();
        if name.ends_with(".sqlog") && !name.ends_with(QVIS_SUFFIX) {
            logs.push((fs::metadata(&path).with_context(context)?.len(), path));
        }
    }
    logs.sort_by(|one, other| other.cmp(one));
    Ok(logs.into_iter().map(|(_, path)| path).collect())
}

/// Returns the statistics of a qlog. A last record that is not whole is no error.
///
/// # Errors
///
/// A file that cannot be read, or is no qlog.
pub fn statistics(log: &Path) -> Result<Stats> {
    let context = || format!("cannot read the qlog {}", log.display());
    let file = File::open(log).with_context(context)?;
    Stats::read(file).with_context(context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_qlog_is_the_first_and_the_rest_of_a_folder_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, size| fs::write(folder.path().join(name), vec![b' '; size]);
        write("b.sqlog", 1).unwrap();
        write("a.sqlog", 3).unwrap();
        write("c.sqlog", 2).unwrap();
        write("a.qvis.sqlog", 4).unwrap();
        write("keys.log", 5).unwrap();
        let expected = ["a", "c", "b"].map(|name| folder.path().join(format!("{name}.sqlog")));
        assert_eq!(traces(folder.path()).unwrap(), expected);
    }
}
