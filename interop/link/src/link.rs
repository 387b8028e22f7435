//! Packets between two TUN devices, in real time.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use petra_lab::entropy::generator;
use petra_lab::link::{Direction, LinkOptions, IP_AND_UDP_HEADERS};
use petra_lab::sim::{Channel, Nanos, PacketOutcome, QueuedPacket};
use petra_lab::testbed::MAX_DATAGRAM_SIZE;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use serde::Serialize;

use crate::capture::Capture;
use crate::impairments::{self, Impairments};
use crate::tally::{self, Tally};
use crate::translation::{self, Translation};
use crate::tun;

/// Interval of checks for a request to stop, in nanoseconds.
const TICK: Nanos = 50_000_000;

/// A link on the command line.
#[derive(Args, Debug)]
pub(crate) struct Options {
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
    impairments: impairments::Options,

    #[command(flatten)]
    translation: translation::Options,
}

/// The traffic that the link has carried, and the most that it can carry.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) up: tally::Report,
    pub(crate) down: tally::Report,
    pub(crate) limit: Limit,
}

/// The most that the way of the data can carry, in bits per second, in datagrams of
/// the size that our server has.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Limit {
    /// Of a body.
    pub(crate) goodput_bps: Option<f64>,
    /// Of UDP payload, losses aside.
    pub(crate) payload_bps: Option<f64>,
}

impl Limit {
    fn of(down: &Direction) -> Self {
        Limit {
            goodput_bps: down.goodput_limit(MAX_DATAGRAM_SIZE),
            payload_bps: down.payload_limit(MAX_DATAGRAM_SIZE),
        }
    }
}

/// Both directions, which share a clock and a translation.
pub(crate) struct Link {
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
    impairments: Impairments,
    entering: Option<Capture>,
    leaving: Option<Capture>,
    tally: Tally,
}

impl Link {
    /// Creates the devices.
    pub(crate) fn open(options: &Options) -> Result<Link> {
        let shape = options.link.link()?;
        let round_trip = shape.round_trip();
        let capture = |name: &str| {
            let folder = options.captures.as_ref();
            folder
                .map(|folder| Capture::create(&folder.join(name)))
                .transpose()
        };
        // Both ways append to them; the captures of an earlier run are not theirs.
        for name in ["client.pcap", "server.pcap"] {
            if let Some(path) = options.captures.as_ref().map(|folder| folder.join(name)) {
                File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
            }
        }
        let way = |number: u64, direction: &Direction, from: &str, to: &str| -> Result<Way> {
            Ok(Way {
                channel: Channel::new(direction, round_trip, generator(options.seed, number))?,
                transit: BTreeMap::new(),
                decided: 0,
                impairments: options
                    .impairments
                    .of(number == 0, generator(options.seed, 2 + number)),
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
            devices: [tun::create(&options.client)?, tun::create(&options.server)?],
            ways,
            translation: Translation::new(&options.translation, generator(options.seed, 4)),
            begun: Instant::now(),
        })
    }

    /// Carries packets until it is told to stop.
    pub(crate) fn run(&mut self, stop: &AtomicBool) -> Result<()> {
        while !stop.load(Ordering::Relaxed) {
            self.step()?;
        }
        self.ways.iter_mut().try_for_each(Way::finish)
    }

    /// Counts what it has carried.
    pub(crate) fn report(&mut self) -> Report {
        let [up, down] = &mut self.ways;
        Report {
            up: up.tally.report(),
            down: down.tally.report(),
            limit: self.limit,
        }
    }

    /// Sleeps until the next event and handles it.
    fn step(&mut self) -> Result<()> {
        let due = self.ways.iter().filter_map(Way::due).min();
        let now = self.now();
        let wait = due.map_or(TICK, |due| due.saturating_sub(now).min(TICK));
        let timeout = Timespec {
            tv_sec: 0,
            tv_nsec: wait as i64,
        };
        let mut fds = [0, 1].map(|end| PollFd::new(&self.devices[end], PollFlags::IN));
        match poll(&mut fds, Some(&timeout)) {
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
        let queued = QueuedPacket {
            bytes: packet.len(),
            content: packet.to_vec(),
            flow: 0,
            long_header: packet
                .get(IP_AND_UDP_HEADERS)
                .is_some_and(|byte| byte & 0x80 != 0),
        };
        self.tally.enter(now);
        self.channel.enter(now, queued);
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
            let ((due, _), mut packet) = entry.remove_entry();
            self.tally.leave(now - due);
            if self.impairments.passes(now, &mut packet) {
                deliver(&mut packet, &mut self.leaving)?;
            } else {
                self.tally.lose();
            }
        }
        Ok(())
    }

    fn decide(&mut self) {
        while let Some((packet, outcome)) = self.channel.decided() {
            self.tally.count(packet.len(), outcome);
            if let PacketOutcome::Arrives { at, .. } = outcome {
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
