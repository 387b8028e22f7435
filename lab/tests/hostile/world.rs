//! A server and a client in virtual time, over a link of the laboratory. The client's handshake is
//! quiche's; once the body flows, its packets are those of a [`Receiver`].

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use boring::pkey::PKey;
use boring::ssl::{SslContextBuilder, SslMethod, SslSignatureAlgorithm};
use boring::x509::X509;
use libmimalloc_sys::{mi_heap_area_t, mi_heap_get_default, mi_heap_t, mi_heap_visit_blocks};
use petra_http3::tls::{set_ciphers, AES_128_GCM};
use petra_lab::clock::VirtualClock;
use petra_lab::entropy::{generator, Seed};
use petra_lab::link::{Direction, IP_AND_UDP_HEADERS};
use petra_lab::sim::{Channel, Nanos, PacketOutcome, QueuedPacket};

use crate::attack::{Attack, Receiver, MS};
use crate::keys::Keys;

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

fn config(cc: &str) -> quiche::Config {
    let mut tls = SslContextBuilder::new(SslMethod::tls()).unwrap();
    let pem = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sim/identity.pem");
    let pem = std::fs::read(pem).unwrap();
    tls.set_private_key(&*PKey::private_key_from_pem(&pem).unwrap())
        .unwrap();
    tls.set_certificate(&X509::from_pem(&pem).unwrap()).unwrap();
    tls.set_verify_algorithm_prefs(&[SslSignatureAlgorithm::ED25519])
        .unwrap();
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
    config.set_cc_algorithm_name(cc).unwrap();
    config
}

