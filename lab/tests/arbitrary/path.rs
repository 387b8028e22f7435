//! Arbitrary bytes as what a path and an application do to a connection of quiche, in virtual time.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use petra::controller::{
    Ack, Capability, Controller, EarlyProbes, Factory, Loss, Metrics, Phase, Pto, Rtt, Sent,
    Settings, SpuriousLoss, Time,
};
use petra::registry::{factory, names};
use petra_lab::clock::VirtualClock;
use petra_lab::entropy::Seed;
use quiche::congestion_control::{register, CongestionControlOps};
use quiche::{Config, Connection, ConnectionId, RecvInfo};

#[path = "../identity/mod.rs"]
mod identity;
// The tests of properties use all of it.
#[allow(dead_code)]
#[path = "../../../tests/transport/mod.rs"]
mod transport;

const CLIENT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1);
const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 2);

/// Most steps of an input.
const STEPS: usize = 300;

/// Most bytes that the server's application writes.
const BODY: usize = 1 << 20;

/// Milliseconds without a packet after which a connection ends.
const IDLE_TIMEOUT: u64 = 30_000;

/// Probes at a PTO (RFC 9002, Section 6.2.4).
const PROBES: u32 = 2;

/// Turns after which a connection on a path without faults has come to no end.
const MAX_TURNS: usize = 100_000;

/// A controller whose properties are checked after each event.
struct Watched {
    name: &'static str,
    controller: Box<dyn Controller>,
    datagram: u64,
    acked: transport::Acked,
    /// Probes of the last PTO, which may exceed the window.
    probes: u32,
}

impl Watched {
    /// Takes an event. One that is not `free` must not raise the window.
    fn take(&mut self, free: bool, event: impl FnOnce(&mut dyn Controller)) {
        let before = self.controller.window();
        event(self.controller.as_mut());
        let (name, after) = (self.name, self.controller.window());
        assert!(free || after <= before, "{name}: {before} {after}");
        transport::check_bounds(self.controller.as_ref(), self.datagram);
        let (metrics, most) = (self.controller.metrics(), self.acked.most(name));
        transport::check_estimate(name, &metrics, most);
    }
}

impl Controller for Watched {
    fn on_sent(&mut self, sent: &Sent) {
        let window = self.controller.window();
        if sent.bytes_in_flight > window {
            assert!(self.probes > 0, "{}: {sent:?} {window}", self.name);
            self.probes -= 1;
        }
        self.take(true, |controller| controller.on_sent(sent));
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.acked.add(ack.now, ack.bytes);
        self.take(!ack.app_limited, |controller| controller.on_ack(ack));
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.take(false, |controller| controller.on_loss(loss));
    }

    fn on_pto(&mut self, pto: &Pto) {
        self.probes = PROBES;
        self.take(true, |controller| controller.on_pto(pto));
    }

    fn on_persistent_congestion(&mut self, now: Time) {
        self.take(false, |controller| controller.on_persistent_congestion(now));
        assert_eq!(self.controller.window(), 2 * self.datagram);
    }

    fn on_spurious_loss(&mut self, spurious: &SpuriousLoss) {
        self.take(true, |controller| controller.on_spurious_loss(spurious));
    }

    fn on_max_datagram_size(&mut self, bytes: u64) {
        self.datagram = bytes;
        self.take(true, |controller| controller.on_max_datagram_size(bytes));
    }

    fn window(&self) -> u64 {
        self.controller.window()
    }

    fn ssthresh(&self) -> Option<u64> {
        self.controller.ssthresh()
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.controller.pacing_rate()
    }

    fn packet_threshold(&self, rtt: &Rtt, pto: Duration) -> Option<u64> {
        self.controller.packet_threshold(rtt, pto)
    }

    fn early_probes(&self, rtt: &Rtt, pto: Duration, outstanding: u64) -> Option<EarlyProbes> {
        self.controller.early_probes(rtt, pto, outstanding)
    }

