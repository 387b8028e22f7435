//! A server's responses over one connection.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::rc::Rc;

use base64::prelude::{Engine, BASE64_STANDARD};
use quiche::h3::{self, Event, Header, WireErrorCode};
use sha2::{Digest, Sha256};

use crate::http3::header;
use crate::{field, generated, Application, Connection, Content};

/// The longest header of a DATA frame, in bytes (RFC 9114, 7.1).
const FRAME_HEADER: usize = 1 + 8;

/// Least number of responses that are searched for delivered ones.
const MIN_SWEPT: usize = 32;

/// Responses to GET and HEAD requests.
pub struct Responses {
    root: Option<Rc<Path>>,
    /// By stream; `None` once quiche has taken the whole response. quiche may still retransmit
    /// parts of it.
    responses: HashMap<u64, Option<Response>>,
    /// Number of responses from which on those that are delivered are forgotten.
    sweep_at: usize,
    /// True if the connection ends as soon as its pending responses are delivered.
    leaving: bool,
    /// The lowest stream ID above those of all requests so far.
    next_request: u64,
    /// The first request that is refused, after GOAWAY.
    goaway: Option<u64>,
    failures: Vec<io::Error>,
}

impl Responses {
    /// Responses with the files below `root`, a canonical path, and with generated bodies.
    pub fn new(root: Option<Rc<Path>>) -> Responses {
        Responses {
            root,
            responses: HashMap::new(),
            sweep_at: MIN_SWEPT,
            leaving: false,
            next_request: 0,
            goaway: None,
            failures: vec![],
        }
    }

    /// Refuses new requests from now on.
    pub fn leave(&mut self) {
        self.leaving = true;
    }

    /// Returns true if new requests are refused and all responses are delivered.
    pub fn is_over(&self) -> bool {
        self.goaway.is_some() && self.responses.is_empty()
    }

