//! Content of a server: files of a folder, and generated bodies.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use bytes::Bytes;
use percent_encoding::percent_decode_str;
use rustix::io::Errno;

use crate::generated;

/// The most that is read at once, in bytes.
const CHUNK: u64 = 64 * 1024;

/// The longest generated body: the last offset of a stream (RFC 9000, 4.5),
/// less room for frames.
const MAX_BODY: u64 = 1 << 60;

/// A body of known length, and its part that is sent.
pub struct Content {
    /// `None` for a generated body.
    file: Option<File>,
    length: u64,
    sent: u64,
}

impl Content {
    /// The content that a path names: `/bytes/<n>` is generated, others are files below `root`.
    ///
    /// # Errors
    ///
    /// The HTTP status that tells why there is none.
    pub fn find(path: &[u8], root: Option<&Path>) -> Result<Content, &'static str> {
        let path = std::str::from_utf8(path).map_err(|_| "400")?;
        let path = path.split('?').next().unwrap_or_default();
        if let Some(count) = path.strip_prefix("/bytes/") {
            return match count.parse() {
                Ok(count) if count <= MAX_BODY => Ok(Content::generated(count)),
                _ => Err("404"),
            };
        }
        let path = percent_decode_str(path).decode_utf8().map_err(|_| "400")?;
        let status = |e: io::Error| match Errno::from_io_error(&e) {
            Some(Errno::ACCESS) => "403",
            // Too many files are open. One of them is closed when a response ends.
            Some(Errno::MFILE | Errno::NFILE) => "503",
            _ => "404",
        };
        // Whatever dots and links a path goes through, it has to end below the root.
        let root = root.ok_or("404")?;
        let full = root.join(path.trim_start_matches('/'));
        let full = full.canonicalize().map_err(status)?;
        if !full.starts_with(root) || !full.is_file() {
            return Err("404");
        }
        let file = File::open(full).map_err(status)?;
        let length = file.metadata().map_err(status)?.len();
        Ok(Content {
            file: Some(file),
            length,
            sent: 0,
        })
    }

    /// A generated body.
    pub fn generated(length: u64) -> Content {
        Content {
            file: None,
            length,
            sent: 0,
        }
    }

    /// Returns true if the content is a file.
    pub fn is_file(&self) -> bool {
        self.file.is_some()
    }

    /// The length in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns true once all of it is sent.
    pub fn is_sent(&self) -> bool {
        self.sent == self.length
    }

    /// Hands the next part, of `room` bytes or fewer, to `send`, and true with the last. `send`
    /// returns the number of bytes that it took.
    ///
    /// # Errors
    ///
    /// Those of `send`, and of a file that cannot be read. A file that became shorter is one.
    pub fn send<E: From<io::Error>>(
        &mut self,
        room: usize,
        send: impl FnOnce(Bytes, bool) -> Result<usize, E>,
    ) -> Result<(), E> {
        let most = CHUNK.min(self.length - self.sent).min(room as u64) as usize;
        let part = match &self.file {
            None => Bytes::from_static(generated::block_from(self.sent, most)),
            Some(file) => {
                let mut part = vec![0; most];
                file.read_exact_at(&mut part, self.sent)?;
                part.into()
            }
        };
        let last = self.sent + part.len() as u64 == self.length;
        self.sent += send(part, last)? as u64;
        Ok(())
    }
}
