//! An HTTP/3 server on quiche: a folder's files, and `/bytes/<n>`.
//!
//! One thread serves any number of connections on one socket, and one thread writes qlogs. A
//! datagram goes to the connection of its destination connection ID, which then handles the
//! requests and sends as much as it may. `common/quic.rs` selects the congestion controller:
//! `petra::register()`, and the controller's name in the configuration.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use boring::ssl::{SslContextBuilder, SslFiletype, SslMethod};
use clap::{CommandFactory, Parser};
use quiche::{h3, ConnectionId, RecvInfo};

mod common {
    pub(crate) mod body;
    pub(crate) mod certs;
    pub(crate) mod content;
    pub(crate) mod qlog;
    pub(crate) mod quic;
    pub(crate) mod udp;
}
use common::content::{ByReference, Failure, Response};
use common::quic::{Logs, Transport};
use common::{certs, udp};

/// Length of the server's connection IDs in bytes.
const ID_LEN: usize = 16;

/// Batches of datagrams that are read before connections are served.
const READS: usize = 8;

/// Serves the files of a folder and generated bodies (/bytes/<n>) over HTTP/3.
#[derive(Parser)]
#[command(name = "http3-server", version, after_long_help = petra::registry::describe())]
struct Args {
    /// Address and UDP port to listen on
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:4433")]
    listen: SocketAddr,

    /// Folder whose files are served
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,

    /// Certificate chain in PEM, the server's own first
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,

    /// Private key of the certificate in PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,

    /// Folder in which certificates are created and kept without --cert
    #[arg(long, value_name = "DIR", default_value = "certs")]
    cert_dir: PathBuf,

    /// Time within which downloads must finish after SIGINT or SIGTERM
    #[arg(long, value_name = "TIME", default_value = "10s",
          value_parser = humantime::parse_duration)]
    grace: Duration,

    #[command(flatten)]
    transport: Transport,
}

fn main() -> ExitCode {
    let args = Args::parse();
    if let Err(message) = args.transport.check() {
        let kind = clap::error::ErrorKind::InvalidValue;
        Args::command().error(kind, message).exit();
    }
    match Server::start(args).and_then(Server::run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("http3-server: {e:#}");
            ExitCode::FAILURE
        }
    }
}

struct Server {
    args: Args,
    root: Option<PathBuf>,
    config: quiche::Config,
    logs: Logs,
    udp: udp::Udp,
    signals: udp::Signals,
    connections: HashMap<ConnectionId<'static>, Connection>,
    /// Derives the server's connection ID from the client's first choice, so that all first
    /// packets of a client find the same connection.
    ids: RandomState,
    /// Latest time to end, after a signal.
    deadline: Option<Instant>,
}

impl Server {
    fn start(args: Args) -> Result<Server> {
        let (cert, key) = match (&args.cert, &args.key) {
            (Some(cert), Some(key)) => (cert.clone(), key.clone()),
            _ => {
                let both = certs::for_address(&args.cert_dir, args.listen.ip())?;
                (both.clone(), both)
            }
        };
        let mut tls = SslContextBuilder::new(SslMethod::tls())?;
        tls.set_certificate_chain_file(&cert)
            .with_context(|| format!("cannot load a certificate from {}", cert.display()))?;
        tls.set_private_key_file(&key, SslFiletype::PEM)
            .with_context(|| format!("cannot load the private key from {}", key.display()))?;
        let config = args.transport.config(tls)?;
        let logs = args.transport.logs()?;
        let root = args.root.as_ref().map(|root| {
            root.canonicalize()
                .with_context(|| format!("cannot serve {}", root.display()))
        });
        let root = root.transpose()?;
        let udp = udp::Udp::open(args.listen, None, args.transport.paced())
            .with_context(|| format!("cannot listen on {}", args.listen))?;
        let signals = udp::Signals::catch()?;
        writeln!(io::stdout(), "listening on {}", udp.local())?;
        Ok(Server {
            args,
            root,
            config,
            logs,
            udp,
            signals,
            connections: HashMap::new(),
            ids: RandomState::new(),
            deadline: None,
        })
    }

