//! Properties of the port under arbitrary reports of a stack.
//!
//! A small stack sends packets, and its peer acknowledges them in any order, at any rate and at
//! one instant. The stack is honest: a packet is acknowledged or lost once, and after it was sent.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use petra::controller::{
    Ack, Controller, Factory, Loss, Metrics, Phase, Rtt, Sent, Settings, Time,
    MINIMUM_WINDOW_DATAGRAMS,
};
use petra::port::{AckEnd, Path, StackRtt};
use petra::registry;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

#[derive(Clone, Debug)]
enum Step {
    Wait(u64),
    Send(u64, usize),
    Ack {
        from: Index,
        count: usize,
        idle: bool,
        smoothed: Option<u64>,
        stack_counts: bool,
    },
    Lose(Index, usize, bool),
    Mark(Index),
    Spurious,
    Discard(Index),
    Mtu(u64),
    Clone,
}

/// From a nanosecond to some 10 s, every order of magnitude alike.
fn nanos() -> impl Strategy<Value = u64> {
    (0u32..34).prop_flat_map(|bits| 1u64 << bits..2u64 << bits)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => nanos().prop_map(Step::Wait),
        6 => (1u64..65_528, 1usize..40).prop_map(|(bytes, times)| Step::Send(bytes, times)),
        8 => (
            any::<Index>(),
            1usize..40,
            prop::bool::weighted(0.1),
            prop::option::of(nanos()),
            any::<bool>(),
        )
            .prop_map(|(from, count, idle, smoothed, stack_counts)| Step::Ack {
                from,
                count,
                idle,
                smoothed,
                stack_counts,
            }),
        2 => (any::<Index>(), 1usize..10, prop::bool::weighted(0.1))
            .prop_map(|(from, count, persistent)| Step::Lose(from, count, persistent)),
        1 => any::<Index>().prop_map(Step::Mark),
        1 => Just(Step::Spurious),
        1 => any::<Index>().prop_map(Step::Discard),
        1 => (1u64..65_528).prop_map(Step::Mtu),
        1 => Just(Step::Clone),
    ]
}

/// A packet in flight: its number, send time and size.
#[derive(Clone, Copy, Debug)]
struct Packet {
    number: u64,
    sent: Time,
    bytes: u64,
}

struct Stack {
    path: Path,
    now: Time,
    next: u64,
    flying: Vec<Packet>,
    largest: Option<u64>,
    /// The most bytes that were in flight.
    peak: u64,
    acked: u64,
}

impl Stack {
    fn new(factory: Arc<dyn Factory>) -> Self {
        let settings = Settings {
            max_datagram_size: 1_200,
            initial_window: 12_000,
        };
        Self {
            path: Path::new(factory, settings),
            now: Time::ZERO,
            next: 0,
            flying: Vec::new(),
            largest: None,
            peak: 0,
            acked: 0,
        }
    }

    fn flying(&self) -> u64 {
        self.flying.iter().map(|packet| packet.bytes).sum()
    }

    fn take(&mut self, from: &Index, count: usize) -> Vec<Packet> {
        if self.flying.is_empty() {
            return Vec::new();
        }
        let from = from.index(self.flying.len());
        let to = (from + count).min(self.flying.len());
        self.flying.drain(from..to).collect()
    }

    fn take_step(&mut self, step: &Step) {
        match step {
            Step::Wait(nanos) => self.now += Duration::from_nanos(*nanos),
            Step::Send(bytes, times) => {
                for _ in 0..*times {
                    self.path.sent(self.now, *bytes);
                    self.flying.push(Packet {
                        number: self.next,
                        sent: self.now,
                        bytes: *bytes,
                    });
                    self.next += 1;
                    self.peak = self.peak.max(self.flying());
                }
            }
            Step::Ack {
                from,
                count,
                idle,
                smoothed,
                stack_counts,
            } => {
                for packet in self.take(from, *count) {
                    self.path.acked(packet.sent, packet.bytes);
                    self.acked += packet.bytes;
                    self.largest = self.largest.max(Some(packet.number));
                }
                let flying = self.flying();
                let end = AckEnd {
                    bytes_in_flight: stack_counts.then_some(flying),
                    app_limited: *idle,
                    largest_acked: self.largest,
                    rtt: smoothed.map_or(StackRtt::Unknown, |nanos| {
                        StackRtt::SmoothedBefore(Duration::from_nanos(nanos))
                    }),
                };
                self.path.end_acks(self.now, end);
                assert_eq!(self.path.bytes_in_flight(), flying);
            }
            Step::Lose(from, count, persistent) => {
                let lost = self.take(from, *count);
                let Some(last) = lost.last() else {
                    return;
                };
                let bytes = lost.iter().map(|packet| packet.bytes).sum();
                self.path
                    .lost(self.now, last.sent, bytes, lost.len() as u64);
                if *persistent {
                    self.path.persistent_congestion(self.now);
                    let least = MINIMUM_WINDOW_DATAGRAMS * self.path.max_datagram_size();
                    assert_eq!(self.path.window(), least);
                }
            }
            Step::Mark(at) => {
                let before = self.path.window();
                if !self.flying.is_empty() {
                    let sent = self.flying[at.index(self.flying.len())].sent;
                    self.path.congestion_experienced(self.now, sent);
                }
                assert!(self.path.window() <= before);
            }
            Step::Spurious => self.path.spurious_loss_event(),
            Step::Discard(at) => {
                for packet in self.take(at, 1) {
                    self.path.discarded(packet.bytes);
                }
            }
            Step::Mtu(bytes) => self.path.set_max_datagram_size(*bytes),
            Step::Clone => self.path = self.path.clone(),
        }
    }
}

