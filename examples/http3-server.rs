//! An HTTP/3 server on quiche: a folder's files, and `/bytes/<n>`.
//!
//! One thread serves any number of connections on one socket, and one thread writes qlogs. A
//! datagram goes to the connection of its destination connection ID, which then handles the
//! requests and sends as much as it may. The congestion controller is selected in two lines:
//! `petra::register()` in `main`, and the controller's name in the configuration.
//!
//! Neither strangers nor a lack of files or disk end the server: first packets pass `Limits`, and
//! a connection without a log continues.

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
use petra_http3::accept::{Acceptor, ID_LEN};
use petra_http3::{
    certs, expire, parse_time, udp, warn, Controller, Handshakes, Http3, Limits, Logs, Responses,
    Transport,
};
use quiche::{h3::WireErrorCode, ConnectionId, Error, Header, RecvInfo};

/// Time for which datagrams are read before connections are served: more than the ACKs take that
/// the socket's buffer holds. The more ACKs a connection has at once, the more datagrams leave at
/// once, so that a server that is late becomes faster.
const READING: Duration = Duration::from_millis(10);

/// The role in the logs.
const ROLE: &str = "server";

/// Serves the files of a folder and generated bodies (/bytes/<n>) over HTTP/3.
///
/// Exit codes: 0 after SIGINT or SIGTERM; 1 if it cannot serve; 2 if the command line is invalid.
#[derive(Parser)]
#[command(name = "http3-server", version, allow_negative_numbers = true,
          after_long_help = petra::registry::describe())]
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
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_time)]
    grace: Duration,

    #[command(flatten)]
    limits: Limits,

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
            warn(format_args!("http3-server: {e:#}"));
            ExitCode::FAILURE
        }
    }
}

struct Server {
    udp: udp::Udp,
    signals: udp::Signals,
    connections: Connections,
    grace: Duration,
}

impl Server {
    fn start(args: Args, cc: &str) -> Result<Server> {
        let (cert, key) = match (args.cert, args.key) {
            (Some(cert), Some(key)) => (cert, key),
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
            udp,
            signals,
            connections: Connections {
                all: HashMap::new(),
                handshakes: Handshakes::default(),
                refused: vec![],
                leaving: false,
                acceptor: Acceptor::new()?,
                limits: args.limits,
                config,
                root,
                logs,
                log_failed: false,
            },
            grace: args.grace,
        })
    }

    fn run(self) -> Result<()> {
        let Server {
            mut udp,
            mut signals,
            mut connections,
            grace,
        } = self;
        // Latest time to end, after a signal.
        let mut deadline = None;
        loop {
            let due = connections.all.values().filter_map(|c| c.due);
            udp::wait([&udp], &signals, due.chain(deadline).min())?;
            if signals.arrived() {
                if deadline.replace(Instant::now() + grace).is_some() {
                    // A second signal ends the server at once.
                    return Ok(());
                }
                connections.leave();
            }
            let begun = Instant::now();
            while udp.receive(|datagram, info| connections.receive(datagram, info))?
                && begun.elapsed() < READING
            {}
            connections.refuse_overdue();
            let now = Instant::now();
            let overdue = deadline.is_some_and(|deadline| deadline <= now);
            if overdue {
                connections.close(now);
            }
            connections.advance(&mut udp, now);
            if deadline.is_some() && (overdue || connections.all.is_empty()) {
                return Ok(());
            }
        }
    }
}

/// All connections, and what makes them.
struct Connections {
    all: HashMap<ConnectionId<'static>, Connection>,
    /// Those whose handshake is not finished.
    handshakes: Handshakes,
    /// Those that made room for others, and have to be told.
    refused: Vec<Connection>,
    /// True if there are to be no more.
    leaving: bool,
    acceptor: Acceptor,
    limits: Limits,
    config: quiche::Config,
    root: Option<Rc<Path>>,
    logs: Logs,
    /// True once a connection continued without its log.
    log_failed: bool,
}

impl Connections {
    /// Passes a datagram to its connection. Returns one that answers it if it has none.
    fn receive(&mut self, datagram: &mut [u8], info: RecvInfo) -> Option<Vec<u8>> {
        let header = Header::from_slice(datagram, ID_LEN).ok()?;
        let id = match self.all.contains_key(&header.dcid) {
            true => header.dcid.clone(),
            false => self.acceptor.id(&header.dcid),
        };
        let now = Instant::now();
        if let Some(connection) = self.all.get_mut(&id) {
            // What is wrong with a packet is quiche's to handle: it drops
            // the packet, or closes the connection.
            let _ = connection.quic.recv(datagram, info);
            connection.follow_handshake(&id, &mut self.handshakes, now);
            if connection.unfinished {
                self.handshakes.hear(&id, now);
            }
            connection.due = Some(now);
            return None;
        }
        let finished = self.finished();
        if self.leaving || self.limits.full(finished) {
            // No refusal: it would cost the handshake that the limit saves, and a client repeats
            // its first packets. By then, there may be room.
            return None;
        }
        let validate = self.limits.validate(finished, self.handshakes.load(now));
        let first = match self.acceptor.first(&header, datagram.len(), info, validate) {
            Ok(first) => first,
            Err(answer) => return answer,
        };
        let client = info.from.ip();
        let displaced = match self.limits.crowded(finished, self.handshakes.count()) {
            // Who may have borrowed an address displaces nobody.
            true if !first.is_validated() => return None,
            true => Some(self.handshakes.make_room(client, now)?),
            false => None,
        };
        let client = first.is_validated().then_some(client);
        let mut quic = first.accept(&mut self.config)?;
        let begun = self.logs.begin(&mut quic, ROLE);
        if let Err(e) = &begun {
            if !std::mem::replace(&mut self.log_failed, true) {
                warn(format_args!(
                    "http3-server: {e:#}; the connection continues, and others without a log"
                ));
            }
        }
        let received = quic.recv(datagram, info);
        if quic.stats().recv == 0 {
            // Noise has no packet that decrypts, and begins nothing. Neither does what decrypts and
            // is refused, but its qlog says why.
            let is_noise = matches!(received, Err(Error::CryptoFail | Error::Done));
            if is_noise && begun.is_ok() {
                self.logs.discard(quic, ROLE);
            }
            return None;
        }
        let (id, root) = (id.into_owned(), self.root.clone());
        let displaced = displaced.and_then(|id| self.forget(&id));
        self.refused.extend(displaced);
        self.handshakes.begin(id.clone(), client, now);
        self.all.insert(id, Connection::new(quic, root));
        None
    }

