//! Errors of traces.

use std::fmt;
use std::io;

use crate::qvis::Size;

/// Reason for which a trace cannot be read or written.
///
/// Records count from 1, which is the header. Bytes count from 0.
#[derive(Debug)]
pub enum Error {
    /// There is nothing but blanks.
    Empty,
    /// It does not begin like a JSON text sequence (RFC 7464).
    NotSequence,
    /// The first record is no header that is understood.
    Header(String),
    /// A record that more records follow is broken.
    Corrupt {
        /// The record's number.
        record: u64,
        /// Offset of the record.
        offset: u64,
        /// Description of the error.
        reason: String,
    },
    /// A record is longer than [`MAX_RECORD_BYTES`](crate::MAX_RECORD_BYTES).
    TooLong {
        /// The record's number.
        record: u64,
        /// Offset of the record.
        offset: u64,
    },
    /// The input cannot be read further.
    Read {
        /// Number of records before.
        after: u64,
        /// Error of the input.
        source: io::Error,
    },
    /// Every record is right, and the trace is not.
    Whole(String),
    /// The trace cannot be made as small as it should be.
    DoesNotFit {
        /// Size limit.
        budget: Size,
        /// Smallest size that can be reached.
        smallest: Size,
    },
    /// The output cannot be written.
    Write(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Error::Empty => write!(f, "empty trace; expected a JSON-SEQ qlog"),
            Error::NotSequence => write!(
                f,
                "not a JSON-SEQ qlog; expected the byte 0x1e and a header"
            ),
            Error::Header(reason) => write!(f, "record 1, the header: {reason}"),
            Error::Corrupt {
                record,
                offset,
                reason,
            } => write!(f, "record {record}, at byte {offset}: {reason}"),
            Error::TooLong { record, offset } => write!(
                f,
                "record {record}, at byte {offset}: record too long; expected at most {} bytes",
                crate::MAX_RECORD_BYTES
            ),
            Error::Read { after, .. } => write!(f, "cannot be read after record {after}"),
            Error::Whole(reason) => write!(f, "{reason}"),
            Error::DoesNotFit { budget, smallest } => {
                if smallest.bytes > budget.bytes {
                    write!(f, "{} bytes are too few, ", budget.bytes)?;
                }
                if smallest.packets > budget.packets {
                    write!(f, "{} packets are too few, ", budget.packets)?;
                }
                write!(
                    f,
                    "with every window and every loss it takes {} bytes and {} packets",
                    smallest.bytes, smallest.packets
                )
            }
            Error::Write(_) => write!(f, "cannot be written"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Read { source, .. } | Error::Write(source) => Some(source),
            _ => None,
        }
    }
}
