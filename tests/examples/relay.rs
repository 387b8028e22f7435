//! A longer path than loopback is: every datagram arrives later.

use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Carries datagrams between `server` and a client at the address that is
/// returned, for as long as the test runs.
pub(crate) fn relay(server: SocketAddr, delay: Duration) -> SocketAddr {
    let near = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
    let far = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
    let address = near.local_addr().unwrap();
    let client = Arc::new(Mutex::new(address));
    carry(near.clone(), far.clone(), delay, {
        let client = client.clone();
        move |from| {
            *client.lock().unwrap() = from;
            server
        }
    });
    carry(far, near, delay, move |_| *client.lock().unwrap());
    address
}

/// Carries what `from` receives to whom `route` says, by way of `to`.
fn carry(
    from: Arc<UdpSocket>,
    to: Arc<UdpSocket>,
    delay: Duration,
    route: impl Fn(SocketAddr) -> SocketAddr + Send + 'static,
) {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut datagram = [0; 65_536];
        // An error is an ICMP message: whoever was there has left.
        loop {
            if let Ok((len, source)) = from.recv_from(&mut datagram) {
                let due = Instant::now() + delay;
                let sent = sender.send((due, route(source), datagram[..len].to_vec()));
                sent.expect("the other thread lives as long");
            }
        }
    });
    std::thread::spawn(move || {
        for (due, destination, datagram) in receiver {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let _ = to.send_to(&datagram, destination);
        }
    });
}
