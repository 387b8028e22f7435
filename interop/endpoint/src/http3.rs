//! HTTP/3, by quiche's own module.

use std::collections::{HashMap, VecDeque};

use anyhow::{bail, ensure, Context, Result};
use quiche::h3::{self, Event, Header, NameValue};
use quiche::Connection;
use url::Url;

use crate::client::Exchange;
use crate::files::{Incoming, Outgoing};
use crate::server::Service;

/// The connection of either end, once the handshake allows it.
fn connection<'a>(
    h3: &'a mut Option<h3::Connection>,
    quic: &mut Connection,
) -> Result<&'a mut h3::Connection> {
    if h3.is_none() {
        let config = h3::Config::new()?;
        *h3 = Some(h3::Connection::with_transport(quic, &config)?);
    }
    h3.as_mut().context("no HTTP/3 connection")
}

/// The client's side of the protocol.
#[derive(Default)]
pub(crate) struct Downloads {
    h3: Option<h3::Connection>,
    waiting: VecDeque<Url>,
    running: HashMap<u64, Incoming>,
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
        let h3 = connection(&mut self.h3, quic)?;
        while let Some(url) = self.waiting.front() {
            let request = [
                Header::new(b":method", b"GET"),
                Header::new(b":scheme", b"https"),
                Header::new(b":authority", url.authority().as_bytes()),
                Header::new(b":path", url.path().as_bytes()),
                Header::new(b"user-agent", b"petra-endpoint"),
            ];
            let stream = match h3.send_request(quic, &request, true) {
                Ok(stream) => stream,
                // There is room for it later.
                Err(
                    h3::Error::StreamBlocked
                    | h3::Error::TransportError(quiche::Error::StreamLimit),
                ) => break,
                Err(e) => return Err(e.into()),
            };
            self.running.insert(stream, Incoming::create(url)?);
            self.waiting.pop_front();
        }
        let mut buffer = [0; 1 << 16];
        loop {
            match h3.poll(quic) {
                Ok((stream, Event::Headers { list, .. })) => {
                    let status = list.iter().find(|field| field.name() == b":status");
                    let ok = status.is_none_or(|status| status.value() == b"200");
                    ensure!(
                        ok,
                        "the response on stream {stream} has another status than 200"
                    );
                }
                Ok((stream, Event::Data)) => {
                    let file = self.running.get_mut(&stream).context("no such request")?;
                    while let Ok(length) = h3.recv_body(quic, stream, &mut buffer) {
                        file.write(&buffer[..length])?;
                    }
                }
                Ok((stream, Event::Finished)) => {
                    self.running
                        .remove(&stream)
                        .map_or(Ok(()), Incoming::finish)?;
                }
                Ok((stream, Event::Reset(code))) => {
                    bail!("the server reset stream {stream} with error {code:#x}")
                }
                Ok(_) => {}
                Err(h3::Error::Done) => return Ok(()),
                Err(e) => return Err(e.into()),
            }
        }
    }

    fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }
}

/// The server's side of the protocol.
#[derive(Default)]
pub(crate) struct Responses {
    h3: Option<h3::Connection>,
    responses: HashMap<u64, Response>,
}

struct Response {
    /// Until it was sent.
    head: Option<Vec<Header>>,
    body: Option<Outgoing>,
}

impl Response {
    fn to(request: &[Header]) -> Response {
        let field = |name: &[u8]| {
            let field = request.iter().find(|field| field.name() == name)?;
            std::str::from_utf8(field.value()).ok()
        };
        let get = field(b":method") == Some("GET");
        let body = field(b":path").filter(|_| get).and_then(Outgoing::open);
        let head = match &body {
            Some(file) => vec![
                Header::new(b":status", b"200"),
                Header::new(b"content-length", file.length.to_string().as_bytes()),
            ],
            None => vec![Header::new(b":status", b"404")],
        };
        Response {
            head: Some(head),
            body,
        }
    }

    /// Sends what the stream takes. True when that was all.
    fn send(
        &mut self,
        h3: &mut h3::Connection,
        quic: &mut Connection,
        stream: u64,
    ) -> Result<bool> {
        if let Some(head) = &self.head {
            match h3.send_response(quic, stream, head, self.body.is_none()) {
                Ok(()) => self.head = None,
                Err(h3::Error::StreamBlocked) => return Ok(false),
                Err(e) => return Err(e.into()),
            }
        }
        let Some(file) = &mut self.body else {
            return Ok(true);
        };
        file.send(
            |bytes, last| match h3.send_body(quic, stream, bytes, last) {
                Err(h3::Error::Done) => Ok(0),
                sent => sent.map_err(anyhow::Error::from),
            },
        )?;
        Ok(file.done)
    }
}

impl Service for Responses {
    fn advance(&mut self, quic: &mut Connection) -> Result<()> {
        let h3 = connection(&mut self.h3, quic)?;
        loop {
            match h3.poll(quic) {
                Ok((stream, Event::Headers { list, .. })) => {
                    let response = self.responses.entry(stream);
                    response.or_insert_with(|| Response::to(&list));
                }
                // Nothing that is served here needs the body of a request.
                Ok((stream, Event::Data)) => {
                    while h3.recv_body(quic, stream, &mut [0; 4096]).is_ok() {}
                }
                Ok((stream, Event::Reset(_))) => drop(self.responses.remove(&stream)),
                Ok(_) => {}
                Err(h3::Error::Done) => break,
                Err(e) => return Err(e.into()),
            }
        }
        for stream in quic.writable() {
            let Some(response) = self.responses.get_mut(&stream) else {
                continue;
            };
            let sent = response.send(h3, quic, stream);
            if sent.is_err() {
                let code = h3::WireErrorCode::InternalError as u64;
                quic.stream_shutdown(stream, quiche::Shutdown::Write, code)
                    .ok();
            }
            if !matches!(sent, Ok(false)) {
                self.responses.remove(&stream);
            }
        }
        Ok(())
    }
}