    fn run(mut self) -> Result<()> {
        loop {
            let due = self.connections.values().filter_map(|c| c.due);
            udp::wait([&self.udp], &self.signals, due.chain(self.deadline).min())?;
            if self.signals.arrived() && !self.shut_down() {
                return Ok(());
            }
            self.receive()?;
            let now = Instant::now();
            let overdue = self.deadline.is_some_and(|deadline| deadline <= now);
            for connection in self.connections.values_mut() {
                if overdue {
                    connection.close();
                }
                if overdue || connection.due.is_some_and(|due| due <= now) {
                    connection.advance(&mut self.udp, self.root.as_deref(), now);
                }
            }
            self.connections.retain(|_, c| !c.quic.is_closed());
            if self.deadline.is_some() && (overdue || self.connections.is_empty()) {
                return Ok(());
            }
        }
    }

    /// Refuses new requests and finishes the present ones. Returns false at the second call: a
    /// second signal ends the server at once.
    fn shut_down(&mut self) -> bool {
        let now = Instant::now();
        for connection in self.connections.values_mut() {
            connection.leaving = true;
            connection.due = Some(now);
        }
        self.deadline.replace(now + self.args.grace).is_none()
    }

    /// Passes the received datagrams to their connections.
    fn receive(&mut self) -> Result<()> {
        let Server {
            config,
            logs,
            udp,
            connections,
            ids,
            deadline,
            ..
        } = self;
        for _ in 0..READS {
            let more = udp.receive(|datagram, info| {
                let header = quiche::Header::from_slice(datagram, ID_LEN).ok()?;
                let id = match connections.contains_key(&header.dcid) {
                    true => header.dcid.clone(),
                    false => derive_id(ids, &header.dcid),
                };
                if !connections.contains_key(&id) {
                    if header.ty != quiche::Type::Initial || deadline.is_some() {
                        return None;
                    }
                    // No first datagram of a client's is smaller. Who answers such
                    // a one serves to multiply somebody else's traffic.
                    if datagram.len() < quiche::MIN_CLIENT_INITIAL_LEN {
                        return None;
                    }
                    if !quiche::version_is_supported(header.version) {
                        let mut out = vec![0; 128];
                        let len = quiche::negotiate_version(&header.scid, &header.dcid, &mut out);
                        out.truncate(len.ok()?);
                        return Some(out);
                    }
                    let connection = Connection::accept(&id, info, config, logs);
                    connections.insert(id.clone(), connection.ok()?);
                }
                let connection = connections.get_mut(&id)?;
                // What is wrong with a packet is quiche's to handle: it drops
                // the packet, or closes the connection.
                let _ = connection.quic.recv(datagram, info);
                connection.due = Some(Instant::now());
                None
            })?;
            if !more {
                break;
            }
        }
        Ok(())
    }
}

/// The connection ID derived from a client's first choice.
fn derive_id(ids: &RandomState, chosen: &[u8]) -> ConnectionId<'static> {
    let halves = [0u8, 1].map(|half| ids.hash_one((half, chosen)).to_be_bytes());
    ConnectionId::from_vec(halves.concat())
}

/// A client's connection and its requests.
struct Connection {
    quic: quiche::Connection<ByReference>,
    h3: Option<h3::Connection>,
    responses: HashMap<u64, Response>,
    /// Time at which the connection is next to be advanced.
    due: Option<Instant>,
    /// True if the connection ends as soon as its pending responses are delivered.
    leaving: bool,
    /// The lowest stream ID above those of all requests so far.
    next_request: u64,
    /// The first request that is refused, after GOAWAY.
    goaway: Option<u64>,
}

