//! The port between a transport and a congestion controller.
//!
//! Events go in, a window and a pacing rate come out. A controller has no
//! clock, no socket and no idea which stack it serves: every event carries the
//! time at which it happened and what the transport knew then. Bytes are UDP
//! payload bytes, as in RFC 9002 appendix B.2; rates are bytes per second.
//!
//! ```text
//!  transport ── Sent, Ack, Loss, Pto, ... ──▶ Controller
//!            ◀── window, pacing_rate, packet_threshold, early_probes ──
//! ```

use std::time::Duration;

/// A point in time, as the distance from an origin that the transport chooses
/// once for a connection. It never runs backwards.
pub type Time = Duration;

/// The smallest window that RFC 9002 section 7.2 lets a controller set, in
/// datagrams of the maximum size.
pub const MINIMUM_WINDOW_DATAGRAMS: u64 = 2;

/// What a controller is born with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The largest UDP payload the path is believed to take, in bytes.
    pub max_datagram_size: u64,
    /// The initial congestion window, in bytes (RFC 9002 section 7.2).
    pub initial_window: u64,
}

impl Settings {
    /// `kMinimumWindow` of RFC 9002 section 7.2, in bytes.
    pub fn minimum_window(&self) -> u64 {
        MINIMUM_WINDOW_DATAGRAMS * self.max_datagram_size
    }
}

/// The round-trip estimator of RFC 9002 section 5, after at least one sample.
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
    /// The time at which the transport gave it out.
    pub now: Time,
    /// The time at which it leaves: later than `now` where the application holds it
    /// for the pacer.
    pub time_sent: Time,
    /// Its size in bytes.
    pub bytes: u64,
    /// Bytes in flight, this packet included.
    pub bytes_in_flight: u64,
}

/// An ACK frame newly acknowledged in-flight packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// When the frame was processed. Several frames may share an instant.
    pub now: Time,
    /// Newly acknowledged bytes in flight; above zero.
    pub bytes: u64,
    /// When the packet among them that left first was sent.
    pub first_sent: Time,
    /// When the packet among them that left last was sent.
    pub last_sent: Time,
    /// When the newest packet left that the same frame newly acknowledged, in flight or
    /// not, such as an ACK alone: a round-trip sample is of it.
    pub newest_sent: Time,
    /// Bytes in flight once the acknowledged (and any lost) are taken off.
    pub bytes_in_flight: u64,
    /// The round-trip estimator, this ACK's own sample included.
    pub rtt: Rtt,
    /// Whether the application, rather than window or pacer, held the sender
    /// back when the last of these packets left.
    pub app_limited: bool,
}

/// In-flight packets were declared lost (RFC 9002 section 6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// When they were declared lost.
    pub now: Time,
    /// Lost bytes.
    pub bytes: u64,
    /// When the lost packet that left last was sent: it decides whether this
    /// loss belongs to the recovery period under way.
    pub last_sent: Time,
    /// Bytes in flight once the lost are taken off.
    pub bytes_in_flight: u64,
    /// The round-trip estimator, if there has been a sample.
    pub rtt: Option<Rtt>,
}

/// A probe timeout expired (RFC 9002 section 6.2). The transport backs its
/// timer off by itself; a controller cannot switch that off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pto {
    /// When it expired.
    pub now: Time,
    /// Consecutive expiries without an acknowledgment: 1 for the first.
    pub count: u32,
    /// Bytes in flight. Nothing is declared lost by a PTO.
    pub bytes_in_flight: u64,
    /// The round-trip estimator, if there has been a sample.
    pub rtt: Option<Rtt>,
}

/// Packets that had been declared lost were acknowledged after all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpuriousLoss {
    /// When that was learnt.
    pub now: Time,
    /// How many packets.
    pub packets: u64,
    /// Whether every packet whose loss began the present recovery period has
    /// proved to be not lost (RFC 9438 section 4.9).
    pub whole_event: bool,
}

/// Packets that are to be sent again before anything says that they are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlyProbes {
    /// How long there has been no acknowledgment when that is to happen.
    pub after: Duration,
    /// How many of the oldest outstanding packets, as far as the window has room.
    pub packets: u64,
}

