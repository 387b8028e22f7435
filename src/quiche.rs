//! The adapter: controllers as quiche's `CongestionControlOps`.
//!
//! quiche calls the hooks of a table with the state of a path. The adapter turns each call
//! into an event of [`Controller`], and the controller's results into the path's window,
//! ssthresh and pacing rate.

use std::any::TypeId;
use std::sync::Arc;
use std::time::Instant;

#[cfg(feature = "qlog")]
use quiche::congestion_control::QlogValue;
use quiche::congestion_control::{
    self, Congestion, CongestionControlOps, DatagramSizeChanged, EarlyProbes, LossDetection,
    Options, PacketSent, PacketsAcked, PacketsLost, PersistentCongestion, ProbeTimeout,
    StartupExitReason,
};

use super::controller::{Ack, Controller, Loss, Pto, Rtt, Sent, Settings, SpuriousLoss, Time};
use super::port::RttEstimator;
use super::registry::{self, Factory};

/// Registers every controller of this crate with quiche, under its name.
///
/// It may be called any number of times, from any thread.
///
/// # Panics
///
/// If the program has registered another controller under one of [`registry::NAMES`].
pub fn register() {
    static TABLE: CongestionControlOps = table(named);

    for name in registry::names() {
        congestion_control::register(name, &TABLE)
            .unwrap_or_else(|_| panic!("another controller is registered as `{name}`"));
    }
}

/// Selects a controller by its typed configuration.
///
/// ```
/// # fn main() -> Result<(), quiche::Error> {
/// petra::register();
/// let mut config = quiche::Config::new(quiche::PROTOCOL_VERSION)?;
/// petra::select(&mut config, petra::PetraConfig::default())?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// `Error::CongestionControl` if the factory's name is not registered.
pub fn select(
    config: &mut quiche::Config,
    factory: impl Factory + 'static,
) -> Result<(), quiche::Error> {
    let name = factory.name();
    config.set_cc_algorithm_name_with_options(name, Chosen(Arc::new(factory)))
}

/// Returns a table of hooks, with which a program registers a controller of its own by
/// `quiche::congestion_control::register`.
///
/// `parse_options` parses the options behind a name, or returns an error message. [`options`]
/// turns a factory into its result.
///
/// A controller that adds a datagram each round trip, and halves its window once for the losses of
/// one (AIMD):
///
/// ```
/// use petra::controller::{Ack, Controller, Factory, Loss, Metrics, Phase, Settings, Time};
/// use quiche::congestion_control::{register, CongestionControlOps};
/// use std::sync::Arc;
///
/// struct Aimd {
///     window: u64,
///     datagram: u64,
///     reduced: Option<Time>,
/// }
///
/// impl Aimd {
///     fn reduce_to(&mut self, window: u64, now: Time) {
///         self.window = window.max(2 * self.datagram); // RFC 9002, Section 7.2
///         self.reduced = Some(now);
///     }
/// }
///
/// impl Controller for Aimd {
///     fn on_ack(&mut self, ack: &Ack) {
///         if !ack.app_limited {
///             self.window += (self.datagram * ack.bytes / self.window).max(1);
///         }
///     }
///
///     fn on_loss(&mut self, loss: &Loss) {
///         // What was sent before the reduction cannot show its effect.
///         if self.reduced.is_none_or(|at| loss.last_sent > at) {
///             self.reduce_to(self.window / 2, loss.now);
///         }
///     }
///
///     fn on_persistent_congestion(&mut self, now: Time) {
///         self.reduce_to(0, now); // RFC 9002, Section 7.6.2
///     }
///
///     fn on_max_datagram_size(&mut self, bytes: u64) {
///         self.datagram = bytes;
///     }
///
///     fn window(&self) -> u64 {
///         self.window.max(2 * self.datagram)
///     }
///
///     fn ssthresh(&self) -> Option<u64> {
///         None
///     }
///
///     fn pacing_rate(&self) -> Option<u64> {
///         None
///     }
///
///     fn phase(&self) -> Phase {
///         Phase::CongestionAvoidance
///     }
///
///     fn metrics(&self) -> Metrics {
///         Metrics::default()
///     }
/// }
///
/// #[derive(Debug)]
/// struct MakesAimd;
///
/// impl Factory for MakesAimd {
///     fn name(&self) -> &'static str {
///         "aimd"
///     }
///
///     fn build(&self, settings: Settings) -> Box<dyn Controller> {
///         Box::new(Aimd {
///             window: settings.initial_window,
///             datagram: settings.max_datagram_size,
///             reduced: None,
///         })
///     }
/// }
///
/// static AIMD: CongestionControlOps = petra::table(|_name, options| match options {
///     "" => Ok(petra::options(Arc::new(MakesAimd))),
///     other => Err(format!("options of aimd: not known (got {other}); expected none")),
/// });
///
/// register("aimd", &AIMD).unwrap();
/// let mut config = quiche::Config::new(quiche::PROTOCOL_VERSION)?;
/// config.set_cc_algorithm_name("aimd")?;
/// # Ok::<(), quiche::Error>(())
/// ```
// Hooks of a later quiche get their defaults.
#[allow(clippy::needless_update)]
pub const fn table(
    parse_options: fn(name: &str, options: &str) -> Result<Options, String>,
) -> CongestionControlOps {
    CongestionControlOps {
        options_type: || TypeId::of::<Chosen>(),
        parse_options,
        on_init,
        on_packet_sent,
        on_packets_acked,
        congestion_event,
        on_pto,
        on_persistent_congestion,
        packet_threshold,
        early_probes,
        on_spurious_loss,
        on_mtu_change,
        bandwidth,
        #[cfg(feature = "qlog")]
        state_str,
        #[cfg(feature = "qlog")]
        qlog_metrics,
        ..CongestionControlOps::DEFAULTS
    }
}

