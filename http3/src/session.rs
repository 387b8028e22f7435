//! A client's downloads from one server.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail, Context, Result};
use boring::ssl::SslRef;
use quiche::h3::WireErrorCode;
use url::{Host, Url};

use crate::udp::Udp;
use crate::{addresses, Client, Download, Http3, Logs, Progress, Requests};

/// Parameters with which connections are made.
pub struct Connector {
    /// quiche's configuration, with the congestion controller.
    pub config: quiche::Config,
    /// The logs of the connections.
    pub logs: Logs,
    /// Packets wait for the pacer.
    pub paced: bool,
    /// Verifies the server's certificate.
    pub verify: bool,
    /// Time within which each of a server's addresses must respond.
    pub timeout: Duration,
}

/// One server's downloads, and the connection that they share.
pub struct Session {
    host: Host,
    /// Addresses that were not tried yet.
    addresses: VecDeque<SocketAddr>,
    client: Client,
    http3: Http3<Requests>,
    begun: Instant,
    /// Time at which the handshake fails.
    deadline: Instant,
    handshake: Option<Duration>,
    /// Streams whose cancellation is on its way.
    cancelled: Vec<u64>,
}

impl Session {
    /// Begins to connect to the server of `url`, for `downloads` of which `parallel` run at a time.
    ///
    /// # Errors
    ///
    /// A host without an address, or with none that can be connected to. The downloads are left.
    pub fn open(
        connector: &mut Connector,
        url: &Url,
        downloads: &mut VecDeque<Download>,
        parallel: usize,
    ) -> Result<Session> {
        let host = url.host().context("URL: missing host")?.to_owned();
        let mut addresses = addresses(url)?;
        let client = connect_to_next(connector, &host, &mut addresses)?;
        let begun = Instant::now();
        Ok(Session {
            host,
            addresses,
            client,
            http3: Http3::new(Requests::new(std::mem::take(downloads), parallel)),
            begun,
            deadline: begun + connector.timeout,
            handshake: None,
            cancelled: vec![],
        })
    }

    /// The socket to watch.
    pub fn udp(&self) -> &Udp {
        &self.client.udp
    }

    /// The time at which to call `advance` if nothing arrives before.
    pub fn due(&self) -> Option<Instant> {
        let deadline = self.handshake.is_none().then_some(self.deadline);
        self.client.due.into_iter().chain(deadline).min()
    }

    /// Returns true if nothing is left to do.
    pub fn is_over(&self) -> bool {
        self.http3.application.is_over() && self.cancelled.is_empty()
    }

    /// The time of the first request, if it has been sent.
    pub fn first_request(&self) -> Option<Instant> {
        self.http3.application.first()
    }

    /// Returns the progress of the downloads since the last call.
    pub fn progress(&mut self) -> Progress {
        self.http3.application.progress()
    }

    /// Takes what arrived, asks for what is next and sends what it may.
    pub fn advance(&mut self, connector: &mut Connector) {
        let Err(reason) = self.try_advance() else {
            return;
        };
        match self.try_next_address(connector) {
            Ok(true) => {}
            Ok(false) => self.fail(&reason),
            Err(reason) => self.fail(&reason),
        }
    }

    fn try_advance(&mut self) -> Result<()> {
        let received = self.client.receive();
        self.reached(received)?;
        let now = Instant::now();
        if self.handshake.is_none() {
            if self.client.quic.is_established() {
                self.handshake = Some(now - self.begun);
            } else if self.deadline <= now {
                bail!("{}: no response within the timeout", self.client.peer);
            }
        }
        self.http3.work(&mut self.client.quic)?;
        let sent = self.client.send();
        self.reached(sent)?;
        let quic = &self.client.quic;
        self.cancelled
            .retain(|stream| !quic.stream_finished(*stream));
        match self.client.end() {
            Some(reason) => bail!(reason),
            None => Ok(()),
        }
    }

    /// Handles a socket error. It ends the connection only if the server has never responded.
    fn reached(&self, result: io::Result<()>) -> Result<()> {
        match self.handshake {
            None => result.with_context(|| format!("cannot reach {}", self.client.peer)),
            Some(_) => Ok(()),
        }
    }

    /// Connects to the server's next address. Returns false if there is none, or if one has
    /// responded.
    fn try_next_address(&mut self, connector: &mut Connector) -> Result<bool> {
        if self.handshake.is_some() {
            return Ok(false);
        }
        if self.addresses.is_empty() {
            return Ok(false);
        }
        self.client = connect_to_next(connector, &self.host, &mut self.addresses)?;
        self.begun = Instant::now();
        self.deadline = self.begun + connector.timeout;
        Ok(true)
    }

    fn fail(&mut self, reason: &anyhow::Error) {
        self.cancelled.clear();
        self.http3.application.fail(reason);
    }

    /// Asks for no more, and tells the server to stop what is under way; the
    /// session is over when it has. Just to leave would have it go on sending:
    /// nobody repeats the packet that says goodbye.
    pub fn cancel(&mut self) {
        self.cancelled = self.http3.application.cancel(&mut self.client.quic);
        self.client.due = Some(Instant::now());
    }

    /// Says goodbye. Returns the downloads, and how long the handshake took.
    pub fn close(mut self) -> (Vec<Download>, Option<Duration>) {
        let quic = &mut self.client.quic;
        quic.close(true, WireErrorCode::NoError as u64, b"").ok();
        // The server also finds out by itself, after its idle timeout.
        self.client.send().ok();
        (self.http3.application.into_ended(), self.handshake)
    }
}

/// Takes addresses until one of them can be connected to.
fn connect_to_next(
    connector: &mut Connector,
    host: &Host,
    addresses: &mut VecDeque<SocketAddr>,
) -> Result<Client> {
    let mut client = Err(anyhow!("{host}: host without an address"));
    while let Some(address) = addresses.pop_front() {
        client = connect(connector, host, address)
            .with_context(|| format!("{host}: cannot connect to {address}"));
        if client.is_ok() {
            break;
        }
    }
    client
}

fn connect(connector: &mut Connector, host: &Host, peer: SocketAddr) -> Result<Client> {
    let name = match host {
        Host::Domain(name) => Some(name.as_str()),
        _ => None,
    };
    let mut client = Client::open(&mut connector.config, name, peer, connector.paced)?;
    if name.is_none() && connector.verify {
        let ssl: &mut SslRef = client.quic.as_mut();
        ssl.param_mut().set_ip(peer.ip())?;
    }
    connector.logs.begin(&mut client.quic, "client")?;
    Ok(client)
}