    /// Takes the errors of files that ended a response early.
    pub fn failures(&mut self) -> impl Iterator<Item = io::Error> + '_ {
        self.failures.drain(..)
    }

    /// Tells the client once that new requests are refused.
    fn send_goaway(&mut self, quic: &mut Connection, h3: &mut h3::Connection) -> h3::Result<()> {
        if self.leaving && self.goaway.is_none() {
            match h3.send_goaway(quic, self.next_request) {
                Ok(()) => self.goaway = Some(self.next_request),
                // The window is full: with the next ACK.
                Err(h3::Error::StreamBlocked) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Starts responses to new requests.
    fn take_events(&mut self, quic: &mut Connection, h3: &mut h3::Connection) -> h3::Result<()> {
        loop {
            match h3.poll(quic) {
                Ok((stream, Event::Headers { list, .. })) => {
                    if self.goaway.is_some_and(|refused| stream >= refused) {
                        stop(quic, stream, WireErrorCode::RequestRejected);
                        continue;
                    }
                    self.next_request = self.next_request.max(stream + 4);
                    // A second header section on a stream is its trailers.
                    let response = self.responses.entry(stream);
                    response.or_insert_with(|| Some(Response::to(&list, self.root.as_deref())));
                }
                // Nothing that is served here needs the body of a request.
                Ok((stream, Event::Data)) => {
                    while h3.recv_body(quic, stream, &mut [0; 4096]).is_ok() {}
                }
                Ok((stream, Event::Reset(_))) => {
                    stop(quic, stream, WireErrorCode::RequestCancelled);
                    self.responses.remove(&stream);
                }
                Ok(_) => {}
                Err(h3::Error::Done) => return Ok(()),
                Err(e) => return Err(e),
            }
        }
    }

    /// Continues present responses.
    fn send(&mut self, quic: &mut Connection, h3: &mut h3::Connection) {
        // Room that was too small for the next part of a response.
        let mut too_small = None;
        for stream in quic.writable() {
            let Some(slot) = self.responses.get_mut(&stream) else {
                continue;
            };
            let Some(response) = slot else { continue };
            // The same room is that of the connection. To encode header sections in vain, one
            // for each waiting response, would cost more than all else.
            let room = quic.stream_capacity(stream).ok();
            if room.is_some() && room == too_small {
                break;
            }
            match response.send(quic, h3, stream) {
                Ok(true) => *slot = None,
                Ok(false) => too_small = quic.stream_capacity(stream).ok(),
                Err(failure) => {
                    if let Failure::File(e) = failure {
                        self.failures.push(e);
                    }
                    stop(quic, stream, WireErrorCode::InternalError);
                    self.responses.remove(&stream);
                }
            }
        }
    }

    /// Forgets responses that are delivered, as quiche forgets their streams. Unless the server
    /// waits for the last one, there is a search only for each doubling of their number.
    fn sweep(&mut self, quic: &mut Connection) {
        if self.leaving || self.responses.len() >= self.sweep_at {
            self.responses.retain(|stream, response| {
                response.is_some() || quic.stream_capacity(*stream).is_ok()
            });
            self.sweep_at = MIN_SWEPT.max(2 * self.responses.len());
        }
    }
}

impl Application for Responses {
    type Error = h3::Error;

    fn work(&mut self, quic: &mut Connection, h3: &mut h3::Connection) -> h3::Result<()> {
        self.send_goaway(quic, h3)?;
        self.take_events(quic, h3)?;
        self.send(quic, h3);
        self.sweep(quic);
        Ok(())
    }
}

/// Ends both directions of a stream.
fn stop(quic: &mut Connection, stream: u64, code: WireErrorCode) {
    for direction in [quiche::Shutdown::Read, quiche::Shutdown::Write] {
        quic.stream_shutdown(stream, direction, code as u64).ok();
    }
}

/// A response on its way.
struct Response {
    /// The header section, until it is sent.
    head: Option<Head>,
    content: Content,
    /// The digest of what was sent, if it is wanted in the trailers.
    digest: Option<Sha256>,
}

impl Response {
    /// The response to a request with this header section.
    fn to(request: &[Header], root: Option<&Path>) -> Response {
        let field = |name| field(request, name).unwrap_or_default();
        let (method, path) = (field(":method"), field(":path"));
        let content = match method {
            b"GET" | b"HEAD" => Content::find(path, root),
            _ => Err("405"),
        };
        let (status, mut content) = match content {
            Ok(content) => ("200", content),
            Err(status) => (status, Content::generated(0)),
        };
        // Trailers only for who says so (RFC 9110, 6.5.1): a Chromium waits for ever
        // for a short response that has some.
        let trailers = field("te").windows(8).any(|word| word == b"trailers");
        let mut digest = (trailers && content.is_file()).then(Sha256::new);
        let head = Head {
            status,
            length: content.length(),
            more: match status {
                "405" => Some(("allow", "GET, HEAD")),
                "200" if digest.is_some() => Some(("trailer", "content-digest")),
                "200" if !content.is_file() => Some(generated::FIELD),
                _ => None,
            },
        };
        if method == b"HEAD" {
            (content, digest) = (Content::generated(0), None);
        }
        Response {
            head: Some(head),
            content,
            digest,
        }
    }

    /// Hands quiche as much as it takes. Returns true once it has taken all. After an error the
    /// response cannot be completed.
    fn send(
        &mut self,
        quic: &mut Connection,
        h3: &mut h3::Connection,
        stream: u64,
    ) -> Result<bool, Failure> {
        match self.try_send(quic, h3, stream) {
            Err(Failure::H3(h3::Error::Done | h3::Error::StreamBlocked)) => Ok(false),
            result => result.map(|()| true),
        }
    }

    fn try_send(
        &mut self,
        quic: &mut Connection,
        h3: &mut h3::Connection,
        stream: u64,
    ) -> Result<(), Failure> {
        // What a generated body has instead of a digest is the block itself.
        let trailers = self.digest.is_some();
        if let Some(head) = &self.head {
            let is_all = self.content.length() == 0 && !trailers;
            head.send(quic, h3, stream, is_all)?;
            self.head = None;
        }
        while !self.content.is_sent() {
            let room = quic.stream_capacity(stream).map_err(h3::Error::from)?;
            let room = room.saturating_sub(FRAME_HEADER);
            if room == 0 {
                return Err(h3::Error::Done.into());
            }
            self.content.send(room, |part, last| {
                let written =
                    h3.send_body_zc(quic, stream, &mut part.clone(), last && !trailers)?;
                if let Some(digest) = &mut self.digest {
                    digest.update(&part[..written]);
                }
                Ok::<_, Failure>(written)
            })?;
        }
        if let Some(digest) = &self.digest {
            let digest = BASE64_STANDARD.encode(digest.clone().finalize());
            let digest = format!("sha-256=:{digest}:");
            let trailer = header("content-digest", &digest);
            h3.send_additional_headers(quic, stream, &[trailer], true, true)?;
        }
        Ok(())
    }
}

/// The header section of a response.
struct Head {
    status: &'static str,
    /// The content's length in bytes, also in response to HEAD.
    length: u64,
    /// The last field.
    more: Option<(&'static str, &'static str)>,
}

impl Head {
    fn send(
        &self,
        quic: &mut Connection,
        h3: &mut h3::Connection,
        stream: u64,
        is_all: bool,
    ) -> h3::Result<()> {
        let length = self.length.to_string();
        let fields = [(":status", self.status), ("content-length", &length)];
        let fields = fields.into_iter().chain(self.more);
        let section: Vec<_> = fields.map(|(name, value)| header(name, value)).collect();
        h3.send_response(quic, stream, &section, is_all)
    }
}

/// Reason for which a response ends early.
enum Failure {
    /// The client stopped it, or the connection ends.
    H3(h3::Error),
    /// The file could not be read.
    File(io::Error),
}

impl From<h3::Error> for Failure {
    fn from(e: h3::Error) -> Failure {
        Failure::H3(e)
    }
}

impl From<io::Error> for Failure {
    fn from(e: io::Error) -> Failure {
        Failure::File(e)
    }
}
