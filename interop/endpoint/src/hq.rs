//! HTTP/0.9 over QUIC, ALPN `hq-interop`: a stream carries `GET /path` one way and
//! the file the other.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use anyhow::{bail, Result};
use petra_http3::{Connection, Content, Download};
use quiche::h3::Header;
use quiche::Shutdown;

use crate::client::Exchange;
use crate::server::Service;

/// The longest request that is read, in bytes.
const MAX_REQUEST_BYTES: usize = 4096;

/// The client's side of the protocol.
pub(crate) struct Downloads {
    waiting: VecDeque<Download>,
    running: HashMap<u64, Download>,
    next: u64,
}

impl Downloads {
    pub(crate) fn new(downloads: VecDeque<Download>) -> Downloads {
        Downloads {
            waiting: downloads,
            running: HashMap::new(),
            next: 0,
        }
    }
}

impl Exchange for Downloads {
    fn advance(&mut self, quic: &mut Connection) -> Result<()> {
        while quic.peer_streams_left_bidi() > 0 {
            let Some(download) = self.waiting.front() else {
                break;
            };
            let request = format!("GET {}\r\n", download.url.path());
            match quic.stream_send(self.next, request.as_bytes(), true) {
                Ok(sent) if sent == request.len() => {}
                Ok(_) => bail!("the server leaves no room for a request"),
                Err(quiche::Error::Done | quiche::Error::StreamLimit) => break,
                Err(e) => return Err(e.into()),
            }
            if let Some(mut download) = self.waiting.pop_front() {
                // A response has no header section, and means success.
                download.headers(&[Header::new(b":status", b"200")], Instant::now())?;
                self.running.insert(self.next, download);
            }
            self.next += 4;
        }
        let mut buffer = [0; 1 << 16];
        for stream in quic.readable() {
            loop {
                let (length, last) = match quic.stream_recv(stream, &mut buffer) {
                    Ok(received) => received,
                    Err(quiche::Error::Done) => break,
                    Err(e) => bail!("the download on stream {stream} failed: {e}"),
                };
                let Some(download) = self.running.get_mut(&stream) else {
                    bail!("data on stream {stream}, which has no request");
                };
                download.data(&buffer[..length], Instant::now())?;
                if last {
                    download.finish()?;
                    self.running.remove(&stream);
                    break;
                }
            }
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }
}

/// The server's side of the protocol.
pub(crate) struct Responses {
    root: Option<Rc<Path>>,
    requests: HashMap<u64, Vec<u8>>,
    responses: HashMap<u64, Content>,
}

impl Responses {
    pub(crate) fn new(root: Option<Rc<Path>>) -> Responses {
        Responses {
            root,
            requests: HashMap::new(),
            responses: HashMap::new(),
        }
    }
}

impl Service for Responses {
    fn advance(&mut self, quic: &mut Connection) -> Result<()> {
        let mut buffer = [0; MAX_REQUEST_BYTES];
        for stream in quic.readable() {
            while let Ok((length, last)) = quic.stream_recv(stream, &mut buffer) {
                let request = self.requests.entry(stream).or_default();
                request.extend(&buffer[..length]);
                if !last && !request.ends_with(b"\n") && request.len() < MAX_REQUEST_BYTES {
                    continue;
                }
                let request = self.requests.remove(&stream).unwrap_or_default();
                // What follows a request that was read to its line's end.
                if request.is_empty() {
                    continue;
                }
                let root = self.root.as_deref();
                match path(&request).and_then(|path| Content::find(path.as_bytes(), root).ok()) {
                    Some(content) => drop(self.responses.insert(stream, content)),
                    None => quic.stream_shutdown(stream, Shutdown::Write, 0)?,
                }
            }
        }
        for stream in quic.writable() {
            let Some(content) = self.responses.get_mut(&stream) else {
                continue;
            };
            let sent = send(quic, stream, content);
            // The client has stopped it, or the file has shrunk.
            if sent.is_err() {
                quic.stream_shutdown(stream, Shutdown::Write, 0).ok();
            }
            if !matches!(sent, Ok(false)) {
                self.responses.remove(&stream);
            }
        }
        Ok(())
    }
}

/// Sends what the stream takes. True when that was all.
fn send(quic: &mut Connection, stream: u64, content: &mut Content) -> Result<bool> {
    while !content.is_sent() {
        let room = quic.stream_capacity(stream)?;
        if room == 0 {
            return Ok(false);
        }
        content.send(room, |part, _| {
            quic.stream_send(stream, &part, false)
                .map_err(anyhow::Error::from)
        })?;
    }
    quic.stream_send(stream, &[], true)?;
    Ok(true)
}

/// The path in a request.
fn path(request: &[u8]) -> Option<&str> {
    let line = std::str::from_utf8(request).ok()?.lines().next()?;
    line.strip_prefix("GET ")
}
