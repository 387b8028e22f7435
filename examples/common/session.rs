//! A client's connection to one server, and the downloads that go over it.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail, Context, Result};
use boring::ssl::SslRef;
use indicatif::ProgressBar;
use quiche::h3::{self, WireErrorCode};
use url::{Host, Url};

use super::download::Download;
use super::quic::{Logs, Transport};
use super::udp::Udp;

/// Batches of datagrams that are read before they are acknowledged.
const READS: usize = 4;

/// Parameters with which connections are made.
pub(crate) struct Connector<'a> {
    pub(crate) transport: &'a Transport,
    pub(crate) config: quiche::Config,
    pub(crate) logs: Logs,
    /// Verifies the server's certificate.
    pub(crate) verify: bool,
    /// Time within which each of a server's addresses must respond.
    pub(crate) timeout: Duration,
}

/// One server's downloads: those to come, those under way, those that ended.
pub(crate) struct Session {
    host: Host,
    /// Addresses that were not tried yet.
    addresses: VecDeque<SocketAddr>,
    connection: Connection,
    parallel: usize,
    waiting: VecDeque<Download>,
    running: HashMap<u64, Download>,
    ended: Vec<Download>,
    buffer: Vec<u8>,
}

struct Connection {
    peer: SocketAddr,
    udp: Udp,
    quic: quiche::Connection,
    h3: Option<h3::Connection>,
    begun: Instant,
    /// Time at which the handshake fails.
    deadline: Instant,
    handshake: Option<Duration>,
    /// Streams whose cancellation is on its way.
    cancelled: Vec<u64>,
    due: Option<Instant>,
}

impl Session {
    /// Begins to connect to the server of `url`, for `downloads` of which
    /// `parallel` run at a time.
    pub(crate) fn open(
        connector: &mut Connector,
        url: &Url,
        downloads: VecDeque<Download>,
        parallel: usize,
    ) -> Result<Session> {
        let host = url.host().context("URL: missing host")?.to_owned();
        let addresses = url.socket_addrs(|| Some(443));
        let mut addresses =
            VecDeque::from(addresses.with_context(|| format!("{host}: unknown host"))?);
        let first = addresses
            .pop_front()
            .with_context(|| format!("{host}: host without an address"))?;
        Ok(Session {
            connection: Connection::open(connector, &host, first)?,
            host,
            addresses,
            parallel,
            waiting: downloads,
            running: HashMap::new(),
            ended: vec![],
            buffer: vec![0; 256 * 1024],
        })
    }

    /// The socket to watch.
    pub(crate) fn udp(&self) -> &Udp {
        &self.connection.udp
    }

