//! The interface between a transport and a congestion controller.
//!
//! The transport reports events, and the controller returns a window and a pacing rate. A
//! controller has no clock and no socket, and does not depend on the stack. Every event
//! carries its time and the state of the transport at that time.
//!
//! Bytes are bytes of UDP payload (RFC 9002, Appendix B.2,
//! <https://www.rfc-editor.org/rfc/rfc9002#appendix-B.2>); rates are bytes per second.
//!
//! ```text
//!  transport ── Sent, Ack, Loss, ... ──▶ Controller
//!            ◀── window, pacing_rate, packet_threshold, early_probes ──
//! ```

use std::fmt;
use std::time::Duration;

/// A point in time, as the distance from an origin that the transport chooses once per
/// connection. It never decreases.
pub type Time = Duration;

/// The minimum window in datagrams of the maximum size (RFC 9002, Section 7.2).
pub const MINIMUM_WINDOW_DATAGRAMS: u64 = 2;

/// Initial parameters of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The maximum UDP payload that the path is assumed to carry, in bytes: from 1 to 65,535.
    pub max_datagram_size: u64,
    /// The initial congestion window, in bytes (RFC 9002, Section 7.2).
    pub initial_window: u64,
}

impl Settings {
    /// Settings with the initial window of RFC 9002, Section 7.2
    /// (<https://www.rfc-editor.org/rfc/rfc9002#section-7.2>): ten datagrams, or two if these have
    /// more than 14720 bytes, and at most 14720 bytes otherwise.
    pub fn of_datagram(max_datagram_size: u64) -> Self {
        Self {
            max_datagram_size,
            initial_window: (10 * max_datagram_size).min((2 * max_datagram_size).max(14_720)),
        }
    }

    /// `kMinimumWindow` in bytes (RFC 9002, Section 7.2).
    pub fn minimum_window(&self) -> u64 {
        MINIMUM_WINDOW_DATAGRAMS * self.max_datagram_size
    }
}

/// The RTT estimator after at least one sample (RFC 9002, Section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rtt {
    /// The last sample (`latest_rtt`).
    pub latest: Duration,
    /// `smoothed_rtt`.
    pub smoothed: Duration,
    /// `rttvar`.
    pub variation: Duration,
    /// `min_rtt`.
    pub min: Duration,
}

/// A packet in flight was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The time at which the transport returned the packet to the application.
    pub now: Time,
    /// The send time of the packet: later than `now` if the application holds the packet
    /// for the pacer.
    pub time_sent: Time,
    /// The size of the packet in bytes.
    pub bytes: u64,
    /// Bytes in flight, this packet included.
    pub bytes_in_flight: u64,
}

/// An ACK frame newly acknowledged in-flight packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The time at which the frame was processed. Several frames may have the same time.
    pub now: Time,
    /// Newly acknowledged bytes in flight; above zero.
    pub bytes: u64,
    /// Send time of the first of these packets.
    pub first_sent: Time,
    /// Send time of the last of these packets.
    pub last_sent: Time,
    /// Send time of the newest packet that the frame newly acknowledged, even one that was
    /// not in flight. The RTT sample belongs to that packet.
    pub newest_sent: Time,
    /// Bytes in flight without the acknowledged packets and any lost ones.
    pub bytes_in_flight: u64,
    /// The RTT estimator, including this ACK's own sample.
    pub rtt: Rtt,
    /// True if the application, rather than the window or the pacer, limited the sender when
    /// the last of these packets was sent.
    pub app_limited: bool,
}

/// In-flight packets were declared lost (RFC 9002, Section 6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The time at which the packets were declared lost.
    pub now: Time,
    /// Lost bytes.
    pub bytes: u64,
    /// Send time of the last of the lost packets. It decides if this loss belongs to the
    /// present recovery period.
    pub last_sent: Time,
    /// Bytes in flight without the lost packets.
    pub bytes_in_flight: u64,
    /// The RTT estimator, after at least one sample.
    pub rtt: Option<Rtt>,
}

