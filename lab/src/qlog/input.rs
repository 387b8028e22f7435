//! Sources of traces.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, Result};
use flate2::bufread::MultiGzDecoder;
use indicatif::{ProgressBar, ProgressStyle};

/// The path that selects the standard input.
pub(super) const STANDARD_INPUT: &str = "-";

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// A trace as plain bytes, which shows on a terminal how much has been read.
pub(super) struct Input {
    bytes: Box<dyn Read>,
    bar: ProgressBar,
}

impl Input {
    /// Opens a file, or the standard input for `-`. Compression is told by the
    /// first bytes.
    ///
    /// # Errors
    ///
    /// When it cannot be opened or begun.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let (source, bar): (Box<dyn Read>, _) = if path == Path::new(STANDARD_INPUT) {
            (Box::new(io::stdin()), ProgressBar::new_spinner())
        } else {
            let file = File::open(path).context("cannot be opened")?;
            let length = file.metadata().context("cannot be opened")?.len();
            let style = "{bar:40} {bytes} of {total_bytes}, {bytes_per_sec}";
            let style = ProgressStyle::with_template(style).expect("the template is right");
            (Box::new(file), ProgressBar::new(length).with_style(style))
        };
        let mut source = BufReader::with_capacity(1 << 16, bar.wrap_read(source));
        let start = source.fill_buf().context("cannot be read")?;
        let bytes: Box<dyn Read> = if start.starts_with(GZIP) {
            Box::new(MultiGzDecoder::new(source))
        } else if start.starts_with(ZSTD) {
            Box::new(zstd::Decoder::with_buffer(source).context("cannot be decompressed")?)
        } else {
            Box::new(source)
        };
        Ok(Input { bytes, bar })
    }
}

impl Read for Input {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.bytes.read(room)
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