    /// The time at which to call `advance` if nothing arrives before.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.connection.due
    }

    /// Returns true if nothing is left to do.
    pub(crate) fn is_over(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty() && self.connection.cancelled.is_empty()
    }

    /// The time of the first request, if it has been sent.
    pub(crate) fn first_request(&self) -> Option<Instant> {
        let begun = self.running.values().chain(&self.ended);
        begun.filter_map(Download::begun).min()
    }

    /// Takes what arrived, asks for what is next and sends what it may.
    pub(crate) fn advance(&mut self, connector: &mut Connector, bar: &ProgressBar) {
        let Err(reason) = self.try_advance(bar) else {
            return;
        };
        let next = match self.connection.handshake {
            None => self.addresses.pop_front(),
            Some(_) => None,
        };
        let next = next.map(|address| Connection::open(connector, &self.host, address));
        match next.transpose() {
            Ok(Some(connection)) => self.connection = connection,
            Ok(None) => self.fail(&reason),
            Err(reason) => self.fail(&reason),
        }
    }

    fn try_advance(&mut self, bar: &ProgressBar) -> Result<()> {
        self.connection.receive()?;
        self.take_events(bar)?;
        self.request()?;
        self.connection.send()
    }

    /// Sends requests while there may be more.
    fn request(&mut self) -> Result<()> {
        let Connection {
            quic, h3: Some(h3), ..
        } = &mut self.connection
        else {
            return Ok(());
        };
        while self.running.len() < self.parallel {
            let Some(mut download) = self.waiting.pop_front() else {
                break;
            };
            match h3.send_request(quic, &download.request(Instant::now()), true) {
                Ok(stream) => _ = self.running.insert(stream, download),
                // Until the server, or the congestion window, admits more.
                Err(h3::Error::StreamBlocked)
                | Err(h3::Error::TransportError(quiche::Error::StreamLimit)) => {
                    self.waiting.push_front(download);
                    break;
                }
                Err(e) => return Err(e).context("cannot send a request"),
            }
        }
        Ok(())
    }

    /// Hands what came to the downloads it is for.
    fn take_events(&mut self, bar: &ProgressBar) -> Result<()> {
        let Connection {
            quic, h3: Some(h3), ..
        } = &mut self.connection
        else {
            return Ok(());
        };
        loop {
            let (stream, event) = match h3.poll(quic) {
                Ok(event) => event,
                Err(h3::Error::Done) => return Ok(()),
                Err(e) => return Err(e).context("server: HTTP/3 error"),
            };
            if matches!(event, h3::Event::GoAway) {
                for mut download in self.waiting.drain(..) {
                    download.fail("the server is shutting down");
                    self.ended.push(download);
                }
            }
            let Some(download) = self.running.get_mut(&stream) else {
                continue;
            };
            let finished = matches!(event, h3::Event::Finished);
            let now = Instant::now();
            let result = match event {
                h3::Event::Headers { list, .. } => download
                    .headers(&list, now)
                    .map(|length| bar.inc_length(length.unwrap_or(0))),
                h3::Event::Data => loop {
                    match h3.recv_body(quic, stream, &mut self.buffer) {
                        Ok(count) => {
                            bar.inc(count as u64);
                            if let Err(e) = download.data(&self.buffer[..count], now) {
                                break Err(e);
                            }
                        }
                        Err(h3::Error::Done) => break Ok(()),
                        Err(e) => break Err(e.into()),
                    }
                },
                h3::Event::Finished => download.finish(),
                h3::Event::Reset(code) => {
                    Err(anyhow!("stream: reset by the server (got code {code:#x})"))
                }
                _ => Ok(()),
            };
            if let Err(reason) = &result {
                download.fail(format!("{reason:#}"));
                let code = WireErrorCode::RequestCancelled as u64;
                quic.stream_shutdown(stream, quiche::Shutdown::Read, code)
                    .ok();
            }
            if finished || result.is_err() {
                self.ended.extend(self.running.remove(&stream));
            }
        }
    }

    /// Ends every download without success.
    fn fail(&mut self, reason: &anyhow::Error) {
        self.connection.cancelled.clear();
        for mut download in self
            .waiting
            .drain(..)
            .chain(self.running.drain().map(|(_, d)| d))
        {
            download.fail(format!("{reason:#}"));
            self.ended.push(download);
        }
    }

    /// Asks for no more, and tells the server to stop what is under way; the
    /// session is over when it has. Just to leave would have it go on sending:
    /// nobody repeats the packet that says goodbye.
    pub(crate) fn cancel(&mut self) {
        self.ended.extend(self.waiting.drain(..));
        for (stream, download) in self.running.drain() {
            let code = WireErrorCode::RequestCancelled as u64;
            let direction = quiche::Shutdown::Read;
            if self
                .connection
                .quic
                .stream_shutdown(stream, direction, code)
                .is_ok()
            {
                self.connection.cancelled.push(stream);
            }
            self.ended.push(download);
        }
        self.connection.due = Some(Instant::now());
    }

    /// Says goodbye. Returns the downloads, and how long the handshake took.
    pub(crate) fn close(mut self) -> (Vec<Download>, Option<Duration>) {
        let Connection { quic, udp, .. } = &mut self.connection;
        quic.close(true, WireErrorCode::NoError as u64, b"").ok();
        // The server also finds out by itself, after its idle timeout.
        udp.flush(quic).ok();
        (self.ended, self.connection.handshake)
    }
}