/// The peer reported packets with the mark Congestion Experienced (CE) (RFC 9002, Section 7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CongestionExperienced {
    /// The time at which the report was processed.
    pub now: Time,
    /// Send time of the newest packet that the ACK frame acknowledged. It decides if the marks
    /// belong to the present recovery period.
    pub last_sent: Time,
    /// Bytes in flight.
    pub bytes_in_flight: u64,
    /// The RTT estimator, after at least one sample.
    pub rtt: Option<Rtt>,
}

/// A probe timeout (PTO) expired (RFC 9002, Section 6.2). The transport backs its timer off by
/// itself, and a controller cannot switch that off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pto {
    /// The time of expiry.
    pub now: Time,
    /// Consecutive expiries without an ACK: 1 for the first.
    pub count: u32,
    /// Bytes in flight. Nothing is declared lost by a PTO.
    pub bytes_in_flight: u64,
    /// The RTT estimator, after at least one sample.
    pub rtt: Option<Rtt>,
}

/// Packets that had been declared lost were acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpuriousLoss {
    /// The time of the acknowledgment.
    pub now: Time,
    /// The number of packets.
    pub packets: u64,
    /// True if all losses that began the present recovery period were spurious (RFC 9438,
    /// Section 4.9, <https://www.rfc-editor.org/rfc/rfc9438#section-4.9>).
    pub whole_event: bool,
}

/// A request to retransmit packets before they are declared lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlyProbes {
    /// Time without an ACK after which to retransmit.
    pub after: Duration,
    /// Number of packets, oldest first, as far as the window permits.
    pub packets: u64,
}

/// The phase of a controller (RFC 9002, Section 7.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The window is below ssthresh (Section 7.3.1).
    SlowStart,
    /// A recovery period (Section 7.3.2).
    Recovery,
    /// The window is at or above ssthresh (Section 7.3.3).
    CongestionAvoidance,
}

impl Phase {
    /// The name in qlog.
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::SlowStart => "slow_start",
            Phase::Recovery => "recovery",
            Phase::CongestionAvoidance => "congestion_avoidance",
        }
    }
}

/// Reason for the last reduction of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// A loss that counts as congestion.
    Loss,
    /// A PTO that counts as congestion.
    Pto,
    /// Packets marked Congestion Experienced.
    Ecn,
    /// Persistent congestion (RFC 9002, Section 7.6.2).
    PersistentCongestion,
    /// A standing queue without any loss.
    Queue,
    /// A path that has become shorter, in slow start.
    ShorterPath,
    /// A smaller maximum datagram size.
    Mtu,
}

impl Reduction {
    /// The name in qlog.
    pub fn as_str(self) -> &'static str {
        match self {
            Reduction::Loss => "loss",
            Reduction::Pto => "pto",
            Reduction::Ecn => "ecn",
            Reduction::PersistentCongestion => "persistent_congestion",
            Reduction::Queue => "queue",
            Reduction::ShorterPath => "shorter_path",
            Reduction::Mtu => "mtu",
        }
    }
}

/// Metrics of a controller, for qlog and for tests.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Metrics {
    /// The last bandwidth sample, in bytes per second.
    pub bandwidth_sample: Option<u64>,
    /// The filtered bandwidth estimate, in bytes per second.
    pub bandwidth_estimate: Option<u64>,
    /// The reason for the last reduction.
    pub last_reduction: Option<Reduction>,
    /// The number of reductions.
    pub reductions: u64,
    /// The response to the last loss or PTO: `reduce`, or the reason for which the window is
    /// kept. `None` for controllers without a choice.
    pub loss_response: Option<&'static str>,
    /// The last response to the delay, in the same words.
    pub queue_response: Option<&'static str>,
    /// The RTT that the controller takes for that of the path without a queue.
    pub base_rtt: Option<Duration>,
}

