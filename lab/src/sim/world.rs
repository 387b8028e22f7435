//! The link, what is on it, and the ends that it connects.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Result;

use super::agenda::{Agenda, Alarm};
use super::channel::{Channel, Fate, Nanos};
use super::endpoint::{Endpoint, Output};
use super::metrics::Meter;
use super::pool::{Packet, Pool};
use crate::clock::VirtualClock;
use crate::link::IP_AND_UDP_HEADERS;

/// Which end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Server,
}

/// One end of one flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    pub(super) flow: usize,
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

    /// The address that quiche is told.
    pub(super) fn socket(self) -> SocketAddr {
        let host = match self.side {
            Side::Client => Ipv4Addr::new(10, 0, 0, 1),
            Side::Server => Ipv4Addr::new(10, 0, 0, 2),
        };
        SocketAddr::from((host, 1024 + self.flow as u16))
    }
}

/// What happens at some time.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// The client of this flow connects.
    Start(usize),
    /// Every flow is sampled.
    Sample,
    /// Something happens to this end.
    At(Address, Happening),
}

/// What happens to an end.
#[derive(Clone, Copy, Debug)]
pub(super) enum Happening {
    /// A packet that it held enters the link.
    Enter(Packet),
    /// A packet reaches it.
    Arrive(Packet),
    /// One of its quiche's timers may have expired.
    Timeout,
    /// Its pacer lets the next packet go.
    Release,
}

/// An end with its timers and the count of what it sent.
pub(super) struct End {
    pub(super) address: Address,
    pub(super) endpoint: Endpoint,
    pub(super) meter: Meter,
    timeout: Alarm,
    release: Alarm,
}

impl End {
    pub(super) fn new(address: Address, endpoint: Endpoint) -> Self {
        End {
            address,
            endpoint,
            meter: Meter::default(),
            timeout: Alarm::new(),
            release: Alarm::new(),
        }
    }
}

/// Everything but the ends.
pub(super) struct World<'a> {
    pub(super) clock: &'a VirtualClock,
    pub(super) now: Nanos,
    pub(super) agenda: Agenda<Event>,
    pub(super) down: Channel,
    pub(super) up: Channel,
    pub(super) packets: Pool,
}

impl World<'_> {
    /// Moves time to the next event, unless it comes after `end`.
    pub(super) fn next(&mut self, end: Nanos) -> Option<Event> {
        let (at, event) = self.agenda.next(end)?;
        self.now = at;
        self.clock.set(at);
        Some(event)
    }

    /// Something happens to `end`.
    pub(super) fn happen(&mut self, end: &mut End, happening: Happening) -> Result<()> {
        match happening {
            Happening::Enter(packet) => {
                self.enter(end, packet);
                return Ok(());
            }
            Happening::Arrive(packet) => {
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
                let timer = end.endpoint.timeout();
                if timer.is_some_and(|at| self.clock.nanos(at) <= self.now) {
                    end.endpoint.expire();
                }
            }
            Happening::Release => {
                if !end.release.rings(self.now) {
                    return Ok(());
                }
            }
        }
        self.turn(end)
    }

    /// `end` does all that it can do at this time.
    pub(super) fn turn(&mut self, end: &mut End) -> Result<()> {
        end.endpoint.work();
        while self.send(end)? {}
        let timer = end.endpoint.timeout().map(|at| self.clock.nanos(at));
        if let Some(at) = timer.and_then(|at| end.timeout.set(at.max(self.now))) {
            let timeout = Event::At(end.address, Happening::Timeout);
            self.agenda.add(at, timeout);
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
                    self.enter(end, packet);
                } else {
                    let enter = Event::At(end.address, Happening::Enter(packet));
                    self.agenda.add(self.clock.nanos(at), enter);
                }
                return Ok(true);
            }
            Output::Later(at) => {
                if let Some(at) = end.release.set(self.clock.nanos(at)) {
                    let release = Event::At(end.address, Happening::Release);
                    self.agenda.add(at, release);
                }
            }
            Output::Nothing => (),
        }
        self.packets.release(packet);
        Ok(false)
    }

    /// A packet of `end` enters the link.
    fn enter(&mut self, end: &mut End, packet: Packet) {
        let channel = match end.address.side {
            Side::Server => &mut self.down,
            Side::Client => &mut self.up,
        };
        let payload = self.packets.get(packet).len();
        let fate = channel.enter(self.now, payload + IP_AND_UDP_HEADERS);
        end.meter.count(payload, fate);
        match fate {
            Fate::Arrives { at, .. } => {
                let arrive = Event::At(end.address.peer(), Happening::Arrive(packet));
                self.agenda.add(at, arrive);
            }
            Fate::Overflowed | Fate::Lost { .. } => self.packets.release(packet),
        }
    }
}
