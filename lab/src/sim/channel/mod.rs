//! One direction of a link, as a function of when what enters it.
//!
//! ```text
//!  enter ─ ack_filter ─ aggregate ─ policer ─ queue ─ transmission ─ loss ─ delay line ─ arrive
//! ```
//!
//! It knows no clock and does nothing by itself: packets enter in the order of
//! time, and what becomes of them is to be asked for after that. A drop-tail
//! queue in front of a constant rate is known by the time when its last packet
//! will have left, so there a packet's outcome is known as soon as it enters.
//! Where it depends on what comes later, [`Channel::next`] says when to let
//! time pass.

mod capacity;
mod codel;
mod errors;
mod fq_codel;
mod line;
mod lte;
mod policer;
mod queue;
mod random;
mod red;
mod schedule;
mod thinning;
mod trace;

use std::collections::VecDeque;
use std::time::Duration;

use anyhow::Result;
use rand_pcg::rand_core::Rng;
use rand_pcg::Pcg64;

use crate::link::Direction;
pub(super) use capacity::Capacity;
use codel::Waiting;
use errors::Errors;
use line::Line;
use policer::Policer;
use queue::{Queue, Transmission};
pub(super) use random::deviation;
pub(crate) use random::uniform;
pub(super) use schedule::Schedule;
use thinning::Thinning;
pub(crate) use trace::check as check_trace;

/// Nanoseconds since the simulation began.
pub type Nanos = u64;

/// A packet as a link sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedPacket<T> {
    /// Content by which the sender identifies the packet.
    pub content: T,
    /// Its length, IP header included.
    pub bytes: usize,
    /// Packets of one flow have one number.
    pub flow: u32,
    /// It begins with a long header, so that it is part of a handshake (RFC
    /// 9000 17.2) and no ACK alone.
    pub long_header: bool,
}

/// Outcome of a packet that enters a [`Channel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketOutcome {
    /// It was small and not the one that passes.
    Thinned,
    /// The queue had no room.
    TailDropped,
    /// A policer or the queue's management dropped it.
    AqmDropped,
    /// It went over the bottleneck and was lost behind it.
    Lost {
        /// Time in the queue, without its own transmission.
        queued: Nanos,
    },
    /// It arrives.
    Arrives {
        /// Time of arrival.
        at: Nanos,
        /// Time in the queue, without its own transmission.
        queued: Nanos,
    },
}

/// One direction of a link in operation.
#[derive(Debug)]
pub struct Channel<T> {
    thinning: Thinning,
    batch: Option<Batch<T>>,
    policer: Option<Policer>,
    queue: Queue<T>,
    capacity: Capacity,
    /// Time at which the transmitter will be free, as far as known.
    free_at: Nanos,
    errors: Errors,
    line: Line,
    random: Pcg64,
    decided: VecDeque<(T, PacketOutcome)>,
    /// Bytes whose transmission is known.
    carried: u64,
    /// The last of these packets.
    sending: Transmission,
}

/// Packets that are held to go together.
#[derive(Debug)]
struct Batch<T> {
    packets: usize,
    at_most: Nanos,
    held: Vec<QueuedPacket<T>>,
    /// Latest time to release held packets.
    deadline: Nanos,
}

impl<T> Channel<T> {
    /// A channel at rest. `round_trip` is the sum of all propagation delays of
    /// the path in both directions, which a queue in BDPs refers to.
    ///
    /// # Errors
    ///
    /// A trace that cannot be read.
    pub fn new(direction: &Direction, round_trip: Duration, mut random: Pcg64) -> Result<Self> {
        // A generator of its own, of which the copy that tells the capacity
        // draws the same; and only where it is needed.
        let weather = match direction.lte {
            Some(_) => Pcg64::new(random.next_u64().into(), 0),
            None => random.clone(),
        };
        let capacity = Capacity::new(direction, weather)?;
        Ok(Channel {
            thinning: Thinning::new(direction.ack_filter),
            batch: direction.aggregate.map(|aggregate| Batch {
                packets: aggregate.packets as usize,
                at_most: nanos(aggregate.at_most),
                held: Vec::new(),
                deadline: 0,
            }),
            policer: direction.policer.map(Policer::new),
            queue: Queue::new(direction, &capacity, round_trip, &mut random),
            capacity,
            free_at: 0,
            errors: Errors::new(direction),
            line: Line::new(direction),
            random,
            decided: VecDeque::new(),
            carried: 0,
            sending: Transmission::default(),
        })
    }

