//! State of the links as oracles see it, and its times.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};

use super::channel::{Capacity, Nanos};
use super::path::Path;
use super::world::nanos;
use crate::scenario::Scenario;

/// Time between two looks at the links: the time of a block in an LTE cell, and
/// of a line of a trace.
pub(super) const TICK: Nanos = 1_000_000;

/// The rate is the mean over a round trip and at least over this time, which a
/// single block or opportunity does not move much.
const MIN_SPAN: Nanos = 10 * TICK;

/// Bytes of a queue that are left free: what comes in a moment finds room.
const FULL: u64 = 4 * 1500;

/// The state of a path as it was.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// Time at which the oracle learns the state.
    pub(super) now: Nanos,
    /// Time of the state itself.
    pub(super) then: Nanos,
    /// Bytes that waited.
    pub(super) queue: f64,
    /// Bytes that may wait.
    pub(super) limit: f64,
    /// Bytes per second of the narrowest link.
    pub(super) rate: f64,
    /// Time from the sender to the narrowest link.
    pub(super) ahead: Nanos,
    /// Seconds of a round trip without a queue.
    pub(super) round_trip: f64,
}

impl Told {
    /// Returns the rest, at `to`, of a queue of `bytes` at `from` without further arrivals.
    pub(super) fn after(&self, bytes: f64, from: Nanos, to: Nanos) -> f64 {
        let gone = self.rate * to.saturating_sub(from) as f64 / 1e9;
        (bytes - gone).max(0.0)
    }
}

/// An oracle's knowledge of its path. Writer and reader are on one thread.
#[derive(Clone, Debug, Default)]
pub(super) struct Guide(Arc<Mutex<Option<Told>>>);

impl Guide {
    /// The latest; `None` before the flow has begun.
    pub(super) fn told(&self) -> Option<Told> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tell(&self, told: Told) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
    }
}

/// Looks at the links of one flow, and tells its oracle what it saw half a round
/// trip ago.
pub(super) struct Watch {
    guide: Guide,
    links: RangeInclusive<usize>,
    /// Bytes that may wait.
    limit: f64,
    /// Of each link, and the time from the sender to it.
    capacities: Vec<(Capacity, Nanos)>,
    round_trip: Nanos,
    notes: VecDeque<Note>,
}

/// The links at a time.
struct Note {
    at: Nanos,
    queue: f64,
    /// Bits until then, of each link; `None` of one without a limit.
    offered: Vec<Option<f64>>,
}

impl Watch {
    pub(super) fn new(scenario: &Scenario, flow: u32, guide: Guide, path: &Path) -> Self {
        let links = path.links(flow);
        let access = nanos(scenario.flows[flow as usize].delay);
        let mut ahead = 0;
        let mut round_trip = 2 * access;
        let mut limit = u64::MAX;
        let (mut capacities, all) = (Vec::new(), path.capacities());
        for index in links.clone() {
            let link = &scenario.path[index];
            if let Some(rate) = all[index].nominal() {
                limit = limit.min(link.down.queue.bytes(rate, scenario.round_trip()));
            }
            capacities.push((all[index].clone(), ahead));
            ahead += nanos(link.down.delay);
            round_trip += nanos(link.round_trip());
        }
        Watch {
            guide,
            links,
            capacities,
            round_trip,
            limit: limit.saturating_sub(FULL) as f64,
            notes: VecDeque::new(),
        }
    }

    /// Notes the links as they are `now`, which is later than the last time.
    pub(super) fn look(&mut self, now: Nanos, path: &Path) {
        let taken = self.links.clone().count();
        let links = path.down().skip(*self.links.start()).take(taken);
        let queue: u64 = links.map(|channel| channel.backlog(now)).sum();
        let capacities = self.capacities.iter_mut();
        self.notes.push_back(Note {
            at: now,
            queue: queue as f64,
            offered: capacities.map(|(it, _)| it.offered(now)).collect(),
        });
    }

    /// Tells the state of half a round trip before `now`. In the first moments of
    /// a run it is that of its beginning.
    pub(super) fn tell(&mut self, now: Nanos) {
        let late = now.saturating_sub(self.round_trip / 2);
        let later = |notes: &VecDeque<Note>, time: Nanos| {
            notes
                .partition_point(|note| note.at <= time)
                .saturating_sub(1)
        };
        let keep = later(
            &self.notes,
            late.saturating_sub(self.round_trip.max(MIN_SPAN)),
        );
        self.notes.drain(..keep);
        let then = later(&self.notes, late);
        let (Some(before), Some(note)) = (self.notes.front(), self.notes.get(then)) else {
            return;
        };
        // At the beginning there is no time before: what came first stands for it.
        let end = match note.at > before.at {
            true => note,
            false => match self.notes.get(then + 1) {
                Some(next) => next,
                None => return,
            },
        };
        let span = (end.at - before.at) as f64 / 1e9;
        let rates = before
            .offered
            .iter()
            .zip(&end.offered)
            .zip(&self.capacities);
        let rates = rates.filter_map(|((from, to), (_, ahead))| {
            Some((((*to)? - (*from)?) / span / 8.0, *ahead))
        });
        let Some((rate, ahead)) = rates.min_by(|(a, _), (b, _)| a.total_cmp(b)) else {
            return;
        };
        self.guide.tell(Told {
            now,
            then: note.at,
            queue: note.queue,
            limit: self.limit,
            rate,
            ahead,
            round_trip: self.round_trip as f64 / 1e9,
        });
    }
}
