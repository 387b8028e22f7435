//! Clients that do not want a download.

use std::iter;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Scope};
use std::time::Duration;

use boring::rand::rand_bytes;

use super::clients::{connector, session};
use super::initial::Initial;
use super::stranger::Stranger;

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
    ScatteredHalfOpen,
    Failing,
    Flood,
    All,
}

/// The state that the threads of an attack share.
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

    pub(crate) fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// Ends the attack. Returns the number of its steps: handshakes, or sets of datagrams.
    pub(crate) fn stop(&self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.steps()
    }
}

impl Attack {
    pub(crate) const ALL: [Attack; 7] = [
        Attack::None,
        Attack::SlowReaders,
        Attack::HalfOpen,
        Attack::ScatteredHalfOpen,
        Attack::Failing,
        Attack::Flood,
        Attack::All,
    ];

    /// Returns true if the server comes to validate addresses.
    pub(crate) fn takes_places(self) -> bool {
        !matches!(self, Attack::None | Attack::SlowReaders | Attack::Flood)
    }

    pub(crate) fn about(self) -> &'static str {
        match self {
            Attack::None => "none",
            Attack::SlowReaders => "100 readers of 16 kB/s",
            Attack::HalfOpen => "handshakes that are not finished, from one valid address",
            Attack::ScatteredHalfOpen => "the same from 65,536 valid addresses",
            Attack::Failing => "handshakes that their first datagram ends",
            Attack::Flood => "random datagrams, cut and spoiled Initials",
            Attack::All => "all but those from many addresses",
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
            (Attack::ScatteredHalfOpen, scattered_half_open),
            (Attack::Failing, failing),
            (Attack::Flood, flood),
        ];
        for (attack, part) in parts {
            let together = self == Attack::All && attack != Attack::ScatteredHalfOpen;
            if self == attack || together {
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
    leave_open(server, progress, iter::repeat(Ipv4Addr::new(127, 0, 0, 2)));
}

fn scattered_half_open(server: SocketAddr, progress: &Progress) {
    let scattered = (0..=u16::MAX).map(|low| {
        let [third, fourth] = low.to_be_bytes();
        Ipv4Addr::new(127, 1, third, fourth)
    });
    leave_open(server, progress, scattered.cycle());
}

/// Begins handshakes from addresses, and finishes none.
fn leave_open(
    server: SocketAddr,
    progress: &Progress,
    mut addresses: impl Iterator<Item = Ipv4Addr>,
) {
    let mut config = Stranger::config();
    while progress.goes_on() {
        let address = addresses.next().expect("addresses without end");
        let mut stranger = Stranger::from(address, server, &mut config);
        stranger.send();
        stranger.answer_retry(Duration::from_millis(5));
        thread::sleep(PAUSE);
    }
}

/// Begins handshakes whose first frames are PING and CONNECTION_CLOSE.
fn failing(server: SocketAddr, progress: &Progress) {
    let stranger = Stranger::to(server);
    let mut initial = Initial::to(vec![0; 8]);
    while progress.goes_on() {
        rand_bytes(&mut initial.dcid).expect("random bytes");
        // A full buffer of the socket loses some.
        let _ = stranger.socket.send(&initial.seal(&[0x01, 0x1c, 0, 0, 0]));
        thread::sleep(PAUSE);
    }
}

fn flood(server: SocketAddr, progress: &Progress) {
    let mut stranger = Stranger::to(server);
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
