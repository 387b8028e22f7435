//! The server's side of a flow: bodies of zeros as long as requests ask for.

use quiche::h3::{self, NameValue};

/// Answers one request at a time. A new one takes the place of a body that its
/// client wants no more of.
#[derive(Default)]
pub(super) struct Upload {
    body: Option<Body>,
}

struct Body {
    stream: u64,
    /// Whether its response has begun.
    begun: bool,
    /// Bytes that are still to be written.
    left: u64,
}

/// What a body is written in.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

impl Upload {
    pub(super) fn work(
        &mut self,
        conn: &mut quiche::Connection,
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
        self.write(conn, http)
    }

    fn answer(&mut self, stream: u64, request: &[h3::Header]) {
        let path = request.iter().find(|header| header.name() == b":path");
        let size = path
            .and_then(|path| path.value().strip_prefix(b"/bytes/"))
            .and_then(|size| std::str::from_utf8(size).ok()?.parse().ok());
        self.body = Some(Body {
            stream,
            begun: false,
            left: size.unwrap_or(u64::MAX),
        });
    }

    fn write(
        &mut self,
        conn: &mut quiche::Connection,
        http: &mut h3::Connection,
    ) -> h3::Result<()> {
        let head = [h3::Header::new(b":status", b"200")];
        while let Some(Body {
            stream,
            begun,
            left,
        }) = &mut self.body
        {
            let chunk = &ZEROS[..(*left).min(ZEROS.len() as u64) as usize];
            let last = chunk.len() as u64 == *left;
            let sent = match begun {
                true => http.send_body(conn, *stream, chunk, last),
                false => http.send_response(conn, *stream, &head, false).map(|()| 0),
            };
            match sent {
                Ok(written) => {
                    *begun = true;
                    *left -= written as u64;
                }
                // It goes on when there is room: a window may be full of the body before.
                Err(h3::Error::Done | h3::Error::StreamBlocked) => return Ok(()),
                // The client has cancelled the request.
                Err(h3::Error::TransportError(quiche::Error::StreamStopped(_))) => *left = 0,
                Err(error) => return Err(error),
            }
            if *left == 0 {
                self.body = None;
            }
        }
        Ok(())
    }
}
