//! `petra`: the five mechanisms of PETRA, made robust for QUIC.
//!
//! ```text
//!       a queue builds, the delivery rate is flat,
//!         or a loss, a mark or a PTO is congestion
//!   slow start ───────────────────────────▶ congestion avoidance ⟲ increase, drain
//!       ▲                                            │
//!       └── persistent congestion, a longer path ────┘
//! ```
//!
//! The standing queue decides: a loss, or a second PTO, is congestion only if a queue
//! persists. `docs/pseudocode.md` lists the differences from the thesis and their reasons.
//!
//! | module, in an order to read | question |
//! |---|---|
//! | `gathered_acks` | Which ACKs count as one? |
//! | `rounds` | When does a round trip end? |
//! | `delivery_rate` | How fast is the path? |
//! | `min_rtt_filter`, `held_acks` | Which RTT samples are of the path, and by how much? |
//! | `rtt_interval`, `rtt_noise` | Which RTTs has a round trip, and how do they vary? |
//! | `busy_minimum` | Which minimum RTT has a round trip with many packets? |
//! | `lone_flight`, `lasting_jitter` | Which delays are no queue of one's own? |
//! | `standing_queue` | Do packets wait although they need not? |
//! | `loss_trial` | Do losses in jitter become more frequent with the window? |
//! | `ack_aggregation`, `loss_rate` | How do ACKs come, and how much is lost? |
//! | `slow_start`, `additive_increase` | How fast does the window grow? |
//! | `competition`, `cubic_growth` | Do others keep the queue full, and how to grow then? |
//! | `policing` | Do losses without a queue follow the rate of the sender? |
//! | `delay_step`, `path_change`, `shorter_path` | Has the path become longer, or shorter? |
//! | `growth`, `congestion_response`, `path_response` | What follows for the window? |

mod ack_aggregation;
mod additive_increase;
mod busy_minimum;
mod competition;
mod config;
mod congestion_response;
mod cubic_growth;
mod delay_step;
mod delivery_rate;
mod gathered_acks;
mod growth;
mod held_acks;
mod lasting_jitter;
mod lone_flight;
mod loss_rate;
mod loss_trial;
mod min_rtt_filter;
mod path_change;
mod path_response;
mod policing;
#[cfg(kani)]
mod proofs;
mod rounds;
mod rtt_interval;
mod rtt_noise;
mod shorter_path;
mod slow_start;
mod standing_queue;
#[cfg(test)]
mod tests;

use std::time::Duration;

use super::controller::{
    Ack, CongestionExperienced, Controller, Loss, Metrics, Phase, Pto, Reduction, Rtt, Sent,
    Settings, SpuriousLoss, Time,
};
use super::mechanisms::{faster_retransmission, Mechanisms};
use super::pacing;
use super::window::Window;
use ack_aggregation::AckAggregation;
use additive_increase::AdditiveIncrease;
use competition::Competition;
pub use config::{PetraConfig, QueueTarget};
use congestion_response::Decision;
use cubic_growth::CubicGrowth;
use delay_step::DelayStep;
use delivery_rate::DeliveryRate;
use gathered_acks::{Gathered, GatheredAcks};
use loss_rate::LossRate;
use loss_trial::LossTrial;
use path_change::PathChange;
use policing::Policing;
use rounds::RoundCounter;
use shorter_path::ShorterPath;
use slow_start::SlowStart;
use standing_queue::StandingQueue;

/// Time for which a link or a receiver may hold ACKs back, where it is longer than the minimum
/// RTT: what Linux's BBR allows them.
const MAX_AGGREGATE_TIME: Duration = Duration::from_millis(100);

/// Smallest target, in BDPs, that shows ACKs in large aggregates.
const MIN_AGGREGATED_TARGET: f64 = 1.125;

/// Smallest target, in BDPs, that is spread over the time for which ACKs are held back. The burst
/// of a smaller one is short, and in a radio cell the RTT varies by as much: of no limit, 1.125,
/// 1.25 and 1.4, the best in the LTE cell of `petra-lab run lab/plans/controllers.toml`.
const MIN_SPREAD_TARGET: f64 = 1.25;