    fn phase(&self) -> Phase {
        self.controller.phase()
    }

    fn metrics(&self) -> Metrics {
        self.controller.metrics()
    }
}

/// Makes watched controllers of the registry.
#[derive(Debug)]
struct Watch(Arc<dyn Factory>);

impl Factory for Watch {
    fn name(&self) -> &'static str {
        "watched"
    }

    fn requires(&self) -> &'static [Capability] {
        self.0.requires()
    }

    fn build(&self, settings: Settings) -> Box<dyn Controller> {
        Box::new(Watched {
            name: self.0.name(),
            controller: self.0.build(settings),
            datagram: settings.max_datagram_size,
            acked: transport::Acked::default(),
            probes: 0,
        })
    }
}

static WATCHED: CongestionControlOps = petra::table(|name, options| {
    factory(options, "")
        .map(|factory| petra::options(Arc::new(Watch(factory))))
        .map_err(|error| format!("{name}: {error}"))
});

fn config() -> Config {
    let version = quiche::PROTOCOL_VERSION;
    let mut config = Config::with_boring_ssl_ctx_builder(version, identity::tls()).unwrap();
    config.set_application_protos(&[b"test"]).unwrap();
    config.set_initial_max_data(2 * BODY as u64);
    config.set_initial_max_stream_data_bidi_local(2 * BODY as u64);
    config.set_initial_max_stream_data_bidi_remote(2 * BODY as u64);
    config.set_initial_max_streams_bidi(1);
    config.set_max_idle_timeout(IDLE_TIMEOUT);
    config.verify_peer(false);
    config
}

/// One end, and its datagrams that are on their way.
struct End {
    connection: Connection,
    here: SocketAddr,
    there: SocketAddr,
    sent: VecDeque<Vec<u8>>,
}

impl End {
    /// Has the end send at most `most` datagrams, each at its time.
    fn send(&mut self, clock: &VirtualClock, most: usize) -> usize {
        let mut datagram = [0; 1500];
        for count in 0..most {
            let Ok((size, info)) = self.connection.send(&mut datagram) else {
                return count;
            };
            let now = clock.nanos(Instant::now());
            clock.set(now.max(clock.nanos(info.at)));
            self.sent.push_back(datagram[..size].to_vec());
        }
        most
    }

    /// Hands over a datagram. What it cannot use, it drops.
    fn receive(&mut self, mut datagram: Vec<u8>) {
        let info = RecvInfo {
            from: self.there,
            to: self.here,
        };
        let _ = self.connection.recv(&mut datagram, info);
    }
}

struct World {
    clock: VirtualClock,
    client: End,
    server: End,
    written: usize,
    read: usize,
}

impl World {
    fn new(clock: VirtualClock, name: &str) -> World {
        let mut server = config();
        server
            .set_cc_algorithm_name(&format!("watched:{name}"))
            .unwrap();
        let id = ConnectionId::from_ref(&[7; 16]);
        let end = |connection, here, there| End {
            connection,
            here,
            there,
            sent: VecDeque::new(),
        };
        let client = quiche::connect(None, &id, CLIENT, SERVER, &mut config()).unwrap();
        let server = quiche::accept(&id, None, SERVER, CLIENT, &mut server).unwrap();
        World {
            clock,
            client: end(client, CLIENT, SERVER),
            server: end(server, SERVER, CLIENT),
            written: 0,
            read: 0,
        }
    }

    fn wait(&self, time: Duration) {
        let now = self.clock.nanos(Instant::now());
        self.clock.set(now + time.as_nanos() as u64);
    }

    /// Runs the timers that are due.
    fn timers(&mut self) {
        for end in [&mut self.client, &mut self.server] {
            if end.connection.timeout() == Some(Duration::ZERO) {
                end.connection.on_timeout();
            }
        }
    }