/// The client: quiche's, until it becomes the attack's.
struct Client {
    conn: quiche::Connection,
    log: Log,
    id: Vec<u8>,
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
    fn receive(&mut self, now: Nanos, mut packet: Vec<u8>, attack: Attack, round_trip: Nanos) {
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
        let [client, server] = addresses();
        let info = quiche::RecvInfo {
            from: server,
            to: client,
        };
        let _ = self.conn.recv(&mut packet, info);
        if self.packets >= BEFORE && self.conn.is_established() && number.is_some() {
            let keys = self.log.keys("CLIENT_TRAFFIC_SECRET_0");
            self.hostile = Some(Hostile {
                keys: keys.expect("the handshake is complete"),
                receiver: Receiver::new(attack, now, round_trip, self.largest),
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

    fn next(&self) -> Option<std::result::Result<Nanos, std::time::Instant>> {
        match &self.hostile {
            Some(hostile) => hostile.receiver.next().map(Ok),
            None => self.conn.timeout_instant().map(Err),
        }
    }
}

fn send(conn: &mut quiche::Connection) -> Option<Vec<u8>> {
    let mut buffer = [0; DATAGRAM];
    match conn.send(&mut buffer) {
        Ok((len, _)) => Some(buffer[..len].to_vec()),
        Err(quiche::Error::Done) => None,
        Err(error) => panic!("sending: {error}"),
    }
}

fn addresses() -> [SocketAddr; 2] {
    ["10.0.0.1:1000", "10.0.0.2:443"].map(|address| address.parse().unwrap())
}

/// Live bytes of this thread's heap.
fn heap() -> usize {
    extern "C" fn add(
        _: *const mi_heap_t,
        _: *const mi_heap_area_t,
        block: *mut c_void,
        size: usize,
        sum: *mut c_void,
    ) -> bool {
        if !block.is_null() {
            // SAFETY: `sum` is the number below, which nothing else uses meanwhile.
            unsafe { *sum.cast::<usize>() += size };
        }
        true
    }
    let mut sum = 0usize;
    // SAFETY: the heap is this thread's, and `add` neither allocates nor frees.
    unsafe {
        let sum: *mut usize = &mut sum;
        mi_heap_visit_blocks(mi_heap_get_default(), true, Some(add), sum.cast());
    }
    sum
}

/// CPU time of this thread in seconds.
fn cpu() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` may be written.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Does some work of the server's, and adds its CPU time.
fn timed<T>(sum: &mut f64, work: impl FnOnce() -> T) -> T {
    let began = cpu();
    let result = work();
    *sum += cpu() - began;
    result
}

/// A download with `cc` by a client that attacks, until `end`.
pub(crate) fn run(cc: &str, attack: Attack, down: &Direction, up: &Direction, end: Nanos) -> Run {
    let clock = VirtualClock::start();
    let _seed = Seed::start(1);
    let round_trip = down.delay + up.delay;
    let mut lanes = [Lane::new(down, round_trip, 1), Lane::new(up, round_trip, 2)];
    let [client_at, server_at] = addresses();
    let ids = [[1; 16], [2; 16]].map(|id| quiche::ConnectionId::from_vec(id.to_vec()));
    let mut config = config(cc);
    let mut server = quiche::accept(&ids[1], None, server_at, client_at, &mut config).unwrap();
    let conn = quiche::connect(Some("hostile"), &ids[0], client_at, server_at, &mut config);
    let mut client = Client {
        conn: conn.unwrap(),
        log: Log::default(),
        id: ids[0].to_vec(),
        largest: 0,
        packets: 0,
        hostile: None,
    };
    client.conn.set_keylog(Box::new(client.log.clone()));
    let (mut arrivals, mut order) = (BTreeMap::new(), 0u64);
    let mut report = Run {
        sent: Vec::new(),
        arrived: Vec::new(),
        heap: Vec::new(),
        closed: None,
        acks: 0,
        lost: (0, 0),
        cpu: 0.0,
        packets: 0,
        ended: 0,
    };
    let body = vec![0; 1 << 16];
    let (mut now, mut tick, mut arrived, mut written) = (0, 0, 0, 0);
    loop {
        // What happens now.
        if now >= tick {
            report.sent.push(lanes[0].bytes);
            report.arrived.push(arrived);
            if report.sent.len() % 10 == 1 {
                report.heap.push(heap());
            }
            tick += TICK;
        }
        while let Some(entry) = arrivals.first_entry() {
            let (at, _): &(Nanos, u64) = entry.key();
            if *at > now {
                break;
            }
            match entry.remove() {
                Arrival::AtServer(mut packet) => {
                    let info = quiche::RecvInfo {
                        from: client_at,
                        to: server_at,
                    };
                    let _ = timed(&mut report.cpu, || server.recv(&mut packet, info));
                }
                Arrival::AtClient(packet) => {
                    arrived += (packet.len() + IP_AND_UDP_HEADERS) as u64;
                    let round_trip = round_trip.as_nanos() as Nanos;
                    client.receive(now, packet, attack, round_trip);
                }
            }
        }
        for lane in &mut lanes {
            while lane.channel.next().is_some_and(|at| at <= now) {
                lane.channel.advance(now);
            }
        }
        let is_due = |at: Option<std::time::Instant>| at.is_some_and(|at| clock.nanos(at) <= now);
        if is_due(server.timeout_instant()) {
            timed(&mut report.cpu, || server.on_timeout());
        }
        if client.hostile.is_none() && is_due(client.conn.timeout_instant()) {
            client.conn.on_timeout();
        }

        // What the ends do.
        if let Some(error) = server.local_error() {
            report.closed.get_or_insert(error.error_code);
        }
        if report.closed.is_some() || server.is_closed() {
            break;
        }
        let mut request = [0; 16];
        let _ = server.stream_recv(STREAM, &mut request);
        while written < server.stats().sent_bytes + AHEAD {
            match server.stream_send(STREAM, &body, false) {
                Ok(sent) if sent > 0 => written += sent as u64,
                _ => break,
            }
        }
        let release = loop {
            let next = server.get_next_release_time();
            let release = next.and_then(|next| next.time(clock.instant(now)));
            if release.is_some() {
                break release;
            }
            let Some(packet) = timed(&mut report.cpu, || send(&mut server)) else {
                break None;
            };
            lanes[0].enter(now, packet);
        };
        while let Some(packet) = client.output(now) {
            lanes[1].enter(now, packet);
        }
        for (index, lane) in lanes.iter_mut().enumerate() {
            while let Some((at, packet)) = lane.decided() {
                order += 1;
                let arrival = match index {
                    0 => Arrival::AtClient(packet),
                    _ => Arrival::AtServer(packet),
                };
                arrivals.insert((at, order), arrival);
            }
        }

        // What comes next.
        let instants = [server.timeout_instant(), release];
        let mut next = tick.min(end);
        for instant in instants.into_iter().flatten() {
            next = next.min(clock.nanos(instant));
        }
        next = match client.next() {
            Some(Ok(at)) => next.min(at),
            Some(Err(instant)) => next.min(clock.nanos(instant)),
            None => next,
        };
        let first = arrivals.keys().next().map(|(at, _)| *at);
        let channels = lanes.iter().filter_map(|lane| lane.channel.next());
        next = channels.chain(first).fold(next, Nanos::min);
        if next >= end {
            break;
        }
        now = next.max(now);
        clock.set(now);
    }
    report.sent.push(lanes[0].bytes);
    report.arrived.push(arrived);
    report.heap.push(heap());
    report.acks = client.hostile.map_or(0, |hostile| hostile.receiver.acks());
    let stats = server.stats();
    report.lost = (stats.lost, stats.spurious_lost);
    report.packets = stats.sent + stats.recv;
    report.ended = now;
    report
}