/// `kPacketThreshold` of RFC 9002, Section 6.1.1
/// (<https://www.rfc-editor.org/rfc/rfc9002#section-6.1.1>).
const PACKET_THRESHOLD: u64 = 3;

/// The window that keeps the path busy.
#[derive(Clone, Copy, Debug)]
struct Target {
    bytes: f64,
    bdp: f64,
}

impl Target {
    /// Returns true if ACKs come in aggregates that are large compared with the BDP. They look
    /// like a queue that persists.
    fn is_of_aggregates(&self) -> bool {
        self.bytes > MIN_AGGREGATED_TARGET * self.bdp
    }

    /// Returns true if the window would leave as a long burst after each aggregate of ACKs.
    fn is_spread(&self) -> bool {
        self.bytes > MIN_SPREAD_TARGET * self.bdp
    }
}

/// A window that is spread over the minimum RTT and the time for which ACKs are held back. The RTT
/// of the newest packet of an aggregate is without that time, and in it the window would leave as
/// a burst.
#[derive(Clone, Copy, Debug)]
struct Spread {
    bytes: f64,
    seconds: f64,
}

/// The state that a reduction changes, as it was before.
#[derive(Clone, Copy, Debug)]
struct Undo {
    bytes: f64,
    ssthresh: Option<f64>,
    cubic: CubicGrowth,
    policing: Policing,
}

/// The state of one path.
#[derive(Clone)]
struct Petra {
    config: PetraConfig,
    /// The option as a duration: a transport asks for the packet threshold with each ACK.
    timeout_floor: Duration,
    acks: GatheredAcks,
    window: Window,
    delivery: DeliveryRate,
    queue: StandingQueue,
    loss_rate: LossRate,
    /// The loss rate of a longer time.
    loss_history: LossRate,
    loss_trial: LossTrial,
    /// Losses have shown that the base RTT hides a queue, which no round trip was without since
    /// then.
    hidden_queue: bool,
    aggregation: AckAggregation,
    /// As of the last round trip, where ACKs are held back.
    spread: Option<Spread>,
    rounds: RoundCounter,
    slow_start: SlowStart,
    increase: AdditiveIncrease,
    competition: Competition,
    /// The growth where losses bound the window.
    cubic: CubicGrowth,
    delay_step: DelayStep,
    path_change: PathChange,
    shorter_path: ShorterPath,
    policing: Policing,
    rtt: Option<Rtt>,
    /// In bytes per second. A transport asks after each packet, which rarely changes it.
    pacing_rate: Option<u64>,
    max_in_flight: u64,
    /// Time at which the present loss event was detected.
    loss_event: Option<Time>,
    /// The state before that event reduced the window.
    undo: Option<Undo>,
    /// The last response to a loss or a PTO.
    loss_decision: Option<Decision>,
    /// The last response to the delay.
    queue_decision: Option<Decision>,
}

impl Petra {
    fn new(config: PetraConfig, settings: Settings) -> Self {
        let alpha = config.alpha.get();
        let window = Window::new(settings);
        Self {
            timeout_floor: config.timeout_floor.duration(),
            acks: GatheredAcks::default(),
            slow_start: SlowStart::new(alpha, window.bytes()),
            window,
            delivery: DeliveryRate::new(alpha, config.min_sample_interval.get()),
            queue: StandingQueue::default(),
            loss_rate: LossRate::default(),
            loss_history: LossRate::of_long_time(),
            loss_trial: LossTrial::default(),
            hidden_queue: false,
            aggregation: AckAggregation::default(),
            spread: None,
            rounds: RoundCounter::default(),
            increase: AdditiveIncrease::default(),
            competition: Competition::default(),
            cubic: CubicGrowth::default(),
            delay_step: DelayStep::default(),
            path_change: PathChange::default(),
            shorter_path: ShorterPath::default(),
            policing: Policing::default(),
            rtt: None,
            pacing_rate: None,
            max_in_flight: settings.initial_window,
            loss_event: None,
            undo: None,
            loss_decision: None,
            queue_decision: None,
            config,
        }
    }

