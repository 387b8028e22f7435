//! What the ends of a flow do with HTTP/3: a client with one download, and the
//! server that generates the body.

use std::time::Instant;

use quiche::h3::{self, NameValue};

/// What an end does with its HTTP/3 connection.
pub(super) enum Application {
    /// It is the client.
    Download(Download),
    /// It is the server.
    Upload(Upload),
}

impl Application {
    /// Reads what has arrived and writes what fits.
    ///
    /// # Errors
    ///
    /// When HTTP/3 fails, which ends the flow.
    pub(super) fn work(
        &mut self,
        conn: &mut quiche::Connection,
        http: &mut h3::Connection,
    ) -> h3::Result<()> {
        match self {
            Application::Download(download) => download.work(conn, http),
            Application::Upload(upload) => upload.work(conn, http),
        }
    }
}

/// The client's side: one GET, and the body counted.
pub(super) struct Download {
    size: Option<u64>,
    requested: bool,
    /// Bytes of the body that have arrived in order.
    pub(super) received: u64,
    /// When the last byte of the body arrived.
    pub(super) finished: Option<Instant>,
    scratch: Box<[u8]>,
}

impl Download {
    /// A download of `size` bytes, or without end.
    pub(super) fn new(size: Option<u64>) -> Self {
        Download {
            size,
            requested: false,
            received: 0,
            finished: None,
            scratch: vec![0; 1 << 16].into_boxed_slice(),
        }
    }

    fn request(&self) -> [h3::Header; 4] {
        let path = match self.size {
            Some(size) => format!("/bytes/{size}"),
            None => "/bytes".to_owned(),
        };
        [
            h3::Header::new(b":method", b"GET"),
            h3::Header::new(b":scheme", b"https"),
            h3::Header::new(b":authority", super::tls::SERVER_NAME.as_bytes()),
            h3::Header::new(b":path", path.as_bytes()),
        ]
    }
}

impl Download {
    fn work(&mut self, conn: &mut quiche::Connection, http: &mut h3::Connection) -> h3::Result<()> {
        if !self.requested {
            http.send_request(conn, &self.request(), true)?;
            self.requested = true;
        }
        loop {
            match http.poll(conn) {
                Ok((stream, h3::Event::Data)) => {
                    while let Ok(read) = http.recv_body(conn, stream, &mut self.scratch) {
                        self.received += read as u64;
                    }
                }
                Ok((_, h3::Event::Finished)) => self.finished = Some(Instant::now()),
                Ok(_) => (),
                Err(h3::Error::Done) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}

/// The server's side: a body of zeros as long as the request asks for.
#[derive(Default)]
pub(super) struct Upload {
    /// The stream that is answered, and what of the body is still to be
    /// written.
    body: Option<(u64, u64)>,
}

/// What a body is written in.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

impl Upload {
    fn answer(
        &mut self,
        conn: &mut quiche::Connection,
        http: &mut h3::Connection,
        stream: u64,
        request: &[h3::Header],
    ) -> h3::Result<()> {
        let path = request.iter().find(|header| header.name() == b":path");
        let size = path
            .and_then(|path| path.value().strip_prefix(b"/bytes/"))
            .and_then(|size| std::str::from_utf8(size).ok()?.parse().ok());
        http.send_response(conn, stream, &[h3::Header::new(b":status", b"200")], false)?;
        self.body = Some((stream, size.unwrap_or(u64::MAX)));
        Ok(())
    }

    fn write(
        &mut self,
        conn: &mut quiche::Connection,
        http: &mut h3::Connection,
    ) -> h3::Result<()> {
        while let Some((stream, left)) = &mut self.body {
            let chunk = &ZEROS[..(*left).min(ZEROS.len() as u64) as usize];
            let last = chunk.len() as u64 == *left;
            match http.send_body(conn, *stream, chunk, last) {
                Ok(written) => *left -= written as u64,
                Err(h3::Error::Done | h3::Error::StreamBlocked) => return Ok(()),
                Err(error) => return Err(error),
            }
            if *left == 0 {
                self.body = None;
            }
        }
        Ok(())
    }
}

impl Upload {
    fn work(&mut self, conn: &mut quiche::Connection, http: &mut h3::Connection) -> h3::Result<()> {
        loop {
            match http.poll(conn) {
                Ok((stream, h3::Event::Headers { list, .. })) => {
                    self.answer(conn, http, stream, &list)?;
                }
                Ok(_) => (),
                Err(h3::Error::Done) => break,
                Err(error) => return Err(error),
            }
        }
        self.write(conn, http)
    }
}
