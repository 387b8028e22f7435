//! Captures in the format of libpcap, nanoseconds and IP packets without a link
//! layer (LINKTYPE_RAW).

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result};

/// The magic number of files with nanoseconds, in the byte order of the machine.
const MAGIC: u32 = 0xa1b2_3c4d;
/// IP packets, of which the first half-byte says the version.
const LINKTYPE_RAW: u32 = 101;

/// A file that packets are appended to. Two of them may have the same file: each
/// record is written at once.
pub(crate) struct Capture(BufWriter<File>);

impl Capture {
    /// Begins the file at `path`, or appends to it.
    pub(crate) fn create(path: &Path) -> Result<Capture> {
        let context = || format!("cannot write {}", path.display());
        let open = OpenOptions::new().create(true).append(true).open(path);
        let mut file: File = open.with_context(context)?;
        if file.metadata()?.len() == 0 {
            let mut header = MAGIC.to_ne_bytes().to_vec();
            header.extend([2u16, 4].map(u16::to_ne_bytes).concat());
            // Time zone, accuracy, longest packet.
            header.extend([0, 0, 1 << 16, LINKTYPE_RAW].map(u32::to_ne_bytes).concat());
            file.write_all(&header).with_context(context)?;
        }
        Ok(Capture(BufWriter::new(file)))
    }

    /// Appends a packet, seen now.
    pub(crate) fn write(&mut self, packet: &[u8]) -> Result<()> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
        let length = packet.len() as u32;
        let head = [now.as_secs() as u32, now.subsec_nanos(), length, length];
        self.0.write_all(&head.map(u32::to_ne_bytes).concat())?;
        self.0.write_all(packet)?;
        self.flush()
    }

    /// Leaves nothing unwritten.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.0.flush().context("cannot write a capture")
    }
}
