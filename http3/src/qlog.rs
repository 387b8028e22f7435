//! The qlogs of connections: each a trace as quiche writes it, and beside it the
//! copy that qvis opens.
//!
//! A thread writes them all. To make the copies takes more time than to make the
//! packets they tell of, and neither that nor a slow disk should hold a packet up.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};
use petra_qlog::Live;

use crate::warn;

/// Bytes of a trace that are passed to the thread at once.
const CHUNK: usize = 16 << 10;

/// Maximum number of chunks in the channel. A writer of more blocks, as a trace with gaps would be
/// worthless.
const WAITING: usize = 1 << 10;

/// The folder of the qlogs, and the thread that writes them. All is on the disk
/// when it and the last log that came of it are gone.
pub(crate) struct Qlogs {
    folder: PathBuf,
    thread: Arc<Thread>,
}

impl Qlogs {
    /// Makes the folder when it is not there.
    pub(crate) fn into(folder: &Path) -> Result<Qlogs> {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the qlog folder {}", folder.display()))?;
        let (messages, inbox) = sync_channel(WAITING);
        let thread = thread::Builder::new().name("qlog".into());
        let handle = thread
            .spawn(move || write(inbox))
            .context("cannot start a thread for the qlogs")?;
        let thread = Thread {
            messages: Some(messages),
            handle: Some(handle),
        };
        Ok(Qlogs {
            folder: folder.into(),
            thread: Arc::new(thread),
        })
    }

    /// Begins the trace of a connection, which is complete when it is dropped.
    pub(crate) fn begin(&self, name: &str) -> Result<impl Write + Send + Sync> {
        let path = self.path(name);
        let files = Files::create(&path)?;
        let log = Log {
            path: path.into(),
            thread: self.thread.clone(),
        };
        log.send(Message::Begin(files));
        Ok(BufWriter::with_capacity(CHUNK, log))
    }

    /// Removes a trace that has been dropped, and its copy. Their names are free at once: a client
    /// may repeat a packet that was noise. The thread may still write to what has no name.
    pub(crate) fn discard(&self, name: &str) {
        let path = self.path(name);
        for file in [petra_qlog::beside(&path), path] {
            // At worst, what cannot be removed remains.
            let _ = fs::remove_file(file);
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.sqlog"))
    }
}

/// The thread, which ends when nobody can send to it any more.
struct Thread {
    messages: Option<SyncSender<(Arc<Path>, Message)>>,
    handle: Option<JoinHandle<()>>,
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.messages = None;
        // Should it have panicked, it has said so.
        self.handle.take().map(JoinHandle::join);
    }
}

enum Message {
    Begin(Files),
    Text(Vec<u8>),
    End,
}

/// A trace for the one who writes it.
struct Log {
    path: Arc<Path>,
    thread: Arc<Thread>,
}

impl Log {
    fn send(&self, message: Message) {
        if let Some(messages) = &self.thread.messages {
            // The thread listens for as long as there is a log.
            let _ = messages.send((self.path.clone(), message));
        }
    }
}

impl Write for Log {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.send(Message::Text(text.to_vec()));
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.send(Message::End);
    }
}

/// The thread's work. A full disk ends the log, not the transfer, and is reported with the first
/// log that it ends.
fn write(inbox: Receiver<(Arc<Path>, Message)>) {
    let mut reported = false;
    let mut open: HashMap<Arc<Path>, Files> = HashMap::new();
    for (path, message) in inbox {
        let written = match message {
            Message::Begin(files) => {
                open.insert(path.clone(), files);
                Ok(())
            }
            Message::Text(text) => open.get_mut(&path).map_or(Ok(()), |it| it.write(&text)),
            Message::End => open.remove(&path).map_or(Ok(()), Files::finish),
        };
        if let Err(e) = written {
            open.remove(&path);
            if !std::mem::replace(&mut reported, true) {
                let path = path.display();
                warn(format_args!(
                    "the qlog {path} is incomplete: {e}; the connection continues, and others \
                     whose qlogs cannot be written"
                ));
            }
        }
    }
}

/// A trace and its copy. When one of them fails, the other ends as well.
struct Files {
    /// The trace as quiche writes it.
    raw: File,
    /// The copy for qvis.
    copy: Live<File>,
}

impl Files {
    fn create(path: &Path) -> Result<Files> {
        let create = |path: &Path| {
            let file = File::create_new(path);
            file.with_context(|| format!("cannot make the qlog {}", path.display()))
        };
        let raw = create(path)?;
        let copy = create(&petra_qlog::beside(path)).inspect_err(|_| {
            // An empty trace would look like a connection without packets.
            let _ = fs::remove_file(path);
        })?;
        Ok(Files {
            raw,
            copy: Live::new(copy),
        })
    }

    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        self.raw.write_all(text)?;
        self.copy.write_all(text)
    }

    fn finish(self) -> io::Result<()> {
        self.copy.finish().map(drop).map_err(io::Error::other)
    }
}
