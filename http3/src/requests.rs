//! A client's downloads over one connection.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use anyhow::{anyhow, Context, Result};
use quiche::h3::{self, Event, WireErrorCode};

use crate::{Application, Connection, Download};

/// Downloads: those to come, those under way, those that ended.
pub struct Requests {
    /// Maximum number of downloads under way.
    parallel: usize,
    waiting: VecDeque<Download>,
    running: HashMap<u64, Download>,
    ended: Vec<Download>,
    /// The time of the first request.
    first: Option<Instant>,
    progress: Progress,
    buffer: Vec<u8>,
}

/// Bytes of bodies.
#[derive(Clone, Copy, Default)]
pub struct Progress {
    /// In responses whose length is known.
    pub announced: u64,
    /// Received so far.
    pub received: u64,
}

impl Requests {
    /// Requests for `downloads`, of which `parallel` run at a time.
    pub fn new(downloads: VecDeque<Download>, parallel: usize) -> Requests {
        Requests {
            parallel,
            waiting: downloads,
            running: HashMap::new(),
            ended: vec![],
            first: None,
            progress: Progress::default(),
            buffer: vec![0; 256 * 1024],
        }
    }

    /// Returns true if every download has ended.
    pub fn is_over(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    /// The time of the first request, if it has been sent.
    pub fn first(&self) -> Option<Instant> {
        self.first
    }

    /// Returns the progress since the last call.
    pub fn progress(&mut self) -> Progress {
        std::mem::take(&mut self.progress)
    }

    /// The downloads that ended.
    pub fn ended(&self) -> &[Download] {
        &self.ended
    }

    /// Returns the downloads that ended.
    pub fn into_ended(self) -> Vec<Download> {
        self.ended
    }

    /// Ends every download without success.
    pub fn fail(&mut self, reason: &anyhow::Error) {
        let running = self.running.drain().map(|(_, download)| download);
        for mut download in self.waiting.drain(..).chain(running) {
            download.fail(format!("{reason:#}"));
            self.ended.push(download);
        }
    }

    /// Requests no more, and asks the server to stop what is under way. Returns the streams that
    /// it has to stop.
    pub fn cancel(&mut self, quic: &mut Connection) -> Vec<u64> {
        self.ended.extend(self.waiting.drain(..));
        let mut streams = vec![];
        for (stream, download) in self.running.drain() {
            if cancel(quic, stream).is_ok() {
                streams.push(stream);
            }
            self.ended.push(download);
        }
        streams
    }

    /// Sends requests while there may be more.
    fn request(&mut self, quic: &mut Connection, h3: &mut h3::Connection) -> Result<()> {
        while self.running.len() < self.parallel {
            let Some(mut download) = self.waiting.pop_front() else {
                break;
            };
            match h3.send_request(quic, &download.request(Instant::now()), true) {
                Ok(stream) => {
                    self.first = self.first.or(download.begun());
                    self.running.insert(stream, download);
                }
                // Until the server, or the congestion window, admits more.
                Err(h3::Error::StreamBlocked)
                | Err(h3::Error::TransportError(quiche::Error::StreamLimit)) => {
                    self.waiting.push_front(download);
                    break;
                }
                Err(e) => return Err(e).context("cannot send a request"),
            }
        }
        Ok(())
    }

    /// Hands what arrived to the downloads it is for.
    fn take_events(&mut self, quic: &mut Connection, h3: &mut h3::Connection) -> Result<()> {
        loop {
            let (stream, event) = match h3.poll(quic) {
                Ok(event) => event,
                Err(h3::Error::Done) => return Ok(()),
                Err(e) => return Err(e).context("server: HTTP/3 error"),
            };
            if matches!(event, Event::GoAway) {
                for mut download in self.waiting.drain(..) {
                    download.fail("the server is shutting down");
                    self.ended.push(download);
                }
            }
            let Some(download) = self.running.get_mut(&stream) else {
                continue;
            };
            let finished = matches!(event, Event::Finished);
            let now = Instant::now();
            let result = match event {
                Event::Headers { list, .. } => download.headers(&list, now).map(|length| {
                    let announced = &mut self.progress.announced;
                    *announced = announced.saturating_add(length.unwrap_or(0));
                }),
                Event::Data => loop {
                    match h3.recv_body(quic, stream, &mut self.buffer) {
                        Ok(count) => {
                            self.progress.received += count as u64;
                            if let Err(e) = download.data(&self.buffer[..count], now) {
                                break Err(e);
                            }
                        }
                        Err(h3::Error::Done) => break Ok(()),
                        Err(e) => break Err(e.into()),
                    }
                },
                Event::Finished => download.finish(),
                Event::Reset(code) => {
                    Err(anyhow!("stream: reset by the server (got code {code:#x})"))
                }
                _ => Ok(()),
            };
            if let Err(reason) = &result {
                download.fail(format!("{reason:#}"));
                cancel(quic, stream).ok();
            }
            if finished || result.is_err() {
                self.ended.extend(self.running.remove(&stream));
            }
        }
    }
}

impl Application for Requests {
    type Error = anyhow::Error;

    fn work(&mut self, quic: &mut Connection, h3: &mut h3::Connection) -> Result<()> {
        self.take_events(quic, h3)?;
        self.request(quic, h3)
    }
}

/// Asks the server to stop the response on a stream.
fn cancel(quic: &mut Connection, stream: u64) -> quiche::Result<()> {
    let code = WireErrorCode::RequestCancelled as u64;
    quic.stream_shutdown(stream, quiche::Shutdown::Read, code)
}
