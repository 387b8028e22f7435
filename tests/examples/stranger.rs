//! A client that begins a connection and never finishes its handshake.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use quiche::{ConnectionId, Header, RecvInfo, Type};

/// Time within which a first answer over loopback arrives, on a machine however busy.
const ANSWER: Duration = Duration::from_secs(2);

/// Time within which more of it arrives.
const MORE: Duration = Duration::from_millis(100);

/// The type of a datagram's first packet, if it has a header.
pub(crate) fn packet_type(datagram: &mut [u8]) -> Option<Type> {
    let header = Header::from_slice(datagram, 16);
    header.ok().map(|header| header.ty)
}

/// A client's socket, and its connection.
pub(crate) struct Stranger {
    pub(crate) socket: UdpSocket,
    quic: quiche::Connection,
    /// The datagrams that it sent last.
    last: Vec<Vec<u8>>,
}

impl Stranger {
    pub(crate) fn to(server: SocketAddr) -> Stranger {
        Stranger::from(Ipv4Addr::LOCALHOST, server, &mut Stranger::config())
    }

    pub(crate) fn from(
        address: Ipv4Addr,
        server: SocketAddr,
        config: &mut quiche::Config,
    ) -> Stranger {
        let socket = UdpSocket::bind((address, 0)).expect("a socket");
        socket.connect(server).expect("an address");
        let id = ConnectionId::from_ref(&[7; 16]);
        let local = socket.local_addr().expect("an address");
        let quic = quiche::connect(None, &id, local, server, config).expect("a connection");
        Stranger {
            socket,
            quic,
            last: vec![],
        }
    }

    pub(crate) fn config() -> quiche::Config {
        let mut config = quiche::Config::new(quiche::PROTOCOL_VERSION).expect("a configuration");
        let protocols = quiche::h3::APPLICATION_PROTOCOL;
        config.set_application_protos(protocols).expect("HTTP/3");
        config.verify_peer(false);
        config
    }

    /// The datagrams that quiche sends now.
    pub(crate) fn flight(&mut self) -> Vec<Vec<u8>> {
        let mut datagrams = vec![];
        let mut datagram = [0; 1500];
        while let Ok((len, _)) = self.quic.send(&mut datagram) {
            datagrams.push(datagram[..len].to_vec());
        }
        datagrams
    }

    pub(crate) fn send(&mut self) {
        self.last = self.flight();
        self.repeat();
    }

    /// Sends the same datagrams again.
    pub(crate) fn repeat(&self) {
        for datagram in &self.last {
            // A full buffer of the socket loses some.
            let _ = self.socket.send(datagram);
        }
    }

    /// Answers a Retry packet that arrives in time, and nothing else. Returns true if it has.
    pub(crate) fn answer_retry(&mut self, within: Duration) -> bool {
        let Some(mut datagram) = self.received_one(within) else {
            return false;
        };
        let is_retry = packet_type(&mut datagram) == Some(Type::Retry);
        if is_retry {
            let address = |address: std::io::Result<SocketAddr>| address.expect("an address");
            let info = RecvInfo {
                from: address(self.socket.peer_addr()),
                to: address(self.socket.local_addr()),
            };
            let _ = self.quic.recv(&mut datagram, info);
            self.send();
        }
        is_retry
    }

    /// Returns the datagrams of an answer.
    pub(crate) fn answer(&self) -> Vec<Vec<u8>> {
        let first = self.received_one(ANSWER);
        let more = first.iter().flat_map(|_| self.received(MORE));
        first.iter().cloned().chain(more).collect()
    }

    /// Returns the datagrams that arrive within a time.
    pub(crate) fn received(&self, within: Duration) -> Vec<Vec<u8>> {
        let end = Instant::now() + within;
        let left = || end.saturating_duration_since(Instant::now());
        std::iter::from_fn(|| self.received_one(left())).collect()
    }

    fn received_one(&self, within: Duration) -> Option<Vec<u8>> {
        // Zero would be for ever.
        let within = within.max(Duration::from_millis(1));
        self.socket
            .set_read_timeout(Some(within))
            .expect("a timeout");
        let mut datagram = [0; 2048];
        let len = self.socket.recv(&mut datagram).ok()?;
        Some(datagram[..len].to_vec())
    }
}
