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

    /// Begins the connection of a datagram of `len` bytes. With `validate`, the address must be
    /// validated: the datagram has the token of a Retry packet, or is answered by one (RFC 9000,
    /// Section 8.1.2, <https://www.rfc-editor.org/rfc/rfc9000#section-8.1.2>).
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
        admit(header, len)?;
        let exchange = Exchange {
            client: info.from,
            retry_id: &header.dcid,
        };
        let token = header.token.as_deref().unwrap_or_default();
        let original = self.tokens.original(exchange, token, Instant::now());
        let id = self.id(&header.dcid);
        let accepted = match original.map(ConnectionId::from_ref) {
            Some(original) => {
                let ids = RetryConnectionIds {
                    original_destination_cid: &original,
                    retry_source_cid: &header.dcid,
                };
                quiche::accept_with_retry(&id, ids, info.to, info.from, config)
            }
            None if validate => return Err(self.retry(header, info)),
            None => quiche::accept_with_buf_factory(&id, None, info.to, info.from, config),
        };
        accepted.map_err(|_| None)
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

/// Decides if a datagram of `len` bytes may begin a connection.
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
