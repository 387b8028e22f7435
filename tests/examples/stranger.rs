//! A client that begins a connection and never finishes its handshake.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// A client's socket, and what comes to it.
pub(crate) struct Socket(pub(crate) UdpSocket);

impl Socket {
    pub(crate) fn to(server: SocketAddr) -> Socket {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(server).unwrap();
        let wait = Some(Duration::from_millis(20));
        socket.set_read_timeout(wait).unwrap();
        Socket(socket)
    }

    /// The first datagrams of a connection, as quiche makes them.
    pub(crate) fn first_flight(&self) -> Vec<Vec<u8>> {
        let mut config = quiche::Config::new(quiche::PROTOCOL_VERSION).unwrap();
        let protocols = quiche::h3::APPLICATION_PROTOCOL;
        config.set_application_protos(protocols).unwrap();
        config.verify_peer(false);
        let id = quiche::ConnectionId::from_ref(&[7; 16]);
        let (local, peer) = (self.0.local_addr().unwrap(), self.0.peer_addr().unwrap());
        let mut quic = quiche::connect(None, &id, local, peer, &mut config).unwrap();
        let mut packet = [0; 1500];
        let mut flight = Vec::new();
        while let Ok((len, _)) = quic.send(&mut packet) {
            flight.push(packet[..len].to_vec());
        }
        flight
    }

    /// Returns the datagrams that arrive within a time.
    pub(crate) fn received(&self, within: Duration) -> Vec<Vec<u8>> {
        let end = Instant::now() + within;
        let mut packet = [0; 65_536];
        let mut datagrams = Vec::new();
        while Instant::now() < end {
            if let Ok(len) = self.0.recv(&mut packet) {
                datagrams.push(packet[..len].to_vec());
            }
        }
        datagrams
    }
}
