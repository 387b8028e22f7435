//! PETRA and its relatives as congestion controllers of [s2n-quic](https://docs.rs/s2n-quic).
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = s2n_quic::Server::builder()
//!     .with_congestion_controller(petra_s2n_quic::controller("petra")?)?
//!     .with_io("127.0.0.1:4433")?
//!     .start()?;
//! # Ok(())
//! # }
//! ```
//!
//! Options follow a colon: `petra:alpha=0.8,faster_start=off`. [`controllers`] has the names, and
//! `docs/stacks.md` of the repository the events that s2n-quic does not report.
//!
//! s2n-quic's trait is behind its feature `unstable-congestion-controller`, which this crate
//! enables. A minor release of s2n-quic may change it.

mod pacer;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use petra;
use petra::controller::{Capability, Factory, Rtt, Settings};
pub use petra::port::SelectError;
use petra::port::{self, AckEnd, Path, Stack, StackRtt};
use s2n_quic::provider::congestion_controller::{
    CongestionController, Endpoint, PathInfo, Publisher, RandomGenerator, RttEstimator, Timestamp,
};

use pacer::Pacer;

/// s2n-quic: the controller paces.
pub const STACK: Stack = Stack {
    name: "s2n-quic",
    capabilities: &[Capability::Pacing],
};

/// Returns the controller with this name and these options, for
/// `Builder::with_congestion_controller`.
///
/// # Errors
///
/// An unknown name, an invalid option, or a controller that requires what s2n-quic lacks.
///
/// ```
/// let error = petra_s2n_quic::controller("highbrow").unwrap_err().to_string();
/// assert!(error.starts_with("highbrow: early probes: not supported (got stack s2n-quic)"));
/// ```
pub fn controller(text: &str) -> Result<PetraEndpoint, SelectError> {
    Ok(PetraEndpoint(port::select(text, &STACK)?))
}

/// Returns the controller with this typed configuration.
///
/// # Errors
///
/// A controller that requires what s2n-quic lacks.
pub fn configured(factory: impl Factory + 'static) -> Result<PetraEndpoint, SelectError> {
    port::check(&factory, &STACK)?;
    Ok(PetraEndpoint(Arc::new(factory)))
}

/// The names of the controllers that work in s2n-quic.
pub fn controllers() -> Vec<&'static str> {
    STACK.controllers()
}

/// Makes the controllers of connections.
#[derive(Clone, Debug)]
pub struct PetraEndpoint(Arc<dyn Factory>);

impl Endpoint for PetraEndpoint {
    type CongestionController = PetraController;

    fn new_congestion_controller(&mut self, path_info: PathInfo) -> PetraController {
        PetraController::new(self.0.clone(), u64::from(path_info.max_datagram_size))
    }
}

/// The part of a packet's state that s2n-quic keeps for the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketInfo {
    sent: Duration,
    /// All bytes sent on the path up to the end of this packet.
    end: u64,
    app_limited: bool,
}

/// The controller of one path.
#[derive(Clone)]
pub struct PetraController {
    /// The time of the first packet.
    origin: Option<Timestamp>,
    path: Path,
    pacer: Pacer,
    /// Bytes sent, each packet's end with its send time: those of the packets that are not known
    /// to be acknowledged.
    ends: VecDeque<(u64, Duration)>,
    sent: u64,
    /// Send time of the newest packet that gave an RTT sample.
    newest_acked: Duration,
    /// A loss has reduced the window, and no packet was sent since (RFC 9002, Section 7.3.2,
    /// <https://www.rfc-editor.org/rfc/rfc9002#section-7.3.2>).
    fast_retransmission: bool,
    /// The time of the last persistent congestion, which s2n-quic reports with each lost packet.
    collapsed: Option<Duration>,
}

impl PetraController {
    fn new(factory: Arc<dyn Factory>, datagram: u64) -> Self {
        Self {
            origin: None,
            path: Path::new(factory, Settings::of_datagram(datagram)),
            pacer: Pacer::default(),
            ends: VecDeque::new(),
            sent: 0,
            newest_acked: Duration::ZERO,
            fast_retransmission: false,
            collapsed: None,
        }
    }

    /// The state of the path, for statistics.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Converts to the controller's time. s2n-quic's difference of equal times is 1 us.
    fn time(&self, at: Timestamp) -> Duration {
        let origin = self.origin.filter(|origin| *origin < at);
        let since = |origin| at.saturating_duration_since(origin);
        origin.map(since).unwrap_or_default()
    }

    fn add_sent(&mut self, at: Timestamp, bytes: u64, app_limited: Option<bool>) -> PacketInfo {
        self.origin.get_or_insert(at);
        let sent = self.time(at);
        if bytes > 0 {
            self.path.sent(sent, bytes);
            self.sent += bytes;
            self.ends.push_back((self.sent, sent));
            self.pacer.on_sent(at, bytes, &self.path);
            self.fast_retransmission = false;
        }
        PacketInfo {
            sent,
            end: self.sent,
            // Packets of the handshake carry no data of the application.
            app_limited: app_limited.unwrap_or(true),
        }
    }