    /// Returns the waiting time, as far as known, of a packet of `flow` that enters at `now`.
    pub fn queueing_delay(&self, now: Nanos, flow: u32) -> Nanos {
        let known = self.free_at.max(now);
        let ahead = match &self.queue {
            Queue::Holding(holding) => holding.ahead(flow),
            Queue::Passing(_) => 0,
        };
        let begins = match ahead {
            0 => known,
            bytes => self.capacity.clone().transmit(known, bytes as u64).free,
        };
        begins - now
    }

    /// Bytes that have gone over the bottleneck by `now`.
    pub fn carried(&self, now: Nanos) -> u64 {
        let ahead = match &self.queue {
            Queue::Passing(passing) => passing.backlog(now, self.free_at),
            Queue::Holding(_) => self.sending.left(now),
        };
        self.carried - ahead
    }

    /// Bytes that have entered and not gone over the bottleneck by `now`.
    pub(super) fn backlog(&self, now: Nanos) -> u64 {
        let held = self.batch.iter().flat_map(|batch| &batch.held);
        let held: usize = held.map(|packet| packet.bytes).sum();
        let queue = match &self.queue {
            Queue::Passing(passing) => passing.backlog(now, self.free_at),
            Queue::Holding(holding) => holding.bytes() as u64 + self.sending.left(now),
        };
        held as u64 + queue
    }

    /// Highest sustained rate of the bottleneck in bits per second; `None` without a limit.
    pub(super) fn peak(&self) -> Option<u64> {
        let policed = self.policer.as_ref().map(Policer::rate);
        let limits = [self.capacity.peak(), policed];
        limits.into_iter().flatten().min()
    }

    /// Returns a copy of the bottleneck's capacity model.
    pub(super) fn capacity(&self) -> Capacity {
        self.capacity.clone()
    }

    /// A packet enters at `now`. Packets enter in the order of time.
    pub fn enter(&mut self, now: Nanos, packet: QueuedPacket<T>) {
        if self.thinning.takes(now, &packet) {
            self.decided
                .push_back((packet.content, PacketOutcome::Thinned));
            return;
        }
        let Some(batch) = &mut self.batch else {
            self.enqueue(now, packet);
            return;
        };
        if batch.held.is_empty() {
            batch.deadline = now + batch.at_most;
        }
        batch.held.push(packet);
        if batch.held.len() >= batch.packets {
            self.release(now);
        }
    }

    /// Returns the next outcome, in order; `None` if no further outcome is known yet.
    pub fn decided(&mut self) -> Option<(T, PacketOutcome)> {
        self.decided.pop_front()
    }

    /// The time of the next change, even if no packet enters.
    pub fn next(&self) -> Option<Nanos> {
        let batch = self.batch.as_ref().filter(|batch| !batch.held.is_empty());
        let deadline = batch.map(|batch| batch.deadline);
        let holds = match &self.queue {
            Queue::Passing(_) => false,
            Queue::Holding(holding) => holding.bytes() > 0,
        };
        let dequeue = holds.then_some(self.free_at);
        [deadline, dequeue].into_iter().flatten().min()
    }

    /// It is `now`, which is not after [`Self::next`].
    pub fn advance(&mut self, now: Nanos) {
        let batch = self.batch.as_ref().filter(|batch| !batch.held.is_empty());
        if batch.is_some_and(|batch| batch.deadline <= now) {
            self.release(now);
        }
        self.serve(now);
    }

    /// Moves held packets into the queue.
    fn release(&mut self, now: Nanos) {
        let held = self
            .batch
            .as_mut()
            .map(|batch| std::mem::take(&mut batch.held));
        for packet in held.into_iter().flatten() {
            self.enqueue(now, packet);
        }
    }

