//! The queue of the bottleneck, and the packets that it drops.

use std::collections::VecDeque;
use std::time::Duration;

use rand_pcg::Pcg64;

use super::capacity::{transmission, Capacity};
use super::codel::{CoDel, Fifo, Waiting};
use super::fq_codel::FqCoDel;
use super::red::Red;
use super::schedule::Schedule;
use super::{Nanos, PacketOutcome, QueuedPacket};
use crate::link::{self, Aqm, Direction};

/// A typical packet, in bytes: RED's idle queue decays by its time.
const TYPICAL: u64 = 1500;

#[derive(Debug)]
pub(super) enum Queue<T> {
    /// A packet's outcome is known when it comes.
    Passing(Passing),
    /// It is known when it goes.
    Holding(Holding<T>),
}

impl<T> Queue<T> {
    pub(super) fn new(
        direction: &Direction,
        capacity: &Capacity,
        round_trip: Duration,
        random: &mut Pcg64,
    ) -> Self {
        let rate = capacity.nominal();
        let bytes = |queue: link::Queue, rate: Option<u64>| match (queue, rate) {
            (queue, Some(rate)) => queue.bytes(rate, round_trip),
            (link::Queue::Bytes(bytes), None) => bytes,
            (link::Queue::Bdp(_) | link::Queue::Time(_), None) => u64::MAX,
        };
        let room = Schedule::new(direction, |stage| match stage.queue {
            link::Queue::Time(_) => bytes(stage.queue, stage.rate.or(rate)),
            _ => bytes(stage.queue, rate),
        });
        match direction.aqm {
            Aqm::DropTail => Queue::Passing(match (capacity, room.constant()) {
                (Capacity::Constant(rate), Some(room)) => Passing::Timed {
                    rate: *rate,
                    room: transmission(*room, *rate),
                },
                _ => Passing::Counted(Tail::new(room)),
            }),
            Aqm::Red(red) => {
                let packet_time = rate.map_or(1, |rate| transmission(TYPICAL, rate));
                let threshold = |queue: link::Queue| match rate {
                    Some(rate) => queue.part(rate, round_trip),
                    None => bytes(queue, None),
                };
                let (min, max) = (threshold(red.min), threshold(red.max));
                let state = Red::new(min, max, red.probability, red.weight, packet_time);
                Queue::Passing(Passing::Early(state, Tail::new(room)))
            }
            Aqm::CoDel(parameters) => Queue::Holding(Holding::CoDel {
                fifo: Fifo::new(),
                codel: CoDel::new(parameters),
                room,
            }),
            Aqm::FqCoDel(parameters) => {
                Queue::Holding(Holding::FqCoDel(FqCoDel::new(parameters, room, random)))
            }
        }
    }
}

/// First in, first out, and dropped at the end or not at all.
#[derive(Debug)]
pub(super) enum Passing {
    /// Ahead of a constant rate: the queue is a time.
    Timed {
        rate: u64,
        room: Nanos,
    },
    Counted(Tail),
    Early(Red, Tail),
}

impl Passing {
    /// Admits a packet at `now`, with a transmitter that is free at `free_at`, or returns the
    /// outcome of the packet.
    pub(super) fn admit<T>(
        &mut self,
        now: Nanos,
        free_at: Nanos,
        packet: &QueuedPacket<T>,
        random: &mut Pcg64,
    ) -> Result<(), PacketOutcome> {
        let bytes = packet.bytes as u64;
        let fits = match self {
            Passing::Timed { rate, room } => {
                let queued = free_at.saturating_sub(now);
                // What waits, this packet included, has to fit; what is already
                // being transmitted counts with the part that is left.
                queued == 0 || queued + transmission(bytes, *rate) <= *room
            }
            Passing::Counted(tail) => tail.fits(now, bytes),
            Passing::Early(red, tail) => {
                let backlog = tail.backlog(now);
                if red.drops(backlog, now.saturating_sub(free_at), random) {
                    return Err(PacketOutcome::AqmDropped);
                }
                tail.fits(now, bytes)
            }
        };
        fits.then_some(()).ok_or(PacketOutcome::TailDropped)
    }

    /// A packet that was admitted has this transmission.
    pub(super) fn passes(&mut self, transmission: &Transmission) {
        match self {
            Passing::Timed { .. } => (),
            Passing::Counted(tail) | Passing::Early(_, tail) => tail.passes(transmission),
        }
    }

