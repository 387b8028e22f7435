//! Files on their way out of `/www` and into `/downloads`.

use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use url::Url;

const ROOT: &str = "/www";
const DOWNLOADS: &str = "/downloads";

/// Bytes that are read at a time.
const CHUNK: usize = 1 << 16;

/// A file that is being sent.
pub(crate) struct Outgoing {
    file: File,
    /// Its length in bytes, as it was when it was opened.
    pub(crate) length: u64,
    unread: u64,
    chunk: Vec<u8>,
    sent: usize,
    /// True once quiche has taken the whole file and the end of the stream.
    pub(crate) done: bool,
}

impl Outgoing {
    /// Opens what `path` names below `/www`; `None` when there is no such file.
    pub(crate) fn open(path: &str) -> Option<Outgoing> {
        let root = Path::new(ROOT).canonicalize().ok()?;
        let path = root
            .join(path.trim_start_matches('/'))
            .canonicalize()
            .ok()?;
        let file = path.starts_with(root).then(|| File::open(path).ok())??;
        let about = file.metadata().ok().filter(fs::Metadata::is_file)?;
        Some(Outgoing {
            file,
            length: about.len(),
            unread: about.len(),
            chunk: vec![],
            sent: 0,
            done: false,
        })
    }

    /// Hands on what `send` takes: bytes, and whether they are the last.
    pub(crate) fn send<E: From<std::io::Error>>(
        &mut self,
        mut send: impl FnMut(&[u8], bool) -> Result<usize, E>,
    ) -> Result<(), E> {
        while !self.done {
            if self.sent == self.chunk.len() {
                self.chunk.resize(self.unread.min(CHUNK as u64) as usize, 0);
                self.file.read_exact(&mut self.chunk)?;
                self.unread -= self.chunk.len() as u64;
                self.sent = 0;
            }
            let (rest, last) = (&self.chunk[self.sent..], self.unread == 0);
            let taken = send(rest, last)?;
            self.done = last && taken == rest.len();
            self.sent += taken;
            if taken == 0 {
                break;
            }
        }
        Ok(())
    }
}

/// A file that arrives. It has its name when it is whole, never before.
pub(crate) struct Incoming {
    file: BufWriter<File>,
    part: PathBuf,
    path: PathBuf,
}

impl Incoming {
    /// The file that `url` becomes.
    pub(crate) fn create(url: &Url) -> Result<Incoming> {
        let name = url.path().rsplit('/').next().unwrap_or_default();
        let path = Path::new(DOWNLOADS).join(name);
        // The names of the runner's files are nearly as long as names may be.
        let part = Path::new(DOWNLOADS).join(format!(".{:.200}", name));
        let file = File::create(&part);
        let file = file.with_context(|| format!("cannot write {}", part.display()))?;
        Ok(Incoming {
            file: BufWriter::new(file),
            part,
            path,
        })
    }

    /// More of it.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.file.write_all(bytes);
        written.with_context(|| format!("cannot write {}", self.part.display()))
    }

    /// It is whole.
    pub(crate) fn finish(mut self) -> Result<()> {
        let renamed = self
            .file
            .flush()
            .and_then(|()| fs::rename(&self.part, &self.path));
        renamed.with_context(|| format!("cannot write {}", self.path.display()))
    }
}