/// Wraps a factory for quiche, which carries it from the configuration to the connection.
pub fn options(factory: Arc<dyn Factory>) -> Options {
    Arc::new(Chosen(factory))
}

fn named(name: &str, text: &str) -> Result<Options, String> {
    registry::factory(name, text)
        .map(options)
        .map_err(|error| error.to_string())
}

struct Chosen(Arc<dyn Factory>);

/// The state of a path: its controller and the origin of the controller's time.
struct Path {
    controller: Box<dyn Controller>,
    origin: Option<Instant>,
    /// The last conversion: an event mostly has few different times.
    converted: Option<(Instant, Time)>,
    last_event: Time,
    /// Send time of the last packet that filled the window.
    window_full: Option<Time>,
}

impl Path {
    /// Converts to the controller's time, whose origin is the first event.
    fn time(&mut self, at: Instant) -> Time {
        match self.converted {
            Some((last, time)) if last == at => time,
            _ => {
                let time = at.saturating_duration_since(*self.origin.get_or_insert(at));
                self.converted = Some((at, time));
                time
            }
        }
    }

    fn now(&mut self, at: Instant) -> Time {
        self.last_event = self.last_event.max(self.time(at));
        self.last_event
    }

    /// Returns true if a packet sent at this time or later has filled the window.
    fn window_full_since(&self, sent: Time) -> bool {
        self.window_full.is_some_and(|full| full >= sent)
    }
}

fn path(r: &Congestion) -> &Path {
    r.state().expect("on_init has set it")
}

/// Passes an event to the controller and its results to quiche. If slow start ends, the reason
/// is a loss.
fn with_path(r: &mut Congestion, event: impl FnOnce(&mut Path)) {
    with_path_until(r, |_| StartupExitReason::Loss, event);
}

