//! Honest clients. Each has a connection and a port of its own, and checks what it downloads.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use boring::ssl::{SslContextBuilder, SslMethod};
use clap::Parser;
use petra_http3::udp::{self, Signals};
use petra_http3::{Connector, Download, Session, Transport};
use url::Url;

/// Connections that begin at the same time, so that no handshake waits for long in this process.
const WAVE: usize = 100;

/// Time within which the slowest load makes progress.
const MAX_WAIT: Duration = Duration::from_secs(120);

#[derive(Parser)]
struct Options {
    #[command(flatten)]
    transport: Transport,
}

/// The maker of the connections of clients.
pub(crate) fn connector(change: impl FnOnce(&mut quiche::Config)) -> Connector {
    let Options { transport } = Options::parse_from(["load", "--idle-timeout", "10m"]);
    let tls = SslContextBuilder::new(SslMethod::tls()).expect("a TLS context");
    let mut config = transport.config(tls).expect("a configuration");
    config.verify_peer(false);
    change(&mut config);
    Connector {
        config,
        logs: transport.logs("cubic").expect("no logs"),
        paced: true,
        verify: false,
        timeout: MAX_WAIT,
    }
}

/// A session with one download.
pub(crate) fn session(connector: &mut Connector, server: SocketAddr, path: &str) -> Session {
    let url = Url::parse(&format!("https://{server}{path}")).expect("a URL");
    let download = Download::new(url.clone(), None);
    Session::open(connector, &url, &mut [download].into(), 1).expect("a socket")
}

/// Clients of one server.
pub(crate) struct Clients {
    server: SocketAddr,
    connector: Connector,
    signals: Signals,
    sessions: Vec<Session>,
}

impl Clients {
    pub(crate) fn new(server: SocketAddr) -> Clients {
        Clients {
            server,
            connector: connector(|_| {}),
            signals: Signals::catch().expect("signals"),
            sessions: vec![],
        }
    }

    /// Begins connections, each with one download.
    pub(crate) fn open(&mut self, count: usize, path: &str) {
        for begun in 1..=count {
            let session = session(&mut self.connector, self.server, path);
            self.sessions.push(session);
            if begun % WAVE == 0 {
                self.step(Instant::now());
            }
        }
    }

    /// Waits for the end of all downloads, and leaves the connections open.
    pub(crate) fn finish(&mut self) {
        let end = Instant::now() + MAX_WAIT;
        while !self.sessions.iter().all(Session::is_over) {
            assert!(Instant::now() < end, "a download hangs");
            self.step(end);
        }
    }

    /// Closes the connections.
    pub(crate) fn close(&mut self) -> Tally {
        let mut tally = Tally::default();
        self.sessions
            .drain(..)
            .for_each(|session| tally.add(session));
        tally
    }

    /// Makes connections one after the other, `parallel` at a time.
    pub(crate) fn run(&mut self, count: usize, path: &str, parallel: usize) -> Tally {
        let mut tally = Tally::default();
        let mut begun = 0;
        while tally.0.len() < count {
            let more = parallel.min(count - begun) - self.sessions.len().min(count - begun);
            begun += more;
            self.open(more, path);
            self.step(Instant::now() + MAX_WAIT);
            self.collect(&mut tally);
        }
        tally
    }

    /// Does the same for a time, and calls `each` meanwhile. Downloads that have begun are
    /// finished.
    pub(crate) fn run_until(
        &mut self,
        until: Instant,
        path: &str,
        parallel: usize,
        mut each: impl FnMut(),
    ) -> Tally {
        let mut tally = Tally::default();
        loop {
            let now = Instant::now();
            if now < until {
                self.open(parallel - self.sessions.len(), path);
            }
            if self.sessions.is_empty() {
                return tally;
            }
            assert!(now < until + MAX_WAIT, "a download hangs");
            self.step(now + Duration::from_millis(100));
            self.collect(&mut tally);
            each();
        }
    }

    fn collect(&mut self, tally: &mut Tally) {
        let over = self.sessions.extract_if(.., |session| session.is_over());
        over.for_each(|session| tally.add(session));
    }

    fn step(&mut self, latest: Instant) {
        let due = self.sessions.iter().filter_map(Session::due).min();
        let due = due.map_or(latest, |due| due.min(latest));
        let sockets = self.sessions.iter().map(Session::udp);
        udp::wait(sockets, &self.signals, Some(due)).expect("poll works");
        assert!(!self.signals.arrived(), "a signal ended the load");
        for session in &mut self.sessions {
            session.advance(&mut self.connector);
        }
    }
}

/// The time of each download in seconds, or the reason for which it failed.
#[derive(Default)]
pub(crate) struct Tally(Vec<Result<f64, String>>);

impl Tally {
    fn add(&mut self, session: Session) {
        let (downloads, handshake) = session.close();
        let handshake = handshake.unwrap_or_default().as_secs_f64();
        let result = |download: &Download| match download.is_complete() {
            true => Ok(handshake + download.report().seconds),
            false => Err(download.report().error.unwrap_or_default()),
        };
        self.0.extend(downloads.iter().map(result));
    }

    pub(crate) fn complete(&self) -> usize {
        self.0.iter().flatten().count()
    }

    pub(crate) fn failures(&self) -> Vec<&String> {
        self.0
            .iter()
            .filter_map(|result| result.as_ref().err())
            .collect()
    }

    /// Asserts that no download failed, and that there were at least `least`.
    pub(crate) fn check(&self, least: usize) {
        let failures = self.failures();
        assert!(
            failures.is_empty(),
            "{} failed: {failures:?}",
            failures.len()
        );
        assert!(self.complete() >= least, "{} of {least}", self.complete());
    }

    /// Number, failures, median and largest time, as cells of a table.
    pub(crate) fn cells(&self) -> String {
        let mut seconds: Vec<f64> = self.0.iter().flatten().copied().collect();
        seconds.sort_by(f64::total_cmp);
        let at = |index: usize| seconds.get(index).copied().unwrap_or(f64::NAN);
        format!(
            "{} | {} | {:.0} ms | {:.0} ms",
            seconds.len(),
            self.failures().len(),
            1e3 * at(seconds.len() / 2),
            1e3 * at(seconds.len().saturating_sub(1)),
        )
    }
}
