//! The client: connections one after the other, each with its downloads.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Instant;

use anyhow::{bail, ensure, Context, Result};
use quiche::Connection;
use url::Url;

use crate::case::{Case, Connections, Http, Role};
use crate::config::{spare_ids, Settings};
use crate::udp::{self, Udp};
use crate::{hq, http3};

/// Requests of a client on one connection, and the files received for them.
pub(crate) trait Exchange {
    /// Asks for as much as the server allows, and takes what came.
    fn advance(&mut self, quic: &mut Connection) -> Result<()>;
    /// Returns true if every file is complete.
    fn is_done(&self) -> bool;
}

/// Downloads what `urls` lists, as the test case has it.
pub(crate) fn run(case: &Case, settings: &Settings, urls: &str) -> Result<()> {
    let urls = urls.split_whitespace().map(|url| {
        let parsed = Url::parse(url);
        parsed.with_context(|| format!("REQUESTS: not a URL (got {url:?})"))
    });
    let urls: Vec<Url> = urls.collect::<Result<_>>()?;
    let mut config = settings.config(case, Role::Client)?;
    let mut signals = udp::Signals::catch()?;
    let mut session = None;
    for urls in groups(case, &urls) {
        let mut connection = Client::open(&mut config, settings, &urls[0], session.as_deref())?;
        let early = case.connections == Connections::Resumed { early: true };
        // A session is worth waiting for where it is used.
        let resumes = matches!(case.connections, Connections::Resumed { .. });
        let needs_session = resumes && session.is_none();
        let mut exchange: Box<dyn Exchange> = match case.http {
            Http::Hq => Box::new(hq::Downloads::new(urls.to_vec())),
            Http::Three => Box::new(http3::Downloads::new(urls.to_vec())),
        };
        session = connection.run(&mut signals, exchange.as_mut(), early, needs_session)?;
    }
    Ok(())
}

/// The downloads of each connection.
fn groups<'a>(case: &Case, urls: &'a [Url]) -> Vec<&'a [Url]> {
    let groups: Vec<&[Url]> = match case.connections {
        Connections::One => vec![urls],
        Connections::Each => urls.chunks(1).collect(),
        Connections::Resumed { .. } => {
            let (first, rest) = urls.split_at(1.min(urls.len()));
            vec![first, rest]
        }
    };
    groups.into_iter().filter(|urls| !urls.is_empty()).collect()
}

struct Client {
    udp: Udp,
    quic: Connection,
    peer: SocketAddr,
}

impl Client {
    fn open(
        config: &mut quiche::Config,
        settings: &Settings,
        url: &Url,
        session: Option<&[u8]>,
    ) -> Result<Client> {
        let addresses = url.socket_addrs(|| Some(443));
        let addresses = addresses.with_context(|| format!("{url}: unknown host"))?;
        let peer = *addresses.first().context("URL: host without an address")?;
        let any = match peer {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        let udp = Udp::open(any, Some(peer), true);
        let udp = udp.with_context(|| format!("cannot reach {peer}"))?;
        let mut id = [0; 16];
        boring::rand::rand_bytes(&mut id)?;
        let id = quiche::ConnectionId::from_ref(&id);
        let mut quic = quiche::connect(url.domain(), &id, udp.local(), peer, config)?;
        settings.log(&mut quic, Role::Client)?;
        let mut client = Client { udp, quic, peer };
        if let Some(session) = session {
            client.quic.set_session(session)?;
            // There is early data from the ClientHello on.
            client.udp.flush(&mut client.quic)?;
        }
        Ok(client)
    }

    /// Downloads everything and closes. Returns the TLS session, which is waited
    /// for with `needs_session`.
    fn run(
        &mut self,
        signals: &mut udp::Signals,
        exchange: &mut dyn Exchange,
        early: bool,
        needs_session: bool,
    ) -> Result<Option<Vec<u8>>> {
        let Client { udp, quic, peer } = self;
        let mut due = Some(Instant::now());
        let mut finished = false;
        loop {
            udp::wait([&*udp], signals, due)?;
            // Who sends a signal wants no more of this.
            ensure!(!signals.arrived(), "ended by a signal");
            let received = |udp: &mut Udp, quic: &mut Connection| {
                udp.receive(|datagram, info| {
                    // quiche drops what is not right, or closes the connection.
                    let _ = quic.recv(datagram, info);
                    None
                })
            };
            // An ICMP message is no proof: the connection has its own timers.
            while received(udp, quic).unwrap_or(false) {}
            let now = Instant::now();
            if quic.timeout_instant().is_some_and(|at| at <= now) {
                quic.on_timeout();
            }
            if quic.is_established() || (early && quic.is_in_early_data()) {
                exchange.advance(quic)?;
            }
            spare_ids(quic, |_| {})?;
            let waits = needs_session && quic.session().is_none();
            if !finished && exchange.is_done() && !waits {
                quic.close(true, 0, b"")?;
                finished = true;
            }
            let more = udp.flush(quic).unwrap_or(Some(now));
            if finished {
                return Ok(quic.session().map(<[u8]>::to_vec));
            }
            if quic.is_closed() || quic.is_draining() {
                bail!("{peer}: the connection ended early: {}", end(quic));
            }
            due = more.into_iter().chain(quic.timeout_instant()).min();
        }
    }
}

/// Returns the reason for which a connection ended.
fn end(quic: &Connection) -> String {
    match (quic.peer_error(), quic.local_error()) {
        (Some(error), _) => format!("the server closed it with {error:?}"),
        (None, Some(error)) => format!("it failed with {error:?}"),
        (None, None) => "the server went silent".into(),
    }
}