/// Checks and counts the events.
#[derive(Clone, Debug, Default)]
struct Judge(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    now: Time,
    sent: u64,
    done: u64,
    newest: Time,
}

impl Seen {
    fn at(&mut self, now: Time) {
        assert!(now >= self.now, "time decreases");
        self.now = now;
    }

    fn flying(&mut self, bytes_in_flight: u64) {
        assert!(self.done <= self.sent, "more acknowledged than sent");
        assert!(bytes_in_flight <= self.sent - self.done);
    }

    fn rtt(&self, rtt: Rtt) {
        assert!(rtt.min <= rtt.latest && rtt.latest <= self.now);
    }
}

impl Factory for Judge {
    fn name(&self) -> &'static str {
        "judge"
    }

    fn build(&self, _settings: Settings) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

impl Controller for Judge {
    fn on_sent(&mut self, sent: &Sent) {
        let mut seen = self.0.lock().unwrap();
        seen.at(sent.now);
        seen.sent += sent.bytes;
        seen.flying(sent.bytes_in_flight);
    }

    fn on_ack(&mut self, ack: &Ack) {
        let mut seen = self.0.lock().unwrap();
        seen.at(ack.now);
        assert!(ack.bytes > 0 && ack.first_sent <= ack.last_sent && ack.last_sent <= ack.now);
        seen.done += ack.bytes;
        seen.flying(ack.bytes_in_flight);
        seen.rtt(ack.rtt);
        if ack.last_sent > seen.newest {
            seen.newest = ack.last_sent;
            assert_eq!(
                ack.rtt.latest,
                ack.now - ack.last_sent,
                "a sample of its own"
            );
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        let mut seen = self.0.lock().unwrap();
        seen.at(loss.now);
        seen.done += loss.bytes;
        seen.flying(loss.bytes_in_flight);
        loss.rtt.into_iter().for_each(|rtt| seen.rtt(rtt));
    }

    fn on_persistent_congestion(&mut self, now: Time) {
        self.0.lock().unwrap().at(now);
    }

    fn on_max_datagram_size(&mut self, _bytes: u64) {}

    fn window(&self) -> u64 {
        2
    }

    fn ssthresh(&self) -> Option<u64> {
        None
    }

    fn pacing_rate(&self) -> Option<u64> {
        None
    }

    fn phase(&self) -> Phase {
        Phase::SlowStart
    }

    fn metrics(&self) -> Metrics {
        Metrics::default()
    }

    fn try_clone(&self) -> Option<Box<dyn Controller>> {
        Some(Box::new(self.clone()))
    }
}

proptest! {
    #[test]
    fn the_events_keep_the_contract(steps in vec(step(), 1..200)) {
        let judge = Judge::default();
        let mut stack = Stack::new(Arc::new(judge));
        // The judge's window is no controller's.
        let fixed = |step: &&Step| !matches!(step, Step::Mtu(_) | Step::Lose(_, _, true));
        for step in steps.iter().filter(fixed) {
            stack.take_step(step);
        }
    }

    #[test]
    fn no_reports_make_a_window_or_an_estimate_leave_its_bounds(steps in vec(step(), 1..200)) {
        for name in registry::names() {
            let mut stack = Stack::new(registry::factory(name, "").unwrap());
            let mut largest = 0;
            for step in &steps {
                stack.take_step(step);
                let least = MINIMUM_WINDOW_DATAGRAMS * stack.path.max_datagram_size();
                prop_assert!(stack.path.window() >= least, "{name}");
                prop_assert!(stack.path.pacing_rate() != Some(0), "{name}");
                prop_assert!(stack.path.send_quantum() != Some(0), "{name}");
                // At most all acknowledged bytes within a nanosecond.
                let most = stack.acked.saturating_mul(1_000_000_000);
                let metrics = stack.path.metrics();
                prop_assert!(metrics.bandwidth_sample.unwrap_or(0) <= most, "{name}");
                prop_assert!(metrics.bandwidth_estimate.unwrap_or(0) <= most, "{name}");
                // Twice what was in flight, or an initial window of larger datagrams.
                largest = largest.max(stack.path.max_datagram_size());
                let tested = (2 * stack.peak.max(12_000)).max(10 * largest);
                prop_assert!(name != "petra" || stack.path.window() <= tested);
            }
        }
    }
}
