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
    /// Larger datagrams are lost, in both directions.
    LargestDatagram(usize),
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
    let mut largest = usize::MAX;
    match change {
        Change::Address(address) => far.push(bind(address)),
        Change::LargestDatagram(size) => largest = size,
    }
    let address = near.local_addr().unwrap();
    let client = Arc::new(Mutex::new(address));
    let carried = Arc::new(AtomicUsize::new(0));
    // The binding in use, and the largest datagram.
    let last = far.len() - 1;
    let path = move |carried: usize| match carried >= datagrams {
        false => (0, usize::MAX),
        true => (last, largest),
    };
    for (number, socket) in far.iter().enumerate() {
        let (near, client, carried) = (near.clone(), client.clone(), carried.clone());
        carry(socket.clone(), delay, move |_, len| {
            let (binding, largest) = path(carried.fetch_add(1, Ordering::Relaxed));
            let arrives = binding == number && len <= largest;
            arrives.then(|| (near.clone(), *client.lock().unwrap()))
        });
    }
    carry(near, delay, move |from, len| {
        *client.lock().unwrap() = from;
        let (binding, largest) = path(carried.load(Ordering::Relaxed));
        (len <= largest).then(|| (far[binding].clone(), server))
    });
    address
}

/// Carries what `from` receives by way of the socket, and to whom, that `route` says of its source
/// and length, or drops it.
fn carry(
    from: Arc<UdpSocket>,
    delay: Duration,
    route: impl Fn(SocketAddr, usize) -> Option<(Arc<UdpSocket>, SocketAddr)> + Send + 'static,
) {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut datagram = [0; 65_536];
        // An error is an ICMP message: whoever was there has left.
        loop {
            if let Ok((len, source)) = from.recv_from(&mut datagram) {
                let Some(route) = route(source, len) else {
                    continue;
                };
                let due = Instant::now() + delay;
                let sent = sender.send((due, route, datagram[..len].to_vec()));
                sent.expect("the other thread lives as long");
            }
        }
    });
    std::thread::spawn(move || {
        for (due, (by, destination), datagram) in receiver {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let _ = by.send_to(&datagram, destination);
        }
    });
}
