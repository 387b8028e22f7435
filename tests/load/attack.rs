//! Clients that do not want a download.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Scope};
use std::time::Duration;

use boring::rand::rand_bytes;
use quiche::{ConnectionId, Header, RecvInfo, Type};

use super::clients::{connector, session};

/// Connections of slow readers.
const SLOW: usize = 100;

/// Receive window of a slow reader in bytes, which it reads once a second.
const SLOW_WINDOW: u64 = 16 << 10;

/// Pause between two steps of an attack.
const PAUSE: Duration = Duration::from_millis(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attack {
    None,
    SlowReaders,
    HalfOpen,
    Flood,
    All,
}

/// What the threads of an attack share.
#[derive(Default)]
pub(crate) struct Progress {
    stop: AtomicBool,
    steps: AtomicU64,
}

impl Progress {
    fn goes_on(&self) -> bool {
        self.steps.fetch_add(1, Ordering::Relaxed);
        !self.stop.load(Ordering::Relaxed)
    }

    /// Ends the attack. Returns the number of its steps: handshakes, or sets of datagrams.
    pub(crate) fn stop(&self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.steps.load(Ordering::Relaxed)
    }
}

impl Attack {
    pub(crate) const ALL: [Attack; 5] = [
        Attack::None,
        Attack::SlowReaders,
        Attack::HalfOpen,
        Attack::Flood,
        Attack::All,
    ];

    pub(crate) fn about(self) -> &'static str {
        match self {
            Attack::None => "none",
            Attack::SlowReaders => "100 readers of 16 kB/s",
            Attack::HalfOpen => "handshakes that are not finished, with valid addresses",
            Attack::Flood => "random datagrams, cut and spoiled Initials",
            Attack::All => "all of them",
        }
    }

    /// Attacks a server in threads of their own, until it is stopped.
    pub(crate) fn run<'scope>(
        self,
        scope: &'scope Scope<'scope, '_>,
        server: SocketAddr,
        progress: &'scope Progress,
    ) {
        let parts = [
            (
                Attack::SlowReaders,
                slow_readers as fn(SocketAddr, &Progress),
            ),
            (Attack::HalfOpen, half_open),
            (Attack::Flood, flood),
        ];
        for (attack, part) in parts {
            if self == attack || self == Attack::All {
                scope.spawn(move || part(server, progress));
            }
        }
    }
}

fn slow_readers(server: SocketAddr, progress: &Progress) {
    let mut connector = connector(|config| {
        config.set_initial_max_data(SLOW_WINDOW);
        config.set_initial_max_stream_data_bidi_local(SLOW_WINDOW);
        config.set_max_connection_window(SLOW_WINDOW);
        config.set_max_stream_window(SLOW_WINDOW);
    });
    let mut open = || session(&mut connector, server, "/bytes/1000000000");
    let mut sessions: Vec<_> = (0..SLOW).map(|_| open()).collect();
    while progress.goes_on() {
        for session in &mut sessions {
            session.advance(&mut connector);
        }
        thread::sleep(Duration::from_secs(1));
    }
}

fn half_open(server: SocketAddr, progress: &Progress) {
    let mut config = Stranger::config();
    while progress.goes_on() {
        let mut stranger = Stranger::new(server, &mut config);
        stranger.send();
        // The address is valid: a Retry packet is answered, and nothing else.
        let mut datagram = [0; 2048];
        if let Ok(len) = stranger.socket.recv(&mut datagram) {
            let header = Header::from_slice(&mut datagram[..len], 16);
            if header.is_ok_and(|header| header.ty == Type::Retry) {
                stranger.receive(&mut datagram[..len]);
                stranger.send();
            }
        }
        thread::sleep(PAUSE);
    }
}

fn flood(server: SocketAddr, progress: &Progress) {
    let mut stranger = Stranger::new(server, &mut Stranger::config());
    let flight = stranger.flight();
    let mut random = [0; 1200];
    while progress.goes_on() {
        rand_bytes(&mut random).expect("random bytes");
        let mut spoiled = flight[0].clone();
        // In the connection ID, so that no packet meets the state of another; and the keys differ.
        spoiled[6..14].copy_from_slice(&random[..8]);
        let mut initial = random;
        // A long header of version 1, with two IDs of 8 bytes and no token.
        initial[..6].copy_from_slice(&[0xc0, 0, 0, 0, 1, 8]);
        initial[14] = 8;
        initial[23..26].copy_from_slice(&[0, 0x44, 0x96]);
        let cut = &flight[0][..usize::from(random[0])];
        for datagram in [&random[..], &initial, cut, &spoiled] {
            // A full buffer of the socket loses some, as the server's does.
            let _ = stranger.socket.send(datagram);
        }
        thread::sleep(PAUSE);
    }
}

/// A client that leaves before its handshake ends.
struct Stranger {
    socket: UdpSocket,
    quic: quiche::Connection,
    server: SocketAddr,
}

impl Stranger {
    fn config() -> quiche::Config {
        let mut config = quiche::Config::new(quiche::PROTOCOL_VERSION).expect("a configuration");
        let protocols = quiche::h3::APPLICATION_PROTOCOL;
        config.set_application_protos(protocols).expect("HTTP/3");
        config.verify_peer(false);
        config
    }

    fn new(server: SocketAddr, config: &mut quiche::Config) -> Stranger {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.connect(server).expect("an address");
        let wait = Some(Duration::from_millis(5));
        socket.set_read_timeout(wait).expect("a timeout");
        let id = ConnectionId::from_ref(&[7; 16]);
        let local = socket.local_addr().expect("an address");
        let quic = quiche::connect(None, &id, local, server, config);
        Stranger {
            socket,
            quic: quic.expect("a connection"),
            server,
        }
    }

    /// The datagrams that quiche sends now.
    fn flight(&mut self) -> Vec<Vec<u8>> {
        let mut datagrams = vec![];
        let mut datagram = [0; 1500];
        while let Ok((len, _)) = self.quic.send(&mut datagram) {
            datagrams.push(datagram[..len].to_vec());
        }
        datagrams
    }

    fn send(&mut self) {
        for datagram in self.flight() {
            let _ = self.socket.send(&datagram);
        }
    }

    fn receive(&mut self, datagram: &mut [u8]) {
        let to = self.socket.local_addr().expect("an address");
        let info = RecvInfo {
            from: self.server,
            to,
        };
        let _ = self.quic.recv(datagram, info);
    }
}