impl Connection {
    fn accept(
        id: &ConnectionId,
        info: RecvInfo,
        config: &mut quiche::Config,
        logs: &Logs,
    ) -> Result<Connection> {
        let mut quic = quiche::accept_with_buf_factory(id, None, info.to, info.from, config)?;
        if let Err(e) = logs.begin(&mut quic, "server") {
            eprintln!("http3-server: {e:#}; the connection goes on");
        }
        Ok(Connection {
            quic,
            h3: None,
            responses: HashMap::new(),
            due: None,
            leaving: false,
            next_request: 0,
            goaway: None,
        })
    }

    /// Reads requests, writes responses and sends packets until it would block.
    fn advance(&mut self, udp: &mut udp::Udp, root: Option<&Path>, now: Instant) {
        if self.quic.timeout_instant().is_some_and(|at| at <= now) {
            self.quic.on_timeout();
        }
        if self.serve(root).is_err() {
            let code = h3::WireErrorCode::InternalError as u64;
            self.quic.close(true, code, b"").ok();
        }
        // A datagram that cannot be sent is a datagram lost; there may be more.
        let more = udp.flush(&mut self.quic).unwrap_or(Some(now));
        self.due = more.into_iter().chain(self.quic.timeout_instant()).min();
    }

    /// Starts responses to new requests, and continues present responses.
    fn serve(&mut self, root: Option<&Path>) -> h3::Result<()> {
        if !self.quic.is_established() {
            return Ok(());
        }
        let h3 = match &mut self.h3 {
            Some(h3) => h3,
            none => {
                let config = h3::Config::new()?;
                none.insert(h3::Connection::with_transport(&mut self.quic, &config)?)
            }
        };
        if self.leaving && self.goaway.is_none() {
            match h3.send_goaway(&mut self.quic, self.next_request) {
                Ok(()) => self.goaway = Some(self.next_request),
                // The window is full: with the next ACK.
                Err(h3::Error::StreamBlocked) => {}
                Err(e) => return Err(e),
            }
        }
        loop {
            match h3.poll(&mut self.quic) {
                Ok((stream, h3::Event::Headers { list, .. })) => {
                    if self
                        .goaway
                        .is_some_and(|first_refused| stream >= first_refused)
                    {
                        stop(&mut self.quic, stream, h3::WireErrorCode::RequestRejected);
                        continue;
                    }
                    self.next_request = self.next_request.max(stream + 4);
                    // A second header section on a stream is its trailers.
                    let response = self.responses.entry(stream);
                    response.or_insert_with(|| Response::to(&list, root));
                }
                // Nothing that is served here needs the body of a request.
                Ok((stream, h3::Event::Data)) => {
                    while h3.recv_body(&mut self.quic, stream, &mut [0; 4096]).is_ok() {}
                }
                Ok((stream, h3::Event::Reset(_))) => {
                    stop(&mut self.quic, stream, h3::WireErrorCode::RequestCancelled);
                    self.responses.remove(&stream);
                }
                Ok(_) => {}
                Err(h3::Error::Done) => break,
                Err(e) => return Err(e),
            }
        }
        for stream in self.quic.writable() {
            let Some(response) = self.responses.get_mut(&stream) else {
                continue;
            };
            if let Err(e) = response.send(h3, &mut self.quic, stream) {
                if let Failure::File(e) = e {
                    eprintln!("http3-server: incomplete response: {e}");
                }
                stop(&mut self.quic, stream, h3::WireErrorCode::InternalError);
                self.responses.remove(&stream);
            }
        }
        // quiche forgets a stream once all of it is acknowledged.
        self.responses
            .retain(|stream, r| !r.done || self.quic.stream_capacity(*stream).is_ok());
        if self.leaving && self.responses.is_empty() {
            self.close();
        }
        Ok(())
    }

    fn close(&mut self) {
        let code = h3::WireErrorCode::NoError as u64;
        self.quic.close(true, code, b"shutting down").ok();
    }
}

/// Ends both directions of a stream.
fn stop(quic: &mut quiche::Connection<ByReference>, stream: u64, code: h3::WireErrorCode) {
    for direction in [quiche::Shutdown::Read, quiche::Shutdown::Write] {
        quic.stream_shutdown(stream, direction, code as u64).ok();
    }
}