    fn write(&mut self, bytes: usize) {
        let bytes = bytes.min(BODY - self.written);
        let body = vec![b'x'; bytes];
        self.written += self
            .server
            .connection
            .stream_send(0, &body, false)
            .unwrap_or(0);
    }

    fn read(&mut self) {
        let mut part = [0; 1 << 16];
        while let Ok((bytes, _)) = self.client.connection.stream_recv(0, &mut part) {
            self.read += bytes;
        }
    }

    /// One turn of a path without faults; 20 ms if nothing moves.
    fn turn(&mut self) {
        let moved = self.client.send(&self.clock, 10) + self.server.send(&self.clock, 10);
        for datagram in std::mem::take(&mut self.server.sent) {
            self.client.receive(datagram);
        }
        for datagram in std::mem::take(&mut self.client.sent) {
            self.server.receive(datagram);
        }
        self.read();
        if moved == 0 {
            self.wait(Duration::from_millis(20));
        }
        self.timers();
    }

    fn is_closed(&self) -> bool {
        self.client.connection.is_closed() || self.server.connection.is_closed()
    }

    /// A step of an input: a kind and two numbers.
    fn step(&mut self, [kind, low, high]: [u8; 3]) {
        let count = 1 + usize::from(low) % 40;
        match kind % 16 {
            // From some microseconds to 4 s, every order of magnitude alike.
            0..3 => self.wait(Duration::from_nanos((256 + u64::from(low)) << (high % 24))),
            3 => self.write(usize::from(low) << (high % 12)),
            4..6 => {
                self.server.send(&self.clock, count);
            }
            6..8 => {
                self.client.send(&self.clock, count);
            }
            8..13 => {
                let (from, to) = match kind % 2 {
                    0 => (&mut self.server, &mut self.client),
                    _ => (&mut self.client, &mut self.server),
                };
                // The same share of whatever is on its way.
                let first = (usize::from(high) * from.sent.len()) >> 8;
                for _ in 0..count {
                    let Some(datagram) = from.sent.remove(first) else {
                        break;
                    };
                    to.receive(datagram);
                }
                self.read();
            }
            13 | 14 => {
                let from = match kind % 2 {
                    0 => &mut self.server.sent,
                    _ => &mut self.client.sent,
                };
                let first = (usize::from(high) * from.len()) >> 8;
                let end = from.len().min(first + count);
                from.drain(first..end);
            }
            // Twice.
            _ => {
                for end in [&mut self.client, &mut self.server] {
                    if let Some(datagram) = end.sent.front() {
                        let copy = datagram.clone();
                        end.sent.push_back(copy);
                    }
                }
            }
        }
        self.timers();
    }
}

/// Runs a connection, whose controller the first byte selects, over the path that the other bytes
/// are. The controller keeps its properties after each event, and nothing but probes exceeds its
/// window. Once the path has no faults, all that was written arrives, unless the connection has
/// ended.
pub(crate) fn path(bytes: &[u8]) {
    let Some((choice, rest)) = bytes.split_first() else {
        return;
    };
    register("watched", &WATCHED).unwrap();
    let _seed = Seed::start(1);
    let names: Vec<_> = names().collect();
    let name = names[usize::from(*choice) % names.len()];
    let mut world = World::new(VirtualClock::start(), name);
    while !world.client.connection.is_established() {
        assert!(!world.is_closed());
        world.turn();
    }
    world
        .client
        .connection
        .stream_send(0, b"please", true)
        .unwrap();
    while !world.server.connection.stream_readable(0) {
        world.turn();
    }
    for word in rest.chunks_exact(3).take(STEPS) {
        world.step(word.try_into().expect("three bytes"));
        if world.is_closed() {
            return;
        }
    }
    for _ in 0..MAX_TURNS {
        if world.is_closed() || world.read == world.written {
            return;
        }
        world.turn();
    }
    panic!("{name}: {} of {} bytes arrived", world.read, world.written);
}
