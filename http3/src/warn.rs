//! Warnings of a program that continues.

use std::fmt::Display;
use std::io::{self, Write};

/// Writes a line to standard error. `eprintln!` would end the thread if that fails, as on a full
/// disk.
pub fn warn(message: impl Display) {
    let _ = writeln!(io::stderr(), "{message}");
}
