//! Files that are whole or not there.

use std::fs;
use std::io::{BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{ensure, Context, Result};
use tempfile::Builder;

/// Endings of what commands read. They replace no file of these.
const INPUTS: [&str; 5] = ["json", "jsonl", "parquet", "sqlog", "toml"];

/// Checks that a file can have this path, before the work for it begins.
///
/// # Errors
///
/// A folder, or a path in a folder that there is not; something there that is no file, such as a
/// device, or that commands read.
pub(crate) fn check_target(path: &Path) -> Result<()> {
    ensure!(
        !path.is_dir(),
        "{}: a folder (got -o with it); expected a file",
        path.display()
    );
    if let Ok(there) = path.symlink_metadata() {
        ensure!(
            there.is_file(),
            "{}: not a regular file (got -o with it); expected a file to write or to replace",
            path.display()
        );
        let ending = path.extension().and_then(|it| it.to_str());
        ensure!(
            !ending.is_some_and(|it| INPUTS.contains(&it)),
            "{}: a file of results, a plan or a trace (got -o with it); expected another one",
            path.display()
        );
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    ensure!(
        folder.as_os_str().is_empty() || folder.is_dir(),
        "{}: no such folder (got {}); expected a file in a folder that is there",
        path.display(),
        folder.display()
    );
    Ok(())
}

/// Writes a file that has its name only when it is whole.
///
/// # Errors
///
/// What `write` says, or that the file cannot be made.
pub fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
) -> Result<()> {
    let folder = path.parent().context("a file needs a folder")?;
    let make = || -> Result<()> {
        // Before the umask.
        let mode = fs::Permissions::from_mode(0o666);
        let partial = Builder::new().permissions(mode).tempfile_in(folder)?;
        let mut out = BufWriter::new(partial);
        write(&mut out)?;
        let partial = out.into_inner()?;
        partial.persist(path)?;
        Ok(())
    };
    make().with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn devices_links_and_inputs_are_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link.html");
        std::os::unix::fs::symlink("elsewhere", &link).unwrap();
        let trace = folder.path().join("trace.sqlog");
        check_target(&trace).unwrap();
        fs::write(&trace, "").unwrap();
        for path in [Path::new("/dev/null"), &link, &trace] {
            let error = check_target(path).unwrap_err().to_string();
            assert!(error.contains("(got -o with it); expected"), "{error}");
        }
        let page = folder.path().join("page.html");
        fs::write(&page, "").unwrap();
        check_target(&page).unwrap();
    }

    #[test]
    fn what_cannot_be_finished_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write_whole(&path, |out| Ok(out.write_all(b"old")?)).unwrap();
        let error = write_whole(&path, |out| {
            out.write_all(b"new")?;
            bail!("enough")
        })
        .unwrap_err();
        assert!(format!("{error:#}").ends_with("file: enough"), "{error:#}");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(folder.path().read_dir().unwrap().count(), 1);
    }
}
