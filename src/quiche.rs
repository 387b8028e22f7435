//! The adapter: controllers as quiche's `CongestionControlOps`.
//!
//! quiche calls the hooks of a table with the state of a path; here they become
//! the events of [`Controller`], and what the controller then says becomes the
//! path's window, threshold and rate.

use std::sync::Arc;
use std::time::{Duration, Instant};

#[cfg(feature = "qlog")]
use quiche::congestion_control::QlogValue;
use quiche::congestion_control::{
    self, Acked, Congestion, CongestionControlOps, EarlyProbes, Options, RttStats,
    Sent as SentPacket,
};

use super::catalogue::{self, Recipe};
use super::controller::{Ack, Controller, Loss, Pto, Rtt, Sent, Settings, SpuriousLoss, Time};

/// Registers every controller of this crate with quiche, under its name.
///
/// Can be called any number of times, from any thread.
///
/// # Panics
///
/// When the program has registered another controller under one of the names of
/// [`catalogue::NAMES`] before.
pub fn register() {
    static TABLES: [CongestionControlOps; catalogue::NAMES.len()] = [
        table(|options| named(catalogue::NAMES[0], options)),
        table(|options| named(catalogue::NAMES[1], options)),
        table(|options| named(catalogue::NAMES[2], options)),
        table(|options| named(catalogue::NAMES[3], options)),
        table(|options| named(catalogue::NAMES[4], options)),
        table(|options| named(catalogue::NAMES[5], options)),
    ];

    for (name, table) in catalogue::names().zip(&TABLES) {
        congestion_control::register(name, table)
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
/// `Error::CongestionControl` when the recipe's name has not been registered.
pub fn select(
    config: &mut quiche::Config,
    recipe: impl Recipe + 'static,
) -> Result<(), quiche::Error> {
    let name = recipe.name();
    config.set_cc_algorithm_name_with_options(name, Chosen(Arc::new(recipe)))
}

/// The table under which a controller of one's own is registered with
/// `quiche::congestion_control::register`.
///
/// `parse_options` reads what stands behind the name, and says what is wrong with
/// it; [`options`] turns a recipe into what it returns.
///
/// ```
/// # use petra::catalogue::recipe;
/// # use quiche::congestion_control::{register, CongestionControlOps};
/// static MINE: CongestionControlOps = petra::table(|options| {
///     let recipe = recipe("westwood", options).map_err(|e| e.to_string())?;
///     Ok(petra::options(recipe))
/// });
/// register("mine", &MINE).unwrap();
/// ```
pub const fn table(parse_options: fn(&str) -> Result<Options, String>) -> CongestionControlOps {
    CongestionControlOps {
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
        pacing_rate,
        bandwidth,
        #[cfg(feature = "qlog")]
        state_str,
        #[cfg(feature = "qlog")]
        qlog_metrics,
        debug_fmt,
        ..CongestionControlOps::DEFAULTS
    }
}

/// A recipe as quiche carries it from the configuration to the connection.
pub fn options(recipe: Arc<dyn Recipe>) -> Options {
    Arc::new(Chosen(recipe))
}

fn named(name: &str, text: &str) -> Result<Options, String> {
    catalogue::recipe(name, text)
        .map(options)
        .map_err(|error| error.to_string())
}

struct Chosen(Arc<dyn Recipe>);

/// What a path keeps: its controller, and the origin of the controller's time.
struct Path {
    controller: Box<dyn Controller>,
    origin: Option<Instant>,
    last_event: Time,
    /// When a packet last left that filled the window.
    window_full: Option<Time>,
}

impl Path {
    /// The first event is the origin.
    fn time(&mut self, at: Instant) -> Time {
        at.saturating_duration_since(*self.origin.get_or_insert(at))
    }

    fn now(&mut self, at: Instant) -> Time {
        self.last_event = self.last_event.max(self.time(at));
        self.last_event
    }

    /// RFC 9002 section 7.8. quiche's mark says that the application had too
    /// little to send at some time before the packet left, which is also true of
    /// the flight that then filled the window.
    fn app_limited(&mut self, packet: &Acked) -> bool {
        let sent = self.time(packet.time_sent);
        packet.is_app_limited && self.window_full.is_none_or(|full| full < sent)
    }
}

fn path(r: &Congestion) -> &Path {
    r.state().expect("on_init has set it")
}

/// Hands an event to the controller and its answer to quiche.
fn with_path(r: &mut Congestion, event: impl FnOnce(&mut Path)) {
    let path: &mut Path = r.state_mut().expect("on_init has set it");
    event(path);
    let window = path.controller.window();
    let ssthresh = path.controller.ssthresh();
    r.set_congestion_window(saturating(window));
    if let Some(ssthresh) = ssthresh {
        r.set_ssthresh(saturating(ssthresh));
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
    let Chosen(recipe) = r.options().expect("parse_options has made it");
    let controller = recipe.build(settings);
    r.set_state(Path {
        controller,
        origin: None,
        last_event: Time::ZERO,
        window_full: None,
    });
    with_path(r, |_| {});
}

fn on_packet_sent(r: &mut Congestion, sent_bytes: usize, bytes_in_flight: usize, now: Instant) {
    if sent_bytes == 0 {
        return;
    }
    let room = r
        .congestion_window()
        .saturating_sub(bytes_in_flight + sent_bytes);
    let full = room < r.max_datagram_size();
    with_path(r, |path| {
        let sent = Sent {
            now: path.now(now),
            bytes: sent_bytes as u64,
            bytes_in_flight: (bytes_in_flight + sent_bytes) as u64,
        };
        if full {
            path.window_full = Some(sent.now);
        }
        path.controller.on_sent(&sent);
    });
}

fn on_packets_acked(
    r: &mut Congestion,
    bytes_in_flight: usize,
    packets: &mut Vec<Acked>,
    now: Instant,
    rtt_stats: &RttStats,
) {
    let newest = packets.iter().map(|packet| packet.time_sent).max();
    // Packets without a size were not ack-eliciting and never in flight.
    packets.retain(|packet| packet.size > 0);
    let bytes: usize = packets.iter().map(|packet| packet.size).sum();
    let first = packets.iter().min_by_key(|packet| packet.time_sent);
    let last = packets.iter().max_by_key(|packet| packet.time_sent);
    if let (Some(newest), Some(first), Some(last)) = (newest, first, last) {
        with_path(r, |path| {
            let ack = Ack {
                now: path.now(now),
                bytes: bytes as u64,
                first_sent: path.time(first.time_sent),
                last_sent: path.time(newest),
                bytes_in_flight: bytes_in_flight.saturating_sub(bytes) as u64,
                rtt: rtt(rtt_stats).unwrap_or(only_sample(last.rtt)),
                app_limited: path.app_limited(last),
            };
            path.controller.on_ack(&ack);
        });
    }
    packets.clear();
}

fn congestion_event(
    r: &mut Congestion,
    bytes_in_flight: usize,
    lost_bytes: usize,
    largest_lost: &SentPacket,
    rtt_stats: &RttStats,
    now: Instant,
) {
    with_path(r, |path| {
        let loss = Loss {
            now: path.now(now),
            bytes: lost_bytes as u64,
            last_sent: path.time(largest_lost.time_sent),
            bytes_in_flight: bytes_in_flight.saturating_sub(lost_bytes) as u64,
            rtt: rtt(rtt_stats),
        };
        path.controller.on_loss(&loss);
    });
}

fn on_pto(
    r: &mut Congestion,
    pto_count: u32,
    bytes_in_flight: usize,
    rtt_stats: &RttStats,
    now: Instant,
) {
    with_path(r, |path| {
        let pto = Pto {
            now: path.now(now),
            count: pto_count,
            bytes_in_flight: bytes_in_flight as u64,
            rtt: rtt(rtt_stats),
        };
        path.controller.on_pto(&pto);
    });
}

fn on_persistent_congestion(r: &mut Congestion, now: Instant) {
    with_path(r, |path| {
        let now = path.now(now);
        path.controller.on_persistent_congestion(now);
    });
}

fn on_spurious_loss(r: &mut Congestion, packets: usize, whole_event: bool, now: Instant) {
    with_path(r, |path| {
        let spurious = SpuriousLoss {
            now: path.now(now),
            packets: packets as u64,
            whole_event,
        };
        path.controller.on_spurious_loss(&spurious);
    });
}

fn on_mtu_change(r: &mut Congestion, max_datagram_size: usize) {
    with_path(r, |path| {
        path.controller
            .on_max_datagram_size(max_datagram_size as u64);
    });
}

fn packet_threshold(r: &Congestion, pto: Duration, rtt_stats: &RttStats) -> Option<u64> {
    path(r).controller.packet_threshold(&rtt(rtt_stats)?, pto)
}

fn early_probes(
    r: &Congestion,
    pto: Duration,
    packets_in_flight: usize,
    rtt_stats: &RttStats,
) -> Option<EarlyProbes> {
    let outstanding = packets_in_flight as u64;
    let probes = path(r)
        .controller
        .early_probes(&rtt(rtt_stats)?, pto, outstanding)?;
    Some(EarlyProbes {
        after: probes.after,
        packets: probes.packets as usize,
    })
}

fn pacing_rate(r: &Congestion, _rtt_stats: &RttStats) -> Option<u64> {
    path(r).controller.pacing_rate()
}

fn bandwidth(r: &Congestion) -> Option<u64> {
    path(r).controller.metrics().bandwidth_estimate
}

#[cfg(feature = "qlog")]
fn state_str(r: &Congestion, _now: Instant) -> &'static str {
    let path = path(r);
    path.controller.phase(path.last_event).as_str()
}

/// The fields are defined in `docs/qlog.md`.
#[cfg(feature = "qlog")]
fn qlog_metrics(r: &Congestion) -> Vec<(&'static str, QlogValue)> {
    let path = path(r);
    let metrics = path.controller.metrics();
    let mut fields = vec![
        (
            "petra_phase",
            QlogValue::Word(path.controller.phase(path.last_event).as_str()),
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
    fields
}

fn debug_fmt(r: &Congestion, f: &mut std::fmt::Formatter) -> std::fmt::Result {
    write!(f, "{:?} ", path(r).controller.metrics())
}

fn rtt(stats: &RttStats) -> Option<Rtt> {
    stats.min_rtt().map(|min| Rtt {
        latest: stats.latest_rtt(),
        smoothed: stats.rtt(),
        variation: stats.rttvar(),
        min,
    })
}

/// The estimator after its first sample (RFC 9002 section 5.3), for an ACK that
/// quiche took no sample from.
fn only_sample(rtt: Duration) -> Rtt {
    Rtt {
        latest: rtt,
        smoothed: rtt,
        variation: rtt / 2,
        min: rtt,
    }
}
