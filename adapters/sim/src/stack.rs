//! Both stacks behind one interface. Their interfaces differ in a few arguments.

use std::time::Instant;

use anyhow::Result;

/// One end of a connection.
pub(super) trait End {
    /// Lets the application work: the server writes as much as it may, the client reads.
    fn work(&mut self, now: Instant) -> Result<()>;

    /// Returns the next datagram, and if it may be marked.
    fn transmit(&mut self, now: Instant) -> Option<(Vec<u8>, bool)>;

    /// The time of the next timer.
    fn timeout(&mut self) -> Option<Instant>;

    /// Handles expired timers.
    fn expire(&mut self, now: Instant);

    /// Takes a datagram from the link.
    fn receive(&mut self, now: Instant, data: &[u8], marked: bool);

    /// Bytes of the stream that the application has read.
    fn read(&self) -> u64;
}

macro_rules! stack {
    (
        $module:ident, $proto:ident, $adapter:ident, own: { $($name:literal => $own:ty),* },
        endpoint: [$($endpoint:expr),*], from: |$remote:ident| [$($from:expr),*], one: $one:expr
    ) => {
        pub(super) mod $module {
            use std::collections::VecDeque;
            use std::net::SocketAddr;
            use std::sync::Arc;
            use std::time::Instant;

            use anyhow::{bail, Result};
            use bytes::BytesMut;
            use $proto::congestion::{self, ControllerFactory};
            use $proto::{
                ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint,
                Endpoint, EndpointConfig, Event, ServerConfig, StreamEvent, StreamId,
                TransportConfig, VarInt,
            };

            use super::super::{identity, CLIENT, DATAGRAM, SERVER};
            use super::End;

            pub(in super::super) struct Side {
                endpoint: Endpoint,
                connection: Option<(ConnectionHandle, Connection)>,
                peer: SocketAddr,
                stream: Option<StreamId>,
                replies: VecDeque<Vec<u8>>,
                read: u64,
                closed: Option<String>,
            }

            fn factory(name: &str) -> Result<Arc<dyn ControllerFactory + Send + Sync>> {
                Ok(match name {
                    $($name => Arc::new(<$own>::default()),)*
                    _ => Arc::new($adapter::controller(name)?),
                })
            }

            fn transport() -> TransportConfig {
                let mut transport = TransportConfig::default();
                transport
                    .initial_mtu(DATAGRAM)
                    .mtu_discovery_config(None)
                    .receive_window(VarInt::from_u32(1 << 28))
                    .stream_receive_window(VarInt::from_u32(1 << 28))
                    .send_window(1 << 24);
                transport
            }

            /// The server, and the client that has begun to connect.
            pub(in super::super) fn pair(controller: &str, seed: u64) -> Result<[Side; 2]> {
                let identity = identity()?;
                let certificate = identity.cert.der().clone();
                let key = identity.signing_key.serialize_der();
                let key = key.try_into().map_err(anyhow::Error::msg)?;
                let mut served = transport();
                served.congestion_controller_factory(factory(controller)?);
                let mut server = ServerConfig::with_single_cert(vec![certificate.clone()], key)?;
                server.transport_config(Arc::new(served));
                let mut roots = rustls::RootCertStore::empty();
                roots.add(certificate)?;
                let mut client = ClientConfig::with_root_certificates(Arc::new(roots))?;
                client.transport_config(Arc::new(transport()));

                let mut server = Side::new(Some(Arc::new(server)), CLIENT, seed);
                server.peer = CLIENT;
                let mut side = Side::new(None, SERVER, !seed);
                let connection = side.endpoint.connect(Instant::now(), client, SERVER, "localhost")?;
                side.connection = Some(connection);
                Ok([server, side])
            }

            impl Side {
                fn new(server: Option<Arc<ServerConfig>>, peer: SocketAddr, seed: u64) -> Self {
                    let mut config = EndpointConfig::default();
                    let mut bytes = [0; 32];
                    bytes[..8].copy_from_slice(&seed.to_le_bytes());
                    config.rng_seed(Some(bytes));
                    Self {
                        endpoint: Endpoint::new(Arc::new(config), server, $($endpoint),*),
                        connection: None,
                        peer,
                        stream: None,
                        replies: VecDeque::new(),
                        read: 0,
                        closed: None,
                    }
                }

                /// Passes events between connection and endpoint.
                fn settle(&mut self) {
                    let Some((handle, connection)) = &mut self.connection else {
                        return;
                    };
                    while let Some(event) = connection.poll_endpoint_events() {
                        if let Some(event) = self.endpoint.handle_event(*handle, event) {
                            connection.handle_event(event);
                        }
                    }
                    while let Some(event) = connection.poll() {
                        match event {
                            Event::Connected if connection.side().is_server() => {
                                self.stream = connection.streams().open(Dir::Uni);
                            }
                            Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                                self.stream = connection.streams().accept(Dir::Uni);
                            }
                            Event::ConnectionLost { reason } => {
                                self.closed = Some(reason.to_string());
                            }
                            _ => (),
                        }
                    }
                }
            }

            impl End for Side {
                fn work(&mut self, _now: Instant) -> Result<()> {
                    self.settle();
                    if let Some(reason) = &self.closed {
                        bail!("connection: lost (got {reason}); expected a transfer");
                    }
                    let (Some((_, connection)), Some(stream)) = (&mut self.connection, self.stream)
                    else {
                        return Ok(());
                    };
                    if connection.side().is_server() {
                        while connection.send_stream(stream).write(&[7; 65_536]).is_ok() {}
                        return Ok(());
                    }
                    let mut receiving = connection.recv_stream(stream);
                    let mut chunks = receiving.read(true)?;
                    while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                        self.read += chunk.bytes.len() as u64;
                    }
                    let _ = chunks.finalize();
                    Ok(())
                }

                fn transmit(&mut self, now: Instant) -> Option<(Vec<u8>, bool)> {
                    if let Some(reply) = self.replies.pop_front() {
                        return Some((reply, false));
                    }
                    let (_, connection) = self.connection.as_mut()?;
                    let mut data = Vec::new();
                    let transmit = connection.poll_transmit(now, $one, &mut data)?;
                    data.truncate(transmit.size);
                    Some((data, transmit.ecn == Some(EcnCodepoint::Ect0)))
                }

                fn timeout(&mut self) -> Option<Instant> {
                    self.connection.as_mut()?.1.poll_timeout()
                }

                fn expire(&mut self, now: Instant) {
                    if let Some((_, connection)) = &mut self.connection {
                        if connection.poll_timeout().is_some_and(|at| at <= now) {
                            connection.handle_timeout(now);
                        }
                    }
                }

                fn receive(&mut self, now: Instant, data: &[u8], marked: bool) {
                    let $remote = self.peer;
                    let ecn = if marked { EcnCodepoint::Ce } else { EcnCodepoint::Ect0 };
                    let mut reply = Vec::new();
                    let data = BytesMut::from(data);
                    match self.endpoint.handle(now, $($from,)* Some(ecn), data, &mut reply) {
                        Some(DatagramEvent::ConnectionEvent(_, event)) => {
                            if let Some((_, connection)) = &mut self.connection {
                                connection.handle_event(event);
                            }
                        }
                        Some(DatagramEvent::NewConnection(incoming)) => {
                            match self.endpoint.accept(incoming, now, &mut reply, None) {
                                Ok(connection) => self.connection = Some(connection),
                                Err(error) => self.closed = Some(error.cause.to_string()),
                            }
                        }
                        Some(DatagramEvent::Response(_)) => self.replies.push_back(reply),
                        None => (),
                    }
                    self.settle();
                }

                fn read(&self) -> u64 {
                    self.read
                }
            }
        }
    };
}

stack! {
    quinn, quinn_proto, petra_quinn,
    own: {
        "cubic" => congestion::CubicConfig,
        "newreno" => congestion::NewRenoConfig,
        "bbr" => congestion::BbrConfig
    },
    endpoint: [false, None], from: |remote| [remote, None], one: 1
}

stack! {
    noq, noq_proto, petra_noq,
    own: {
        "cubic" => congestion::CubicConfig,
        "newreno" => congestion::NewRenoConfig,
        "bbr3" => congestion::Bbr3Config
    },
    endpoint: [false], from: |remote| [noq_proto::FourTuple::from_remote(remote)],
    one: std::num::NonZeroUsize::MIN
}
