//! FQ-CoDel: RFC 8290, in the words of its Section 4.

use std::collections::VecDeque;

use rand_pcg::rand_core::Rng;
use rand_pcg::Pcg64;

use super::codel::{CoDel, Fifo, Waiting};
use super::schedule::Schedule;
use super::{Nanos, QueuedPacket};
use crate::link;

/// Maximum number of packets of the longest queue that are dropped at once.
const BATCH: usize = 64;

/// A queue per flow, as far as the hash keeps them apart.
#[derive(Debug)]
pub(super) struct FqCoDel<T> {
    queues: Vec<Queue<T>>,
    /// Queues in their turn, new ones first; by index.
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    quantum: i64,
    /// Bytes of all queues together, and the most.
    bytes: usize,
    limit: Schedule<u64>,
    perturbation: u64,
}

#[derive(Debug)]
struct Queue<T> {
    fifo: Fifo<T>,
    codel: CoDel,
    credits: i64,
    /// True if the queue is in a list of the scheduler.
    listed: bool,
}

impl<T> FqCoDel<T> {
    pub(super) fn new(parameters: link::FqCoDel, limit: Schedule<u64>, random: &mut Pcg64) -> Self {
        let queue = || Queue {
            fifo: Fifo::new(),
            codel: CoDel::new(parameters.codel),
            credits: 0,
            listed: false,
        };
        FqCoDel {
            queues: (0..parameters.flows).map(|_| queue()).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            quantum: parameters.quantum.into(),
            bytes: 0,
            limit,
            perturbation: random.next_u64(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the queue of a flow's packets: multiplicative hashing (Knuth).
    fn hash(&self, flow: u32) -> usize {
        let mixed = (u64::from(flow) ^ self.perturbation).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        ((mixed >> 32) % self.queues.len() as u64) as usize
    }

    /// Bytes that go before a packet of `flow` that comes now, about: those of
    /// its own queue, and as many of each other that has a turn, a quantum more.
    /// Before the first packet of a new queue go only other new ones.
    pub(super) fn ahead(&self, flow: u32) -> usize {
        let index = self.hash(flow);
        let own = self.queues[index].fifo.bytes();
        let old = self.queues[index].listed.then_some(&self.old);
        let turns = self.new.iter().chain(old.into_iter().flatten());
        let others = turns.filter(|other| **other != index);
        let most = own + self.quantum as usize;
        let before: usize = others
            .map(|other| self.queues[*other].fifo.bytes().min(most))
            .sum();
        own + before
    }

    /// Adds a packet. If there is no room, half of the longest queue goes to `drop`.
    pub(super) fn enqueue(&mut self, now: Nanos, packet: QueuedPacket<T>, mut drop: impl FnMut(T)) {
        let index = self.hash(packet.flow);
        let alone = self.bytes == 0;
        let queue = &mut self.queues[index];
        self.bytes += packet.bytes;
        queue.fifo.push(now, packet);
        if !queue.listed {
            queue.listed = true;
            queue.credits = self.quantum;
            self.new.push_back(index);
        }
        // As with the other queues: one that is empty takes any packet.
        if self.bytes as u64 > *self.limit.at(now) && !alone {
            self.shed(&mut drop);
        }
    }

    /// Drops half of the longest queue from its front.
    fn shed(&mut self, drop: &mut impl FnMut(T)) {
        let longest = self
            .queues
            .iter_mut()
            .max_by_key(|queue| queue.fifo.bytes());
        let Some(queue) = longest else { return };
        for _ in 0..queue.fifo.len().div_ceil(2).min(BATCH) {
            if let Some(head) = queue.fifo.pop() {
                self.bytes -= head.packet.bytes;
                drop(head.packet.content);
            }
        }
    }

    /// The packet to send at `now`; what CoDel drops before goes to `drop`.
    pub(super) fn dequeue(&mut self, now: Nanos, mut drop: impl FnMut(T)) -> Option<Waiting<T>> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let index = *list.front()?;
            let queue = &mut self.queues[index];
            if queue.credits <= 0 {
                queue.credits += self.quantum;
                list.pop_front();
                self.old.push_back(index);
                continue;
            }
            let before = queue.fifo.bytes();
            let head = queue.codel.dequeue(now, &mut queue.fifo, &mut drop);
            self.bytes -= before - queue.fifo.bytes();
            let Some(head) = head else {
                list.pop_front();
                // A new queue waits for its turn once more before it is
                // forgotten, or its flow would always be new.
                if is_new {
                    self.old.push_back(index);
                } else {
                    queue.listed = false;
                }
                continue;
            };
            queue.credits -= head.packet.bytes as i64;
            return Some(head);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::generator;

    fn fq(limit: u64) -> FqCoDel<(u32, u32)> {
        let parameters = link::FqCoDel {
            codel: link::CoDel::default(),
            flows: 1024,
            quantum: 1500,
        };
        let limit = Schedule::of(vec![(0, limit)], None);
        FqCoDel::new(parameters, limit, &mut generator(1, 1))
    }

    fn packet(flow: u32, number: u32, bytes: usize) -> QueuedPacket<(u32, u32)> {
        QueuedPacket {
            content: (flow, number),
            bytes,
            flow,
            long_header: false,
        }
    }

    #[test]
    fn an_empty_queue_takes_any_packet() {
        let mut fq = fq(100);
        fq.enqueue(0, packet(1, 0, 1500), |_| panic!());
        let mut dropped = Vec::new();
        fq.enqueue(0, packet(2, 0, 1400), |content| dropped.push(content));
        assert_eq!(dropped, [(1, 0)]);
        assert!(fq.dequeue(0, |_| panic!()).is_some());
    }

    #[test]
    fn what_goes_before_a_packet_is_less_for_a_sparse_flow() {
        let mut fq = fq(1_000_000);
        for number in 0..20 {
            fq.enqueue(0, packet(1, number, 1500), |_| panic!());
        }
        // All are new: the other has its quantum first, and then as much again.
        assert_eq!((fq.ahead(1), fq.ahead(2)), (30_000, 1500));
        fq.enqueue(0, packet(2, 0, 1500), |_| panic!());
        assert_eq!((fq.ahead(1), fq.ahead(2)), (31_500, 1500 + 3000));
        let before = std::iter::from_fn(|| fq.dequeue(0, |_| panic!()))
            .position(|head| head.packet.content.0 == 2);
        assert_eq!(before, Some(1));
        // It alone is left with a queue, which is old: a newcomer goes first.
        let mut fq = self::fq(1_000_000);
        for number in 0..20 {
            fq.enqueue(0, packet(1, number, 1500), |_| panic!());
        }
        for _ in 0..3 {
            fq.dequeue(0, |_| panic!()).unwrap();
        }
        assert_eq!((fq.ahead(1), fq.ahead(2)), (17 * 1500, 0));
    }

    #[test]
    fn flows_take_turns_by_bytes_and_each_keeps_its_order() {
        let mut fq = fq(1_000_000);
        for number in 0..60 {
            fq.enqueue(0, packet(1, number, 1500), |_| panic!());
        }
        for number in 0..120 {
            fq.enqueue(0, packet(2, number, 750), |_| panic!());
        }
        let mut sent = [0, 0];
        let mut next = [0, 0];
        for _ in 0..90 {
            let head = fq.dequeue(0, |_| panic!()).unwrap();
            let (flow, number) = head.packet.content;
            let index = flow as usize - 1;
            assert_eq!(number, next[index]);
            next[index] += 1;
            sent[index] += head.packet.bytes;
            assert!(sent[0].abs_diff(sent[1]) <= 1500 + 750, "{sent:?}");
        }
        assert_eq!(sent, [45_000, 45_000]);
    }

    #[test]
    fn a_sparse_flow_does_not_wait_for_a_heavy_one() {
        let mut fq = fq(1_000_000);
        for number in 0..100 {
            fq.enqueue(0, packet(1, number, 1500), |_| panic!());
        }
        for number in 0..50 {
            fq.dequeue(0, |_| panic!()).unwrap();
            fq.dequeue(0, |_| panic!());
            fq.enqueue(0, packet(2, number, 100), |_| panic!());
            let heads: Vec<u32> = (0..2)
                .filter_map(|_| fq.dequeue(0, |_| panic!()))
                .map(|head| head.packet.content.0)
                .collect();
            assert!(heads.contains(&2), "{number}: {heads:?}");
            if fq.bytes() < 10_000 {
                break;
            }
        }
    }

    #[test]
    fn a_full_queue_takes_from_the_longest() {
        let mut fq = fq(15_000);
        let mut dropped = Vec::new();
        fq.enqueue(0, packet(2, 0, 1500), |_| panic!());
        for number in 0..10 {
            fq.enqueue(0, packet(1, number, 1500), |(flow, number)| {
                assert_eq!(flow, 1);
                dropped.push(number);
            });
        }
        assert_eq!(dropped, [0, 1, 2, 3, 4]);
        assert_eq!(fq.bytes(), 6 * 1500);
        let rest: Vec<_> = std::iter::from_fn(|| fq.dequeue(0, |_| panic!())).collect();
        assert_eq!((rest.len(), fq.bytes()), (6, 0));
    }
}
