//! The server's side of a flow: bodies of zeros as long as requests ask for.

use std::collections::VecDeque;
use std::time::Instant;

use bytes::Bytes;
use petra_http3::{field, Connection};
use quiche::h3;
use rand_pcg::Pcg64;

use super::media::Source;
use crate::scenario::{Media, Traffic};

/// Answers requests, a certain number at once. One more takes the place of the
/// oldest body, which its client wants no more of.
pub(super) struct Upload {
    at_once: usize,
    /// In the order of their turns.
    bodies: VecDeque<Body>,
    /// Media that is sent in place of bodies, after a request.
    media: Option<Media>,
    random: Pcg64,
    /// Start of the flow.
    epoch: Instant,
    source: Option<Source>,
}

struct Body {
    stream: u64,
    /// True after the beginning of the response.
    begun: bool,
    /// Bytes that are still to be written.
    left: u64,
}

/// Content of bodies.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// Bytes that one of several bodies writes in its turn. It is small enough for them to share the
/// connection's flow control.
const TURN: usize = 4096;

impl Upload {
    pub(super) fn new(traffic: Traffic, random: Pcg64) -> Self {
        Upload {
            at_once: match traffic {
                Traffic::Bodies { at_once, .. } => at_once as usize,
                _ => 1,
            },
            bodies: VecDeque::new(),
            media: match traffic {
                Traffic::Media(media) => Some(media),
                _ => None,
            },
            random,
            epoch: Instant::now(),
            source: None,
        }
    }

    /// The time of the next action, even if nothing arrives.
    pub(super) fn timer(&self) -> Option<Instant> {
        self.source.as_ref().map(Source::timer)
    }

    pub(super) fn work(
        &mut self,
        conn: &mut Connection,
        http: &mut h3::Connection,
    ) -> h3::Result<()> {
        // As at the client: mostly there is nothing to read here.
        while conn.is_readable() {
            match http.poll(conn) {
                Ok((stream, h3::Event::Headers { list, .. })) => {
                    self.answer(stream, &list);
                }
                Ok(_) => (),
                Err(h3::Error::Done) => break,
                Err(error) => return Err(error),
            }
        }
        match &mut self.source {
            Some(source) => source.work(conn, http),
            None => self.write(conn, http),
        }
    }

    fn answer(&mut self, stream: u64, request: &[h3::Header]) {
        if let Some(media) = self.media {
            let random = self.random.clone();
            self.source = Some(Source::new(media, self.epoch, random, stream));
            return;
        }
        let size = field(request, ":path")
            .and_then(|path| path.strip_prefix(b"/bytes/"))
            .and_then(|size| std::str::from_utf8(size).ok()?.parse().ok());
        if self.bodies.len() == self.at_once {
            self.bodies.pop_front();
        }
        self.bodies.push_back(Body {
            stream,
            begun: false,
            left: size.unwrap_or(u64::MAX),
        });
    }

    fn write(&mut self, conn: &mut Connection, http: &mut h3::Connection) -> h3::Result<()> {
        let head = [h3::Header::new(b":status", b"200")];
        while let Some(mut body) = self.bodies.pop_front() {
            let most = if self.bodies.is_empty() {
                ZEROS.len()
            } else {
                TURN
            };
            let mut chunk = Bytes::from_static(&ZEROS[..body.left.min(most as u64) as usize]);
            let last = chunk.len() as u64 == body.left;
            let sent = match body.begun {
                true => http.send_body_zc(conn, body.stream, &mut chunk, last),
                false => http
                    .send_response(conn, body.stream, &head, false)
                    .map(|()| 0),
            };
            match sent {
                Ok(written) => {
                    body.begun = true;
                    body.left -= written as u64;
                }
                // It goes on when there is room: a window may be full of the body before.
                Err(h3::Error::Done | h3::Error::StreamBlocked) => {
                    self.bodies.push_front(body);
                    return Ok(());
                }
                // The client has cancelled the request.
                Err(h3::Error::TransportError(quiche::Error::StreamStopped(_))) => body.left = 0,
                Err(error) => return Err(error),
            }
            if body.left > 0 {
                self.bodies.push_back(body);
            }
        }
        Ok(())
    }
}