    fn enqueue(&mut self, now: Nanos, packet: QueuedPacket<T>) {
        let Channel {
            policer,
            queue,
            decided,
            random,
            ..
        } = self;
        let policer = policer.as_mut();
        if policer.is_some_and(|policer| !policer.passes(now, packet.bytes)) {
            decided.push_back((packet.content, PacketOutcome::AqmDropped));
            return;
        }
        match queue {
            Queue::Passing(passing) => match passing.admit(now, self.free_at, &packet, random) {
                Ok(()) => self.transmit(now, packet),
                Err(outcome) => decided.push_back((packet.content, outcome)),
            },
            Queue::Holding(holding) => {
                holding.enqueue(now, packet, |content, outcome| {
                    decided.push_back((content, outcome));
                });
                self.serve(now);
            }
        }
    }

    /// Takes from a queue that decides at the last moment what may go by `now`.
    fn serve(&mut self, now: Nanos) {
        while self.free_at <= now {
            let Channel { queue, decided, .. } = self;
            let Queue::Holding(holding) = queue else {
                return;
            };
            let drop = |content| decided.push_back((content, PacketOutcome::AqmDropped));
            let Some(Waiting { packet, since }) = holding.dequeue(now, drop) else {
                return;
            };
            self.send(now, now - since, packet);
        }
    }

    /// A packet goes as soon as all those before it have gone.
    fn transmit(&mut self, now: Nanos, packet: QueuedPacket<T>) {
        let start = now.max(self.free_at);
        self.send(start, start - now, packet);
        if let Queue::Passing(passing) = &mut self.queue {
            passing.passes(&self.sending);
        }
    }

    /// The transmission of a packet begins.
    fn send(&mut self, start: Nanos, queued: Nanos, packet: QueuedPacket<T>) {
        let sent = self.capacity.transmit(start, packet.bytes as u64);
        self.free_at = sent.free;
        self.carried += packet.bytes as u64;
        self.sending = Transmission {
            start,
            free: sent.free,
            bytes: packet.bytes as u64,
        };
        let outcome = if self.errors.strike(sent.out, &mut self.random) {
            PacketOutcome::Lost { queued }
        } else {
            let at = self.line.arrival(sent.out, &mut self.random);
            PacketOutcome::Arrives { at, queued }
        };
        self.decided.push_back((packet.content, outcome));
    }
}

