//! A server and a client in virtual time, over a link of the laboratory. The client's handshake is
//! quiche's; once the body flows, its packets are those of a [`Receiver`].

use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use petra_http3::tls::{set_ciphers, AES_128_GCM};
use petra_lab::clock::VirtualClock;
use petra_lab::entropy::{generator, Seed};
use petra_lab::link::{Direction, IP_AND_UDP_HEADERS};
use petra_lab::sim::{Channel, Nanos, PacketOutcome, QueuedPacket};

use crate::attack::{Attack, Receiver, MS};
use crate::identity;
use crate::keys::Keys;
use crate::usage::{heap, timed};

/// Interval of the samples.
pub(crate) const TICK: Nanos = 100 * MS;

/// The stream of the body.
const STREAM: u64 = 0;

/// Packets that quiche's client receives, handshake included, before the attack begins.
const BEFORE: usize = 10;

/// The number of the attack's first packet: above those of quiche's client.
const FIRST_NUMBER: u32 = 1 << 20;

const DATAGRAM: usize = 1350;

/// Bytes that the server writes ahead of what it has sent. BBR2 has no limit of its own
/// (docs/seam.md).
const AHEAD: u64 = 1 << 20;

/// A run.
#[derive(Default)]
pub(crate) struct Run {
    /// Bytes of IP packets that the server had sent at each [`TICK`].
    pub(crate) sent: Vec<u64>,
    /// The same of what came to the client.
    pub(crate) arrived: Vec<u64>,
    /// Live bytes of the heap at each tenth of them.
    pub(crate) heap: Vec<usize>,
    /// Error code with which the server closed.
    pub(crate) closed: Option<u64>,
    /// ACKs of the attack.
    pub(crate) acks: u64,
    /// Losses that the server saw, and those of them that were acknowledged later.
    pub(crate) lost: (usize, usize),
    /// CPU time of the server in seconds.
    pub(crate) cpu: f64,
    /// Packets that the server sent and received.
    pub(crate) packets: usize,
    /// Time of the end.
    pub(crate) ended: Nanos,
}

/// The arrivals at an end.
enum Arrival {
    AtServer(Vec<u8>),
    AtClient(Vec<u8>),
}

/// One direction of the link, and what the packets in it are.
struct Lane {
    channel: Channel<u64>,
    packets: BTreeMap<u64, Vec<u8>>,
    entered: u64,
    bytes: u64,
}

impl Lane {
    fn new(direction: &Direction, round_trip: Duration, stream: u64) -> Lane {
        let channel = Channel::new(direction, round_trip, generator(1, stream));
        Lane {
            channel: channel.expect("the link is one"),
            packets: BTreeMap::new(),
            entered: 0,
            bytes: 0,
        }
    }

    fn enter(&mut self, now: Nanos, packet: Vec<u8>) {
        let bytes = packet.len() + IP_AND_UDP_HEADERS;
        self.entered += 1;
        self.bytes += bytes as u64;
        let queued = QueuedPacket {
            content: self.entered,
            bytes,
            flow: 0,
            long_header: packet[0] & 0x80 != 0,
        };
        self.packets.insert(self.entered, packet);
        self.channel.enter(now, queued);
    }

    /// A packet that will arrive, and its time.
    fn decided(&mut self) -> Option<(Nanos, Vec<u8>)> {
        while let Some((content, outcome)) = self.channel.decided() {
            let packet = self.packets.remove(&content).expect("it is on its way");
            if let PacketOutcome::Arrives { at, .. } = outcome {
                return Some((at, packet));
            }
        }
        None
    }
}

/// A key log that the client reads.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn keys(&self, label: &str) -> Option<Keys> {
        Keys::of(&String::from_utf8_lossy(&self.0.lock().unwrap()), label)
    }
}

/// The laboratory's name of quiche's CUBIC as RFC 9438 has it.
pub(crate) const RFC_CUBIC: &str = "rfc-cubic";

fn config(cc: &str) -> quiche::Config {
    let mut tls = identity::tls();
    set_ciphers(&mut tls, &[AES_128_GCM]).unwrap();
    let version = quiche::PROTOCOL_VERSION;
    let mut config = quiche::Config::with_boring_ssl_ctx_builder(version, tls).unwrap();
    config.set_application_protos(&[b"hostile"]).unwrap();
    config.verify_peer(false);
    config.log_keys();
    config.set_max_idle_timeout(30_000);
    config.set_max_send_udp_payload_size(DATAGRAM);
    // The client never opens its windows any further.
    let window = 1 << 40;
    config.set_initial_max_data(window);
    config.set_initial_max_stream_data_bidi_local(window);
    config.set_initial_max_stream_data_bidi_remote(window);
    config.set_initial_max_streams_bidi(1);
    config.set_cubic_spurious_undo(cc == RFC_CUBIC);
    let cc = if cc == RFC_CUBIC { "cubic" } else { cc };
    config.set_cc_algorithm_name(cc).unwrap();
    config
}