    /// Forgets a connection.
    fn forget(&mut self, id: &ConnectionId<'static>) -> Option<Connection> {
        self.handshakes.end(id);
        self.all.remove(id)
    }

    /// Number of connections whose handshake is finished.
    fn finished(&self) -> usize {
        self.all.len().saturating_sub(self.handshakes.count())
    }

    /// Refuses handshakes that are overdue, if others may wait for their places.
    fn refuse_overdue(&mut self) {
        let unfinished = self.handshakes.count();
        if unfinished > 0 && self.limits.crowded(self.finished(), unfinished) {
            for id in self.handshakes.overdue(Instant::now()) {
                let overdue = self.forget(&id);
                self.refused.extend(overdue);
            }
        }
    }

    /// Advances the connections that are due, and forgets those that ended.
    fn advance(&mut self, udp: &mut udp::Udp, now: Instant) {
        self.all.retain(|id, connection| {
            if connection.due.is_some_and(|due| due <= now) {
                connection.advance(udp, now);
                connection.follow_handshake(id, &mut self.handshakes, now);
            }
            !connection.is_over()
        });
        for mut connection in self.refused.drain(..) {
            connection.refuse(udp);
        }
    }

    /// Refuses new requests and finishes the present ones.
    fn leave(&mut self) {
        self.leaving = true;
        for connection in self.all.values_mut() {
            connection.http3.application.leave();
            connection.due = Some(Instant::now());
        }
    }

    /// Ends all connections.
    fn close(&mut self, now: Instant) {
        for connection in self.all.values_mut() {
            connection.close();
            connection.due = Some(now);
        }
    }
}

/// A client's connection and its requests.
struct Connection {
    quic: petra_http3::Connection,
    http3: Http3<Responses>,
    /// True until the end of its handshake.
    unfinished: bool,
    /// Time at which the connection is next to be advanced.
    due: Option<Instant>,
}

impl Connection {
    fn new(quic: petra_http3::Connection, root: Option<Rc<Path>>) -> Connection {
        Connection {
            quic,
            http3: Http3::new(Responses::new(root)),
            unfinished: true,
            due: Some(Instant::now()),
        }
    }

    /// Takes note of the end of its handshake, in either way.
    fn follow_handshake(
        &mut self,
        id: &ConnectionId<'static>,
        handshakes: &mut Handshakes,
        now: Instant,
    ) {
        if self.unfinished && self.quic.is_established() {
            handshakes.end(id);
        } else if self.unfinished && (self.quic.is_draining() || self.quic.is_closed()) {
            handshakes.fail(id, now);
        } else {
            return;
        }
        self.unfinished = false;
    }

    /// Returns true if nothing remains to be done. Without a finished handshake, a connection that
    /// drains is over: strangers would fill the server with them.
    fn is_over(&self) -> bool {
        self.quic.is_closed() || (self.quic.is_draining() && !self.quic.is_established())
    }

    /// Reads requests, writes responses and sends packets until it would block.
    fn advance(&mut self, udp: &mut udp::Udp, now: Instant) {
        expire(&mut self.quic, now);
        if self.http3.work(&mut self.quic).is_err() {
            let code = WireErrorCode::InternalError as u64;
            self.quic.close(true, code, b"").ok();
        }
        for e in self.http3.application.failures() {
            warn(format_args!("http3-server: incomplete response: {e}"));
        }
        if self.http3.application.is_over() {
            self.close();
        }
        // A datagram that cannot be sent is a datagram lost; there may be more.
        let more = udp.flush(&mut self.quic).unwrap_or(Some(now));
        self.due = more.into_iter().chain(self.quic.timeout_instant()).min();
    }

    /// Tells the client, which may have a bad path, to wait no longer.
    fn refuse(&mut self, udp: &mut udp::Udp) {
        let code = quiche::WireErrorCode::ConnectionRefused as u64;
        self.quic.close(false, code, b"too many handshakes").ok();
        udp.flush(&mut self.quic).ok();
    }

    fn close(&mut self) {
        let code = WireErrorCode::NoError as u64;
        self.quic.close(true, code, b"shutting down").ok();
    }
}
