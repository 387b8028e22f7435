//! A longer path than loopback is: every datagram arrives later. The path may change.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A change of the path, after a number of datagrams of the server's.
pub(crate) enum Change {
    /// The client comes to the server from this address, and another port. What the server still
    /// sends to the former address is lost.
    Address(&'static str),
    /// Datagrams above the first size are lost, in both directions; then those above the second.
    LargestDatagram(usize, usize),
    /// Every datagram arrives twice, and every 500th has a wrong bit.
    Noise,
}

/// Carries datagrams between `server` and a client at the address that is
/// returned, for as long as the test runs.
pub(crate) fn relay(server: SocketAddr, delay: Duration) -> SocketAddr {
    relay_that_changes(server, delay, usize::MAX, Change::Address("127.0.0.1"))
}

/// The same, and after this number of datagrams of the server's, the path changes.
pub(crate) fn relay_that_changes(
    server: SocketAddr,
    delay: Duration,
    datagrams: usize,
    change: Change,
) -> SocketAddr {
    let bind = |address| Arc::new(UdpSocket::bind((address, 0)).unwrap());
    let (near, mut far) = (bind("127.0.0.1"), vec![bind("127.0.0.1")]);
    let mut before = Path {
        binding: 0,
        largest: usize::MAX,
        noise: false,
    };
    let mut after = before;
    match change {
        Change::Noise => after.noise = true,
        Change::Address(address) => {
            far.push(bind(address));
            after.binding = 1;
        }
        Change::LargestDatagram(first, second) => {
            (before.largest, after.largest) = (first, second);
        }
    }
    let address = near.local_addr().unwrap();
    let client = Arc::new(Mutex::new(address));
    let carried = Arc::new(AtomicUsize::new(0));
    let path = move |carried: usize| match carried >= datagrams {
        false => before,
        true => after,
    };
    for (number, socket) in far.iter().enumerate() {
        let (near, client, carried) = (near.clone(), client.clone(), carried.clone());
        carry(socket.clone(), delay, move |_, len| {
            let path = path(carried.fetch_add(1, Ordering::Relaxed));
            let arrives = path.binding == number && len <= path.largest;
            arrives.then(|| Route {
                by: near.clone(),
                to: *client.lock().unwrap(),
                noise: path.noise,
            })
        });
    }
    carry(near, delay, move |from, len| {
        *client.lock().unwrap() = from;
        let path = path(carried.load(Ordering::Relaxed));
        (len <= path.largest).then(|| Route {
            by: far[path.binding].clone(),
            to: server,
            noise: path.noise,
        })
    });
    address
}

/// The path, before or after its change.
#[derive(Clone, Copy)]
struct Path {
    /// The number of the socket that has the client's address.
    binding: usize,
    largest: usize,
    noise: bool,
}

/// The way of a datagram that arrives.
struct Route {
    by: Arc<UdpSocket>,
    to: SocketAddr,
    noise: bool,
}

/// Carries what `from` receives as `route` says of its source and length, or drops it.
fn carry(
    from: Arc<UdpSocket>,
    delay: Duration,
    route: impl Fn(SocketAddr, usize) -> Option<Route> + Send + 'static,
) {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut datagram = [0; 65_536];
        // An error is an ICMP message: whoever was there has left.
        for number in 1.. {
            if let Ok((len, source)) = from.recv_from(&mut datagram) {
                let Some(route) = route(source, len) else {
                    continue;
                };
                if route.noise && number % 500 == 0 {
                    datagram[len / 2] ^= 1;
                }
                let due = Instant::now() + delay;
                let sent = sender.send((due, route, datagram[..len].to_vec()));
                sent.expect("the other thread lives as long");
            }
        }
    });
    std::thread::spawn(move || {
        for (due, route, datagram) in receiver {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            for _ in 0..1 + usize::from(route.noise) {
                let _ = route.by.send_to(&datagram, route.to);
            }
        }
    });
}
