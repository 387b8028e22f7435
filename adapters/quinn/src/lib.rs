//! PETRA and its relatives as congestion controllers of [quinn](https://docs.rs/quinn).
//!
//! ```
//! use std::sync::Arc;
//!
//! let mut transport = quinn::TransportConfig::default();
//! transport.congestion_controller_factory(Arc::new(petra_quinn::controller("petra")?));
//! # Ok::<(), petra_quinn::SelectError>(())
//! ```
//!
//! Options follow a colon: `petra:alpha=0.8,faster_start=off`. [`controllers`] has the names, and
//! `docs/stacks.md` of the repository the events that quinn does not report.
//!
//! `quinn::TransportConfig` belongs to a client and to a server alike. The controller is that of
//! the end that sends.

#![forbid(unsafe_code)]

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use petra::controller::{Factory, Settings};
pub use petra::port::SelectError;
use petra::port::{self, AckEnd, Path, Stack, StackRtt};
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use quinn_proto::RttEstimator;

/// quinn: it paces by a rule of its own, 1.25 windows per smoothed RTT, and not at the controller's
/// rate.
pub const STACK: Stack = Stack {
    name: "quinn",
    capabilities: &[],
};

/// Returns the controller with this name and these options, for
/// `TransportConfig::congestion_controller_factory`.
///
/// # Errors
///
/// An unknown name, an invalid option, or a controller that requires what quinn lacks.
///
/// ```
/// let error = petra_quinn::controller("highbrow").unwrap_err().to_string();
/// assert!(error.starts_with("highbrow: early probes: not supported (got stack quinn)"));
/// ```
pub fn controller(text: &str) -> Result<PetraFactory, SelectError> {
    Ok(PetraFactory(port::select(text, &STACK)?))
}

/// Returns the controller with this typed configuration.
///
/// ```
/// let config = petra_quinn::petra::PetraConfig::default();
/// let factory = petra_quinn::configured(config).unwrap();
/// # let _ = factory;
/// ```
///
/// # Errors
///
/// A controller that requires what quinn lacks.
pub fn configured(factory: impl Factory + 'static) -> Result<PetraFactory, SelectError> {
    port::check(&factory, &STACK)?;
    Ok(PetraFactory(Arc::new(factory)))
}

/// The names of the controllers that work in quinn.
pub fn controllers() -> Vec<&'static str> {
    STACK.controllers()
}

pub use petra;

/// Makes the controllers of connections.
#[derive(Clone, Debug)]
pub struct PetraFactory(Arc<dyn Factory>);

impl ControllerFactory for PetraFactory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        // The initial window is that of quinn's controllers, too.
        let settings = Settings::of_datagram(u64::from(current_mtu));
        Box::new(PetraController {
            origin: now,
            path: Path::new(self.0.clone(), settings),
            smoothed: None,
        })
    }
}

/// The controller of one path. quinn returns it by `Connection::congestion_state`.
#[derive(Clone)]
pub struct PetraController {
    origin: Instant,
    path: Path,
    /// quinn's smoothed RTT before the ACK frame in progress.
    smoothed: Option<Duration>,
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
    fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet_number: u64) {
        // quinn also reports datagrams with ACKs alone. Others leave only if the window has room,
        // but for probes.
        let room = self
            .path
            .window()
            .saturating_sub(self.path.bytes_in_flight());
        self.path.sent(self.now(now), bytes.min(room));
    }

    fn on_ack(
        &mut self,
        _now: Instant,
        sent: Instant,
        bytes: u64,
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

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let Some(sent) = self.time(sent) else {
            return;
        };
        let now = self.now(now);
        if lost_bytes == 0 {
            self.path.congestion_experienced(now, sent);
            return;
        }
        // quinn reports bytes: the packets are at least these.
        let packets = lost_bytes.div_ceil(self.path.max_datagram_size());
        self.path.lost(now, sent, lost_bytes, packets);
        if is_persistent_congestion {
            self.path.persistent_congestion(now);
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.path.set_max_datagram_size(u64::from(new_mtu));
    }

    /// One byte more than the window: quinn keeps bytes in flight below this value, where RFC
    /// 9002, Section 7 (<https://www.rfc-editor.org/rfc/rfc9002#section-7>) permits all of it.
    fn window(&self) -> u64 {
        self.path.window().saturating_add(1)
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.path.window();
        metrics.ssthresh = self.path.ssthresh();
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