    fn on(&self) -> Mechanisms {
        self.config.mechanisms
    }

    /// The minimum RTT of packets that were not reordered; zero without a sample.
    fn min_rtt(&self) -> Duration {
        let transport = self.rtt.map_or(Duration::ZERO, |rtt| rtt.min);
        self.queue.min_rtt(transport)
    }

    /// The bandwidth-delay product in bytes (equation 4.5 of the thesis).
    fn bdp(&self) -> Option<f64> {
        let base = self.queue.base_rtt(self.rtt?.min);
        Some(self.delivery.estimate()? * base.as_secs_f64())
    }

    /// The window that keeps the path busy: the BDP and a typical ACK aggregate, at least
    /// one datagram. The aggregate counts for at most the BDP, or what the path delivers in
    /// `MAX_AGGREGATE_TIME` if that is more, so that ACKs alone cannot inflate the window.
    fn target(&self) -> Option<Target> {
        let (rate, bdp) = self.delivery.estimate().zip(self.bdp())?;
        let aggregate = if self.config.ack_allowance {
            let most = bdp.max(rate * MAX_AGGREGATE_TIME.as_secs_f64());
            self.aggregation.typical_bytes().min(most)
        } else {
            0.0
        };
        let bytes = bdp + aggregate.max(self.window.datagram());
        Some(Target { bdp, bytes })
    }

    fn ssthresh_target(&self) -> Option<f64> {
        self.target().map(|target| target.bytes)
    }

    /// The time that the window, or the target if it is larger, lasts where ACKs are held back.
    fn spread_for_aggregates(&self) -> Option<Spread> {
        let rate = self.delivery.estimate()?;
        let target = self.target().filter(Target::is_spread)?;
        let min_rtt = target.bdp / rate;
        // A low rate must not confirm itself.
        let longest = min_rtt + min_rtt.max(MAX_AGGREGATE_TIME.as_secs_f64());
        Some(Spread {
            bytes: target.bytes,
            seconds: (target.bytes / rate).min(longest),
        })
    }

    /// Returns true if a standing queue is long enough to drain.
    fn queue_persists(&self) -> bool {
        self.test_queue(StandingQueue::persists)
    }

    /// Returns true if a standing queue is longer than the user allows.
    fn queue_is_too_long(&self) -> bool {
        let allowed = self.config.queue.allowed_delay();
        self.test_queue(|queue, min_rtt| queue.persists_beyond(allowed, min_rtt))
    }

    /// Returns true if a standing queue is long enough to explain a loss.
    fn queue_explains_loss(&self) -> bool {
        self.test_queue(if self.loss_trial.is_on() {
            StandingQueue::explains_loss_beyond_jitter
        } else {
            StandingQueue::explains_loss
        })
    }

    /// Returns true if a standing queue may be that of competing flows. ACKs in large aggregates
    /// look like a short one. So does a datagram with a BDP of less than eight, but two of them
    /// are a quarter of that BDP, which every queue has to exceed.
    fn queue_may_be_shared(&self) -> bool {
        let aggregated = self.target().is_some_and(|it| it.is_of_aggregates());
        if aggregated {
            self.queue_explains_loss()
        } else {
            self.queue_persists()
        }
    }

    fn test_queue(&self, test: impl Fn(&StandingQueue, Duration) -> bool) -> bool {
        self.delivery.estimate().is_some() && self.rtt.is_some_and(|rtt| test(&self.queue, rtt.min))
    }

    /// Tells the queue of an estimate that may have changed.
    fn update_rate(&mut self) {
        if let Some(rate) = self.delivery.estimate() {
            self.queue.on_rate(rate, self.window.datagram());
        }
    }

