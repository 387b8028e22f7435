//! An HTTP/3 server on quiche: a folder's files, and `/bytes/<n>`.
//!
//! One thread serves any number of connections on one socket, and one thread writes qlogs. A
//! datagram goes to the connection of its destination connection ID, which then handles the
//! requests and sends as much as it may. The congestion controller is selected in two lines:
//! `petra::register()` in `main`, and the controller's name in the configuration.

use std::collections::HashMap;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use boring::ssl::{SslContextBuilder, SslFiletype, SslMethod};
use clap::{CommandFactory, Parser};
use petra_http3::accept::{self, ID_LEN};
use petra_http3::{certs, expire, udp, Controller, Http3, Logs, Responses, Transport};
use quiche::{h3::WireErrorCode, ConnectionId};

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
    controller: Controller,

    #[command(flatten)]
    transport: Transport,
}

fn main() -> ExitCode {
    let args = Args::parse();
    // From here on, quiche knows PETRA's controllers by name.
    petra::register();
    let cc = args.controller.name().unwrap_or_else(|message| {
        let kind = clap::error::ErrorKind::InvalidValue;
        Args::command().error(kind, message).exit()
    });
    match Server::start(args, &cc).and_then(Server::run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("http3-server: {e:#}");
            ExitCode::FAILURE
        }
    }
}

struct Server {
    args: Args,
    root: Option<Rc<Path>>,
    config: quiche::Config,
    logs: Logs,
    udp: udp::Udp,
    signals: udp::Signals,
    connections: HashMap<ConnectionId<'static>, Connection>,
    ids: accept::Ids,
    /// Latest time to end, after a signal.
    deadline: Option<Instant>,
}

impl Server {
    fn start(args: Args, cc: &str) -> Result<Server> {
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
        let mut config = args.transport.config(tls)?;
        config.set_cc_algorithm_name(cc)?;
        let logs = args.transport.logs(cc)?;
        let root = args.root.as_ref().map(|root| {
            root.canonicalize()
                .with_context(|| format!("cannot serve {}", root.display()))
        });
        let root = root.transpose()?.map(Rc::from);
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
            ids: accept::Ids::default(),
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
                    connection.advance(&mut self.udp, now);
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
            connection.http3.application.leave();
            connection.due = Some(now);
        }
        self.deadline.replace(now + self.args.grace).is_none()
    }

    /// Passes the received datagrams to their connections.
    fn receive(&mut self) -> Result<()> {
        let Server {
            root,
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
                    false => ids.derive(&header.dcid),
                };
                if !connections.contains_key(&id) {
                    if deadline.is_some() {
                        return None;
                    }
                    if let Err(answer) = accept::admit(&header, datagram.len()) {
                        return answer;
                    }
                    let quic =
                        quiche::accept_with_buf_factory(&id, None, info.to, info.from, config);
                    let connection = Connection::new(quic.ok()?, logs, root.clone());
                    connections.insert(id.clone(), connection);
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

/// A client's connection and its requests.
struct Connection {
    quic: petra_http3::Connection,
    http3: Http3<Responses>,
    /// Time at which the connection is next to be advanced.
    due: Option<Instant>,
}

impl Connection {
    fn new(mut quic: petra_http3::Connection, logs: &Logs, root: Option<Rc<Path>>) -> Connection {
        if let Err(e) = logs.begin(&mut quic, "server") {
            eprintln!("http3-server: {e:#}; the connection goes on");
        }
        Connection {
            quic,
            http3: Http3::new(Responses::new(root)),
            due: None,
        }
    }

    /// Reads requests, writes responses and sends packets until it would block.
    fn advance(&mut self, udp: &mut udp::Udp, now: Instant) {
        expire(&mut self.quic, now);
        if self.http3.work(&mut self.quic).is_err() {
            let code = WireErrorCode::InternalError as u64;
            self.quic.close(true, code, b"").ok();
        }
        for e in self.http3.application.failures() {
            eprintln!("http3-server: incomplete response: {e}");
        }
        if self.http3.application.is_over() {
            self.close();
        }
        // A datagram that cannot be sent is a datagram lost; there may be more.
        let more = udp.flush(&mut self.quic).unwrap_or(Some(now));
        self.due = more.into_iter().chain(self.quic.timeout_instant()).min();
    }

    fn close(&mut self) {
        let code = WireErrorCode::NoError as u64;
        self.quic.close(true, code, b"shutting down").ok();
    }
}
