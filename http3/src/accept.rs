//! First packets of connections, at a server.

use std::hash::{BuildHasher, RandomState};
use std::time::Instant;

use boring::error::ErrorStack;
use boring::rand::rand_bytes;
use quiche::{ConnectionId, Header, RecvInfo, RetryConnectionIds};

use crate::token::{Exchange, Tokens};
use crate::Connection;

/// Length of the server's connection IDs in bytes.
pub const ID_LEN: usize = 16;

/// Makes connections of first packets.
pub struct Acceptor {
    ids: RandomState,
    tokens: Tokens,
}

impl Acceptor {
    /// An acceptor with random keys.
    pub fn new() -> Result<Acceptor, ErrorStack> {
        Ok(Acceptor {
            ids: RandomState::new(),
            tokens: Tokens::new()?,
        })
    }

    /// The server's connection ID, derived from the one in a client's first packets, so that all
    /// of them find the same connection.
    pub fn id(&self, chosen: &[u8]) -> ConnectionId<'static> {
        let halves = [0u8, 1].map(|half| self.ids.hash_one((half, chosen)).to_be_bytes());
        ConnectionId::from_vec(halves.concat())
    }

    /// Begins the connection of a datagram of `len` bytes, as [`Acceptor::first`] has it.
    ///
    /// # Errors
    ///
    /// The datagram begins none; with the datagram that answers it, if there is one.
    pub fn accept(
        &self,
        header: &Header,
        len: usize,
        info: RecvInfo,
        validate: bool,
        config: &mut quiche::Config,
    ) -> Result<Connection, Option<Vec<u8>>> {
        let first = self.first(header, len, info, validate)?;
        first.accept(config).ok_or(None)
    }

    /// Decides if a datagram of `len` bytes may begin a connection. With `validate`, the address
    /// must be validated: the datagram has the token of a Retry packet, or is answered by one (RFC
    /// 9000, Section 8.1.2, <https://www.rfc-editor.org/rfc/rfc9000#section-8.1.2>).
    ///
    /// # Errors
    ///
    /// It may not; with the datagram that answers it, if there is one.
    pub fn first<'a>(
        &self,
        header: &'a Header,
        len: usize,
        info: RecvInfo,
        validate: bool,
    ) -> Result<First<'a>, Option<Vec<u8>>> {
        admit(header, len)?;
        let exchange = Exchange {
            client: info.from,
            retry_id: &header.dcid,
        };
        let token = header.token.as_deref().unwrap_or_default();
        let original = self.tokens.original(exchange, token, Instant::now());
        if validate && original.is_none() {
            return Err(self.retry(header, info));
        }
        Ok(First {
            id: self.id(&header.dcid),
            chosen: &header.dcid,
            original: original.map(ConnectionId::from_ref),
            info,
        })
    }

    /// A Retry packet. Its connection ID is random, so that the next packets of the client do not
    /// meet a connection that a repetition of the first one began meanwhile.
    fn retry(&self, header: &Header, info: RecvInfo) -> Option<Vec<u8>> {
        let mut retry_id = [0; ID_LEN];
        rand_bytes(&mut retry_id).ok()?;
        let exchange = Exchange {
            client: info.from,
            retry_id: &retry_id,
        };
        let token = self.tokens.issue(exchange, &header.dcid, Instant::now());
        let (scid, dcid) = (&header.scid, &header.dcid);
        let retry_id = ConnectionId::from_ref(&retry_id);
        answer(|out| quiche::retry(scid, dcid, &retry_id, &token.ok()?, header.version, out).ok())
    }
}

/// A first datagram that may begin a connection.
pub struct First<'a> {
    id: ConnectionId<'static>,
    /// The connection ID to which it came.
    chosen: &'a ConnectionId<'a>,
    /// The one to which the client sent before a Retry packet, if it has a valid token.
    original: Option<ConnectionId<'a>>,
    info: RecvInfo,
}

impl First<'_> {
    /// Returns true if the client has shown that it receives at its address.
    pub fn is_validated(&self) -> bool {
        self.original.is_some()
    }

    /// Begins the connection; `None` if quiche has a reason not to.
    pub fn accept(self, config: &mut quiche::Config) -> Option<Connection> {
        let (id, to, from) = (&self.id, self.info.to, self.info.from);
        let accepted = match &self.original {
            Some(original) => {
                let ids = RetryConnectionIds {
                    original_destination_cid: original,
                    retry_source_cid: self.chosen,
                };
                quiche::accept_with_retry(id, ids, to, from, config)
            }
            None => quiche::accept_with_buf_factory(id, None, to, from, config),
        };
        accepted.ok()
    }
}

/// Decides if a datagram of `len` bytes has the form of a first one.
fn admit(header: &Header, len: usize) -> Result<(), Option<Vec<u8>>> {
    // No first datagram of a client's is smaller. Who answers such a one serves
    // to multiply somebody else's traffic.
    if header.ty != quiche::Type::Initial || len < quiche::MIN_CLIENT_INITIAL_LEN {
        return Err(None);
    }
    if quiche::version_is_supported(header.version) {
        return Ok(());
    }
    Err(answer(|out| {
        quiche::negotiate_version(&header.scid, &header.dcid, out).ok()
    }))
}

/// The datagram that `write` makes, and returns the length of.
fn answer(write: impl FnOnce(&mut [u8]) -> Option<usize>) -> Option<Vec<u8>> {
    let mut datagram = vec![0; quiche::MIN_CLIENT_INITIAL_LEN];
    let len = write(&mut datagram)?;
    datagram.truncate(len);
    Some(datagram)
}
