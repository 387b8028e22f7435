//! A longer path than loopback is: every datagram arrives later. The path may have a NAT
//! that forgets.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Carries datagrams between `server` and a client at the address that is
/// returned, for as long as the test runs.
pub(crate) fn relay(server: SocketAddr, delay: Duration) -> SocketAddr {
    relay_that_rebinds(server, delay, usize::MAX)
}

/// The same, and after this number of datagrams of the server's, the client comes to it
/// from another port, and what it still sends to the old one is lost.
pub(crate) fn relay_that_rebinds(
    server: SocketAddr,
    delay: Duration,
    datagrams: usize,
) -> SocketAddr {
    let bind = || Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
    let (near, far) = (bind(), [bind(), bind()]);
    let address = near.local_addr().unwrap();
    let client = Arc::new(Mutex::new(address));
    let carried = Arc::new(AtomicUsize::new(0));
    for (number, socket) in far.iter().enumerate() {
        let (near, client, carried) = (near.clone(), client.clone(), carried.clone());
        carry(socket.clone(), delay, move |_| {
            let binding = usize::from(carried.fetch_add(1, Ordering::Relaxed) >= datagrams);
            (binding == number).then(|| (near.clone(), *client.lock().unwrap()))
        });
    }
    carry(near, delay, move |from| {
        *client.lock().unwrap() = from;
        let binding = usize::from(carried.load(Ordering::Relaxed) >= datagrams);
        Some((far[binding].clone(), server))
    });
    address
}

/// Carries what `from` receives by way of the socket, and to whom, that `route` says, or
/// drops it.
fn carry(
    from: Arc<UdpSocket>,
    delay: Duration,
    route: impl Fn(SocketAddr) -> Option<(Arc<UdpSocket>, SocketAddr)> + Send + 'static,
) {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut datagram = [0; 65_536];
        // An error is an ICMP message: whoever was there has left.
        loop {
            if let Ok((len, source)) = from.recv_from(&mut datagram) {
                let Some(route) = route(source) else {
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