    /// Carries a decision out. Returns true if the window was reduced.
    fn act(&mut self, decision: Decision, now: Time, reason: Reduction) -> bool {
        let target = match decision {
            Decision::Reduce(target)
            | Decision::Shorten(target)
            | Decision::TestPolicer { target, .. } => target,
            Decision::Keep(_) => return false,
        };
        let before = self.window.bytes();
        self.undo = (reason == Reduction::Loss && self.config.undo).then(|| Undo {
            bytes: before,
            ssthresh: self.window.ssthresh(),
            cubic: self.cubic,
            policing: self.policing,
        });
        self.window.set_ssthresh(target);
        self.window.reduce_to(target, reason);
        if self.window.bytes() < before {
            // The window to restore is of before this reduction.
            self.policing.abandon_dip();
        }
        // What a drain takes is given back if there is competition.
        if (reason != Reduction::Queue || self.policing.is_detected()) && self.may_grow_as_cubic() {
            let datagram = self.window.datagram();
            let (before, after) = (before / datagram, self.window.bytes() / datagram);
            self.cubic.on_reduction(before, after);
        }
        self.window.enter_recovery(now);
        self.increase.on_reduction();
        true
    }

    /// Starts a test for competing flows, with the window to return to if there are any.
    fn test_competition(&mut self, restore: Option<f64>) {
        if self.config.queue.tests_competition() {
            self.competition.on_reduction(restore);
        }
    }

    fn respond_to_queue(&mut self, ack: &Ack) {
        let (slow_start, before) = (self.window.in_slow_start(), self.window.bytes());
        let decision = if slow_start {
            self.slow_start_response(ack)
        } else {
            self.queue_response(ack)
        };
        self.queue_decision = Some(decision);
        if self.act(decision, ack.now, Reduction::Queue) && !slow_start {
            self.test_competition(Some(before));
        }
    }

    fn end_round(&mut self, ack: &Ack) {
        self.delivery.end_round();
        self.update_rate();
        self.aggregation.end_round();
        let datagrams = self.window.bytes() / self.window.datagram();
        self.queue.on_window(datagrams);
        let compared = !self.window.in_slow_start() && self.queue.compares_windows();
        self.loss_trial.end_round(compared);
        self.spread = self.spread_for_aggregates();
        self.hidden_queue &= self.test_queue(StandingQueue::may_be_hidden);
        let queued = self.queue_may_be_shared() || self.hidden_queue;
        // Where competition is to be tested again, the test follows within a round trip.
        let forgotten = queued && self.competition.is_detected();
        let rate = self.delivery.estimate();
        let increased = rate.filter(|_| !self.window.in_slow_start());
        self.increase.end_round(queued, ack.app_limited, increased);
        if ack.app_limited {
            self.competition.abandon_test();
        }
        let datagram = self.window.datagram();
        if let Some(bytes) = self.policing.end_round(datagram, ack.app_limited) {
            self.window.restore(bytes, self.window.ssthresh());
        }
        let noise = self.queue.noise();
        let restored = self.competition.end_round(ack.now, queued, noise, datagram);
        if let Some(bytes) = restored {
            self.window.restore(bytes, self.window.ssthresh());
        }
        if !forgotten && !self.may_grow_as_cubic() {
            self.cubic = CubicGrowth::default();
        }
        if self.window.in_slow_start() {
            let rate = rate.unwrap_or(0.0);
            let hidden = self.queue.noise_hides_growth(ack.rtt.min);
            let window = self.window.bytes();
            self.slow_start
                .end_round(rate, window, ack.app_limited, hidden);
        }
    }

