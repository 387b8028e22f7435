//! Memory that each connection of a server holds: after its handshake, and after a download that
//! is acknowledged. The client's controller is always the same.

#[path = "../../tests/heap/mod.rs"]
mod heap;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use quiche::{Config, Connection, ConnectionId, RecvInfo};

const CONNECTIONS: usize = 1_000;

/// Bytes of a download, and the stream that carries it.
const BODY: usize = 100_000;
const STREAM: u64 = 3;

const CLIENT: SocketAddr = SocketAddr::new(ADDRESS, 1);
const SERVER: SocketAddr = SocketAddr::new(ADDRESS, 2);

/// The address of the servers.
pub(crate) const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Prints a line for each controller. `certificate`: a PEM file for [`ADDRESS`], with its key.
pub(crate) fn print(names: &[&str], certificate: &Path) {
    let certificate = certificate.to_str().expect("a path in UTF-8");
    println!(
        "{:<14} {:>15} {:>15}",
        "controller", "handshake done", "100 kB sent"
    );
    for name in names {
        let mut server = config();
        server.set_cc_algorithm_name(name).expect("a controller");
        server
            .load_cert_chain_from_pem_file(certificate)
            .expect("a certificate");
        server
            .load_priv_key_from_pem_file(certificate)
            .expect("its key");
        let mut client = config();
        client.verify_peer(false);
        let mut held = [0; 2];
        // They are all kept, as a server keeps them.
        let pairs: Vec<Pair> = (0..CONNECTIONS)
            .map(|number| {
                let mut pair = Pair::new(number, &mut client, &mut server);
                pair.exchange();
                held[0] += pair.held;
                pair.download();
                held[1] += pair.held;
                pair
            })
            .collect();
        let [idle, used] = held.map(|bytes| bytes / pairs.len() as isize);
        println!("{name:<14} {idle:>15} {used:>15}");
    }
}

fn config() -> Config {
    let mut config = Config::new(quiche::PROTOCOL_VERSION).expect("a configuration");
    config.set_application_protos(&[b"memory"]).expect("a name");
    config.set_initial_max_data(1 << 20);
    config.set_initial_max_stream_data_uni(1 << 20);
    config.set_initial_max_streams_uni(1);
    config
}

/// Both ends of a connection.
struct Pair {
    client: Connection,
    server: Connection,
    /// Bytes that the server's end holds.
    held: isize,
}

impl Pair {
    fn new(number: usize, client: &mut Config, server: &mut Config) -> Self {
        let id = number.to_be_bytes();
        let id = ConnectionId::from_ref(&id);
        let client = quiche::connect(None, &id, CLIENT, SERVER, client);
        let client = client.expect("a client");
        let before = heap::held();
        let server = quiche::accept(&id, None, SERVER, CLIENT, server).expect("a server");
        Self {
            client,
            server,
            held: heap::held() - before + size_of::<Connection>() as isize,
        }
    }

    /// Lets the server do something, and counts what it holds then.
    fn serve<T>(&mut self, work: impl FnOnce(&mut Connection) -> T) -> T {
        let before = heap::held();
        let result = work(&mut self.server);
        self.held += heap::held() - before;
        result
    }

    /// Passes packets until neither end has more to say.
    fn exchange(&mut self) {
        let mut packet = [0; 1_500];
        let mut busy = true;
        while std::mem::take(&mut busy) {
            while let Ok((length, _)) = self.client.send(&mut packet) {
                let (from, to) = (CLIENT, SERVER);
                let received =
                    self.serve(|server| server.recv(&mut packet[..length], RecvInfo { from, to }));
                received.expect("a good packet");
                busy = true;
            }
            while let Ok((length, _)) = self.serve(|server| server.send(&mut packet)) {
                let (from, to) = (SERVER, CLIENT);
                let received = self
                    .client
                    .recv(&mut packet[..length], RecvInfo { from, to });
                received.expect("a good packet");
                busy = true;
            }
        }
    }

    fn download(&mut self) {
        let mut left = BODY;
        while left > 0 {
            let sent = self.serve(|server| server.stream_send(STREAM, &vec![0; left], true));
            left -= sent.expect("room in the window");
            self.exchange();
            while self.client.stream_recv(STREAM, &mut [0; 1 << 16]).is_ok() {}
        }
    }
}
