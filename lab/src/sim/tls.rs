//! The configuration of both ends, with one fixed identity for every server.

use std::time::Duration;

use anyhow::{Context, Error, Result};
use boring::pkey::PKey;
use boring::ssl::{SslContextBuilder, SslMethod, SslSignatureAlgorithm};
use boring::x509::X509;
use petra_http3::tls::{set_ciphers, AES_128_GCM, AES_256_GCM, CHACHA20_POLY1305};

use super::oracle::Oracle;
use super::path::Path;
use super::watch::Guide;
use crate::link::{Direction, Queue};
use crate::scenario::{Flow, Pacing, Scenario, Traffic};

/// A self-signed certificate and its key. Ed25519 signs without randomness,
/// so a handshake has the same bytes every time; nothing is secret here.
const IDENTITY: &[u8] = include_bytes!("identity.pem");

/// The least of a flow-control window, in bytes.
const MIN_FLOW_CONTROL_WINDOW: u64 = 4 << 20;

/// Maximum datagram size of the client, whose packets are small.
pub(super) const CLIENT_DATAGRAM: usize = 1350;

/// The server's name, in its certificate and in requests.
pub(super) const SERVER_NAME: &str = "petra-lab";

/// Time that a server which holds packets is given them ahead.
const HORIZON: Duration = Duration::from_millis(10);

/// Milliseconds without a packet after which a connection is given up.
const IDLE_TIMEOUT: u64 = 30_000;

/// The configuration of a flow's server. `guide` informs an oracle.
pub(super) fn server(
    scenario: &Scenario,
    flow: &Flow,
    path: &Path,
    guide: &Guide,
) -> Result<quiche::Config> {
    let mut tls = SslContextBuilder::new(SslMethod::tls())?;
    tls.set_private_key(&*PKey::private_key_from_pem(IDENTITY)?)?;
    tls.set_certificate(&*X509::from_pem(IDENTITY)?)?;
    let mut config = config(tls, scenario, flow, path)?;
    config.set_max_send_udp_payload_size(scenario.max_datagram_size);
    config.enable_pacing(scenario.pacing != Pacing::Off);
    if scenario.pacing == Pacing::Hold {
        config.set_pacing_horizon(HORIZON);
    }
    let cc = &flow.cc;
    quiche::congestion_control::check(cc).map_err(Error::msg)?;
    match Oracle::of(flow, scenario.pacing, guide).map_err(Error::msg)? {
        Some(oracle) => petra::select(&mut config, oracle)?,
        None => config.set_cc_algorithm_name(cc)?,
    }
    if let Some(datagrams) = flow.initial_window {
        config.set_initial_congestion_window_packets(datagrams as usize);
    }
    if let Some(rtt) = flow.initial_rtt {
        config.set_initial_rtt(rtt);
    }
    if let Some(on) = flow.silly_window_avoidance {
        config.set_silly_window_avoidance(on);
    }
    config.set_cubic_spurious_undo(flow.cubic_spurious_undo);
    // As the examples.
    config.set_max_write_ahead(petra_http3::WRITE_AHEAD);
    Ok(config)
}

/// The configuration of a flow's client.
pub(super) fn client(scenario: &Scenario, flow: &Flow, path: &Path) -> Result<quiche::Config> {
    let mut tls = SslContextBuilder::new(SslMethod::tls())?;
    tls.set_verify_algorithm_prefs(&[SslSignatureAlgorithm::ED25519])?;
    let mut config = config(tls, scenario, flow, path)?;
    config.set_max_send_udp_payload_size(CLIENT_DATAGRAM);
    config.set_ack_eliciting_threshold(flow.ack_every.into());
    // The window of the connection stays large: it is opened at other times, and a sender that
    // fills what both leave sends runts.
    if let Some(window) = flow.receive_window {
        config.set_initial_max_stream_data_bidi_local(window);
        config.set_max_stream_window(window);
    }
    Ok(config)
}

/// The cipher suites of TLS 1.3, the preferred first. BoringSSL's own order depends on
/// whether the processor has instructions for AES, and the handshake's bytes on the order.
const CIPHERS: [u16; 3] = [AES_128_GCM, AES_256_GCM, CHACHA20_POLY1305];

fn config(
    mut tls: SslContextBuilder,
    scenario: &Scenario,
    flow: &Flow,
    path: &Path,
) -> Result<quiche::Config> {
    set_ciphers(&mut tls, &CIPHERS).context("setting the ciphers of TLS 1.3")?;
    let mut config = quiche::Config::with_boring_ssl_ctx_builder(quiche::PROTOCOL_VERSION, tls)
        .context("setting up TLS")?;
    config.set_application_protos(quiche::h3::APPLICATION_PROTOCOL)?;
    config.verify_peer(false);
    config.set_max_idle_timeout(match flow.traffic {
        // Pauses may be longer.
        Traffic::OnOff { .. } | Traffic::Web(_) => 0,
        Traffic::Bulk | Traffic::Size(_) | Traffic::Bodies { .. } | Traffic::Media(_) => {
            IDLE_TIMEOUT
        }
    });
    let window = flow_control_window(scenario, flow, path);
    config.set_initial_max_data(window);
    config.set_initial_max_stream_data_bidi_local(window);
    config.set_initial_max_stream_data_bidi_remote(window);
    config.set_initial_max_stream_data_uni(window);
    config.set_max_connection_window(window);
    config.set_max_stream_window(window);
    config.set_initial_max_streams_bidi(Traffic::MAX_AT_ONCE.into());
    config.set_initial_max_streams_uni(100);
    Ok(config)
}

/// A window in bytes that the path cannot fill, so that only the congestion
/// window counts. It has to end somewhere: a server may write what the
/// congestion window has room for, not less for what its pacer still holds, so
/// nothing else bounds what a server that writes all it may has in memory.
fn flow_control_window(scenario: &Scenario, flow: &Flow, path: &Path) -> u64 {
    let longest = |direction: &Direction| {
        let stages = direction.stages();
        stages.iter().map(|(_, stage)| stage.delay).max()
    };
    let directions = scenario.path.iter().flat_map(|link| [&link.down, &link.up]);
    let round_trip: Duration = directions.filter_map(longest).sum();
    let access = 2 * flow.delay;
    let links = path.down().zip(&scenario.path);
    let bytes = links.filter_map(|(channel, link)| {
        let rate = channel.peak()?;
        let bdp = Queue::Bdp(1.0).bytes(rate, round_trip + access);
        let stages = link.down.stages();
        let queues = stages.iter().map(|(_, stage)| stage.queue);
        let queue = queues.map(|queue| queue.bytes(rate, round_trip)).max();
        Some(bdp.saturating_add(queue.unwrap_or_default()))
    });
    let bytes = bytes.fold(0, u64::saturating_add);
    MIN_FLOW_CONTROL_WINDOW.max(bytes.saturating_mul(4))
}
