//! The path, what is on it, and the ends that it connects.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::Result;

use super::channel::{Nanos, PacketOutcome, QueuedPacket};
use super::cross::Crossing;
use super::endpoint::{Endpoint, Output};
use super::event_queue::{Alarm, EventQueue};
use super::meter::Meter;
use super::path::{Hop, Onward, Path, Payload};
use super::pool::{Journey, Packet, Pool};
use crate::clock::VirtualClock;
use crate::link::IP_AND_UDP_HEADERS;

/// Endpoint of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Server,
}

/// One end of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) flow: u32,
    pub(super) side: Side,
}

impl Address {
    pub(super) fn peer(self) -> Self {
        let side = match self.side {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        };
        Address { side, ..self }
    }

    /// The address that quiche sees.
    pub(super) fn socket(self) -> SocketAddr {
        let host = match self.side {
            Side::Client => Ipv4Addr::new(10, 0, 0, 1),
            Side::Server => Ipv4Addr::new(10, 0, 0, 2),
        };
        SocketAddr::from((host, 1024 + self.flow as u16))
    }
}

/// Event of the simulation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// The client of this flow connects.
    Start(u32),
    /// This flow is over.
    Stop(u32),
    /// Every flow is sampled.
    Sample,
    /// The links are sampled for oracles.
    Look,
    /// A packet enters a link that comes from another.
    Pass(Hop, Payload),
    /// A link has something to do.
    Wake(Hop),
    /// The next packet of this cross traffic.
    Cross(u32),
    /// Something happens to this end.
    At(Address, Happening),
}

/// Event at an endpoint.
#[derive(Clone, Copy, Debug)]
pub(super) enum Happening {
    /// A packet that it held enters the path.
    Enter(Packet),
    /// A packet reaches it.
    Arrive(Packet),
    /// One of its timers may have expired.
    Timeout,
    /// Its pacer lets the next packet go.
    Release,
}

/// An end with its timers.
pub(super) struct End {
    pub(super) address: Address,
    pub(super) endpoint: Endpoint,
    timeout: Alarm,
    release: Alarm,
}

impl End {
    pub(super) fn new(address: Address, endpoint: Endpoint) -> Self {
        End {
            address,
            endpoint,
            timeout: Alarm::new(),
            release: Alarm::new(),
        }
    }
}

/// Everything but the ends.
pub(super) struct World<'a> {
    pub(super) clock: &'a VirtualClock,
    pub(super) now: Nanos,
    pub(super) events: EventQueue<Event>,
    pub(super) path: Path,
    pub(super) packets: Pool,
    /// Of each flow, what its server sends.
    pub(super) meters: Vec<Meter>,
    pub(super) crossings: Vec<Crossing>,
}

