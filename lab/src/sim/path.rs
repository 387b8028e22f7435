//! The links in a row: which way a packet takes over them.

use std::time::Duration;

use anyhow::{Context, Result};

use super::channel::{Capacity, Channel, Nanos};
use super::event_queue::Alarm;
use super::pool::Packet;
use super::world::{nanos, Address, Side};
use crate::entropy;
use crate::link::Direction;
use crate::scenario::{Scenario, Way};

/// One direction of one link, as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hop(u32);

/// Packet on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Payload {
    /// A datagram of this end.
    Datagram(Address, Packet),
    /// A packet of the cross traffic with this number.
    Cross(u32),
}

/// All directions of all links.
pub(super) struct Path {
    /// Of each link the way down and the way up, in turn.
    lanes: Vec<LinkDirection>,
    routes: Vec<Route>,
}

/// One direction of one link in operation.
pub(super) struct LinkDirection {
    pub(super) channel: Channel<Payload>,
    pub(super) alarm: Alarm,
}

/// The part of the path that a flow takes.
struct Route {
    first: u32,
    last: u32,
    delay: Nanos,
}

/// Next stop of a packet after a link.
pub(super) enum Onward {
    Hop(Hop),
    /// To its flow's other end, after this time.
    End(Nanos),
}

impl Path {
    /// # Errors
    ///
    /// A trace that cannot be read.
    pub(super) fn new(scenario: &Scenario) -> Result<Self> {
        let round_trip = scenario.round_trip();
        let directions = scenario.path.iter().flat_map(|link| [&link.down, &link.up]);
        let lanes = directions.zip(1u64..).map(|(direction, stream)| {
            let channel = channel(direction, round_trip, scenario.seed, stream);
            Ok(LinkDirection {
                channel: channel.with_context(|| format!("link {}", (stream - 1) / 2))?,
                alarm: Alarm::new(),
            })
        });
        let everything = (0, scenario.path.len() - 1);
        let routes = scenario.flows.iter().map(|flow| {
            let (first, last) = flow.hops.unwrap_or(everything);
            Route {
                first: first as u32,
                last: last as u32,
                delay: nanos(flow.delay),
            }
        });
        Ok(Path {
            lanes: lanes.collect::<Result<_>>()?,
            routes: routes.collect(),
        })
    }

    /// The number of directions of all links.
    pub(super) fn lanes(&self) -> usize {
        self.lanes.len()
    }

    pub(super) fn lane(&mut self, hop: Hop) -> &mut LinkDirection {
        &mut self.lanes[hop.index()]
    }

    /// The ways of the data, link by link.
    pub(super) fn down(&self) -> impl Iterator<Item = &Channel<Payload>> {
        self.lanes.iter().step_by(2).map(|lane| &lane.channel)
    }

    /// Returns the capacity models of the data direction.
    pub(super) fn capacities(&self) -> Vec<Capacity> {
        self.down().map(Channel::capacity).collect()
    }

    /// The links that a flow takes: the first and the last.
    pub(super) fn links(&self, flow: u32) -> std::ops::RangeInclusive<usize> {
        let Route { first, last, .. } = self.routes[flow as usize];
        first as usize..=last as usize
    }

    /// The hop by which packets of this end enter the path.
    pub(super) fn entry(&self, from: Address) -> Hop {
        let route = &self.routes[from.flow as usize];
        match from.side {
            Side::Server => Hop::new(Way::Down, route.first),
            Side::Client => Hop::new(Way::Up, route.last),
        }
    }

    /// Returns the next stop, after `hop`, of a packet of this endpoint.
    pub(super) fn onward(&self, hop: Hop, from: Address) -> Onward {
        let route = &self.routes[from.flow as usize];
        let link = hop.0 / 2;
        match from.side {
            Side::Server if link < route.last => Onward::Hop(Hop(hop.0 + 2)),
            Side::Client if link > route.first => Onward::Hop(Hop(hop.0 - 2)),
            _ => Onward::End(route.delay),
        }
    }
}

impl Hop {
    pub(super) fn new(way: Way, link: u32) -> Self {
        match way {
            Way::Down => Hop(2 * link),
            Way::Up => Hop(2 * link + 1),
        }
    }

    /// Its number, below [`Path::lanes`].
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

fn channel(
    direction: &Direction,
    round_trip: Duration,
    seed: u64,
    stream: u64,
) -> Result<Channel<Payload>> {
    let random = entropy::generator(seed, stream);
    Channel::new(direction, round_trip, random)
}
