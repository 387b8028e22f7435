//! The causal oracle: a sender that is told the true state of its path half a
//! round trip late, and keeps the window that would have been right.
//!
//! ```text
//!   links ── Watch ── Guide ── Oracle      one flow, alone on its links
//!            late       the state as told
//! ```
//!
//! What it is told is the bottleneck's rate and queue as they were half a round
//! trip ago. Since then it knows its own packets, and takes the rate for
//! unchanged: so it expects a queue, and fills it to what it is allowed. No
//! sender that sees its path through ACKs knows more, and none knows it earlier.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{ensure, Result};
use petra::controller::{Ack, Controller, Loss, Metrics, Phase, Sent, Settings, Time};
use petra::registry::Factory;
use quiche::congestion_control::{self, CongestionControlOps};

use super::channel::Nanos;
use super::watch::{Guide, Told};
use crate::link::IP_AND_UDP_HEADERS;
use crate::scenario::{Flow, Pacing, Scenario};
use crate::units::{parse_duration, Options};

/// The name that selects it.
const NAME: &str = "oracle";

/// The allowed queue, where nothing is said.
const ALLOWED: Duration = Duration::from_millis(10);

/// The time in which a queue that is too short or too long is set right.
const CORRECTION: f64 = 0.004;

/// Registers the controllers that a simulation has: the plugin's and the oracle.
///
/// # Panics
///
/// When the program has registered another controller under one of the names.
pub(crate) fn register() {
    static TABLE: CongestionControlOps =
        petra::table(|_, options| Ok(petra::options(Arc::new(Oracle::parse(options)?))));
    petra::register();
    congestion_control::register(NAME, &TABLE)
        .unwrap_or_else(|_| panic!("another controller is registered as `{NAME}`"));
}

/// The options behind the oracle's name; `None` of any other controller.
fn options(cc: &str) -> Option<&str> {
    match cc.split_once(':') {
        Some((name, options)) => (name == NAME).then_some(options),
        None => (cc == NAME).then_some(""),
    }
}

/// Is this controller the oracle?
pub(crate) fn is_oracle(cc: &str) -> bool {
    options(cc).is_some()
}

/// Checks that every oracle of the scenario has its links to itself.
///
/// # Errors
///
/// A flow or cross traffic on a link that an oracle observes.
pub(crate) fn check(scenario: &Scenario) -> Result<()> {
    let links = |flow: &Flow| flow.hops.unwrap_or((0, scenario.path.len() - 1));
    for (index, flow) in scenario.flows.iter().enumerate() {
        if !is_oracle(&flow.cc) {
            continue;
        }
        let (first, last) = links(flow);
        let shares = |(other, flow): (usize, &Flow)| {
            let (from, to) = links(flow);
            other != index && from <= last && first <= to
        };
        let crossed = scenario
            .cross
            .iter()
            .any(|it| (first..=last).contains(&it.hop));
        ensure!(
            !crossed && !scenario.flows.iter().enumerate().any(shares),
            "{}: the path is shared with other traffic; expected one flow alone, \
             because the limit of a shared path depends on what the others do",
            flow.cc
        );
    }
    Ok(())
}

/// Factory of an oracle.
#[derive(Debug)]
pub(super) struct Oracle {
    allowed: Duration,
    paced: bool,
    guide: Guide,
}

impl Oracle {
    /// The oracle of a flow that is told by `guide`; `None` where the flow has
    /// another controller.
    ///
    /// # Errors
    ///
    /// Options that the oracle does not have.
    pub(super) fn of(flow: &Flow, pacing: Pacing, guide: &Guide) -> Result<Option<Self>, String> {
        let Some(options) = options(&flow.cc) else {
            return Ok(None);
        };
        Ok(Some(Oracle {
            paced: pacing != Pacing::Off,
            guide: guide.clone(),
            ..Self::parse(options)?
        }))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut options = Options::new(NAME, text)?;
        let allowed = options.take("queue", parse_duration)?;
        options.end()?;
        Ok(Oracle {
            allowed: allowed.unwrap_or(ALLOWED),
            paced: true,
            guide: Guide::default(),
        })
    }
}

impl Factory for Oracle {
    fn name(&self) -> &'static str {
        NAME
    }

    fn build(&self, settings: Settings) -> Box<dyn Controller> {
        Box::new(Sender {
            allowed: self.allowed.as_secs_f64(),
            paced: self.paced,
            guide: self.guide.clone(),
            settings,
            expected: Mutex::default(),
            in_flight: 0,
            recovering: None,
            window: settings.initial_window,
        })
    }
}

/// The oracle of one connection.
struct Sender {
    /// Seconds of queue.
    allowed: f64,
    paced: bool,
    guide: Guide,
    settings: Settings,
    expected: Mutex<Expected>,
    in_flight: u64,
    /// After persistent congestion, the largest window: it slow-starts to the one
    /// that would be right (RFC 9002, Section 7.6.2).
    recovering: Option<u64>,
    window: u64,
}

/// The expected queue: the known state, and the packets sent since.
#[derive(Default)]
struct Expected {
    /// Time of the state from which the answer follows.
    then: Option<Nanos>,
    /// Time and bytes, headers included, of the packets that this state does not have.
    sent: VecDeque<(Nanos, f64)>,
    /// Bytes after the last of them.
    queue: f64,
    at: Nanos,
}

