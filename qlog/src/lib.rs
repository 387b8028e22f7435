//! quiche's qlog: read as a stream, rewritten for qvis, checked and summarised.
//!
//! ```text
//!  bytes ──▶ Records ──▶ Trace ──▶ Event ──▶ qvis::rewrite ──▶ a trace for qvis
//!                                    │
//!                                    ├─────▶ check::check
//!                                    └─────▶ stats::Stats
//! ```
//!
//! Everything streams: whatever the size of the trace, and whatever its bytes,
//! memory holds one record and the packets that are in flight.
//!
//! The raw traces are what quiche writes since 0.27 (JSON-SEQ, qlog 0.4); the
//! ones for [qvis](https://qvis.quictools.info) are qlog 0.3, the latest that it
//! opens. Every reader here takes both.

#![forbid(unsafe_code)]

pub mod check;
mod error;
mod event;
mod header;
mod live;
mod losses;
pub mod qvis;
mod records;
pub mod stats;

pub use error::Error;
pub(crate) use event::Change;
pub use event::{
    AckRange, End, Event, Fields, Frame, Kind, Packet, PacketHeader, RawInfo, Space, Trace,
};
pub use header::Header;
pub use live::Live;
pub use records::{Record, Records, MAX_RECORD_BYTES};

/// Suffix of a trace for qvis. qvis identifies the format by `.sqlog`.
pub const QVIS_SUFFIX: &str = ".qvis.sqlog";

/// Returns the path of the copy for qvis of a raw trace, in the same folder.
///
/// ```
/// # use std::path::Path;
/// let copy = petra_qlog::beside(Path::new("qlog/server-1.sqlog"));
/// assert_eq!(copy, Path::new("qlog/server-1.qvis.sqlog"));
/// ```
pub fn beside(raw: &std::path::Path) -> std::path::PathBuf {
    let name = raw.file_name().unwrap_or_default().to_string_lossy();
    let name = [".gz", ".zst"]
        .iter()
        .find_map(|packed| name.strip_suffix(packed))
        .unwrap_or(&name);
    let stem = name.strip_suffix(".sqlog").unwrap_or(name);
    raw.with_file_name(format!("{stem}{QVIS_SUFFIX}"))
}