/// Makes controllers. One factory serves any number of paths.
pub trait Factory: Send + Sync + fmt::Debug {
    /// The name that selects the controller.
    fn name(&self) -> &'static str;

    /// Makes a controller for a new path.
    fn build(&self, settings: Settings) -> Box<dyn Controller>;

    /// The capabilities of a stack without which the controller would be another one. An adapter
    /// refuses it on a stack that lacks one of them.
    fn requires(&self) -> &'static [Capability] {
        &[]
    }
}

/// An event or a request of this interface that not every stack has.
///
/// The events that each stack has are `on_ack`, `on_loss`, `on_persistent_congestion` and
/// `on_max_datagram_size`. The others are optional, with these effects if they are missing:
///
/// | missing | effect on a controller |
/// |---|---|
/// | [`Pacing`](Self::Pacing) | `pacing_rate` is ignored; the stack paces by a rule of its own |
/// | [`Pto`](Self::Pto) | only persistent congestion reports a timeout |
/// | [`PacketThreshold`](Self::PacketThreshold) | `packet_threshold` is ignored |
/// | [`EarlyProbes`](Self::EarlyProbes) | `early_probes` is ignored |
/// | [`SpuriousLoss`](Self::SpuriousLoss) | a reduction for a spurious loss is not undone |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Capability {
    /// [`Controller::pacing_rate`] sets the rate.
    Pacing,
    /// [`Controller::on_pto`] is called.
    Pto,
    /// [`Controller::packet_threshold`] sets the packet threshold.
    PacketThreshold,
    /// [`Controller::early_probes`] is asked, and the probes are sent.
    EarlyProbes,
    /// [`Controller::on_spurious_loss`] is called.
    SpuriousLoss,
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Capability::Pacing => "pacing by the controller",
            Capability::Pto => "PTO events",
            Capability::PacketThreshold => "a packet threshold by the controller",
            Capability::EarlyProbes => "early probes",
            Capability::SpuriousLoss => "spurious loss events",
        })
    }
}

/// The limits that a controller sets for a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// [`Controller::window`].
    pub window: u64,
    /// [`Controller::ssthresh`].
    pub ssthresh: Option<u64>,
    /// [`Controller::pacing_rate`].
    pub pacing_rate: Option<u64>,
}

/// A congestion controller.
///
/// After any events, `window()` is at least [`MINIMUM_WINDOW_DATAGRAMS`] datagrams and
/// `pacing_rate()` is above zero.
///
/// # Contract of the transport
///
/// | event | obligation |
/// |---|---|
/// | all | times never decrease; bytes in flight never exceed the bytes sent |
/// | `on_sent` | once per packet, or once per batch of packets sent at one instant |
/// | `on_ack` | once per ACK frame; each packet is acknowledged or lost, and once at most |
/// | `on_loss` | once per batch, or per packet; before the `on_ack` of the frame, if possible |
/// | `on_persistent_congestion` | after the `on_loss` of the same packets |
/// | `on_congestion_experienced` | once per ACK frame that reports new marks |
///
/// A stack that reports ACKs before losses is off by the lost bytes in [`Ack::bytes_in_flight`].
/// [`Capability`] has the events that a stack may lack.
pub trait Controller: Send + Sync {
    /// An in-flight packet was sent.
    fn on_sent(&mut self, _sent: &Sent) {}

    /// Packets were acknowledged. Losses that the same ACK reveals are reported first.
    fn on_ack(&mut self, ack: &Ack);

    /// Packets were declared lost.
    fn on_loss(&mut self, loss: &Loss);

    /// A probe timeout expired.
    fn on_pto(&mut self, _pto: &Pto) {}

    /// Persistent congestion was established. The window MUST be reduced to the minimum
    /// (RFC 9002, Section 7.6.2). The `on_loss` of the same packets comes first.
    fn on_persistent_congestion(&mut self, now: Time);