/// The client: quiche's, until it becomes the attack's.
struct Client {
    conn: quiche::Connection,
    log: Log,
    id: Vec<u8>,
    attack: Attack,
    round_trip: Nanos,
    largest: u64,
    packets: usize,
    hostile: Option<Hostile>,
}

struct Hostile {
    keys: Keys,
    receiver: Receiver,
    number: u32,
}

impl Client {
    fn receive(&mut self, now: Nanos, mut packet: Vec<u8>) {
        let keys = self.log.keys("SERVER_TRAFFIC_SECRET_0");
        let number = keys.and_then(|keys| keys.number(&packet, self.id.len(), self.largest));
        self.largest = self.largest.max(number.unwrap_or(0));
        self.packets += 1;
        if let Some(hostile) = &mut self.hostile {
            if let Some(number) = number {
                hostile.receiver.receive(now, number);
            }
            return;
        }
        receive(&mut self.conn, &mut packet, addresses());
        if self.packets >= BEFORE && self.conn.is_established() && number.is_some() {
            let keys = self.log.keys("CLIENT_TRAFFIC_SECRET_0");
            self.hostile = Some(Hostile {
                keys: keys.expect("the handshake is complete"),
                receiver: Receiver::new(self.attack, now, self.round_trip, self.largest),
                number: FIRST_NUMBER,
            });
        }
    }

    fn output(&mut self, now: Nanos) -> Option<Vec<u8>> {
        let Some(hostile) = &mut self.hostile else {
            if self.conn.is_established() && self.conn.stream_capacity(STREAM).is_err() {
                let _ = self.conn.stream_send(STREAM, b"body", true);
            }
            return send(&mut self.conn);
        };
        let frame = hostile.receiver.output(now)?;
        hostile.number += 1;
        let id = self.conn.destination_id();
        Some(hostile.keys.seal_1rtt(&id, hostile.number, &frame))
    }

    /// Time of the next output or timeout.
    fn next(&self, clock: &VirtualClock) -> Option<Nanos> {
        match &self.hostile {
            Some(hostile) => hostile.receiver.next(),
            None => self.conn.timeout_instant().map(|at| clock.nanos(at)),
        }
    }
}

fn receive(conn: &mut quiche::Connection, packet: &mut [u8], [to, from]: [SocketAddr; 2]) {
    let _ = conn.recv(packet, quiche::RecvInfo { from, to });
}

fn send(conn: &mut quiche::Connection) -> Option<Vec<u8>> {
    let mut buffer = [0; DATAGRAM];
    match conn.send(&mut buffer) {
        Ok((len, _)) => Some(buffer[..len].to_vec()),
        Err(quiche::Error::Done) => None,
        Err(error) => panic!("sending: {error}"),
    }
}

/// The client's address and the server's.
fn addresses() -> [SocketAddr; 2] {
    ["10.0.0.1:1000", "10.0.0.2:443"].map(|address| address.parse().unwrap())
}

/// A download with `cc` by a client that attacks, until `end`.
pub(crate) fn run(cc: &str, attack: Attack, down: &Direction, up: &Direction, end: Nanos) -> Run {
    let clock = VirtualClock::start();
    let _seed = Seed::start(1);
    let mut world = World::new(&clock, cc, attack, down, up);
    loop {
        world.sample();
        world.deliver();
        world.advance_lanes();
        world.expire_timers();
        if world.is_closed() {
            break;
        }
        world.write_body();
        let release = world.send();
        world.collect_arrivals();
        let next = world.next(release).min(end);
        if next >= end {
            break;
        }
        world.now = next.max(world.now);
        clock.set(world.now);
    }
    world.end()
}

/// A download at a point in time.
struct World<'a> {
    clock: &'a VirtualClock,
    now: Nanos,
    /// From the server to the client, and back.
    lanes: [Lane; 2],
    server: quiche::Connection,
    client: Client,
    /// Packets that have left a lane, by time of arrival and order.
    arrivals: BTreeMap<(Nanos, u64), Arrival>,
    order: u64,
    /// A piece of the body, and the bytes that the server has written of it.
    body: Vec<u8>,
    written: u64,
    /// Bytes of IP packets that came to the client.
    arrived: u64,
    /// Time of the next sample.
    tick: Nanos,
    report: Run,
}

