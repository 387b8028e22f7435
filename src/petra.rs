//! `petra`: the five mechanisms of PETRA, made robust for QUIC.
//!
//! ```text
//!            a queue builds, or delivery no longer grows
//!   Startup ─────────────────────────────────────────────▶ Steady ⟲ probe, drain
//!      ▲                                                      │
//!      └───────────────── persistent congestion ──────────────┘
//! ```
//!
//! What decides is whether a queue stands in the path: only then is a loss, or a
//! second probe timeout, congestion. How it differs from the thesis, and why, is
//! in `docs/pseudocode.md`.

mod bunches;
mod config;
mod delivery;
mod judge;
mod losses;
mod overtaking;
mod probe;
mod queue;
mod rivals;
mod rounds;
mod start;
#[cfg(test)]
mod tests;

use std::time::Duration;

use super::controller::{
    Ack, Controller, Loss, Metrics, Phase, Pto, Reduction, Rtt, Sent, Settings, SpuriousLoss, Time,
};
use super::mechanisms::{faster_retransmission, Mechanisms};
use super::pacing;
use super::window::Window;
use bunches::Bunches;
pub use config::PetraConfig;
use delivery::Delivery;
use judge::Decision;
use losses::Losses;
use probe::Probe;
use queue::Queue;
use rivals::Rivals;
use rounds::Rounds;
use start::Start;

/// The window stays within so many times of what was ever in flight: what was
/// never used was never tested.
const HEADROOM: f64 = 2.0;

struct Petra {
    config: PetraConfig,
    window: Window,
    delivery: Delivery,
    queue: Queue,
    losses: Losses,
    bunches: Bunches,
    rounds: Rounds,
    start: Start,
    probe: Probe,
    rivals: Rivals,
    rtt: Option<Rtt>,
    most_in_flight: u64,
    /// When the loss event under way was found.
    loss_event: Option<Time>,
    /// Window and ssthresh before that event reduced them.
    undo: Option<(f64, Option<f64>)>,
}

impl Petra {
    fn new(config: PetraConfig, settings: Settings) -> Self {
        let alpha = config.alpha.get();
        Self {
            window: Window::new(settings),
            delivery: Delivery::new(alpha, config.span.get()),
            queue: Queue::default(),
            losses: Losses::default(),
            bunches: Bunches::default(),
            rounds: Rounds::default(),
            start: Start::new(alpha),
            probe: Probe::default(),
            rivals: Rivals::default(),
            rtt: None,
            most_in_flight: settings.initial_window,
            loss_event: None,
            undo: None,
            config,
        }
    }

    fn on(&self) -> Mechanisms {
        self.config.mechanisms
    }

    /// Equation 4.5 in bytes.
    fn bdp(&self) -> Option<f64> {
        let base = self.queue.base(self.rtt?.min);
        Some(self.delivery.rate()? * base.as_secs_f64())
    }

    /// The window that keeps the path busy: equation 4.5, and what ACKs
    /// acknowledge at one go on top, a datagram at least. At most as much again,
    /// so that ACKs alone cannot make the window grow.
    fn ssthresh_target(&self) -> Option<f64> {
        let bdp = self.bdp()?;
        let bunch = if self.config.ack_allowance {
            self.bunches.usual().min(bdp)
        } else {
            0.0
        };
        Some(bdp + bunch.max(self.window.datagram()))
    }

    /// Whether a queue stands that is worth draining.
    fn queue_stands(&self) -> bool {
        self.asks_queue(Queue::stands)
    }

    /// Whether one stands that explains a loss.
    fn queue_explains_loss(&self) -> bool {
        self.asks_queue(Queue::explains_loss)
    }

    fn asks_queue(&self, question: fn(&Queue, Duration, f64, f64) -> bool) -> bool {
        let (Some(rtt), Some(rate)) = (self.rtt, self.delivery.rate()) else {
            return false;
        };
        question(&self.queue, rtt.min, self.window.datagram(), rate)
    }

    /// Returns whether it was a reduction.
    fn act(&mut self, decision: Decision, now: Time, reason: Reduction) -> bool {
        let Decision::Reduce(target) = decision else {
            return false;
        };
        self.undo = (reason == Reduction::Loss && self.config.undo)
            .then(|| (self.window.bytes(), self.window.ssthresh()));
        self.window.set_ssthresh(target);
        self.window.reduce_to(target, reason);
        self.window.enter_recovery(now);
        self.probe.on_reduction();
        true
    }

    fn watch_queue(&mut self, ack: &Ack) {
        if self.window.in_slow_start() {
            let decision = self.judge_start(ack);
            self.act(decision, ack.now, Reduction::Queue);
        } else {
            let (decision, before) = (self.judge_queue(ack), self.window.bytes());
            if self.act(decision, ack.now, Reduction::Queue) {
                self.rivals.on_reduction(Some(before));
            }
        }
    }