impl World<'_> {
    /// Moves time to the next event, unless it comes after `end`.
    pub(super) fn next(&mut self, end: Nanos) -> Option<Event> {
        let (at, event) = self.events.next(end)?;
        self.now = at;
        self.clock.set(at);
        Some(event)
    }

    /// Something happens to `end`.
    pub(super) fn happen(&mut self, end: &mut End, happening: Happening) -> Result<()> {
        match happening {
            Happening::Enter(packet) => {
                self.enter(end.address, packet);
                return Ok(());
            }
            Happening::Arrive(packet) => {
                if end.address.side == Side::Client {
                    let bytes = self.packets.get(packet).len() + IP_AND_UDP_HEADERS;
                    let sent = self.packets.journey(packet).sent;
                    self.meters[end.address.flow as usize].arrived(self.now - sent, bytes);
                }
                let info = quiche::RecvInfo {
                    from: end.address.peer().socket(),
                    to: end.address.socket(),
                };
                end.endpoint.receive(self.packets.get(packet), info);
                self.packets.release(packet);
            }
            Happening::Timeout => {
                if !end.timeout.rings(self.now) {
                    return Ok(());
                }
                end.endpoint.expire(self.clock.instant(self.now));
            }
            Happening::Release => {
                if !end.release.rings(self.now) {
                    return Ok(());
                }
            }
        }
        self.turn(end)
    }

    /// Something would happen to an end that is no more.
    pub(super) fn forget(&mut self, happening: Happening) {
        if let Happening::Enter(packet) | Happening::Arrive(packet) = happening {
            self.packets.release(packet);
        }
    }

    /// `end` does all that it can do at this time.
    pub(super) fn turn(&mut self, end: &mut End) -> Result<()> {
        end.endpoint.work();
        while self.send(end)? {}
        let timer = end.endpoint.timeout().map(|at| self.clock.nanos(at));
        if let Some(at) = timer.and_then(|at| end.timeout.set(at.max(self.now))) {
            let timeout = Event::At(end.address, Happening::Timeout);
            self.events.add(at, timeout);
        }
        Ok(())
    }

    /// `end` sends one packet, if it can; false when not now.
    fn send(&mut self, end: &mut End) -> Result<bool> {
        let packet = self.packets.take();
        let now = self.clock.instant(self.now);
        match end.endpoint.output(now, self.packets.get(packet))? {
            Output::Datagram(len, at) => {
                self.packets.truncate(packet, len);
                if at <= now {
                    self.enter(end.address, packet);
                } else {
                    let enter = Event::At(end.address, Happening::Enter(packet));
                    self.events.add(self.clock.nanos(at), enter);
                }
                return Ok(true);
            }
            Output::Later(at) => {
                if let Some(at) = end.release.set(self.clock.nanos(at)) {
                    let release = Event::At(end.address, Happening::Release);
                    self.events.add(at, release);
                }
            }
            Output::Nothing => (),
        }
        self.packets.release(packet);
        Ok(false)
    }

    /// A packet of an end enters the path.
    fn enter(&mut self, from: Address, packet: Packet) {
        *self.packets.journey(packet) = Journey {
            sent: self.now,
            queued: 0,
        };
        if from.side == Side::Server {
            let payload = self.packets.get(packet).len();
            self.meters[from.flow as usize].sent(payload);
        }
        self.pass(self.path.entry(from), Payload::Datagram(from, packet));
    }

    /// Something enters a link.
    pub(super) fn pass(&mut self, hop: Hop, payload: Payload) {
        let (bytes, flow, long_header) = match payload {
            Payload::Datagram(from, packet) => {
                let payload = self.packets.get(packet);
                let long_header = payload.first().is_some_and(|byte| byte & 0x80 != 0);
                (payload.len() + IP_AND_UDP_HEADERS, from.flow, long_header)
            }
            // Numbers of flows come before.
            Payload::Cross(index) => {
                let flow = self.meters.len() as u32 + index;
                (self.crossings[index as usize].packet, flow, false)
            }
        };
        let parcel = QueuedPacket {
            content: payload,
            bytes,
            flow,
            long_header,
        };
        self.path.lane(hop).channel.enter(self.now, parcel);
        self.settle(hop);
    }

    /// A link does what it has to do at this time.
    pub(super) fn wake(&mut self, hop: Hop) {
        let lane = self.path.lane(hop);
        if lane.alarm.rings(self.now) {
            lane.channel.advance(self.now);
            self.settle(hop);
        }
    }

    /// Does what a link has decided, and asks when it has more to decide.
    fn settle(&mut self, hop: Hop) {
        while let Some((payload, outcome)) = self.path.lane(hop).channel.decided() {
            match payload {
                Payload::Datagram(from, packet) => self.forward(hop, from, packet, outcome),
                Payload::Cross(index) => self.crossings[index as usize].count(outcome),
            }
        }
        let lane = self.path.lane(hop);
        if let Some(at) = lane.channel.next().and_then(|at| lane.alarm.set(at)) {
            self.events.add(at, Event::Wake(hop));
        }
    }

    /// A datagram has met its outcome at a link.
    fn forward(&mut self, hop: Hop, from: Address, packet: Packet, outcome: PacketOutcome) {
        let journey = self.packets.journey(packet);
        if let PacketOutcome::Arrives { queued, .. } | PacketOutcome::Lost { queued } = outcome {
            journey.queued += queued;
        }
        let queued = journey.queued;
        if let PacketOutcome::Arrives { at, .. } = outcome {
            match self.path.onward(hop, from) {
                Onward::Hop(next) => {
                    let pass = Event::Pass(next, Payload::Datagram(from, packet));
                    self.events.add_to(hop.index(), at, pass);
                    return;
                }
                Onward::End(delay) => {
                    let arrive = Event::At(from.peer(), Happening::Arrive(packet));
                    self.events.add_to(hop.index(), at + delay, arrive);
                }
            }
        } else {
            self.packets.release(packet);
        }
        if from.side == Side::Server {
            self.meters[from.flow as usize].count(outcome, queued);
        }
    }
}

pub(super) fn nanos(duration: Duration) -> Nanos {
    duration.as_nanos() as Nanos
}
