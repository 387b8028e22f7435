//! Content of the server: files of a folder, and generated bodies.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use base64::prelude::{Engine, BASE64_STANDARD};
use bytes::Bytes;
use percent_encoding::percent_decode_str;
use quiche::h3::{self, Header, NameValue};
use quiche::BufFactory;
use sha2::{Digest, Sha256};

use super::body;

/// The most that is handed to a stream at once, in bytes.
const CHUNK: u64 = 64 * 1024;

/// The longest header of a DATA frame, in bytes (RFC 9114, 7.1).
const FRAME_HEADER: usize = 1 + 8;

/// The longest generated body: the last offset of a stream (RFC 9000, 4.5),
/// less room for frames.
const LONGEST: u64 = 1 << 60;

/// Stream data by reference: it is not copied before it is encrypted.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByReference;

impl BufFactory for ByReference {
    type Buf = Bytes;
    type DgramBuf = Vec<u8>;

    fn buf_from_slice(slice: &[u8]) -> Bytes {
        Bytes::copy_from_slice(slice)
    }

    fn dgram_buf_from_slice(slice: &[u8]) -> Vec<u8> {
        slice.to_vec()
    }
}

/// A response on its way.
pub(crate) struct Response {
    /// The header section, until it is sent.
    head: Option<Vec<Header>>,
    body: Body,
    length: u64,
    sent: u64,
    /// True once quiche has taken the whole body. quiche may still retransmit parts of it.
    pub(crate) done: bool,
}

enum Body {
    Generated,
    /// A file, with the digest of what was sent of it if that is wanted.
    File(File, Option<Sha256>),
}

impl Response {
    /// The response to a request with this header section.
    pub(crate) fn to(request: &[Header], root: Option<&Path>) -> Response {
        let field = |name: &[u8]| {
            let found = request.iter().find(|h| h.name() == name);
            found.map_or(&[][..], |h| h.value())
        };
        let (method, path) = (field(b":method"), field(b":path"));
        let content = match method {
            b"GET" | b"HEAD" => find(path, root),
            _ => Err("405"),
        };
        let (status, (mut body, length)) = match content {
            Ok(content) => ("200", content),
            Err(status) => (status, (Body::Generated, 0)),
        };
        // Trailers only for who says so (RFC 9110, 6.5.1): a Chromium waits for ever
        // for a short response that has some.
        let trailers = field(b"te").windows(8).any(|word| word == b"trailers");
        if let Body::File(_, digest) = &mut body {
            *digest = digest.take().filter(|_| trailers);
        }
        let mut head = vec![
            header(":status", status),
            header("content-length", &length.to_string()),
        ];
        match body {
            _ if status == "405" => head.push(header("allow", "GET, HEAD")),
            _ if status != "200" => {}
            Body::Generated => head.push(header(body::FIELD.0, body::FIELD.1)),
            Body::File(_, Some(_)) => head.push(header("trailer", "content-digest")),
            Body::File(..) => {}
        }
        let (body, length) = match method {
            b"HEAD" => (Body::Generated, 0),
            _ => (body, length),
        };
        Response {
            head: Some(head),
            body,
            length,
            sent: 0,
            done: false,
        }
    }

    /// Hands quiche as much as it takes. After an error the response cannot be
    /// completed.
    pub(crate) fn send(
        &mut self,
        h3: &mut h3::Connection,
        quic: &mut quiche::Connection<ByReference>,
        stream: u64,
    ) -> Result<(), Failure> {
        match self.try_send(h3, quic, stream) {
            Err(Failure::H3(h3::Error::Done | h3::Error::StreamBlocked)) => Ok(()),
            result => result.map(|()| self.done = true),
        }
    }

    fn try_send(
        &mut self,
        h3: &mut h3::Connection,
        quic: &mut quiche::Connection<ByReference>,
        stream: u64,
    ) -> Result<(), Failure> {
        // What a generated body has instead of a digest is the block itself.
        let trailers = matches!(self.body, Body::File(_, Some(_)));
        if let Some(head) = &self.head {
            h3.send_response(quic, stream, head, self.length == 0 && !trailers)?;
            self.head = None;
        }
        while self.sent < self.length {
            let room = quic.stream_capacity(stream).map_err(h3::Error::from)?;
            let room = room.saturating_sub(FRAME_HEADER) as u64;
            let most = CHUNK.min(self.length - self.sent).min(room);
            if most == 0 {
                return Err(h3::Error::Done.into());
            }
            let chunk = self.body.read(self.sent, most as usize)?;
            let last = self.sent + chunk.len() as u64 == self.length;
            let written = h3.send_body_zc(quic, stream, &mut chunk.clone(), last && !trailers)?;
            if let Body::File(_, Some(digest)) = &mut self.body {
                digest.update(&chunk[..written]);
            }
            self.sent += written as u64;
        }
        if let Body::File(_, Some(digest)) = &self.body {
            let digest = BASE64_STANDARD.encode(digest.clone().finalize());
            let trailer = header("content-digest", &format!("sha-256=:{digest}:"));
            h3.send_additional_headers(quic, stream, &[trailer], true, true)?;
        }
        Ok(())
    }
}

impl Body {
    /// The body's bytes from `offset` on, `most` or fewer. A file that became
    /// shorter than was announced is an error.
    fn read(&self, offset: u64, most: usize) -> io::Result<Bytes> {
        match self {
            Body::Generated => Ok(Bytes::from_static(body::generated(offset, most))),
            Body::File(file, _) => {
                let mut chunk = vec![0; most];
                file.read_exact_at(&mut chunk, offset)?;
                Ok(chunk.into())
            }
        }
    }
}

/// Reason for which a response ends early.
pub(crate) enum Failure {
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

/// The body that a path names and its length, or a status that says why not.
fn find(path: &[u8], root: Option<&Path>) -> Result<(Body, u64), &'static str> {
    let path = std::str::from_utf8(path).map_err(|_| "400")?;
    let path = path.split('?').next().unwrap_or_default();
    if let Some(count) = path.strip_prefix("/bytes/") {
        return match count.parse() {
            Ok(count) if count <= LONGEST => Ok((Body::Generated, count)),
            _ => Err("404"),
        };
    }
    let path = percent_decode_str(path).decode_utf8().map_err(|_| "400")?;
    let status = |e: io::Error| match e.kind() {
        io::ErrorKind::PermissionDenied => "403",
        _ => "404",
    };
    // Whatever dots and links a path goes through, it has to end below the root.
    let root = root.ok_or("404")?;
    let full = root.join(path.trim_start_matches('/'));
    let full = full.canonicalize().map_err(status)?;
    if !full.starts_with(root) || !full.is_file() {
        return Err("404");
    }
    let file = File::open(full).map_err(status)?;
    let length = file.metadata().map_err(status)?.len();
    Ok((Body::File(file, Some(Sha256::new())), length))
}

fn header(name: &str, value: &str) -> Header {
    Header::new(name.as_bytes(), value.as_bytes())
}
