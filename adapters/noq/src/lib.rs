//! PETRA and its relatives as congestion controllers of [noq](https://docs.rs/noq), the QUIC stack
//! of iroh.
//!
//! ```
//! use std::sync::Arc;
//!
//! let mut transport = noq::TransportConfig::default();
//! transport.congestion_controller_factory(Arc::new(petra_noq::controller("petra")?));
//! # Ok::<(), petra_noq::SelectError>(())
//! ```
//!
//! Options follow a colon: `petra:alpha=0.8,faster_start=off`. [`controllers`] has the names, and
//! `docs/stacks.md` of the repository the events that noq does not report.
//!
//! `noq::TransportConfig` belongs to a client and to a server alike. The controller is that of
//! the end that sends.

#![forbid(unsafe_code)]

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use noq_proto::RttEstimator;
use petra::controller::{Capability, Factory, Settings};
pub use petra::port::SelectError;
use petra::port::{self, AckEnd, Path, Stack, StackRtt};

/// noq: it paces at the controller's rate and reports spurious losses.
pub const STACK: Stack = Stack {
    name: "noq",
    capabilities: &[Capability::Pacing, Capability::SpuriousLoss],
};

/// Returns the controller with this name and these options, for
/// `TransportConfig::congestion_controller_factory`.
///
/// # Errors
///
/// An unknown name, an invalid option, or a controller that requires what noq lacks.
///
/// ```
/// let error = petra_noq::controller("highbrow").unwrap_err().to_string();
/// assert!(error.starts_with("highbrow: early probes: not supported (got stack noq)"));
/// ```
pub fn controller(text: &str) -> Result<PetraFactory, SelectError> {
    Ok(PetraFactory(port::select(text, &STACK)?))
}

/// Returns the controller with this typed configuration.
///
/// ```
/// let config = petra_noq::petra::PetraConfig::default();
/// let factory = petra_noq::configured(config).unwrap();
/// # let _ = factory;
/// ```
///
/// # Errors
///
/// A controller that requires what noq lacks.
pub fn configured(factory: impl Factory + 'static) -> Result<PetraFactory, SelectError> {
    port::check(&factory, &STACK)?;
    Ok(PetraFactory(Arc::new(factory)))
}

/// The names of the controllers that work in noq.
pub fn controllers() -> Vec<&'static str> {
    STACK.controllers()
}

pub use petra;

/// Makes the controllers of connections.
#[derive(Clone, Debug)]
pub struct PetraFactory(Arc<dyn Factory>);

impl ControllerFactory for PetraFactory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        // The initial window is that of noq's controllers, too.
        let settings = Settings::of_datagram(u64::from(current_mtu));
        Box::new(PetraController {
            origin: now,
            path: Path::new(self.0.clone(), settings),
            smoothed: None,
            lost_packets: 0,
        })
    }
}

/// The controller of one path. noq returns it by `Connection::congestion_state`.
#[derive(Clone)]
pub struct PetraController {
    origin: Instant,
    path: Path,
    /// noq's smoothed RTT before the ACK frame in progress.
    smoothed: Option<Duration>,
    /// Packets declared lost since the last congestion event.
    lost_packets: u64,
}

impl PetraController {
    /// The state of the path, for statistics.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Converts to the controller's time. `None` before its origin: such a packet was sent on
    /// another path (RFC 9000, Section 9.4,
    /// <https://www.rfc-editor.org/rfc/rfc9000#section-9.4>).
    fn time(&self, at: Instant) -> Option<Duration> {
        at.checked_duration_since(self.origin)
    }

    fn now(&self, now: Instant) -> Duration {
        self.time(now).unwrap_or_default()
    }

    fn add_ack(&mut self, sent: Instant, bytes: u64, smoothed: Duration) {
        if let Some(sent) = self.time(sent) {
            self.smoothed = Some(smoothed);
            self.path.acked(sent, bytes);
        }
    }
}

impl Controller for PetraController {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, _pn: u64) {
        self.path.sent(self.now(now), u64::from(bytes));
    }

    fn on_cwnd_limited(&mut self) {
        self.path.window_blocked();
    }

    fn on_ack(
        &mut self,
        _now: Instant,
        sent: Instant,
        bytes: u64,
        _pn: u64,
        _app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.add_ack(sent, bytes, rtt.get());
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest_packet_num_acked: Option<u64>,
    ) {
        let smoothed = self.smoothed.take();
        let end = AckEnd {
            bytes_in_flight: Some(in_flight),
            app_limited,
            largest_acked: largest_packet_num_acked,
            rtt: smoothed.map_or(StackRtt::Unknown, StackRtt::SmoothedBefore),
        };
        self.path.end_acks(self.now(now), end);
    }

    fn on_packet_lost(&mut self, _lost_bytes: u16, _pn: u64, _now: Instant) {
        self.lost_packets += 1;
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        is_ecn: bool,
        lost_bytes: u64,
        _largest_lost_pn: u64,
    ) {
        let packets = if is_ecn {
            0
        } else {
            std::mem::take(&mut self.lost_packets)
        };
        let Some(sent) = self.time(sent) else {
            return;
        };
        let now = self.now(now);
        if is_ecn {
            self.path.congestion_experienced(now, sent);
            return;
        }
        self.path.lost(now, sent, lost_bytes, packets);
        if is_persistent_congestion {
            self.path.persistent_congestion(now);
        }
    }

    fn on_spurious_congestion_event(&mut self) {
        self.path.spurious_loss_event();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.path.set_max_datagram_size(u64::from(new_mtu));
    }

    fn window(&self) -> u64 {
        self.path.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.path.window();
        metrics.ssthresh = self.path.ssthresh();
        metrics.pacing_rate = self.path.pacing_rate();
        metrics.send_quantum = self.path.send_quantum();
        // noq counts bits here.
        let estimate = self.path.metrics().bandwidth_estimate;
        metrics.bandwidth_estimate = estimate.map(|rate| rate.saturating_mul(8));
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.path.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl fmt::Debug for PetraController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.fmt(f)
    }
}

#[cfg(test)]
mod tests;
