//! A flow while it runs: its two ends, and what was seen of it.

use anyhow::Result;

use super::channel::Nanos;
use super::download::Download;
use super::endpoint::{Application, Endpoint};
use super::metrics::Sample;
use super::path::Path;
use super::qlog::Qlog;
use super::tls;
use super::upload::Upload;
use super::world::{Address, End, Side};
use crate::clock::VirtualClock;
use crate::entropy;
use crate::link::IP_AND_UDP_HEADERS;
use crate::scenario::{Flow, Pacing, Scenario};

/// The generator of a flow's client is this and the flow's number; those of the
/// links have the numbers from 1 on.
const CLIENTS: u64 = 1 << 32;

/// That of its server, after those of the starts.
const SERVERS: u64 = 3 << 32;

pub(super) struct RunningFlow<'a> {
    pub(super) flow: &'a Flow,
    server_config: quiche::Config,
    /// `None` until the flow starts.
    pub(super) connection: Option<Connection>,
    /// Time at which both endpoints left.
    pub(super) stopped: Option<Nanos>,
    pub(super) samples: Vec<Sample>,
}

pub(super) struct Connection {
    pub(super) client: End,
    pub(super) server: End,
    /// Of both ends, where they are wanted.
    qlogs: Vec<Qlog>,
}

/// State of the path in a sample.
pub(super) struct Seen {
    /// In seconds.
    pub(super) time: f64,
    /// The wait in the queues of the flow's links, in milliseconds.
    pub(super) queue: f64,
    /// Of its narrowest link, in bits per second.
    pub(super) capacity: Option<f64>,
}

impl<'a> RunningFlow<'a> {
    pub(super) fn new(flow: &'a Flow, server_config: quiche::Config) -> Self {
        RunningFlow {
            flow,
            server_config,
            connection: None,
            stopped: None,
            samples: Vec::new(),
        }
    }

    /// Makes both ends, whose connection IDs are `ids`, the client's first.
    pub(super) fn connect(
        &mut self,
        scenario: &Scenario,
        index: u32,
        ids: [[u8; quiche::MAX_CONN_ID_LEN]; 2],
        path: &Path,
    ) -> Result<Connection> {
        let client = Address {
            flow: index,
            side: Side::Client,
        };
        let server = client.peer();
        let (local, remote) = (client.socket(), server.socket());
        let [client_id, server_id] = ids.map(|id| quiche::ConnectionId::from_vec(id.to_vec()));
        let mut qlogs = Vec::new();
        let mut log = |conn: &mut petra_http3::Connection, side| -> Result<()> {
            if let Some(folder) = &scenario.qlog {
                let name = scenario.trace_name(side, index as usize);
                let cc = scenario.flows[index as usize].cc.as_str();
                qlogs.push(Qlog::start(conn, folder, (side, cc), name)?);
            }
            Ok(())
        };

        let mut config = tls::client(scenario, self.flow, path)?;
        let name = Some(tls::SERVER_NAME);
        let mut conn =
            quiche::connect_with_buffer_factory(name, &client_id, local, remote, &mut config)?;
        log(&mut conn, "client")?;
        let random = entropy::generator(scenario.seed, CLIENTS + u64::from(index));
        let download = Application::Download(Download::new(self.flow.traffic, random));
        let client = End::new(client, Endpoint::new(conn, download, Pacing::Off));

        let config = &mut self.server_config;
        let mut conn = quiche::accept_with_buf_factory(&server_id, None, remote, local, config)?;
        log(&mut conn, "server")?;
        let random = entropy::generator(scenario.seed, SERVERS + u64::from(index));
        let upload = Application::Upload(Upload::new(self.flow.traffic, random));
        let server = End::new(server, Endpoint::new(conn, upload, scenario.pacing));
        Ok(Connection {
            client,
            server,
            qlogs,
        })
    }

    /// Adds a sample while there is something to see.
    pub(super) fn sample(&mut self, seen: Seen) {
        let Some(connection) = self.connection.as_ref().filter(|_| self.stopped.is_none()) else {
            return;
        };
        let download = connection.download();
        if download.is_done() {
            return;
        }
        let Some(stats) = connection.server.endpoint.conn().path_stats().next() else {
            return;
        };
        let Seen {
            time,
            queue,
            capacity,
        } = seen;
        self.samples.push(Sample {
            time,
            cwnd: stats.cwnd,
            ssthresh: stats.ssthresh,
            in_flight: stats.bytes_in_flight,
            pacing_rate: stats.pacing_rate.map(|rate| rate.saturating_mul(8)),
            estimate: stats.max_bandwidth.map(|rate| rate.saturating_mul(8)),
            // Before the first measurement quiche has RFC 9002's initial RTT for one.
            rtt: stats.min_rtt.map(|_| stats.rtt.as_secs_f64() * 1e3),
            body_bytes: download.received,
            arrived_bytes: connection.arrived_bytes(),
            queue,
            capacity,
        });
    }
}

impl Connection {
    pub(super) fn download(&self) -> &Download {
        let download = self.client.endpoint.download();
        download.expect("the client downloads")
    }

    /// Bytes of IP packets that the client has received, about: of packets in one
    /// datagram, as in a handshake, each counts with headers.
    fn arrived_bytes(&self) -> u64 {
        let stats = self.client.endpoint.conn().stats();
        stats.recv_bytes + (stats.recv * IP_AND_UDP_HEADERS) as u64
    }

    /// Returns true if the body is complete.
    pub(super) fn is_finished(&self) -> bool {
        self.download().finished.is_some()
    }

    /// The time at which the body was complete.
    pub(super) fn finished(&self, clock: &VirtualClock) -> Option<Nanos> {
        self.download().finished.map(|at| clock.nanos(at))
    }

    /// The reason for which the flow ended early. The end of a connection after its last transfer
    /// does not count.
    pub(super) fn failure(&self) -> Option<String> {
        let ends = [&self.server, &self.client];
        let failure = ends.into_iter().find_map(|end| end.endpoint.failure());
        failure.filter(|_| !self.download().is_done())
    }

    /// Lets it go, which writes the last events of its qlogs.
    pub(super) fn close(self) -> Result<()> {
        drop((self.client, self.server));
        self.qlogs.into_iter().try_for_each(Qlog::finish)
    }
}