impl Expected {
    /// Restarts from a new state.
    fn follow(&mut self, told: &Told) {
        if self.then.replace(told.then) == Some(told.then) {
            return;
        }
        let known = |(at, _): &(Nanos, f64)| at + told.ahead <= told.then;
        while self.sent.front().is_some_and(known) {
            self.sent.pop_front();
        }
        (self.queue, self.at) = (told.queue, told.then);
        for packet in std::mem::take(&mut self.sent) {
            self.add(told, packet);
        }
    }

    /// A packet was sent.
    fn add(&mut self, told: &Told, (sent, bytes): (Nanos, f64)) {
        let at = sent + told.ahead;
        self.queue = told.after(self.queue, self.at, at) + bytes;
        self.at = at;
        self.sent.push_back((sent, bytes));
    }

    /// Bytes that what is sent now will find.
    fn queue(&self, told: &Told) -> f64 {
        told.after(self.queue, self.at, told.now + told.ahead)
    }
}

impl Sender {
    /// Bytes that the queue has room for, less than 0 where it is too long.
    fn room(&self, told: &Told) -> f64 {
        let mut expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        expected.follow(told);
        (self.allowed * told.rate).min(told.limit) - expected.queue(told)
    }

    /// Headers are no part of a window.
    fn payload(&self, bytes: f64) -> f64 {
        let datagram = self.settings.max_datagram_size as f64;
        bytes * datagram / (datagram + IP_AND_UDP_HEADERS as f64)
    }

    fn update(&mut self) {
        let Some(told) = self.guide.told() else {
            return;
        };
        // What the pacer holds back is no burst, and may be let go before the next ACK.
        let paced = if self.paced {
            told.rate * told.round_trip
        } else {
            0.0
        };
        let room = self.payload(self.room(&told) + paced);
        let window = (self.in_flight as f64 + room).max(0.0) as u64;
        self.recovering = self.recovering.filter(|most| *most < window);
        let window = self.recovering.map_or(window, |most| most.min(window));
        self.window = window.max(self.settings.minimum_window());
    }
}

impl Controller for Sender {
    fn on_sent(&mut self, sent: &Sent) {
        self.in_flight = sent.bytes_in_flight;
        if let Some(told) = self.guide.told() {
            let bytes = sent.bytes as f64 + IP_AND_UDP_HEADERS as f64;
            let expected = self
                .expected
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner);
            expected.follow(&told);
            expected.add(&told, (told.now, bytes));
        }
        self.update();
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.in_flight = ack.bytes_in_flight;
        if let Some(most) = &mut self.recovering {
            *most += ack.bytes;
        }
        self.update();
    }

    /// A loss has no information for an oracle.
    fn on_loss(&mut self, loss: &Loss) {
        self.in_flight = loss.bytes_in_flight;
        self.update();
    }

    fn on_persistent_congestion(&mut self, _now: Time) {
        self.window = self.settings.minimum_window();
        self.recovering = Some(self.window);
    }

    fn on_max_datagram_size(&mut self, bytes: u64) {
        self.settings.max_datagram_size = bytes;
        self.window = self.window.max(self.settings.minimum_window());
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn ssthresh(&self) -> Option<u64> {
        None
    }

    fn pacing_rate(&self) -> Option<u64> {
        let told = self.guide.told()?;
        let rate = told.rate + self.room(&told) / CORRECTION;
        // What the window lets go is the next moment to look at the path again.
        let least = self.settings.max_datagram_size as f64 / CORRECTION;
        Some(self.payload(rate).max(least) as u64)
    }

    fn phase(&self) -> Phase {
        Phase::CongestionAvoidance
    }

    fn metrics(&self) -> Metrics {
        let rate = self.guide.told().map(|told| told.rate as u64);
        Metrics {
            bandwidth_sample: rate,
            bandwidth_estimate: rate,
            ..Metrics::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn persistent_congestion_brings_the_minimum_and_then_slow_start() {
        let oracle = Oracle::parse("queue=20ms").unwrap();
        oracle.guide.tell(Told {
            now: 0,
            then: 0,
            queue: 0.0,
            limit: 1e6,
            rate: 1e6,
            ahead: 0,
            round_trip: 0.1,
        });
        let mut sender = oracle.build(Settings {
            max_datagram_size: 1_200,
            initial_window: 12_000,
        });
        let ack = |bytes| Ack {
            now: Time::ZERO,
            bytes,
            first_sent: Time::ZERO,
            last_sent: Time::ZERO,
            newest_sent: Time::ZERO,
            bytes_in_flight: 0,
            rtt: petra::controller::Rtt {
                latest: Duration::ZERO,
                smoothed: Duration::ZERO,
                variation: Duration::ZERO,
                min: Duration::ZERO,
            },
            app_limited: false,
        };
        sender.on_ack(&ack(1_200));
        // 20 ms and a round trip, less headers.
        let right = sender.window();
        assert_eq!(right, (120_000.0 * 1_200.0 / 1_228.0) as u64);
        sender.on_persistent_congestion(Time::ZERO);
        assert_eq!(sender.window(), 2_400);
        sender.on_ack(&ack(1_200));
        assert_eq!(sender.window(), 3_600);
        sender.on_ack(&ack(500_000));
        assert_eq!(sender.window(), right);
    }
}