impl World<'_> {
    fn new<'a>(
        clock: &'a VirtualClock,
        cc: &str,
        attack: Attack,
        down: &Direction,
        up: &Direction,
    ) -> World<'a> {
        let round_trip = down.delay + up.delay;
        let lanes = [Lane::new(down, round_trip, 1), Lane::new(up, round_trip, 2)];
        let [client_at, server_at] = addresses();
        let ids = [[1; 16], [2; 16]].map(|id| quiche::ConnectionId::from_vec(id.to_vec()));
        let mut config = config(cc);
        let server = quiche::accept(&ids[1], None, server_at, client_at, &mut config).unwrap();
        let conn = quiche::connect(Some("hostile"), &ids[0], client_at, server_at, &mut config);
        let mut client = Client {
            conn: conn.unwrap(),
            log: Log::default(),
            id: ids[0].to_vec(),
            attack,
            round_trip: round_trip.as_nanos() as Nanos,
            largest: 0,
            packets: 0,
            hostile: None,
        };
        client.conn.set_keylog(Box::new(client.log.clone()));
        World {
            clock,
            now: 0,
            lanes,
            server,
            client,
            arrivals: BTreeMap::new(),
            order: 0,
            body: vec![0; 1 << 16],
            written: 0,
            arrived: 0,
            tick: 0,
            report: Run::default(),
        }
    }

    /// Takes the sample that is due.
    fn sample(&mut self) {
        if self.now < self.tick {
            return;
        }
        self.count_bytes();
        if self.report.sent.len() % 10 == 1 {
            self.report.heap.push(heap());
        }
        self.tick += TICK;
    }

    fn count_bytes(&mut self) {
        self.report.sent.push(self.lanes[0].bytes);
        self.report.arrived.push(self.arrived);
    }

    /// Gives the ends the packets that arrive now.
    fn deliver(&mut self) {
        while let Some(entry) = self.arrivals.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            match entry.remove() {
                Arrival::AtServer(mut packet) => {
                    let [client, server] = addresses();
                    timed(&mut self.report.cpu, || {
                        receive(&mut self.server, &mut packet, [server, client]);
                    });
                }
                Arrival::AtClient(packet) => {
                    self.arrived += (packet.len() + IP_AND_UDP_HEADERS) as u64;
                    self.client.receive(self.now, packet);
                }
            }
        }
    }

    fn advance_lanes(&mut self) {
        for lane in &mut self.lanes {
            while lane.channel.next().is_some_and(|at| at <= self.now) {
                lane.channel.advance(self.now);
            }
        }
    }

    fn expire_timers(&mut self) {
        let is_due = |at: Option<Instant>| at.is_some_and(|at| self.clock.nanos(at) <= self.now);
        if is_due(self.server.timeout_instant()) {
            timed(&mut self.report.cpu, || self.server.on_timeout());
        }
        if self.client.hostile.is_none() && is_due(self.client.conn.timeout_instant()) {
            self.client.conn.on_timeout();
        }
    }

    /// Returns true if the server has closed, and keeps its first error.
    fn is_closed(&mut self) -> bool {
        if let Some(error) = self.server.local_error() {
            self.report.closed.get_or_insert(error.error_code);
        }
        self.report.closed.is_some() || self.server.is_closed()
    }

    /// The server's application reads the request, and writes the body up to [`AHEAD`].
    fn write_body(&mut self) {
        let mut request = [0; 16];
        let _ = self.server.stream_recv(STREAM, &mut request);
        while self.written < self.server.stats().sent_bytes + AHEAD {
            match self.server.stream_send(STREAM, &self.body, false) {
                Ok(sent) if sent > 0 => self.written += sent as u64,
                _ => break,
            }
        }
    }

    /// Sends what both ends have. Returns the time at which the server's pacer releases more.
    fn send(&mut self) -> Option<Instant> {
        let release = self.send_from_server();
        while let Some(packet) = self.client.output(self.now) {
            self.lanes[1].enter(self.now, packet);
        }
        release
    }

    fn send_from_server(&mut self) -> Option<Instant> {
        loop {
            let next = self.server.get_next_release_time();
            let release = next.and_then(|next| next.time(self.clock.instant(self.now)));
            if release.is_some() {
                return release;
            }
            let packet = timed(&mut self.report.cpu, || send(&mut self.server))?;
            self.lanes[0].enter(self.now, packet);
        }
    }

    /// Collects the packets whose arrival is decided.
    fn collect_arrivals(&mut self) {
        let ends = [Arrival::AtClient, Arrival::AtServer];
        for (lane, arrival) in self.lanes.iter_mut().zip(ends) {
            while let Some((at, packet)) = lane.decided() {
                self.order += 1;
                self.arrivals.insert((at, self.order), arrival(packet));
            }
        }
    }

    /// Time of the next event; `release` is that of the server's pacer.
    fn next(&self, release: Option<Instant>) -> Nanos {
        let instants = [self.server.timeout_instant(), release];
        let instants = instants
            .into_iter()
            .flatten()
            .map(|at| self.clock.nanos(at));
        let arrival = self.arrivals.keys().next().map(|(at, _)| *at);
        let lanes = self.lanes.iter().filter_map(|lane| lane.channel.next());
        let others = lanes.chain(arrival).chain(self.client.next(self.clock));
        instants.chain(others).fold(self.tick, Nanos::min)
    }

    fn end(mut self) -> Run {
        self.count_bytes();
        self.report.heap.push(heap());
        let stats = self.server.stats();
        let hostile = self.client.hostile;
        Run {
            acks: hostile.map_or(0, |hostile| hostile.receiver.acks()),
            lost: (stats.lost, stats.spurious_lost),
            packets: stats.sent + stats.recv,
            ended: self.now,
            ..self.report
        }
    }
}
