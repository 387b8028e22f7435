//! The options of `petra`, and its factory.

use super::super::controller::{Controller, Factory, Settings};
use super::super::mechanisms::Mechanisms;
use super::super::options::{Alpha, Entry, Gain, OptionValue, Options, Seconds};
use super::super::pacing;
use super::Petra;

/// The point on the frontier of goodput and queueing delay. Where the rate varies, a queue
/// keeps the link busy when the rate rises; on a link of constant rate it only adds delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueTarget {
    /// Drains every standing queue, whatever the delivery rate after it. Competing flows that
    /// fill the queue take most of the path.
    Short,
    /// Drains a standing queue unless competing flows keep it full.
    Balanced,
    /// Leaves a standing queue of up to half of the base RTT, and is otherwise as `Balanced`:
    /// a loss under that queue is congestion.
    Full,
}

impl QueueTarget {
    /// Returns true if a drain is followed by a test for competing flows.
    pub(super) fn tests_competition(self) -> bool {
        self != QueueTarget::Short
    }

    /// The queueing delay that is not drained, as a share of the base RTT.
    pub(super) fn allowed_delay(self) -> f64 {
        match self {
            QueueTarget::Short | QueueTarget::Balanced => 0.0,
            QueueTarget::Full => 0.5,
        }
    }
}

impl OptionValue for QueueTarget {
    fn set(&mut self, text: &str) -> bool {
        *self = match text {
            "short" => QueueTarget::Short,
            "balanced" => QueueTarget::Balanced,
            "full" => QueueTarget::Full,
            _ => return false,
        };
        true
    }

    fn accepted(&self) -> String {
        "short, balanced or full".into()
    }

    fn show(&self) -> String {
        match self {
            QueueTarget::Short => "short",
            QueueTarget::Balanced => "balanced",
            QueueTarget::Full => "full",
        }
        .into()
    }
}

/// Configuration of `petra`.
#[derive(Clone, Debug, PartialEq)]
pub struct PetraConfig {
    /// The five mechanisms, each on or off.
    pub mechanisms: Mechanisms,
    /// Weight of the past in the smoothed estimate (equation 4.4 of the thesis).
    pub alpha: Alpha,
    /// Minimum interval of a bandwidth sample, as a share of the minimum RTT.
    pub min_sample_interval: Alpha,
    /// Minimum timeout that faster retransmission compares with, in seconds.
    pub timeout_floor: Seconds,
    /// Pacing rate over `cwnd / smoothed_rtt`.
    pub pacing_gain: Gain,
    /// Goodput against queueing delay where the rate of the path varies.
    pub queue: QueueTarget,
    /// Drains a self-inflicted standing queue.
    pub drain: bool,
    /// Grows faster while no queue persists.
    pub probe: bool,
    /// Adds the typical size of an ACK aggregate to ssthresh.
    pub ack_allowance: bool,
    /// Undoes a reduction when its losses prove spurious.
    pub undo: bool,
}

impl Default for PetraConfig {
    fn default() -> Self {
        Self {
            mechanisms: Mechanisms::ALL,
            alpha: Alpha::thousandths(900),
            min_sample_interval: Alpha::thousandths(500),
            timeout_floor: Seconds::thousandths(1_000),
            pacing_gain: Gain::thousandths(1_100),
            queue: QueueTarget::Balanced,
            drain: true,
            probe: true,
            ack_allowance: true,
            undo: true,
        }
    }
}

impl Options for PetraConfig {
    const NAME: &'static str = "petra";

    fn entries(&mut self) -> Vec<Entry<'_>> {
        let mut entries = Vec::from(self.mechanisms.entries());
        entries.extend([
            Entry::new(
                "alpha",
                "weight of the past in the bandwidth estimate (eq. 4.4)",
                &mut self.alpha,
            ),
            Entry::new(
                "min_sample_interval",
                "minimum interval of a bandwidth sample, in minimum RTTs",
                &mut self.min_sample_interval,
            )
            .formerly("span"),
            Entry::new(
                "timeout_floor",
                "minimum timeout of faster retransmission, in seconds",
                &mut self.timeout_floor,
            ),
            pacing::entry(&mut self.pacing_gain),
            Entry::new(
                "queue",
                "short: least delay, yields to competing flows; full: most goodput where the rate varies",
                &mut self.queue,
            ),
            Entry::new(
                "drain",
                "drain a self-inflicted standing queue",
                &mut self.drain,
            ),
            Entry::new(
                "probe",
                "grow faster while no queue persists",
                &mut self.probe,
            ),
            Entry::new(
                "ack_allowance",
                "add the typical ACK aggregate to ssthresh",
                &mut self.ack_allowance,
            ),
            Entry::new(
                "undo",
                "undo a reduction when its losses prove spurious",
                &mut self.undo,
            ),
        ]);
        entries
    }
}

impl Factory for PetraConfig {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn build(&self, settings: Settings) -> Box<dyn Controller> {
        Box::new(Petra::new(self.clone(), settings))
    }
}
