//! An endpoint's qlog in a file, and whether it is all there.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use petra_http3::Connection;
use petra_qlog::Live;

/// Bytes that are written at once. quiche writes a few bytes at a time.
const CHUNK: usize = 64 << 10;

/// The qlog of one end of a connection, with the copy for qvis beside it. quiche writes
/// it and ignores errors, so they are kept here.
pub(super) struct Qlog {
    path: PathBuf,
    failure: Arc<Mutex<Option<io::Error>>>,
}

impl Qlog {
    /// Has `conn`, a `side` of a connection with this controller, write all its events to the
    /// file `name` in `folder`, which is made if need be.
    ///
    /// # Errors
    ///
    /// When the folder or the file cannot be made.
    pub(super) fn start(
        conn: &mut Connection,
        folder: &Path,
        (side, cc): (&str, &str),
        name: String,
    ) -> Result<Self> {
        let path = folder.join(&name);
        let create = |path: &Path| {
            fs::create_dir_all(folder)
                .and_then(|()| File::create(path))
                .with_context(|| format!("cannot write the qlog {}", path.display()))
        };
        let failure = Arc::default();
        let writer = Writer {
            file: create(&path)?,
            copy: Some(Live::new(create(&petra_qlog::beside(&path))?)),
            failure: Arc::clone(&failure),
        };
        conn.set_qlog_with_level(
            Box::new(BufWriter::with_capacity(CHUNK, writer)),
            name,
            format!("congestion controller {cc}; a {side} in petra-lab's simulator"),
            quiche::QlogLevel::Extra,
        );
        Ok(Qlog { path, failure })
    }

    /// Checks that the file is complete, after the end of the connection.
    ///
    /// # Errors
    ///
    /// The first failure to write, with the file's path.
    pub(super) fn finish(self) -> Result<()> {
        let failure = match self.failure.lock() {
            Ok(mut failure) => failure.take(),
            Err(poisoned) => poisoned.into_inner().take(),
        };
        match failure {
            Some(error) => Err(error)
                .with_context(|| format!("the qlog {} is incomplete", self.path.display())),
            None => Ok(()),
        }
    }
}

struct Writer {
    file: File,
    copy: Option<Live<File>>,
    failure: Arc<Mutex<Option<io::Error>>>,
}

impl Writer {
    fn note<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.inspect_err(|error| {
            if let Ok(mut failure) = self.failure.lock() {
                // An error cannot be copied; its kind and text can.
                failure.get_or_insert_with(|| io::Error::new(error.kind(), error.to_string()));
            }
        })
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.file.write_all(bytes);
        self.note(result)?;
        if let Some(copy) = &mut self.copy {
            let result = copy.write_all(bytes);
            self.note(result)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let Some(copy) = self.copy.take() {
            // `note` keeps the error for `Qlog::finish`.
            let _ = self.note(copy.finish().map_err(io::Error::other));
        }
    }
}
