//! The quiche configuration of either end, and the logs of a connection.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use boring::ssl::{SslContextBuilder, SslMethod};
use petra_http3::{tls, Connection, Logs};

use crate::case::{Case, Http, Role};

/// Receive windows of a connection and of a stream in bytes: far more than the
/// runner's links hold.
const WINDOW: u64 = 16 << 20;

/// Streams that a peer may have open; the runner accepts up to 1000.
const STREAMS: u64 = 100;

/// For how long a peer may be silent, in milliseconds. Black holes of the runner
/// last seconds.
const IDLE_MS: u64 = 30_000;

/// Initial RTT of the first timeouts, in place of 333 ms (RFC 9002, Section 6.2.2,
/// <https://www.rfc-editor.org/rfc/rfc9002#section-6.2.2>). With 30 % of the packets lost, as in
/// `handshakeloss`, some stacks abort a handshake after 5 or 10 s, in which the longer timeout
/// doubles too often.
const INITIAL_RTT: Duration = Duration::from_millis(100);

/// Connection IDs that the peer may have for paths to come.
const SPARE_IDS: u64 = 4;

/// Settings from the environment.
pub(crate) struct Settings {
    /// The congestion controller's name, with options if it has any.
    pub(crate) controller: String,
    pub(crate) keylog: Option<PathBuf>,
    pub(crate) qlog: Option<PathBuf>,
}

impl Settings {
    /// The configuration for a test case.
    pub(crate) fn config(&self, case: &Case, role: Role) -> Result<quiche::Config> {
        petra::register();
        quiche::congestion_control::check(&self.controller)
            .map_err(anyhow::Error::msg)
            .context("CC")?;
        let version = quiche::PROTOCOL_VERSION;
        let mut config = match case.only_chacha20 {
            true => {
                let mut tls = SslContextBuilder::new(SslMethod::tls())?;
                tls::set_ciphers(&mut tls, &[tls::CHACHA20_POLY1305])
                    .context("setting the cipher of TLS 1.3")?;
                quiche::Config::with_boring_ssl_ctx_builder(version, tls)?
            }
            false => quiche::Config::new(version)?,
        };
        config.set_cc_algorithm_name(&self.controller)?;
        config.set_application_protos(match case.http {
            Http::Hq => &[b"hq-interop"],
            Http::Three => quiche::h3::APPLICATION_PROTOCOL,
        })?;
        // The runner's servers have certificates that nobody is to trust.
        config.verify_peer(false);
        // Some servers take what greases a request stream for a broken request.
        config.grease(false);
        config.set_max_idle_timeout(IDLE_MS);
        config.set_initial_rtt(INITIAL_RTT);
        config.set_initial_max_data(WINDOW);
        config.set_initial_max_stream_data_bidi_local(WINDOW);
        config.set_initial_max_stream_data_bidi_remote(1 << 16);
        config.set_initial_max_stream_data_uni(1 << 16);
        config.set_initial_max_streams_bidi(STREAMS);
        config.set_initial_max_streams_uni(STREAMS);
        config.set_active_connection_id_limit(SPARE_IDS);
        config.enable_early_data();
        if role == Role::Server {
            config
                .load_cert_chain_from_pem_file("/certs/cert.pem")
                .context("cannot load /certs/cert.pem")?;
            config
                .load_priv_key_from_pem_file("/certs/priv.key")
                .context("cannot load /certs/priv.key")?;
        }
        if self.keylog.is_some() {
            config.log_keys();
        }
        Ok(config)
    }

    /// The logs of the connections.
    pub(crate) fn logs(&self) -> Result<Logs> {
        Logs::new(
            self.keylog.as_deref(),
            self.qlog.as_deref(),
            &self.controller,
        )
    }
}

/// Gives the peer connection IDs for paths to come, as many as it takes, and
/// calls `each` with those that are new.
pub(crate) fn spare_ids(
    quic: &mut Connection,
    mut each: impl FnMut(quiche::ConnectionId<'static>),
) -> Result<()> {
    while quic.is_established() && quic.scids_left() > 0 {
        let (mut id, mut token) = ([0; 16], [0; 16]);
        boring::rand::rand_bytes(&mut id)?;
        boring::rand::rand_bytes(&mut token)?;
        let id = quiche::ConnectionId::from_vec(id.to_vec());
        quic.new_scid(&id, u128::from_be_bytes(token), false)?;
        each(id);
    }
    Ok(())
}
