//! HTTP/0.9 over QUIC, ALPN `hq-interop`: a stream carries `GET /path` one way and
//! the file the other.

use std::collections::{HashMap, VecDeque};

use anyhow::{bail, Result};
use quiche::{Connection, Shutdown};
use url::Url;

use crate::client::Exchange;
use crate::files::{Incoming, Outgoing};
use crate::server::Service;

/// The longest request that is read, in bytes.
const LONGEST: usize = 4096;

/// The client's side of the protocol.
#[derive(Default)]
pub(crate) struct Downloads {
    waiting: VecDeque<Url>,
    running: HashMap<u64, Incoming>,
    next: u64,
}

impl Downloads {
    pub(crate) fn new(urls: Vec<Url>) -> Downloads {
        Downloads {
            waiting: urls.into(),
            ..Downloads::default()
        }
    }
}

impl Exchange for Downloads {
    fn advance(&mut self, quic: &mut Connection) -> Result<()> {
        while quic.peer_streams_left_bidi() > 0 {
            let Some(url) = self.waiting.front() else {
                break;
            };
            let request = format!("GET {}\r\n", url.path());
            match quic.stream_send(self.next, request.as_bytes(), true) {
                Ok(sent) if sent == request.len() => {}
                Ok(_) => bail!("the server leaves no room for a request"),
                Err(quiche::Error::Done | quiche::Error::StreamLimit) => break,
                Err(e) => return Err(e.into()),
            }
            self.running.insert(self.next, Incoming::create(url)?);
            self.waiting.pop_front();
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
                let Some(file) = self.running.get_mut(&stream) else {
                    bail!("data on stream {stream}, which has no request");
                };
                file.write(&buffer[..length])?;
                if last {
                    self.running
                        .remove(&stream)
                        .map_or(Ok(()), Incoming::finish)?;
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
#[derive(Default)]
pub(crate) struct Responses {
    requests: HashMap<u64, Vec<u8>>,
    responses: HashMap<u64, Outgoing>,
}

impl Service for Responses {
    fn advance(&mut self, quic: &mut Connection) -> Result<()> {
        let mut buffer = [0; LONGEST];
        for stream in quic.readable() {
            while let Ok((length, last)) = quic.stream_recv(stream, &mut buffer) {
                let request = self.requests.entry(stream).or_default();
                request.extend(&buffer[..length]);
                if !last && !request.ends_with(b"\n") && request.len() < LONGEST {
                    continue;
                }
                let request = self.requests.remove(&stream).unwrap_or_default();
                // What follows a request that was read to its line's end.
                if request.is_empty() {
                    continue;
                }
                match path(&request).and_then(Outgoing::open) {
                    Some(file) => drop(self.responses.insert(stream, file)),
                    None => quic.stream_shutdown(stream, Shutdown::Write, 0)?,
                }
            }
        }
        for stream in quic.writable() {
            let Some(response) = self.responses.get_mut(&stream) else {
                continue;
            };
            let sent = response.send(|bytes, last| match quic.stream_send(stream, bytes, last) {
                Err(quiche::Error::Done) => Ok(0),
                sent => sent.map_err(anyhow::Error::from),
            });
            // The client has stopped it, or the file has shrunk.
            if sent.is_err() {
                quic.stream_shutdown(stream, Shutdown::Write, 0).ok();
            }
            if sent.is_err() || response.done {
                self.responses.remove(&stream);
            }
        }
        Ok(())
    }
}

/// The path in a request.
fn path(request: &[u8]) -> Option<&str> {
    let line = std::str::from_utf8(request).ok()?.lines().next()?;
    line.strip_prefix("GET ")
}