    /// Updates the estimators first, then ends the round trip, and only then decides. `queued` is
    /// of the time before a decision: what follows must not depend on the reduction.
    fn take_acks(&mut self, gathered: &Gathered) {
        let ack = &gathered.ack;
        self.rtt = Some(ack.rtt);
        // A pause of the application empties the queue that it has filled.
        let grows = self.window.phase() == Phase::SlowStart && !ack.app_limited;
        self.queue.on_acks(gathered, grows);
        let queued = self.queue_persists();
        let limited = queued || self.loss_rate.limits_rate(self.window.datagram());
        self.delivery.on_ack(ack, limited);
        self.update_rate();
        if self.window.in_slow_start() {
            self.slow_start.on_ack(ack);
            self.queue
                .on_slow_start_rate(self.slow_start.fastest_acks());
        }
        self.aggregation.on_acks(gathered, self.delivery.estimate());
        self.loss_rate.on_ack(ack.bytes, &self.window);
        self.loss_history.on_ack(ack.bytes, &self.window);
        self.loss_trial.on_ack(ack.bytes);
        self.competition.on_ack(ack.bytes, ack.rtt.latest);
        self.policing.on_ack(ack.bytes, &self.window);
        let round_ends = self.rounds.ends(ack);
        self.watch_delay_step(ack);
        self.watch_shorter_path(ack, round_ends);
        if round_ends {
            self.end_round(ack);
        }
        self.window.on_ack(ack);
        self.respond_to_queue(ack);
        if round_ends {
            self.watch_path(ack, queued);
        }
        // Growth would distort a test.
        let competition = (queued || self.hidden_queue) && self.competition.is_testing();
        let testing = competition || self.policing.is_dipping();
        if self.window.may_grow(ack) && !testing {
            self.grow(ack);
        } else if ack.app_limited {
            self.cubic.pass_over(ack.now);
        }
        self.pace();
    }

    fn take_loss(&mut self, loss: &Loss) {
        self.rtt = loss.rtt.or(self.rtt);
        self.loss_rate.on_loss(loss.bytes, &self.window);
        self.loss_history.on_loss(loss.bytes, &self.window);
        self.loss_trial.on_loss(self.window.datagram());
        self.path_change.on_loss(loss.bytes);
        self.policing.on_loss(loss.last_sent, &self.window);
        // As the transport counts: a packet sent after the event belongs to another event.
        if self.loss_event.is_none_or(|began| loss.last_sent > began) {
            self.loss_event = Some(loss.now);
            self.undo = None;
        }
        let before = self.window.bytes();
        let heavy = self.loses_heavily();
        let hidden = self.losses_show_queue();
        let explained = hidden || self.grows_as_cubic();
        self.hidden_queue |= hidden;
        let decision = self.loss_response(loss);
        self.loss_decision = Some(decision);
        if !self.act(decision, loss.now, Reduction::Loss) {
            return;
        }
        if let Decision::Shorten(_) = decision {
            self.adopt_shorter_path();
            return;
        }
        if let Decision::TestPolicer { restore, .. } = decision {
            // Less is delivered in this test, whoever else sends.
            self.competition.abandon_test();
            self.policing.begin_dip(loss.now, restore);
            return;
        }
        self.test_competition(None);
        let after = self.window.bytes();
        self.policing.on_reduction(before, after, heavy);
        if heavy && !explained {
            self.policing.on_heavy_losses();
        }
    }

    /// Sets the pacing rate for the present window.
    fn pace(&mut self) {
        let gain = self.config.pacing_gain.get();
        let rate = pacing::rate(&self.window, self.rtt.as_ref(), gain);
        let spread = self.spread.filter(|_| !self.window.in_slow_start());
        self.pacing_rate = match (rate, spread) {
            (Some(rate), Some(spread)) => {
                let most = gain * self.window.bytes().max(spread.bytes) / spread.seconds;
                Some(rate.min(most as u64).max(1))
            }
            (rate, _) => rate,
        };
    }
}

impl Controller for Petra {
    fn on_sent(&mut self, sent: &Sent) {
        if let Some(gathered) = self.acks.due(sent.now) {
            self.take_acks(&gathered);
        }
        self.max_in_flight = self.max_in_flight.max(sent.bytes_in_flight);
        self.delivery.on_sent(sent);
        self.queue.on_sent(sent, self.window.datagram() as u64);
    }

