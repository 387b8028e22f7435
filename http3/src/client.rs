//! A client's connection to one address of a server.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Instant;

use anyhow::{Context, Result};
use boring::ssl::SslRef;
use quiche::ConnectionId;
use url::Url;

use crate::udp::Udp;
use crate::{expire, Connection};

/// Batches of datagrams that are read before they are acknowledged.
const READS: usize = 4;

/// A connection and its socket.
pub struct Client {
    /// The server's address.
    pub peer: SocketAddr,
    /// The socket to watch.
    pub udp: Udp,
    /// The connection.
    pub quic: Connection,
    /// Time at which to receive and send, even if nothing arrives.
    pub due: Option<Instant>,
}

/// Returns the addresses of a URL's server.
pub fn addresses(url: &Url) -> Result<VecDeque<SocketAddr>> {
    let host = url.host().context("URL: missing host")?;
    let addresses = url.socket_addrs(|| Some(443));
    let addresses = addresses.with_context(|| format!("{host}: unknown host"))?;
    Ok(addresses.into())
}

impl Client {
    /// Begins to connect to `peer`, whose certificate has this `name`. With `paced` off, packets
    /// leave as soon as the congestion window permits.
    pub fn open(
        config: &mut quiche::Config,
        name: Option<&str>,
        peer: SocketAddr,
        paced: bool,
    ) -> Result<Client> {
        let any = match peer {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        let udp = Udp::open(any, Some(peer), paced);
        let udp = udp.with_context(|| format!("cannot reach {peer}"))?;
        let mut id = [0; 16];
        boring::rand::rand_bytes(&mut id)?;
        let id = ConnectionId::from_ref(&id);
        let quic = quiche::connect_with_buffer_factory(name, &id, udp.local(), peer, config)?;
        Ok(Client {
            peer,
            udp,
            quic,
            due: Some(Instant::now()),
        })
    }

    /// Takes what arrived, and lets quiche handle its timers. An error of the socket does not end
    /// the connection: anyone can forge an ICMP message, and paths recover.
    pub fn receive(&mut self) -> io::Result<()> {
        let Client { udp, quic, .. } = self;
        let mut more = Ok(true);
        for _ in 0..READS {
            more = udp.receive(|datagram, info| {
                // quiche drops what is not right, or closes the connection.
                let _ = quic.recv(datagram, info);
                None
            });
            if !matches!(more, Ok(true)) {
                break;
            }
        }
        expire(quic, Instant::now());
        more.map(drop)
    }

    /// Sends what may be sent now.
    pub fn send(&mut self) -> io::Result<()> {
        let more = self.udp.flush(&mut self.quic);
        let again = match &more {
            Ok(again) => *again,
            Err(_) => Some(Instant::now()),
        };
        self.due = again.into_iter().chain(self.quic.timeout_instant()).min();
        more.map(drop)
    }

    /// Returns the reason for which the connection ended, if it did.
    pub fn end(&mut self) -> Option<String> {
        if !self.quic.is_closed() && !self.quic.is_draining() {
            return None;
        }
        let peer = self.peer;
        let ssl: &mut SslRef = self.quic.as_mut();
        let verified = ssl.verify_result();
        let (who, error) = match (self.quic.peer_error(), self.quic.local_error()) {
            (Some(error), _) => (format!("{peer} closed the connection"), error),
            (None, Some(error)) => (format!("the connection to {peer} failed"), error),
            (None, None) => return Some(format!("{peer}: idle timeout")),
        };
        let reason = String::from_utf8_lossy(&error.reason);
        Some(match error.error_code {
            // RFC 9001, 4.8: 0x100 and the TLS alert.
            code @ 0x100..=0x1ff if !error.is_app => match verified {
                Err(e) => format!("the certificate of {peer} does not verify: {e}"),
                Ok(()) => format!("{who}: TLS alert {}", code - 0x100),
            },
            _ if !reason.is_empty() => format!("{who}: {reason}"),
            code => format!("{who} (error {code:#x})"),
        })
    }
}
