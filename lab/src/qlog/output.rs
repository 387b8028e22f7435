//! Files that are there as a whole or not at all.

use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::NamedTempFile;

use super::signals;

/// A file that gets its name when it is complete, and goes when it is not, also
/// by a signal.
pub(super) struct Output {
    file: NamedTempFile,
    target: PathBuf,
}

impl Output {
    /// Begins a file that is to be `target`, in its folder.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written.
    pub(super) fn beside(target: &Path) -> Result<Self> {
        let mut new = tempfile::Builder::new();
        // As for any file; the umask takes from it.
        new.permissions(Permissions::from_mode(0o666));
        let file = signals::begin(|| new.tempfile_in(folder(target)))
            .with_context(|| format!("cannot write {}", target.display()))?;
        Ok(Output {
            file,
            target: target.to_owned(),
        })
    }

    /// The file to write to.
    pub(super) fn file(&mut self) -> &mut File {
        self.file.as_file_mut()
    }

    /// Another file on the same disk, which has no name.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written.
    pub(super) fn scratch(&self) -> Result<File> {
        tempfile::tempfile_in(folder(&self.target)).context("cannot make a scratch file")
    }

    /// Gives the file its name.
    ///
    /// # Errors
    ///
    /// When the name cannot be had.
    pub(super) fn keep(self) -> Result<()> {
        self.file
            .persist(&self.target)
            .with_context(|| format!("cannot write {}", self.target.display()))?;
        Ok(())
    }
}

fn folder(target: &Path) -> &Path {
    let folder = target
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}