/// Where a controller stands, in the words of RFC 9002 section 7.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Window below ssthresh (7.3.1).
    SlowStart,
    /// Recovery period (7.3.2).
    Recovery,
    /// Window at or above ssthresh (7.3.3).
    CongestionAvoidance,
}

impl Phase {
    /// The name that qlog uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::SlowStart => "slow_start",
            Phase::Recovery => "recovery",
            Phase::CongestionAvoidance => "congestion_avoidance",
        }
    }
}

/// Why the window last became smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// A loss, taken for congestion.
    Loss,
    /// A PTO, taken for congestion.
    Pto,
    /// Persistent congestion (RFC 9002 section 7.6.2).
    PersistentCongestion,
    /// A standing queue, without any loss.
    Queue,
    /// The path takes smaller datagrams than was believed.
    Mtu,
}

impl Reduction {
    /// The name that qlog uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Reduction::Loss => "loss",
            Reduction::Pto => "pto",
            Reduction::PersistentCongestion => "persistent_congestion",
            Reduction::Queue => "queue",
            Reduction::Mtu => "mtu",
        }
    }
}

/// What a controller shows of itself, for qlog and for tests.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Metrics {
    /// The last bandwidth sample, in bytes per second.
    pub bandwidth_sample: Option<u64>,
    /// The filtered bandwidth estimate, in bytes per second.
    pub bandwidth_estimate: Option<u64>,
    /// Why the window last became smaller, and how often it has.
    pub last_reduction: Option<Reduction>,
    /// How often the window has been reduced.
    pub reductions: u64,
}

/// A congestion controller.
///
/// Whatever the events, `window()` is at least
/// [`MINIMUM_WINDOW_DATAGRAMS`] datagrams and `pacing_rate()` is above zero.
pub trait Controller: Send + Sync {
    /// An in-flight packet left.
    fn on_sent(&mut self, _sent: &Sent) {}

    /// Packets were acknowledged. Losses that the same ACK reveals come first.
    fn on_ack(&mut self, ack: &Ack);

    /// Packets were declared lost.
    fn on_loss(&mut self, loss: &Loss);

    /// A probe timeout expired.
    fn on_pto(&mut self, _pto: &Pto) {}

    /// Persistent congestion was established; the window MUST go to the
    /// minimum (RFC 9002 section 7.6.2). Comes after the `on_loss` it is part
    /// of.
    fn on_persistent_congestion(&mut self, now: Time);

    /// Losses proved spurious.
    fn on_spurious_loss(&mut self, _spurious: &SpuriousLoss) {}

    /// The path's maximum datagram size became this many bytes.
    fn on_max_datagram_size(&mut self, bytes: u64);

    /// The congestion window, in bytes.
    fn window(&self) -> u64;

    /// The slow start threshold in bytes, once there is one.
    fn ssthresh(&self) -> Option<u64>;

    /// Bytes per second at which packets may leave. `None`: as fast as the
    /// window allows.
    fn pacing_rate(&self) -> Option<u64>;

    /// The packet threshold for loss detection (RFC 9002 section 6.1.1) that
    /// this controller would have, given the round-trip estimator and the
    /// present PTO period without backoff. `None`: the transport's own. The
    /// transport never lowers a threshold that observed reordering raised.
    fn packet_threshold(&self, _rtt: &Rtt, _pto: Duration) -> Option<u64> {
        None
    }

    /// What to send again, ahead of the PTO, when nothing is acknowledged for a
    /// while, given the round-trip estimator, the present PTO period without
    /// backoff and the number of packets outstanding. `None`: nothing.
    ///
    /// The window and the pacing rate hold for it, unlike for the probes of a PTO;
    /// it waits twice as long each time that it was in vain, and once a PTO has
    /// expired, until the next acknowledgment.
    fn early_probes(&self, _rtt: &Rtt, _pto: Duration, _outstanding: u64) -> Option<EarlyProbes> {
        None
    }

    /// The phase at this time.
    fn phase(&self, now: Time) -> Phase;

    /// What it shows of itself.
    fn metrics(&self) -> Metrics;
}