    /// Gathers ACKs. Slow start takes each at once: its growth follows the gaps between them.
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(gathered) = self.acks.add(ack) {
            self.take_acks(&gathered);
        }
        let gathered = if self.window.in_slow_start() {
            self.acks.take()
        } else {
            self.acks.due(ack.now)
        };
        if let Some(gathered) = gathered {
            self.take_acks(&gathered);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.take_loss(loss);
        self.pace();
    }

    /// Reduces once per round trip without a look at the queue. Marks are congestion by
    /// themselves (RFC 9002, Section 7.1).
    fn on_congestion_experienced(&mut self, marks: &CongestionExperienced) {
        self.rtt = marks.rtt.or(self.rtt);
        let decision = self.ecn_response(marks);
        self.loss_decision = Some(decision);
        if self.act(decision, marks.now, Reduction::Ecn) {
            self.test_competition(None);
        }
        self.pace();
    }

    fn on_pto(&mut self, pto: &Pto) {
        let decision = self.pto_response(pto);
        self.loss_decision = Some(decision);
        if self.act(decision, pto.now, Reduction::Pto) {
            self.test_competition(None);
        }
        self.pace();
    }

    /// Restarts from slow start: the path may have changed. The loss rate and the size of ACK
    /// aggregates stay, as the next round trips renew them.
    fn on_persistent_congestion(&mut self, _now: Time) {
        self.acks = GatheredAcks::default();
        self.window.collapse();
        self.delivery.restart();
        self.spread = None;
        self.slow_start = SlowStart::new(self.config.alpha.get(), self.window.bytes());
        self.queue = StandingQueue::default();
        self.loss_trial = LossTrial::default();
        self.increase = AdditiveIncrease::default();
        self.competition = Competition::default();
        self.policing = Policing::default();
        self.cubic = CubicGrowth::default();
        self.delay_step = DelayStep::default();
        self.path_change = PathChange::default();
        self.shorter_path = ShorterPath::default();
        self.hidden_queue = false;
        self.undo = None;
        self.pace();
    }

    /// Undoes the reduction of a loss event when all of its losses prove spurious (RFC 9438,
    /// Section 4.9, <https://www.rfc-editor.org/rfc/rfc9438#section-4.9>).
    fn on_spurious_loss(&mut self, spurious: &SpuriousLoss) {
        self.queue.on_spurious_loss();
        if let Some(undo) = self.undo.take_if(|_| spurious.whole_event) {
            self.window.restore(undo.bytes, undo.ssthresh);
            self.cubic = undo.cubic;
            self.policing = undo.policing;
        }
        self.pace();
    }

    fn on_max_datagram_size(&mut self, bytes: u64) {
        self.window.set_datagram(bytes);
        // It counts in datagrams.
        self.cubic = CubicGrowth::default();
        self.update_rate();
        self.pace();
    }

    fn window(&self) -> u64 {
        self.window.bytes() as u64
    }

    fn ssthresh(&self) -> Option<u64> {
        self.window.ssthresh().map(|bytes| bytes as u64)
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.pacing_rate
    }

    /// Mechanism 3: faster retransmission. Always an answer, so that the transport raises
    /// both thresholds by all of the reordering that it observes.
    fn packet_threshold(&self, rtt: &Rtt, pto: Duration) -> Option<u64> {
        let timeout = pto.max(self.timeout_floor);
        faster_retransmission(rtt.latest, timeout)
            .filter(|_| self.on().faster_retransmission)
            .or(Some(PACKET_THRESHOLD))
    }

    fn phase(&self) -> Phase {
        self.window.phase()
    }

    fn metrics(&self) -> Metrics {
        let (sample, estimate) = (self.delivery.last_sample(), self.delivery.estimate());
        Metrics {
            loss_response: self.loss_decision.map(Decision::as_str),
            queue_response: self.queue_decision.map(Decision::as_str),
            base_rtt: self.rtt.map(|rtt| self.queue.base_rtt(rtt.min)),
            ..self.window.metrics(sample, estimate)
        }
    }

    fn try_clone(&self) -> Option<Box<dyn Controller>> {
        Some(Box::new(self.clone()))
    }
}
