//! First packets of connections, at a server.

use std::hash::{BuildHasher, RandomState};

use quiche::{ConnectionId, Header};

/// Length of the server's connection IDs in bytes.
pub const ID_LEN: usize = 16;

/// Keys that derive the server's connection ID from the client's first choice, so that all first
/// packets of a client find the same connection.
#[derive(Default)]
pub struct Ids(RandomState);

impl Ids {
    /// The connection ID derived from a client's first choice.
    pub fn derive(&self, chosen: &[u8]) -> ConnectionId<'static> {
        let halves = [0u8, 1].map(|half| self.0.hash_one((half, chosen)).to_be_bytes());
        ConnectionId::from_vec(halves.concat())
    }
}

/// Decides if a datagram of `len` bytes may begin a connection.
///
/// # Errors
///
/// It may not; with the datagram that answers it, if there is one.
pub fn admit(header: &Header, len: usize) -> Result<(), Option<Vec<u8>>> {
    // No first datagram of a client's is smaller. Who answers such a one serves
    // to multiply somebody else's traffic.
    if header.ty != quiche::Type::Initial || len < quiche::MIN_CLIENT_INITIAL_LEN {
        return Err(None);
    }
    if quiche::version_is_supported(header.version) {
        return Ok(());
    }
    let mut answer = vec![0; quiche::MIN_CLIENT_INITIAL_LEN];
    let len = quiche::negotiate_version(&header.scid, &header.dcid, &mut answer);
    Err(len.ok().map(|len| {
        answer.truncate(len);
        answer
    }))
}