    /// The peer reported marks of Congestion Experienced. By default a loss event without lost
    /// bytes, as RFC 9002, Section 7.1 responds to both alike.
    fn on_congestion_experienced(&mut self, marks: &CongestionExperienced) {
        self.on_loss(&Loss {
            now: marks.now,
            bytes: 0,
            last_sent: marks.last_sent,
            bytes_in_flight: marks.bytes_in_flight,
            rtt: marks.rtt,
        });
    }

    /// Losses proved to be spurious.
    fn on_spurious_loss(&mut self, _spurious: &SpuriousLoss) {}

    /// The path's maximum datagram size changed to this many bytes, from 1 to 65,535.
    fn on_max_datagram_size(&mut self, bytes: u64);

    /// The congestion window, in bytes.
    fn window(&self) -> u64;

    /// The slow start threshold in bytes, if it has been set.
    fn ssthresh(&self) -> Option<u64>;

    /// The pacing rate in bytes per second. `None` disables pacing.
    fn pacing_rate(&self) -> Option<u64>;

    /// The results of `window`, `ssthresh` and `pacing_rate`, for a transport that applies them
    /// after each event: one call through a pointer in place of three.
    fn limits(&self) -> Limits {
        Limits {
            window: self.window(),
            ssthresh: self.ssthresh(),
            pacing_rate: self.pacing_rate(),
        }
    }

    /// The packet threshold for loss detection (RFC 9002, Section 6.1.1), given the RTT
    /// estimator and the present PTO period without backoff. `None` selects the transport's
    /// own. The transport never lowers a threshold that was raised for reordering.
    fn packet_threshold(&self, _rtt: &Rtt, _pto: Duration) -> Option<u64> {
        None
    }

    /// Packets to retransmit ahead of the PTO if no ACK arrives, given the RTT estimator, the
    /// present PTO period without backoff and the number of packets outstanding. `None`
    /// retransmits nothing.
    ///
    /// Unlike the probes of a PTO, early probes respect the window and the pacing rate. The
    /// transport doubles the time after each attempt without an ACK. After a PTO it sends
    /// no early probes until the next ACK.
    fn early_probes(&self, _rtt: &Rtt, _pto: Duration, _outstanding: u64) -> Option<EarlyProbes> {
        None
    }

    /// The phase after the last event.
    fn phase(&self) -> Phase;

    /// The present metrics.
    fn metrics(&self) -> Metrics;

    /// Copies the controller for a path that continues another, as after a NAT rebinding. `None`:
    /// the new path starts anew.
    fn try_clone(&self) -> Option<Box<dyn Controller>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `kMinimumWindow` of RFC 9002, Section 7.2.
    #[test]
    fn the_minimum_window_is_two_datagrams() {
        let settings = super::super::events::settings();
        assert_eq!(settings.minimum_window(), 2_400);
    }

    #[test]
    fn the_initial_window_is_ten_datagrams_within_bounds() {
        let windows = [1_200, 1_472, 1_500, 7_360, 9_000];
        let windows = windows.map(|bytes| Settings::of_datagram(bytes).initial_window);
        assert_eq!(windows, [12_000, 14_720, 14_720, 14_720, 18_000]);
    }

    /// The phases as qlog has them, and the reasons as its readers do.
    #[test]
    fn names_in_qlog_are_those_of_the_schema() {
        let phases = [
            Phase::SlowStart,
            Phase::Recovery,
            Phase::CongestionAvoidance,
        ];
        let names = ["slow_start", "recovery", "congestion_avoidance"];
        assert_eq!(phases.map(Phase::as_str), names);
        let reasons = [
            Reduction::Loss,
            Reduction::Pto,
            Reduction::Ecn,
            Reduction::PersistentCongestion,
            Reduction::Queue,
            Reduction::ShorterPath,
            Reduction::Mtu,
        ];
        let names = [
            "loss",
            "pto",
            "ecn",
            "persistent_congestion",
            "queue",
            "shorter_path",
            "mtu",
        ];
        assert_eq!(reasons.map(Reduction::as_str), names);
    }
}
