//! What is to happen in a simulation, in the order of virtual time.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::channel::Nanos;

/// Events by time; of two at the same time, the one that was added first.
pub(super) struct Agenda<E> {
    entries: BinaryHeap<Entry<E>>,
    added: u64,
}

struct Entry<E> {
    at: Nanos,
    order: u64,
    event: E,
}

impl<E> Agenda<E> {
    pub(super) fn new() -> Self {
        Agenda {
            entries: BinaryHeap::new(),
            added: 0,
        }
    }

    pub(super) fn add(&mut self, at: Nanos, event: E) {
        let order = self.added;
        self.added += 1;
        self.entries.push(Entry { at, order, event });
    }

    /// The next event and its time, unless it comes after `end`.
    pub(super) fn next(&mut self, end: Nanos) -> Option<(Nanos, E)> {
        let next = self.entries.pop().filter(|next| next.at <= end)?;
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

    /// Whether the event that comes at `now` is the pending one, which then is
    /// no longer pending; others have been overtaken.
    pub(super) fn rings(&mut self, now: Nanos) -> bool {
        let rings = self.pending == Some(now);
        if rings {
            self.pending = None;
        }
        rings
    }

    /// When to add an event so that there is one at `at` or earlier.
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
    use super::*;

    #[test]
    fn events_come_by_time_and_then_in_the_order_of_adding() {
        let mut agenda = Agenda::new();
        for (at, event) in [(2, 'c'), (1, 'a'), (2, 'd'), (1, 'b'), (9, 'x')] {
            agenda.add(at, event);
        }
        let all: Vec<_> = std::iter::from_fn(|| agenda.next(8)).collect();
        assert_eq!(all, [(1, 'a'), (1, 'b'), (2, 'c'), (2, 'd')]);
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