fn nanos(duration: Duration) -> Nanos {
    duration.as_nanos() as Nanos
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::generator;
    use crate::link::{Aqm, Queue, Step};

    const MS: Nanos = 1_000_000;

    /// 8 Mbit/s: a packet of 1000 bytes takes 1 ms.
    fn direction() -> Direction {
        Direction {
            rate: Some(8_000_000),
            delay: Duration::from_millis(10),
            queue: Queue::Bytes(5_000),
            ..Direction::default()
        }
    }

    fn channel(direction: &Direction) -> Channel<u64> {
        Channel::new(direction, 2 * direction.delay, generator(1, 1)).unwrap()
    }

    fn packet(content: u64, bytes: usize) -> QueuedPacket<u64> {
        QueuedPacket {
            content,
            bytes,
            flow: 0,
            long_header: false,
        }
    }

    /// Returns the outcome of a packet that is decided at once.
    fn enter(channel: &mut Channel<u64>, now: Nanos, bytes: usize) -> PacketOutcome {
        channel.enter(now, packet(0, bytes));
        channel.decided().expect("its outcome is known").1
    }

    /// Arrival times of `count` packets of 1000 bytes, one every `every`.
    fn arrivals(direction: &Direction, count: u64, every: Nanos) -> Vec<Option<Nanos>> {
        let mut channel = channel(direction);
        (0..count)
            .map(|i| match enter(&mut channel, i * every, 1000) {
                PacketOutcome::Arrives { at, .. } => Some(at),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn packets_leave_at_the_rate_and_arrive_after_the_delay() {
        let mut channel = channel(&direction());
        for i in 0..4 {
            let outcome = PacketOutcome::Arrives {
                at: (11 + i) * MS,
                queued: i * MS,
            };
            assert_eq!(enter(&mut channel, 0, 1000), outcome);
        }
        assert_eq!(channel.queueing_delay(2 * MS, 0), 2 * MS);
        assert_eq!(channel.queueing_delay(5 * MS, 0), 0);
    }

    #[test]
    fn what_has_gone_and_how_long_the_rest_takes_follow_the_rate() {
        for name in ["drop-tail", "red", "codel"] {
            let aqm: Aqm = name.parse().unwrap();
            let slower = Direction {
                steps: vec![Step {
                    at: Duration::from_millis(2),
                    rate: Some(800_000),
                    ..Step::default()
                }],
                aqm,
                ..direction()
            };
            let mut channel = channel(&slower);
            for content in 0..5 {
                channel.enter(0, packet(content, 1000));
            }
            // Two of them at a millisecond each, and three at ten.
            assert_eq!(channel.queueing_delay(0, 0), 32 * MS, "{aqm:?}");
            for (at, carried) in [(1, 1000), (2, 2000), (7, 2500), (32, 5000)] {
                while channel.next().is_some_and(|next| next <= at * MS) {
                    let next = channel.next().unwrap();
                    channel.advance(next);
                }
                assert_eq!(channel.carried(at * MS), carried, "{aqm:?} at {at} ms");
            }
        }
    }

    #[test]
    fn the_queue_takes_what_fits_and_not_a_byte_more() {
        let mut channel = channel(&direction());
        for _ in 0..5 {
            assert_ne!(enter(&mut channel, 0, 1000), PacketOutcome::TailDropped);
        }
        assert_eq!(enter(&mut channel, 0, 1), PacketOutcome::TailDropped);
        assert_eq!(enter(&mut channel, MS, 1001), PacketOutcome::TailDropped);
        assert_ne!(enter(&mut channel, MS, 1000), PacketOutcome::TailDropped);
    }

    #[test]
    fn an_idle_link_takes_any_packet() {
        let small = Direction {
            queue: Queue::Bytes(1),
            ..direction()
        };
        let mut channel = channel(&small);
        assert_ne!(enter(&mut channel, 0, 1000), PacketOutcome::TailDropped);
        assert_eq!(enter(&mut channel, 0, 1000), PacketOutcome::TailDropped);
        assert_ne!(enter(&mut channel, MS, 1000), PacketOutcome::TailDropped);
    }

    #[test]
    fn a_queue_in_bdps_has_a_least_size() {
        let round_trip = Duration::from_millis(90);
        assert_eq!(Queue::Bdp(1.0).bytes(10_000_000, round_trip), 112_500);
        assert_eq!(Queue::Bdp(2.0).bytes(10_000_000, round_trip), 225_000);
        assert_eq!(
            Queue::Bdp(1.0).bytes(1_000, round_trip),
            Queue::MIN_BYTES_OF_BDP
        );
        assert_eq!(Queue::Bdp(0.25).part(10_000_000, round_trip), 28_125);
        assert_eq!(Queue::Bdp(0.25).part(1_000, round_trip), 3_750);
    }

    #[test]
    fn a_queue_in_time_follows_the_rate_of_the_moment() {
        let step = |at: u64, rate, queue| Step {
            at: Duration::from_millis(at),
            rate,
            queue,
            ..Step::default()
        };
        let time = |ms| Queue::Time(Duration::from_millis(ms));
        // 5 packets at 8 Mbit/s, 10 at 16, and 2 when the queue is shorter.
        let timed = Direction {
            queue: time(5),
            steps: vec![
                step(100, Some(16_000_000), None),
                step(200, Some(8_000_000), Some(time(2))),
            ],
            repeat: Some(Duration::from_millis(300)),
            ..direction()
        };
        for aqm in ["drop-tail", "codel", "fq_codel"] {
            let aqm: Aqm = aqm.parse().unwrap();
            let timed = Direction {
                aqm,
                ..timed.clone()
            };
            let admitted = |at: Nanos| {
                let mut channel = channel(&timed);
                (0..50).for_each(|content| channel.enter(at * MS, packet(content, 1000)));
                let mut lost = 0;
                while let Some((_, outcome)) = channel.decided() {
                    lost += u64::from(outcome == PacketOutcome::TailDropped);
                }
                50 - lost
            };
            let seen = [0, 100, 200, 300].map(admitted);
            match aqm {
                // Behind CoDel the packet in transmission does not count.
                Aqm::CoDel(_) => assert_eq!(seen, [6, 11, 3, 6]),
                Aqm::DropTail => assert_eq!(seen, [5, 10, 2, 5]),
                // It drops half of a queue that is too long.
                _ => assert!(
                    seen[1] > seen[0] && seen[0] > seen[2] && seen[3] == seen[0],
                    "{seen:?}"
                ),
            }
        }
    }

    #[test]
    fn a_policer_drops_ahead_of_the_queue() {
        let policed = Direction {
            policer: Some(crate::link::Policer {
                rate: 4_000_000,
                burst: 2000,
            }),
            ..direction()
        };
        let mut channel = channel(&policed);
        let outcomes = [0; 4].map(|at| enter(&mut channel, at, 1000));
        assert_eq!(
            outcomes[2..],
            [PacketOutcome::AqmDropped, PacketOutcome::AqmDropped]
        );
        assert_ne!(outcomes[1], PacketOutcome::AqmDropped);
        assert_eq!(channel.peak(), Some(4_000_000));
        assert_ne!(enter(&mut channel, 2 * MS, 1000), PacketOutcome::AqmDropped);
    }

    #[test]
    fn loss_has_its_share_and_its_run_length() {
        for (mean_burst_length, mean_run) in [(None, 1.0 / 0.95), (Some(5.0), 5.0)] {
            let lossy = Direction {
                rate: None,
                loss: 0.05,
                mean_burst_length,
                ..direction()
            };
            let arrivals = arrivals(&lossy, 400_000, 1);
            let lost = arrivals.iter().filter(|at| at.is_none()).count() as f64;
            let runs = arrivals
                .windows(2)
                .filter(|pair| pair[0].is_some() && pair[1].is_none())
                .count() as f64;
            // Five standard deviations of the share: 0.0017 for single losses,
            // about three times as much for runs of five.
            assert!((lost / 400_000.0 - 0.05).abs() < 0.0052, "{lost}");
            assert!((lost / runs / mean_run - 1.0).abs() < 0.1, "{lost} {runs}");
        }
    }

    #[test]
    fn a_lost_packet_has_used_the_bottleneck() {
        let lossy = Direction {
            loss: 1.0,
            ..direction()
        };
        let mut channel = channel(&lossy);
        assert_eq!(
            enter(&mut channel, 0, 1000),
            PacketOutcome::Lost { queued: 0 }
        );
        assert_eq!(
            enter(&mut channel, 0, 1000),
            PacketOutcome::Lost { queued: MS }
        );
    }

    #[test]
    fn jitter_has_its_deviation_and_keeps_the_order() {
        let shaky = Direction {
            rate: None,
            jitter: Duration::from_millis(1),
            ..direction()
        };
        // Far enough apart that the order never holds a packet back.
        let offsets: Vec<f64> = arrivals(&shaky, 20_000, 100 * MS)
            .iter()
            .zip(0u64..)
            .map(|(at, i)| (at.unwrap() as f64 - (i * 100 * MS + 10 * MS) as f64) / MS as f64)
            .collect();
        let mean = offsets.iter().sum::<f64>() / offsets.len() as f64;
        let variance = offsets.iter().map(|o| (o - mean).powi(2)).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.04, "{mean}");
        assert!((variance - 1.0).abs() < 0.05, "{variance}");
        assert!(arrivals(&shaky, 1_000, MS / 10).is_sorted());
    }

    #[test]
    fn reordered_packets_skip_the_delay() {
        let unordered = Direction {
            rate: None,
            reorder: 0.25,
            ..direction()
        };
        let arrivals = arrivals(&unordered, 10_000, MS);
        let early = arrivals
            .iter()
            .zip(0u64..)
            .filter(|(at, i)| at.unwrap() == i * MS)
            .count();
        assert!((2_250..2_750).contains(&early), "{early}");
    }

    #[test]
    fn a_grid_holds_packets_to_its_next_line() {
        let gridded = Direction {
            slot: Duration::from_millis(20),
            ..direction()
        };
        let arrivals = arrivals(&gridded, 12, MS);
        assert_eq!(arrivals[..10], [Some(20 * MS); 10]);
        assert_eq!(arrivals[10..], [Some(40 * MS); 2]);
    }
}
