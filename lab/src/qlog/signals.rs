//! Removal of incomplete files if the process is asked to end.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, Once, PoisonError};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use tempfile::NamedTempFile;

/// The file that is being written, and is not whole.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Makes a file that a signal that ends the process takes with it, instead of
/// the one before.
///
/// # Errors
///
/// When signals cannot be caught, or the file not be made.
pub(super) fn begin(make: impl FnOnce() -> io::Result<NamedTempFile>) -> io::Result<NamedTempFile> {
    static CAUGHT: Once = Once::new();
    let mut caught = Ok(());
    CAUGHT.call_once(|| caught = catch());
    caught?;
    let mut unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    let file = make()?;
    *unfinished = Some(file.path().to_owned());
    Ok(file)
}

/// A thread of its own: the others may be waiting for a pipe.
fn catch() -> io::Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    thread::spawn(move || {
        for signal in signals.forever() {
            // Held to the end, so that no other file is begun.
            let unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(path) = unfinished.as_deref() {
                // It is not there any more when it was whole.
                let _ = fs::remove_file(path);
            }
            let _ = emulate_default_handler(signal);
        }
    });
    Ok(())
}