    /// Returns the send time of the first of these bytes, if all up to the end of a packet are
    /// acknowledged in order. With gaps, the first was sent earlier.
    fn first_sent(&mut self, newest: PacketInfo, bytes: u64) -> Duration {
        let before = newest.end.saturating_sub(bytes);
        while self.ends.front().is_some_and(|(end, _)| *end <= before) {
            self.ends.pop_front();
        }
        let first = self.ends.front().map_or(newest.sent, |(_, sent)| *sent);
        first.min(newest.sent)
    }

    fn add_rtt(&mut self, time_sent: Timestamp, rtt: Rtt) {
        self.newest_acked = self.newest_acked.max(self.time(time_sent));
        self.path.set_rtt(rtt);
    }

    fn add_ack(&mut self, now: Timestamp, bytes: u64, newest: PacketInfo) {
        let first = self.first_sent(newest, bytes);
        if newest.app_limited {
            self.path.application_idle(newest.sent);
        }
        self.path.acked_range(first, newest.sent, bytes);
        let end = AckEnd {
            rtt: StackRtt::Set,
            ..AckEnd::default()
        };
        self.path.end_acks(self.time(now), end);
    }

    fn add_loss(&mut self, now: Timestamp, bytes: u64, packet: PacketInfo, persistent: bool) {
        let now = self.time(now);
        if persistent && self.collapsed == Some(now) {
            // Another packet of the same batch, whose window is the minimum already.
            self.path.discarded(bytes);
            return;
        }
        let reductions = self.path.metrics().reductions;
        self.path.lost(now, packet.sent, bytes, 1);
        self.fast_retransmission |= self.path.metrics().reductions > reductions;
        if persistent {
            self.path.persistent_congestion(now);
            self.collapsed = Some(now);
        }
    }
}

/// The whole estimator, after at least one sample.
fn complete(rtt: &RttEstimator) -> Option<Rtt> {
    rtt.first_rtt_sample().map(|_| Rtt {
        latest: rtt.latest_rtt(),
        smoothed: rtt.smoothed_rtt(),
        variation: rtt.rttvar(),
        min: rtt.min_rtt(),
    })
}

fn saturating(bytes: u64) -> u32 {
    bytes.try_into().unwrap_or(u32::MAX)
}

impl CongestionController for PetraController {
    type PacketInfo = PacketInfo;

    fn congestion_window(&self) -> u32 {
        saturating(self.path.window())
    }

    fn bytes_in_flight(&self) -> u32 {
        saturating(self.path.bytes_in_flight())
    }

    fn is_congestion_limited(&self) -> bool {
        self.path.is_window_full()
    }

    fn requires_fast_retransmission(&self) -> bool {
        self.fast_retransmission
    }

    fn on_packet_sent<Pub: Publisher>(
        &mut self,
        time_sent: Timestamp,
        sent_bytes: usize,
        app_limited: Option<bool>,
        _rtt_estimator: &RttEstimator,
        _publisher: &mut Pub,
    ) -> PacketInfo {
        self.add_sent(time_sent, sent_bytes as u64, app_limited)
    }

    fn on_rtt_update<Pub: Publisher>(
        &mut self,
        time_sent: Timestamp,
        _now: Timestamp,
        rtt_estimator: &RttEstimator,
        _publisher: &mut Pub,
    ) {
        if let Some(rtt) = complete(rtt_estimator) {
            self.add_rtt(time_sent, rtt);
        }
    }

    fn on_ack<Pub: Publisher>(
        &mut self,
        _newest_acked_time_sent: Timestamp,
        bytes_acknowledged: usize,
        newest_acked_packet_info: PacketInfo,
        _rtt_estimator: &RttEstimator,
        _random_generator: &mut dyn RandomGenerator,
        ack_receive_time: Timestamp,
        _publisher: &mut Pub,
    ) {
        self.add_ack(
            ack_receive_time,
            bytes_acknowledged as u64,
            newest_acked_packet_info,
        );
    }

    fn on_packet_lost<Pub: Publisher>(
        &mut self,
        lost_bytes: u32,
        packet_info: PacketInfo,
        persistent_congestion: bool,
        _new_loss_burst: bool,
        _random_generator: &mut dyn RandomGenerator,
        timestamp: Timestamp,
        _publisher: &mut Pub,
    ) {
        self.add_loss(
            timestamp,
            u64::from(lost_bytes),
            packet_info,
            persistent_congestion,
        );
    }

    fn on_explicit_congestion<Pub: Publisher>(
        &mut self,
        _ce_count: u64,
        event_time: Timestamp,
        _publisher: &mut Pub,
    ) {
        let now = self.time(event_time);
        self.path.congestion_experienced(now, self.newest_acked);
    }

    fn on_mtu_update<Pub: Publisher>(&mut self, max_data_size: u16, _publisher: &mut Pub) {
        self.path.set_max_datagram_size(u64::from(max_data_size));
    }

    fn on_packet_discarded<Pub: Publisher>(&mut self, bytes_sent: usize, _publisher: &mut Pub) {
        self.path.discarded(bytes_sent as u64);
        self.fast_retransmission = false;
    }

    fn earliest_departure_time(&self) -> Option<Timestamp> {
        self.pacer.earliest_departure()
    }

    fn send_quantum(&self) -> Option<usize> {
        let quantum = self.path.send_quantum()?;
        Some(quantum.try_into().unwrap_or(usize::MAX))
    }
}

impl fmt::Debug for PetraController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.fmt(f)
    }
}

#[cfg(test)]
mod tests;