impl Connection {
    fn open(connector: &mut Connector, host: &Host, peer: SocketAddr) -> Result<Connection> {
        let any = match peer {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        let udp = Udp::open(any, Some(peer), connector.transport.paced())
            .with_context(|| format!("cannot reach {peer}"))?;
        let mut id = [0; 16];
        boring::rand::rand_bytes(&mut id)?;
        let id = quiche::ConnectionId::from_ref(&id);
        let (name, ip) = match host {
            Host::Domain(name) => (Some(name.as_str()), None),
            _ => (None, Some(peer.ip())),
        };
        let mut quic = quiche::connect(name, &id, udp.local(), peer, &mut connector.config)?;
        if let Some(ip) = ip.filter(|_| connector.verify) {
            let ssl: &mut SslRef = quic.as_mut();
            ssl.param_mut().set_ip(ip)?;
        }
        connector.logs.begin(&mut quic, "client")?;
        let begun = Instant::now();
        Ok(Connection {
            peer,
            udp,
            quic,
            h3: None,
            begun,
            deadline: begun + connector.timeout,
            handshake: None,
            cancelled: vec![],
            due: Some(begun),
        })
    }

    /// Takes what arrived. Fails when there will be no connection.
    fn receive(&mut self) -> Result<()> {
        let Connection { udp, quic, .. } = self;
        for _ in 0..READS {
            let received = udp.receive(|datagram, info| {
                // quiche drops what is not right, or closes the connection.
                let _ = quic.recv(datagram, info);
                None
            });
            match received {
                Ok(true) => {}
                Ok(false) => break,
                Err(e) => return self.unreachable(e),
            }
        }
        let now = Instant::now();
        if self.quic.timeout_instant().is_some_and(|at| at <= now) {
            self.quic.on_timeout();
        }
        if self.h3.is_none() && self.quic.is_established() {
            let config = h3::Config::new()?;
            self.h3 = Some(h3::Connection::with_transport(&mut self.quic, &config)?);
            self.handshake = Some(now - self.begun);
        }
        if self.handshake.is_none() && self.deadline <= now {
            bail!("{}: no response within the timeout", self.peer);
        }
        Ok(())
    }

    /// Sends what may be sent. Fails when the connection has ended.
    fn send(&mut self) -> Result<()> {
        let more = match self.udp.flush(&mut self.quic) {
            Ok(more) => more,
            Err(e) => {
                self.unreachable(e)?;
                Some(Instant::now())
            }
        };
        let quic = &mut self.quic;
        self.cancelled
            .retain(|stream| !quic.stream_finished(*stream));
        let deadline = self.handshake.is_none().then_some(self.deadline);
        let timers = more
            .into_iter()
            .chain(quic.timeout_instant())
            .chain(deadline);
        self.due = timers.min();
        if quic.is_closed() || quic.is_draining() {
            bail!(self.end());
        }
        Ok(())
    }

    /// Handles a socket error. It ends the connection only if the server has never responded:
    /// anyone can forge an ICMP message, and paths recover.
    fn unreachable(&self, e: io::Error) -> Result<()> {
        match self.handshake {
            None => Err(e).with_context(|| format!("cannot reach {}", self.peer)),
            Some(_) => Ok(()),
        }
    }

    /// Returns the reason for which the connection ended.
    fn end(&mut self) -> String {
        let peer = self.peer;
        let ssl: &mut SslRef = self.quic.as_mut();
        let verified = ssl.verify_result();
        let (who, error) = match (self.quic.peer_error(), self.quic.local_error()) {
            (Some(error), _) => (format!("{peer} closed the connection"), error),
            (None, Some(error)) => (format!("the connection to {peer} failed"), error),
            (None, None) => return format!("{peer}: idle timeout"),
        };
        let reason = String::from_utf8_lossy(&error.reason);
        match error.error_code {
            // RFC 9001, 4.8: 0x100 and the TLS alert.
            code @ 0x100..=0x1ff if !error.is_app => match verified {
                Err(e) => format!("the certificate of {peer} does not verify: {e}"),
                Ok(()) => format!("{who}: TLS alert {}", code - 0x100),
            },
            _ if !reason.is_empty() => format!("{who}: {reason}"),
            code => format!("{who} (error {code:#x})"),
        }
    }
}