/// Passes an event to the controller and its results to quiche. If slow start ends, `exit`
/// returns the reason.
fn with_path_until(
    r: &mut Congestion,
    exit: fn(reduced: bool) -> StartupExitReason,
    event: impl FnOnce(&mut Path),
) {
    let before = r.congestion_window();
    let path: &mut Path = r.state_mut().expect("on_init has set it");
    event(path);
    let limits = path.controller.limits();
    let window = saturating(limits.window);
    r.set_congestion_window(window);
    r.set_pacing_rate(limits.pacing_rate);
    if let Some(ssthresh) = limits.ssthresh {
        r.set_ssthresh(saturating(ssthresh), exit(window < before));
    }
}

/// The reason for which an ACK ended slow start: a standing queue, or a window that reached the
/// estimated bandwidth.
fn exit_by_ack(reduced: bool) -> StartupExitReason {
    match reduced {
        true => StartupExitReason::PersistentQueue,
        false => StartupExitReason::BandwidthPlateau,
    }
}

fn saturating(bytes: u64) -> usize {
    bytes.try_into().unwrap_or(usize::MAX)
}

fn on_init(r: &mut Congestion) {
    let max_datagram_size = r.max_datagram_size() as u64;
    let settings = Settings {
        max_datagram_size,
        initial_window: r.initial_congestion_window_packets() as u64 * max_datagram_size,
    };
    let Chosen(factory) = r.options().expect("parse_options has made it");
    let controller = factory.build(settings);
    r.set_state(Path {
        controller,
        origin: None,
        converted: None,
        last_event: Time::ZERO,
        window_full: None,
    });
    with_path(r, |_| {});
}

fn on_packet_sent(r: &mut Congestion, event: &PacketSent) {
    if event.bytes == 0 {
        return;
    }
    let bytes_in_flight = event.bytes_in_flight + event.bytes;
    let room = r.congestion_window().saturating_sub(bytes_in_flight);
    let full = room < r.max_datagram_size();
    with_path(r, |path| {
        let sent = Sent {
            now: path.now(event.now),
            time_sent: path.time(event.time_sent),
            bytes: event.bytes as u64,
            bytes_in_flight: bytes_in_flight as u64,
        };
        if full {
            path.window_full = Some(sent.time_sent);
        }
        path.controller.on_sent(&sent);
    });
}

fn on_packets_acked(r: &mut Congestion, event: &PacketsAcked) {
    let mut newest = None;
    let mut bytes = 0;
    // The earliest and the latest send time of those packets that were in flight.
    let mut first = None;
    let mut last = None;
    let mut app_limited = false;
    for packet in event.packets() {
        let sent = Some(packet.time_sent);
        newest = newest.max(sent);
        // Packets without a size were not ack-eliciting and never in flight.
        if packet.bytes == 0 {
            continue;
        }
        bytes += packet.bytes;
        first = first.or(sent).min(sent);
        if sent >= last {
            last = sent;
            app_limited = packet.is_app_limited;
        }
    }
    let (Some(newest), Some(first), Some(last)) = (newest, first, last) else {
        return;
    };
    with_path_until(r, exit_by_ack, |path| {
        let now = path.now(event.now);
        let first_sent = path.time(first);
        let last_sent = path.time(last);
        let ack = Ack {
            now,
            bytes: bytes as u64,
            first_sent,
            last_sent,
            newest_sent: path.time(newest),
            bytes_in_flight: event.bytes_in_flight.saturating_sub(bytes) as u64,
            // quiche takes no sample from some ACKs.
            rtt: event.rtt().map_or_else(
                || RttEstimator::first(event.now.saturating_duration_since(last)),
                rtt,
            ),
            // quiche marks packets that were sent after the application had too little data. Such a
            // packet may belong to a flight that then filled the window, which is not app-limited
            // (RFC 9002, Section 7.8, <https://www.rfc-editor.org/rfc/rfc9002#section-7.8>).
            app_limited: app_limited && !path.window_full_since(last_sent),
        };
        path.controller.on_ack(&ack);
    });
}

