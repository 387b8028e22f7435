//! The server: from datagrams to connections, from requests to files.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv6Addr, SocketAddr};
use std::time::Instant;

use anyhow::{Context, Result};
use quiche::{Connection, ConnectionId, Header, RecvInfo};

use crate::case::{Case, Http, Role};
use crate::config::{spare_ids, Settings};
use crate::udp::{self, Udp};
use crate::{hq, http3};

/// The length of our connection IDs in bytes.
const ID_LEN: usize = 16;

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
        settings,
        connections: HashMap::new(),
        routes: HashMap::new(),
        accepted: 0,
        keys: RandomState::new(),
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
    settings: &'a Settings,
    connections: HashMap<u64, Served>,
    /// The connection that a connection ID belongs to.
    routes: HashMap<ConnectionId<'static>, u64>,
    /// Connections so far, whose numbers are their names here.
    accepted: u64,
    /// Keys that sign tokens.
    keys: RandomState,
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
            // No first datagram of a client's is smaller, so it gets no answer.
            None if datagram.len() < quiche::MIN_CLIENT_INITIAL_LEN => return None,
            None => match self.begin(&header, info, config) {
                Begun::Connection(number) => number,
                Begun::Answer(answer) => return Some(answer),
                Begun::Nothing => return None,
            },
        };
        let served = self.connections.get_mut(&number)?;
        // What is wrong with a packet is quiche's to handle: it drops the packet,
        // or closes the connection.
        let _ = served.quic.recv(datagram, info);
        served.due = Some(Instant::now());
        None
    }

    /// Handles the first packet of a connection.
    fn begin(&mut self, header: &Header, info: RecvInfo, config: &mut quiche::Config) -> Begun {
        if header.ty != quiche::Type::Initial {
            return Begun::Nothing;
        }
        let mut answer = vec![0; 1200];
        let answered = |length: quiche::Result<usize>, mut answer: Vec<u8>| match length {
            Ok(length) => {
                answer.truncate(length);
                Begun::Answer(answer)
            }
            Err(_) => Begun::Nothing,
        };
        if !quiche::version_is_supported(header.version) {
            let length = quiche::negotiate_version(&header.scid, &header.dcid, &mut answer);
            return answered(length, answer);
        }
        let token = header.token.as_deref().unwrap_or_default();
        let mut original = None;
        if self.case.retry {
            original = self.original(token, info.from);
            if original.is_none() {
                let token = self.token(&header.dcid, info.from);
                let (scid, dcid, version) = (&header.scid, &header.dcid, header.version);
                let new = self.derived(&header.dcid);
                let length = quiche::retry(scid, dcid, &new, &token, version, &mut answer);
                return answered(length, answer);
            }
        }
        // After a Retry, the ID that the client uses is one of ours already.
        let id = match &original {
            Some(_) => header.dcid.clone().into_owned(),
            None => self.derived(&header.dcid),
        };
        let accepted = quiche::accept(&id, original.as_ref(), info.to, info.from, config);
        let Ok(mut quic) = accepted else {
            return Begun::Nothing;
        };
        if let Err(e) = self.settings.log(&mut quic, Role::Server) {
            eprintln!("petra-endpoint: {e:#}; the connection goes on");
        }
        let number = self.accepted;
        self.accepted += 1;
        // The client's first packets have the ID of its choice.
        self.routes.insert(header.dcid.clone().into_owned(), number);
        self.routes.insert(id, number);
        let service: Box<dyn Service> = match self.case.http {
            Http::Hq => Box::new(hq::Responses::default()),
            Http::Three => Box::new(http3::Responses::default()),
        };
        let served = Served {
            quic,
            service,
            due: None,
        };
        self.connections.insert(number, served);
        Begun::Connection(number)
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
            if quic.timeout_instant().is_some_and(|at| at <= now) {
                quic.on_timeout();
            }
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

    /// Our connection ID for a client that begins with `chosen`: each of its
    /// first packets leads to the same.
    fn derived(&self, chosen: &[u8]) -> ConnectionId<'static> {
        let halves = [0u8, 1].map(|half| self.keys.hash_one((half, chosen)).to_be_bytes());
        ConnectionId::from_vec(halves.concat())
    }

    /// A token for a Retry packet: the client's first choice of our ID, signed
    /// together with its address.
    fn token(&self, chosen: &[u8], from: SocketAddr) -> Vec<u8> {
        let signature = self.keys.hash_one((chosen, from)).to_be_bytes();
        [&signature[..], chosen].concat()
    }

    /// Returns the original connection ID of a valid token.
    fn original(&self, token: &[u8], from: SocketAddr) -> Option<ConnectionId<'static>> {
        let (_, chosen) = token.split_at_checked(size_of::<u64>())?;
        let ours = self.token(chosen, from) == token;
        ours.then(|| ConnectionId::from_vec(chosen.to_vec()))
    }
}

/// Result of a first packet.
enum Begun {
    Connection(u64),
    Answer(Vec<u8>),
    Nothing,
}
