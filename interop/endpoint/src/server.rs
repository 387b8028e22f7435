//! The server: from datagrams to connections, from requests to files.

use std::collections::HashMap;
use std::net::{Ipv6Addr, SocketAddr};
use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use anyhow::{Context, Result};
use petra_http3::accept::{Acceptor, ID_LEN};
use petra_http3::udp::{self, Udp};
use petra_http3::{expire, Connection, Http3, Logs, Responses};
use quiche::{ConnectionId, Header, RecvInfo};

use crate::case::{Case, Http, Role};
use crate::config::{spare_ids, Settings};
use crate::hq;

/// Folder of the served files.
const ROOT: &str = "/www";

/// The port that the runner's URLs name.
const PORT: u16 = 443;

/// Responses of a server on one connection: requests arrive, files are sent.
pub(crate) trait Service {
    /// Handles received data, and sends as much as the connection permits.
    fn advance(&mut self, quic: &mut Connection) -> Result<()>;
}

/// Serves until a signal arrives.
pub(crate) fn run(case: &Case, settings: &Settings) -> Result<()> {
    let mut config = settings.config(case, Role::Server)?;
    // IPv4 arrives here, too, as mapped addresses.
    let address = SocketAddr::from((Ipv6Addr::UNSPECIFIED, PORT));
    let mut udp =
        Udp::open(address, None, true).with_context(|| format!("cannot listen on {address}"))?;
    let mut signals = udp::Signals::catch()?;
    let mut server = Server {
        case,
        logs: settings.logs()?,
        root: Path::new(ROOT).canonicalize().ok().map(Rc::from),
        connections: HashMap::new(),
        routes: HashMap::new(),
        accepted: 0,
        acceptor: Acceptor::new()?,
    };
    eprintln!(
        "petra-endpoint: listening on port {PORT} with {}",
        settings.controller
    );
    while !signals.arrived() {
        let due = server.connections.values().filter_map(|c| c.due);
        udp::wait([&udp], &signals, due.min())?;
        while udp.receive(|datagram, info| server.receive(datagram, info, &mut config))? {}
        server.advance(&mut udp);
    }
    Ok(())
}

struct Server<'a> {
    case: &'a Case,
    logs: Logs,
    root: Option<Rc<Path>>,
    connections: HashMap<u64, Served>,
    /// The connection that a connection ID belongs to.
    routes: HashMap<ConnectionId<'static>, u64>,
    /// Connections so far, whose numbers are their names here.
    accepted: u64,
    acceptor: Acceptor,
}

struct Served {
    quic: Connection,
    service: Box<dyn Service>,
    /// Time at which the connection is next to be advanced.
    due: Option<Instant>,
}

impl Server<'_> {
    /// Takes a datagram; returns one that answers it if no connection does.
    fn receive(
        &mut self,
        datagram: &mut [u8],
        info: RecvInfo,
        config: &mut quiche::Config,
    ) -> Option<Vec<u8>> {
        let header = Header::from_slice(datagram, ID_LEN).ok()?;
        let number = match self.routes.get(&header.dcid) {
            Some(number) => *number,
            None => match self.begin(&header, datagram.len(), info, config) {
                Ok(number) => number,
                Err(answer) => return answer,
            },
        };
        let served = self.connections.get_mut(&number)?;
        // What is wrong with a packet is quiche's to handle: it drops the packet,
        // or closes the connection.
        let _ = served.quic.recv(datagram, info);
        served.due = Some(Instant::now());
        None
    }

    /// Begins a connection with its first packet. The error is the datagram that answers the
    /// packet instead, if there is one.
    fn begin(
        &mut self,
        header: &Header,
        len: usize,
        info: RecvInfo,
        config: &mut quiche::Config,
    ) -> Result<u64, Option<Vec<u8>>> {
        let validate = self.case.retry;
        let mut quic = self.acceptor.accept(header, len, info, validate, config)?;
        if let Err(e) = self.logs.begin(&mut quic, "server") {
            eprintln!("petra-endpoint: {e:#}; the connection goes on");
        }
        let number = self.accepted;
        self.accepted += 1;
        // The client's first packets have the ID of its choice.
        self.routes.insert(header.dcid.clone().into_owned(), number);
        let id = self.acceptor.id(&header.dcid);
        self.routes.insert(id, number);
        let service: Box<dyn Service> = match self.case.http {
            Http::Hq => Box::new(hq::Responses::new(self.root.clone())),
            Http::Three => Box::new(Http3::new(Responses::new(self.root.clone()))),
        };
        let served = Served {
            quic,
            service,
            due: None,
        };
        self.connections.insert(number, served);
        Ok(number)
    }

    /// Advances the connections that are due, and forgets those that ended.
    fn advance(&mut self, udp: &mut Udp) {
        let now = Instant::now();
        let Server {
            connections,
            routes,
            ..
        } = self;
        let due = |served: &Served| served.due.is_some_and(|due| due <= now);
        for (number, served) in connections.iter_mut().filter(|(_, served)| due(served)) {
            let quic = &mut served.quic;
            expire(quic, now);
            let mut result = Ok(());
            if quic.is_established() || quic.is_in_early_data() {
                result = served.service.advance(quic);
            }
            let ids = spare_ids(quic, |id| {
                routes.insert(id, *number);
            });
            if let Err(e) = result.and(ids) {
                eprintln!("petra-endpoint: {e:#}");
                quic.close(true, 1, b"").ok();
            }
            // A datagram that cannot be sent is a datagram lost.
            let more = udp.flush(quic).unwrap_or(Some(now));
            served.due = more.into_iter().chain(quic.timeout_instant()).min();
        }
        connections.retain(|_, served| !served.quic.is_closed());
        routes.retain(|_, number| connections.contains_key(number));
    }
}
