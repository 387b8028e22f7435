//! Event queue of a simulation, in the order of virtual time.

use std::cmp::Ordering;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

use super::channel::Nanos;

/// Events by time; of two at the same time, the one that was added first.
///
/// Most of them are packets on their way, thousands at a time. A lane has those of one link in
/// their order, and only the first of a lane is in the heap, which stays small.
pub(super) struct EventQueue<E> {
    heap: BinaryHeap<Entry<E>>,
    lanes: Vec<Lane<E>>,
    added: u64,
}

struct Entry<E> {
    at: Nanos,
    order: u64,
    lane: Option<usize>,
    event: E,
}

/// Events that follow each other.
struct Lane<E> {
    /// True if the first event of the source is in the heap.
    started: bool,
    /// Those behind the first.
    behind: VecDeque<Entry<E>>,
    /// The time of the latest one.
    last: Nanos,
}

impl<E> EventQueue<E> {
    /// Makes an event queue without events, with this many lanes.
    pub(super) fn new(lanes: usize) -> Self {
        let lane = || Lane {
            started: false,
            behind: VecDeque::new(),
            last: 0,
        };
        EventQueue {
            heap: BinaryHeap::new(),
            lanes: std::iter::repeat_with(lane).take(lanes).collect(),
            added: 0,
        }
    }

    pub(super) fn add(&mut self, at: Nanos, event: E) {
        let entry = self.entry(at, None, event);
        self.heap.push(entry);
    }

    /// Adds an event to a lane, at little cost when it comes after all that are in it.
    pub(super) fn add_to(&mut self, lane: usize, at: Nanos, event: E) {
        if at < self.lanes[lane].last {
            return self.add(at, event);
        }
        let entry = self.entry(at, Some(lane), event);
        let lane = &mut self.lanes[lane];
        lane.last = at;
        if lane.started {
            lane.behind.push_back(entry);
        } else {
            lane.started = true;
            self.heap.push(entry);
        }
    }

    fn entry(&mut self, at: Nanos, lane: Option<usize>, event: E) -> Entry<E> {
        let order = self.added;
        self.added += 1;
        Entry {
            at,
            order,
            lane,
            event,
        }
    }

    /// The next event and its time, unless it comes after `end`.
    pub(super) fn next(&mut self, end: Nanos) -> Option<(Nanos, E)> {
        let mut first = self.heap.peek_mut().filter(|first| first.at <= end)?;
        let lane = first.lane.map(|lane| &mut self.lanes[lane]);
        let next = match lane {
            Some(lane) => match lane.behind.pop_front() {
                Some(behind) => std::mem::replace(&mut *first, behind),
                None => {
                    lane.started = false;
                    PeekMut::pop(first)
                }
            },
            None => PeekMut::pop(first),
        };
        Some((next.at, next.event))
    }
}

impl<E> Ord for Entry<E> {
    /// Reversed, since a heap gives its greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<E> Eq for Entry<E> {}

/// A timer's one pending event. When a timer moves back its event stays and
/// is only looked at again when it comes, so that a timer that every packet
/// sets anew does not add an event each time.
pub(super) struct Alarm {
    pending: Option<Nanos>,
}

impl Alarm {
    pub(super) fn new() -> Self {
        Alarm { pending: None }
    }

    /// Returns true, once, if the event at `now` is the pending one. Other events have been
    /// superseded.
    pub(super) fn rings(&mut self, now: Nanos) -> bool {
        let rings = self.pending == Some(now);
        if rings {
            self.pending = None;
        }
        rings
    }

    /// Returns the time at which to add an event so that there is one at `at` or earlier.
    pub(super) fn set(&mut self, at: Nanos) -> Option<Nanos> {
        if self.pending.is_some_and(|pending| pending <= at) {
            return None;
        }
        self.pending = Some(at);
        self.pending
    }
}

#[cfg(test)]
mod tests {
    use rand_pcg::rand_core::Rng;

    use super::*;

    #[test]
    fn events_come_by_time_and_then_in_the_order_of_adding() {
        let mut events = EventQueue::new(0);
        for (at, event) in [(2, 'c'), (1, 'a'), (2, 'd'), (1, 'b'), (9, 'x')] {
            events.add(at, event);
        }
        let all: Vec<_> = std::iter::from_fn(|| events.next(8)).collect();
        assert_eq!(all, [(1, 'a'), (1, 'b'), (2, 'c'), (2, 'd')]);
    }

    #[test]
    fn lanes_change_nothing_in_the_order() {
        let mut generator = crate::entropy::generator(1, 1);
        let mut random = |bound| generator.next_u64() % bound;
        let mut queues = [EventQueue::new(3), EventQueue::new(3)];
        let mut now = 0;
        for event in 0..10_000 {
            let at = now + random(50);
            queues[0].add(at, event);
            queues[1].add_to(random(3) as usize, at, event);
            if random(3) > 0 {
                let [next, from_lanes] = queues.each_mut().map(|events| events.next(u64::MAX));
                assert_eq!(next, from_lanes);
                now = next.map_or(now, |(at, _)| at);
            }
        }
    }

    #[test]
    fn an_alarm_adds_an_event_only_when_it_moves_forward() {
        let mut alarm = Alarm::new();
        assert_eq!(alarm.set(10), Some(10));
        assert_eq!(alarm.set(20), None);
        assert_eq!(alarm.set(5), Some(5));
        assert!(alarm.rings(5));
        assert!(!alarm.rings(10), "overtaken by the event at 5");
        assert_eq!(alarm.set(20), Some(20));
    }
}
