//! Notes on the standard error.

/// Writes a line to the standard error. Once its reader has closed it, the line is dropped, where
/// `eprintln!` panics.
macro_rules! note {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($words)*);
    }};
}

pub(crate) use note;
