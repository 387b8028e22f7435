//! A link in real time between two TUN devices, which are for two network
//! namespaces:
//!
//! ```text
//!  client ── TUN ──▶ channel ──▶ mischief ──▶ translation ──▶ TUN ── server
//!                                                    and the same back
//! ```
//!
//! The channel is the laboratory's, the one that simulations use. Mischief and
//! translation are those of the QUIC interop runner's scenarios. Captures are
//! taken where packets enter and leave. On SIGINT or SIGTERM it prints what it has
//! carried and the most that it can carry, as JSON, and ends.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Parser;
use petra_lab::entropy::generator;
use petra_lab::link::{goodput_limit, Direction, LinkOptions, IP_AND_UDP_HEADERS};
use petra_lab::sim::{Channel, Fate, Nanos, Parcel};
use petra_lab::testbed::MAX_DATAGRAM_SIZE;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use serde::Serialize;

mod capture;
mod mischief;
mod packet;
mod tally;
mod translation;
mod tun;

use capture::Capture;
use mischief::{Mischief, Options};
use tally::Tally;
use translation::Translation;

/// Creates two TUN devices and carries packets between them over a link.
#[derive(Parser)]
struct Args {
    /// Name of the client's TUN device
    #[arg(long, default_value = "client")]
    client: String,

    /// Name of the server's TUN device
    #[arg(long, default_value = "server")]
    server: String,

    /// Write captures into this folder, client.pcap and server.pcap
    #[arg(long, value_name = "DIR")]
    captures: Option<PathBuf>,

    /// Seed of the link's random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    link: LinkOptions,

    #[command(flatten)]
    mischief: Options,

    #[command(flatten)]
    translation: translation::Options,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, stop.clone())?;
    }
    let mut link = Link::open(&args)?;
    println!("ready");
    while !stop.load(Ordering::Relaxed) {
        link.step()?;
    }
    let [up, down] = &mut link.ways;
    for way in [&mut *up, &mut *down] {
        way.finish()?;
    }
    let report = serde_json::json!({
        "up": up.tally.report(),
        "down": down.tally.report(),
        "limit": link.limit,
    });
    println!("{report}");
    Ok(())
}

/// The most that the way of the data can carry, in bits per second, in datagrams of
/// the size that our server has.
#[derive(Serialize)]
struct Limit {
    /// Of a body.
    goodput_bps: Option<f64>,
    /// Of UDP payload, losses aside.
    payload_bps: Option<f64>,
}

impl Limit {
    fn of(down: &Direction) -> Self {
        let packet = (MAX_DATAGRAM_SIZE + IP_AND_UDP_HEADERS) as f64;
        let payload = |rate| rate as f64 * MAX_DATAGRAM_SIZE as f64 / packet;
        let goodput = |rate| goodput_limit(rate, down.mean_loss(), MAX_DATAGRAM_SIZE);
        Limit {
            goodput_bps: down.rate.map(goodput),
            payload_bps: down.rate.map(payload),
        }
    }
}

/// Both directions, which share a clock and a translation.
struct Link {
    limit: Limit,
    begun: Instant,
    devices: [File; 2],
    /// From the client's device, and from the server's.
    ways: [Way; 2],
    translation: Translation,
}

/// One direction.
struct Way {
    channel: Channel<Vec<u8>>,
    /// Packets in transit, by arrival time and by the order in which they entered.
    transit: BTreeMap<(Nanos, u64), Vec<u8>>,
    decided: u64,
    mischief: Mischief,
    entering: Option<Capture>,
    leaving: Option<Capture>,
    tally: Tally,
}

impl Link {
    fn open(args: &Args) -> Result<Link> {
        let shape = args.link.link()?;
        let round_trip = shape.round_trip();
        let capture = |name: &str| {
            let folder = args.captures.as_ref();
            folder
                .map(|folder| Capture::create(&folder.join(name)))
                .transpose()
        };
        let way = |number: u64, direction: &Direction, from: &str, to: &str| -> Result<Way> {
            Ok(Way {
                channel: Channel::new(direction, round_trip, generator(args.seed, number))?,
                transit: BTreeMap::new(),
                decided: 0,
                mischief: args
                    .mischief
                    .of(number == 0, generator(args.seed, 2 + number)),
                entering: capture(from)?,
                leaving: capture(to)?,
                tally: Tally::default(),
            })
        };
        // Each capture is written by both directions: in blocks of whole packets,
        // in the order of time.
        let ways = [
            way(0, &shape.up, "client.pcap", "server.pcap")?,
            way(1, &shape.down, "server.pcap", "client.pcap")?,
        ];
        Ok(Link {
            limit: Limit::of(&shape.down),
            devices: [tun::create(&args.client)?, tun::create(&args.server)?],
            ways,
            translation: Translation::new(&args.translation, generator(args.seed, 4)),
            begun: Instant::now(),
        })
    }