    fn end_round(&mut self, ack: &Ack) {
        self.delivery.end_round();
        self.bunches.end_round();
        let queued = self.queue_stands();
        self.probe.end_round(queued, ack.app_limited);
        if let Some(bytes) = self
            .rivals
            .end_round(ack.now, queued, self.window.datagram())
        {
            self.window.restore(bytes, self.window.ssthresh());
        }
        if self.window.in_slow_start() {
            let rate = self.delivery.rate().unwrap_or(0.0);
            self.start.end_round(rate, ack.app_limited);
        }
    }

    fn grow(&mut self, ack: &Ack) {
        let bytes = self.window.bytes();
        let datagram = self.window.datagram();
        let gain = if self.window.in_slow_start() {
            if self.queue.may_build(ack.rtt.min, ack.rtt.latest) {
                0.0
            } else if self.on().faster_start {
                let in_flight = (ack.bytes_in_flight as f64).max(datagram);
                self.start.gain(in_flight, ack.rtt.min)
            } else {
                1.0
            }
        } else if self.config.probe {
            self.probe.datagrams(bytes / datagram) * datagram / bytes
        } else {
            datagram / bytes
        };
        let most = (HEADROOM * self.most_in_flight as f64).max(bytes);
        self.window.set((bytes + gain * ack.bytes as f64).min(most));
    }
}

impl Controller for Petra {
    fn on_sent(&mut self, sent: &Sent) {
        self.most_in_flight = self.most_in_flight.max(sent.bytes_in_flight);
        self.delivery.on_sent(sent);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.rtt = Some(ack.rtt);
        if let Some(rate) = self.delivery.rate() {
            self.queue.on_rate(rate, self.window.datagram());
        }
        self.queue.on_ack(ack);
        let queued = self.queue_stands();
        self.delivery.on_ack(ack, queued);
        self.start.on_ack(ack);
        self.bunches.on_ack(ack);
        self.losses.on_ack(ack.bytes, self.window.datagram());
        self.rivals.on_ack(ack.bytes);
        if self.rounds.ends(ack) {
            self.end_round(ack);
        }
        self.window.on_ack(ack);
        self.watch_queue(ack);
        // Growth would blur a test of whose queue it is.
        let testing = queued && self.rivals.are_tested();
        if self.window.may_grow(ack) && !testing {
            self.grow(ack);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.rtt = loss.rtt.or(self.rtt);
        self.losses.on_loss(loss.bytes, self.window.datagram());
        // As the transport counts: what left after an event was found is of another.
        if self.loss_event.is_none_or(|began| loss.last_sent > began) {
            self.loss_event = Some(loss.now);
            self.undo = None;
        }
        let decision = self.judge_loss(loss);
        if self.act(decision, loss.now, Reduction::Loss) {
            self.rivals.on_reduction(None);
        }
    }

    fn on_pto(&mut self, pto: &Pto) {
        let decision = self.judge_pto(pto);
        if self.act(decision, pto.now, Reduction::Pto) {
            self.rivals.on_reduction(None);
        }
    }

    /// Everything that was known of the path is from before.
    fn on_persistent_congestion(&mut self, _now: Time) {
        self.window.collapse();
        self.delivery.restart();
        self.start = Start::new(self.config.alpha.get());
        self.queue = Queue::default();
        self.probe = Probe::default();
        self.rivals = Rivals::default();
        self.undo = None;
    }

    /// RFC 9438 section 4.9.
    fn on_spurious_loss(&mut self, spurious: &SpuriousLoss) {
        self.queue.on_spurious_loss();
        if let Some((bytes, ssthresh)) = self.undo.take_if(|_| spurious.whole_event) {
            self.window.restore(bytes, ssthresh);
        }
    }

    fn on_max_datagram_size(&mut self, bytes: u64) {
        self.window.set_datagram(bytes);
    }

    fn window(&self) -> u64 {
        self.window.bytes() as u64
    }

    fn ssthresh(&self) -> Option<u64> {
        self.window.ssthresh().map(|bytes| bytes as u64)
    }

    fn pacing_rate(&self) -> Option<u64> {
        let gain = self.config.pacing_gain.get();
        pacing::rate(&self.window, self.rtt.as_ref(), gain)
    }

    /// Mechanism 3, faster retransmission.
    fn packet_threshold(&self, rtt: &Rtt, pto: Duration) -> Option<u64> {
        let timeout = pto.max(self.config.timeout_floor.duration());
        faster_retransmission(rtt.latest, timeout).filter(|_| self.on().faster_retransmission)
    }

    fn phase(&self, _now: Time) -> Phase {
        self.window.phase()
    }

    fn metrics(&self) -> Metrics {
        self.window
            .metrics(self.delivery.last_sample(), self.delivery.rate())
    }
}
