//! A client and a server that hand each other their datagrams.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

use boring::ssl::{SslContextBuilder, SslFiletype, SslMethod};
use petra_http3::certs;
use quiche::{Config, Connection, ConnectionId, RecvInfo, SendInfo};
use tempfile::TempDir;

const CLIENT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 1);
const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 2);

/// A qlog in memory.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Returns a TLS context for a server named `localhost`.
pub(crate) fn tls() -> SslContextBuilder {
    let folder = TempDir::new().unwrap();
    let identity = certs::for_address(folder.path(), SERVER.ip()).unwrap();
    let mut tls = SslContextBuilder::new(SslMethod::tls()).unwrap();
    tls.set_private_key_file(&identity, SslFiletype::PEM)
        .unwrap();
    tls.set_certificate_chain_file(&identity).unwrap();
    tls
}

pub(crate) fn config(tls: SslContextBuilder) -> Config {
    let mut config = Config::with_boring_ssl_ctx_builder(quiche::PROTOCOL_VERSION, tls).unwrap();
    config.set_application_protos(&[b"test"]).unwrap();
    config.set_initial_max_data(1 << 20);
    config.set_initial_max_stream_data_bidi_local(1 << 20);
    config.set_initial_max_stream_data_bidi_remote(1 << 20);
    config.set_initial_max_streams_bidi(1);
    config.set_active_connection_id_limit(4);
    config
}

/// A client's configuration.
pub(crate) fn client() -> Config {
    let mut client = config(SslContextBuilder::new(SslMethod::tls()).unwrap());
    client.verify_peer(false);
    client
}

pub(crate) struct Pair {
    pub(crate) client: Connection,
    pub(crate) server: Connection,
    log: Log,
}

impl Pair {
    /// A client and a server with this configuration, before the handshake.
    pub(crate) fn new(server: Config) -> Self {
        Self::with_client(client(), server)
    }

    pub(crate) fn with_client(mut client: Config, mut server: Config) -> Self {
        let id = ConnectionId::from_ref(&[7; 16]);
        let client = quiche::connect(Some("localhost"), &id, CLIENT, SERVER, &mut client).unwrap();
        let mut server = quiche::accept(&id, None, SERVER, CLIENT, &mut server).unwrap();
        let log = Log::default();
        server.set_qlog(Box::new(log.clone()), "test".into(), "test".into());
        Self {
            client,
            server,
            log,
        }
    }

    /// The handshake, and a request on stream 0.
    pub(crate) fn ask(&mut self) {
        while !self.client.is_established() {
            self.exchange();
        }
        self.client.stream_send(0, b"please", true).unwrap();
        while !self.server.stream_readable(0) {
            self.exchange();
        }
    }

    /// Everything that either has to send, once to and fro.
    pub(crate) fn exchange(&mut self) {
        let moved = pass(&mut self.client, &mut self.server, |_| true)
            + pass(&mut self.server, &mut self.client, |_| true);
        if moved == 0 {
            self.wait();
        }
    }

    /// The next datagram that the server sends, which arrives nowhere by itself.
    pub(crate) fn next_datagram(&mut self) -> (Vec<u8>, RecvInfo) {
        let mut datagram = [0; 1500];
        loop {
            if let Ok((size, sent)) = self.server.send(&mut datagram) {
                return (datagram[..size].to_vec(), arrival(sent));
            }
            self.wait();
        }
    }

    /// Waits for the pacer or a timer.
    pub(crate) fn wait(&mut self) {
        sleep(Duration::from_millis(1));
        self.client.on_timeout();
        self.server.on_timeout();
    }

    /// Has the server send `bytes` bytes on stream 0, and the client read them.
    pub(crate) fn transfer(&mut self, bytes: usize) {
        self.ask();
        let body = vec![1; bytes];
        let mut buffer = [0; 65_536];
        let (mut written, mut read) = (0, 0);
        while read < bytes {
            let rest = &body[written..];
            written += self.server.stream_send(0, rest, true).unwrap_or(0);
            self.exchange();
            while let Ok((bytes, _)) = self.client.stream_recv(0, &mut buffer) {
                read += bytes;
            }
        }
    }

    /// Ends both; returns the server's qlog.
    pub(crate) fn into_qlog(self) -> String {
        drop(self.server);
        let bytes = self.log.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }
}

/// The addresses of a datagram at the other end.
fn arrival(sent: SendInfo) -> RecvInfo {
    RecvInfo {
        from: sent.from,
        to: sent.to,
    }
}

/// Delivers what one end has to send, and of that what `arrives`, by its size;
/// returns the number of datagrams sent.
pub(crate) fn pass(
    from: &mut Connection,
    to: &mut Connection,
    mut arrives: impl FnMut(usize) -> bool,
) -> usize {
    let mut datagram = [0; 1500];
    let mut moved = 0;
    while let Ok((size, sent)) = from.send(&mut datagram) {
        if arrives(size) {
            to.recv(&mut datagram[..size], arrival(sent)).unwrap();
        }
        moved += 1;
    }
    moved
}