    /// Sleeps until the next event and handles it.
    fn step(&mut self) -> Result<()> {
        let due = self.ways.iter().filter_map(Way::due).min();
        let now = self.now();
        let timeout = due.map(|due| {
            let wait = due.saturating_sub(now);
            Timespec {
                tv_sec: (wait / 1_000_000_000) as i64,
                tv_nsec: (wait % 1_000_000_000) as i64,
            }
        });
        let mut fds = [0, 1].map(|end| PollFd::new(&self.devices[end], PollFlags::IN));
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e).context("cannot wait for packets"),
        }
        for end in [0, 1] {
            let mut buffer = [0; 1 << 16];
            while let Some(length) = read(&mut self.devices[end], &mut buffer)? {
                let now = self.now();
                self.ways[end].enter(now, &buffer[..length])?;
            }
        }
        for end in [0, 1] {
            let now = self.now();
            let to = &mut self.devices[1 - end];
            self.ways[end].advance(now, |packet, leaving| {
                if !self.translation.translate(now, end == 0, packet) {
                    return Ok(());
                }
                leaving
                    .as_mut()
                    .map_or(Ok(()), |capture| capture.write(packet))?;
                // A device that is not up yet takes nothing, as a wire that is cut.
                let _ = to.write(packet);
                Ok(())
            })?;
        }
        Ok(())
    }

    fn now(&self) -> Nanos {
        self.begun.elapsed().as_nanos() as Nanos
    }
}

/// The next packet of a device; `None` when there is none for now.
fn read(device: &mut File, buffer: &mut [u8]) -> Result<Option<usize>> {
    match device.read(buffer) {
        Ok(length) => Ok(Some(length)),
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
        // It is not up.
        Err(e) if e.raw_os_error() == Some(libc::EBADFD) => Ok(None),
        Err(e) => Err(e).context("cannot read from a TUN device"),
    }
}

impl Way {
    /// The time of the next event, even if no packet enters.
    fn due(&self) -> Option<Nanos> {
        let arrival = self.transit.keys().next().map(|(at, _)| *at);
        arrival.into_iter().chain(self.channel.next()).min()
    }

    fn enter(&mut self, now: Nanos, packet: &[u8]) -> Result<()> {
        self.entering
            .as_mut()
            .map_or(Ok(()), |capture| capture.write(packet))?;
        let parcel = Parcel {
            bytes: packet.len(),
            content: packet.to_vec(),
            flow: 0,
            long_header: packet
                .get(IP_AND_UDP_HEADERS)
                .is_some_and(|byte| byte & 0x80 != 0),
        };
        self.tally.enter(now);
        self.channel.enter(now, parcel);
        self.decide();
        Ok(())
    }

    /// Advances the time and passes arriving packets to `deliver`.
    fn advance(
        &mut self,
        now: Nanos,
        mut deliver: impl FnMut(&mut [u8], &mut Option<Capture>) -> Result<()>,
    ) -> Result<()> {
        while let Some(at) = self.channel.next().filter(|at| *at <= now) {
            self.channel.advance(at);
            self.decide();
        }
        while let Some(entry) = self.transit.first_entry().filter(|e| e.key().0 <= now) {
            let mut packet = entry.remove();
            if self.mischief.passes(now, &mut packet) {
                deliver(&mut packet, &mut self.leaving)?;
            } else {
                self.tally.lose();
            }
        }
        Ok(())
    }

    fn decide(&mut self) {
        while let Some((packet, fate)) = self.channel.decided() {
            self.tally.count(packet.len(), fate);
            if let Fate::Arrives { at, .. } = fate {
                self.transit.insert((at, self.decided), packet);
                self.decided += 1;
            }
        }
    }

    fn finish(&mut self) -> Result<()> {
        for capture in [&mut self.entering, &mut self.leaving] {
            capture.as_mut().map_or(Ok(()), Capture::flush)?;
        }
        Ok(())
    }
}

/// A file of captured packets.
type Output = BufWriter<File>;
