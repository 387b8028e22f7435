//! HTTP/3 on a connection, from the end of its handshake on.

use std::time::Instant;

use bytes::Bytes;
use quiche::h3::{self, Header, HeaderRef, NameValue};
use quiche::BufFactory;

/// A quiche connection that takes data to send without a copy.
pub type Connection = quiche::Connection<ByReference>;

/// Stream data by reference: it is not copied before it is encrypted.
#[derive(Clone, Debug, Default)]
pub struct ByReference;

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

/// A client's requests, or a server's responses.
pub trait Application {
    /// Reason for which the connection cannot go on.
    type Error: From<h3::Error>;

    /// Handles received data, and sends as much as the connection permits. After an error, the
    /// caller closes the connection.
    fn work(&mut self, quic: &mut Connection, h3: &mut h3::Connection) -> Result<(), Self::Error>;
}

/// An application and its HTTP/3 connection.
pub struct Http3<A> {
    h3: Option<h3::Connection>,
    /// The application.
    pub application: A,
}

impl<A: Application> Http3<A> {
    /// The application before the handshake.
    pub fn new(application: A) -> Self {
        Http3 {
            h3: None,
            application,
        }
    }

    /// Lets the application work, once the handshake permits it.
    pub fn work(&mut self, quic: &mut Connection) -> Result<(), A::Error> {
        if !quic.is_established() && !quic.is_in_early_data() {
            return Ok(());
        }
        let h3 = match &mut self.h3 {
            Some(h3) => h3,
            none => {
                let config = h3::Config::new()?;
                none.insert(h3::Connection::with_transport(quic, &config)?)
            }
        };
        self.application.work(quic, h3)
    }
}

/// Lets quiche handle its timers that have expired by `now`.
pub fn expire(quic: &mut Connection, now: Instant) {
    if quic.timeout_instant().is_some_and(|at| at <= now) {
        quic.on_timeout();
    }
}

/// The header section of a GET request, which ends with `fields`.
pub fn get<'a>(
    authority: &'a str,
    path: &'a str,
    fields: &[(&'a str, &'a str)],
) -> Vec<HeaderRef<'a>> {
    let pseudo = [
        (":method", "GET"),
        (":scheme", "https"),
        (":authority", authority),
        (":path", path),
    ];
    let all = pseudo.iter().chain(fields);
    all.map(|(name, value)| header(name, value)).collect()
}

/// A header field that borrows name and value.
pub(crate) fn header<'a>(name: &'a str, value: &'a str) -> HeaderRef<'a> {
    HeaderRef::new(name.as_bytes(), value.as_bytes())
}

/// Returns the value of the first field with this name.
pub fn field<'a>(section: &'a [Header], name: &str) -> Option<&'a [u8]> {
    let found = section.iter().find(|h| h.name() == name.as_bytes());
    found.map(NameValue::value)
}