fn congestion_event(r: &mut Congestion, event: &PacketsLost) {
    with_path(r, |path| {
        let loss = Loss {
            now: path.now(event.now),
            bytes: event.bytes as u64,
            last_sent: path.time(event.time_sent),
            bytes_in_flight: event.bytes_in_flight.saturating_sub(event.bytes) as u64,
            rtt: event.rtt().map(rtt),
        };
        path.controller.on_loss(&loss);
    });
}

fn on_pto(r: &mut Congestion, event: &ProbeTimeout) {
    with_path(r, |path| {
        let pto = Pto {
            now: path.now(event.now),
            count: event.count,
            bytes_in_flight: event.bytes_in_flight as u64,
            rtt: event.rtt().map(rtt),
        };
        path.controller.on_pto(&pto);
    });
}

fn on_persistent_congestion(r: &mut Congestion, event: &PersistentCongestion) {
    with_path(r, |path| {
        let now = path.now(event.now);
        path.controller.on_persistent_congestion(now);
    });
}

fn on_spurious_loss(r: &mut Congestion, event: &congestion_control::SpuriousLoss) {
    with_path(r, |path| {
        let spurious = SpuriousLoss {
            now: path.now(event.now),
            packets: event.packets as u64,
            whole_event: event.whole_event,
        };
        path.controller.on_spurious_loss(&spurious);
    });
}

fn on_mtu_change(r: &mut Congestion, event: &DatagramSizeChanged) {
    with_path(r, |path| {
        path.controller
            .on_max_datagram_size(event.max_datagram_size as u64);
    });
}

fn packet_threshold(r: &Congestion, state: &LossDetection) -> Option<u64> {
    let rtt = rtt(state.rtt()?);
    path(r).controller.packet_threshold(&rtt, state.pto)
}

fn early_probes(r: &Congestion, state: &LossDetection) -> Option<EarlyProbes> {
    let outstanding = state.packets_in_flight as u64;
    let rtt = rtt(state.rtt()?);
    let probes = path(r)
        .controller
        .early_probes(&rtt, state.pto, outstanding)?;
    Some(EarlyProbes::new(probes.after, probes.packets as usize))
}

fn bandwidth(r: &Congestion) -> Option<u64> {
    path(r).controller.metrics().bandwidth_estimate
}

#[cfg(feature = "qlog")]
fn state_str(r: &Congestion, _now: Instant) -> &'static str {
    path(r).controller.phase().as_str()
}

/// Returns the fields that `docs/qlog.md` defines.
#[cfg(feature = "qlog")]
fn qlog_metrics(r: &Congestion) -> Vec<(&'static str, QlogValue)> {
    let path = path(r);
    let metrics = path.controller.metrics();
    let mut fields = vec![
        (
            "petra_phase",
            QlogValue::Word(path.controller.phase().as_str()),
        ),
        ("petra_reductions", QlogValue::Count(metrics.reductions)),
    ];
    if let Some(rate) = metrics.bandwidth_sample {
        fields.push(("petra_bandwidth_sample", QlogValue::Count(rate)));
    }
    if let Some(rate) = metrics.bandwidth_estimate {
        fields.push(("petra_bandwidth_estimate", QlogValue::Count(rate)));
    }
    if let Some(reason) = metrics.last_reduction {
        fields.push(("petra_reduction_reason", QlogValue::Word(reason.as_str())));
    }
    let responses = [
        ("petra_loss_response", metrics.loss_response),
        ("petra_queue_response", metrics.queue_response),
    ];
    for (name, response) in responses {
        fields.extend(response.map(|word| (name, QlogValue::Word(word))));
    }
    if let Some(rtt) = metrics.base_rtt {
        let ms = QlogValue::Number(rtt.as_secs_f64() * 1e3);
        fields.push(("petra_base_rtt", ms));
    }
    fields
}

fn rtt(rtt: congestion_control::Rtt) -> Rtt {
    Rtt {
        latest: rtt.latest,
        smoothed: rtt.smoothed,
        variation: rtt.variation,
        min: rtt.min,
    }
}