    /// Bytes that have been admitted and not gone by `now`, when the transmitter is
    /// free at `free_at`.
    pub(super) fn backlog(&self, now: Nanos, free_at: Nanos) -> u64 {
        match self {
            Passing::Timed { rate, .. } => {
                let time = free_at.saturating_sub(now);
                (*rate as f64 / 8e9 * time as f64) as u64
            }
            Passing::Counted(tail) | Passing::Early(_, tail) => {
                tail.packets.iter().map(|packet| packet.left(now)).sum()
            }
        }
    }
}

/// A drop-tail queue ahead of a rate that changes.
#[derive(Debug)]
pub(super) struct Tail {
    room: Schedule<u64>,
    packets: VecDeque<Transmission>,
    bytes: u64,
}

/// Time of a packet's transmission.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Transmission {
    pub(super) start: Nanos,
    pub(super) free: Nanos,
    pub(super) bytes: u64,
}

impl Transmission {
    /// Bytes of it that have not gone by `now`.
    pub(super) fn left(&self, now: Nanos) -> u64 {
        let Transmission { start, free, bytes } = *self;
        if free <= now {
            return 0;
        }
        let gone = now.saturating_sub(start) as f64 / (free - start) as f64;
        bytes - (bytes as f64 * gone) as u64
    }
}

impl Tail {
    fn new(room: Schedule<u64>) -> Self {
        Tail {
            room,
            packets: VecDeque::new(),
            bytes: 0,
        }
    }

    /// Bytes that wait at `now`, with the part that is left of the packet in
    /// transmission.
    fn backlog(&mut self, now: Nanos) -> u64 {
        while let Some(gone) = self.packets.front().filter(|packet| packet.free <= now) {
            self.bytes -= gone.bytes;
            self.packets.pop_front();
        }
        let first = self.packets.front();
        self.bytes - first.map_or(0, |packet| packet.bytes - packet.left(now))
    }

    fn fits(&mut self, now: Nanos, bytes: u64) -> bool {
        let backlog = self.backlog(now);
        backlog == 0 || backlog + bytes <= *self.room.at(now)
    }

    fn passes(&mut self, transmission: &Transmission) {
        self.bytes += transmission.bytes;
        self.packets.push_back(*transmission);
    }
}

/// Packets stay until their turn.
#[derive(Debug)]
pub(super) enum Holding<T> {
    CoDel {
        fifo: Fifo<T>,
        codel: CoDel,
        room: Schedule<u64>,
    },
    FqCoDel(FqCoDel<T>),
}

impl<T> Holding<T> {
    /// Bytes that wait.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Holding::CoDel { fifo, .. } => fifo.bytes(),
            Holding::FqCoDel(fq) => fq.bytes(),
        }
    }

    /// Bytes that go before a packet of `flow` that comes now.
    pub(super) fn ahead(&self, flow: u32) -> usize {
        match self {
            Holding::CoDel { fifo, .. } => fifo.bytes(),
            Holding::FqCoDel(fq) => fq.ahead(flow),
        }
    }

    /// A packet comes at `now`. What finds no room goes to `drop`.
    pub(super) fn enqueue(
        &mut self,
        now: Nanos,
        packet: QueuedPacket<T>,
        mut drop: impl FnMut(T, PacketOutcome),
    ) {
        match self {
            Holding::CoDel { fifo, room, .. } => {
                let backlog = fifo.bytes() as u64;
                if backlog > 0 && backlog + packet.bytes as u64 > *room.at(now) {
                    drop(packet.content, PacketOutcome::TailDropped);
                } else {
                    fifo.push(now, packet);
                }
            }
            Holding::FqCoDel(fq) => {
                fq.enqueue(now, packet, |content| {
                    drop(content, PacketOutcome::TailDropped)
                });
            }
        }
    }

    /// The packet to send at `now`; what is dropped before goes to `drop`.
    pub(super) fn dequeue(&mut self, now: Nanos, drop: impl FnMut(T)) -> Option<Waiting<T>> {
        match self {
            Holding::CoDel { fifo, codel, .. } => codel.dequeue(now, fifo, drop),
            Holding::FqCoDel(fq) => fq.dequeue(now, drop),
        }
    }
}
