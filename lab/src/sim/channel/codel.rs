//! CoDel: RFC 8289, in the words of its Section 5.

use std::collections::VecDeque;

use super::{nanos, Nanos, QueuedPacket};
use crate::link;

/// A packet that waits.
#[derive(Debug)]
pub(super) struct Waiting<T> {
    pub(super) packet: QueuedPacket<T>,
    pub(super) since: Nanos,
}

/// A queue, first in, first out.
#[derive(Debug)]
pub(super) struct Fifo<T> {
    packets: VecDeque<Waiting<T>>,
    bytes: usize,
}

impl<T> Fifo<T> {
    pub(super) fn new() -> Self {
        Fifo {
            packets: VecDeque::new(),
            bytes: 0,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    pub(super) fn push(&mut self, now: Nanos, packet: QueuedPacket<T>) {
        self.bytes += packet.bytes;
        self.packets.push_back(Waiting { packet, since: now });
    }

    pub(super) fn pop(&mut self) -> Option<Waiting<T>> {
        let waiting = self.packets.pop_front()?;
        self.bytes -= waiting.packet.bytes;
        Some(waiting)
    }
}

/// The state of one queue's management.
#[derive(Debug)]
pub(super) struct CoDel {
    target: Nanos,
    interval: Nanos,
    /// Time at which the sojourn time will have been above the target for an interval; zero while
    /// it is below.
    first_above: Nanos,
    drop_next: Nanos,
    count: u32,
    last_count: u32,
    dropping: bool,
    /// The largest packet so far: less than this in the queue is no queue.
    max_packet: usize,
}

impl CoDel {
    pub(super) fn new(parameters: link::CoDel) -> Self {
        CoDel {
            target: nanos(parameters.target),
            interval: nanos(parameters.interval),
            first_above: 0,
            drop_next: 0,
            count: 0,
            last_count: 0,
            dropping: false,
            max_packet: 0,
        }
    }

    /// The packet to send at `now`; what is dropped before goes to `drop`.
    pub(super) fn dequeue<T>(
        &mut self,
        now: Nanos,
        queue: &mut Fifo<T>,
        mut drop: impl FnMut(T),
    ) -> Option<Waiting<T>> {
        let (mut head, mut ok_to_drop) = self.next(now, queue);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                drop(head?.packet.content);
                self.count += 1;
                (head, ok_to_drop) = self.next(now, queue);
                if ok_to_drop {
                    self.drop_next = self.control_law(self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            drop(head?.packet.content);
            (head, _) = self.next(now, queue);
            self.dropping = true;
            // Soon after the last time it begins at the rate that controlled
            // the queue then.
            let delta = self.count - self.last_count;
            let recent = now.saturating_sub(self.drop_next) < 16 * self.interval;
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.drop_next = self.control_law(now);
            self.last_count = self.count;
        }
        head
    }

    /// The first packet, and whether the wait has been too long for too long.
    fn next<T>(&mut self, now: Nanos, queue: &mut Fifo<T>) -> (Option<Waiting<T>>, bool) {
        let Some(head) = queue.pop() else {
            self.first_above = 0;
            return (None, false);
        };
        self.max_packet = self.max_packet.max(head.packet.bytes);
        if now - head.since < self.target || queue.bytes() <= self.max_packet {
            self.first_above = 0;
            return (Some(head), false);
        }
        if self.first_above == 0 {
            self.first_above = now + self.interval;
            return (Some(head), false);
        }
        (Some(head), now >= self.first_above)
    }

    /// Drops come closer and closer, by the square root of their number.
    fn control_law(&self, at: Nanos) -> Nanos {
        at + (self.interval as f64 / f64::from(self.count).sqrt()) as Nanos
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    /// Times of drops in milliseconds, with `wait(now)` in the queue and one
    /// packet leaving every 0.1 ms for `duration` ms.
    fn drops(duration: u64, wait: impl Fn(Nanos) -> Nanos) -> Vec<f64> {
        let mut codel = CoDel::new(link::CoDel::default());
        let mut drops = Vec::new();
        for now in (200 * MS..(200 + duration) * MS).step_by(MS as usize / 10) {
            let mut queue = Fifo::new();
            for _ in 0..10 {
                let packet = QueuedPacket {
                    content: (),
                    bytes: 1000,
                    flow: 0,
                    long_header: false,
                };
                queue.push(now - wait(now), packet);
            }
            codel.dequeue(now, &mut queue, |()| {
                drops.push((now - 200 * MS) as f64 / MS as f64);
            });
        }
        drops
    }

    #[test]
    fn drops_begin_after_an_interval_and_come_by_the_control_law() {
        let drops = drops(1_000, |_| 20 * MS);
        // 100 ms above the target, and then 100 / sqrt(n) to the next.
        let mut at = 100.0;
        for (n, drop) in (1..).zip(&drops) {
            // Packets leave every 0.1 ms.
            assert!((drop - at).abs() <= 0.1, "drop {n} at {drop}, not {at}");
            at += 100.0 / f64::from(n).sqrt();
        }
        assert_eq!(drops.len(), 27);
    }

    #[test]
    fn a_short_wait_and_a_short_burst_are_let_be() {
        assert_eq!(drops(1_000, |_| 4 * MS), [0.0; 0]);
        // 90 ms too long, and then not for a moment.
        let burst = |now| if now / MS % 100 < 90 { 20 * MS } else { MS };
        assert_eq!(drops(1_000, burst), [0.0; 0]);
    }

    #[test]
    fn a_queue_that_comes_back_meets_the_rate_of_drops_that_held_it() {
        let pause = |now| {
            if (800 * MS..900 * MS).contains(&now) {
                MS
            } else {
                20 * MS
            }
        };
        let drops = drops(1_000, pause);
        let after: Vec<f64> = drops.into_iter().filter(|at| *at > 600.0).collect();
        // From 900 ms on for an interval, and then not 100 ms apart.
        assert!((after[0] - 800.0).abs() <= 0.1, "{after:?}");
        assert!(after[1] - after[0] < 40.0, "{after:?}");
    }
}
