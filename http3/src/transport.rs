//! Command-line options of an endpoint, and the quiche configuration that results from them.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use boring::ssl::SslContextBuilder;
use quiche::congestion_control::check;
use quiche::CongestionControlAlgorithm;

use crate::Logs;

/// Flow-control windows in bytes, of a connection and of each stream. They never limit 1 Gbit/s
/// over 100 ms (12.5 MB), even while a window update is in transit.
const WINDOW: u64 = 48 << 20;

/// Bytes that an application may write ahead of the window, so that it writes large parts: as
/// much as the pacer lets out at once.
pub const WRITE_AHEAD: usize = 16 << 10;

/// Longest time that an option may have. Clocks can add it to the present.
const MAX_TIME: Duration = Duration::from_secs(366 * 24 * 3600);

/// Parses a time of an option, such as `1.5s`.
///
/// # Errors
///
/// A text that is no time, or one of more than a year.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|e| e.to_string())?;
    if time > MAX_TIME {
        return Err(format!("too long (got {text}); expected at most a year"));
    }
    Ok(time)
}

/// Options that select the congestion controller.
#[derive(clap::Args)]
pub struct Controller {
    /// Congestion controller: PETRA's (see the end of --help), or quiche's reno, cubic and
    /// bbr2
    #[arg(long, value_name = "NAME[:OPTIONS]", default_value = "petra")]
    cc: String,

    /// Options of the controller, which may also follow its name
    #[arg(long, value_name = "KEY=VALUE,...")]
    cc_options: Option<String>,
}

impl Controller {
    /// Returns the controller's name with its options, as quiche takes it. quiche must know the
    /// controllers by then.
    ///
    /// # Errors
    ///
    /// An unknown name, or wrong options. The message has the accepted values.
    pub fn name(&self) -> Result<String, String> {
        let name = match &self.cc_options {
            Some(_) if self.cc.contains(':') => {
                return Err(
                    "--cc-options: duplicate options; expected them here or behind the name".into(),
                );
            }
            Some(options) => format!("{}:{options}", self.cc),
            None => self.cc.clone(),
        };
        let (of_quiche, options) = name.split_once(':').unwrap_or((&name, ""));
        if !options.is_empty() && of_quiche.parse::<CongestionControlAlgorithm>().is_ok() {
            return Err(format!(
                "{of_quiche}: unknown options (got {options:?}); expected none"
            ));
        }
        check(&name)?;
        Ok(name)
    }
}

/// The transport's options.
#[derive(clap::Args)]
pub struct Transport {
    /// Treat less room in the window than a datagram as none; by default off for quiche's
    /// controllers and on for PETRA's
    #[arg(long, value_name = "BOOL")]
    silly_window_avoidance: Option<bool>,

    /// Make cubic undo a reduction only after spurious losses (RFC 9438); quiche's also
    /// undoes it after few losses
    #[arg(long)]
    cubic_spurious_undo: bool,

    /// Disable pacing: send as soon as the window permits
    #[arg(long)]
    no_pacing: bool,

    /// Upper limit of the pacing rate in Mbit/s
    #[arg(long, value_name = "MBIT", value_parser = clap::value_parser!(u32).range(1..))]
    max_pacing_rate: Option<u32>,

    /// Initial congestion window in packets
    #[arg(long, value_name = "PACKETS", default_value_t = 10,
          value_parser = clap::value_parser!(u16).range(2..=1000))]
    initial_window: u16,

    /// Largest UDP payload to send, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1350,
          value_parser = clap::value_parser!(u16).range(1200..=65507))]
    max_datagram_size: u16,

    /// Idle timeout of a connection; 0s for none
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_time)]
    idle_timeout: Duration,

    /// Write a qlog of every connection into this folder
    #[arg(long, value_name = "DIR")]
    qlog: Option<PathBuf>,

    /// Append the TLS secrets to this file, for Wireshark
    #[arg(long, value_name = "FILE")]
    keylog: Option<PathBuf>,
}

impl Transport {
    /// Returns true if packets wait for the pacer.
    pub fn paced(&self) -> bool {
        !self.no_pacing
    }

    /// A configuration for HTTP/3, with the certificates in `tls`. It has quiche's own congestion
    /// controller, until `set_cc_algorithm_name` selects another.
    pub fn config(&self, tls: SslContextBuilder) -> Result<quiche::Config> {
        let version = quiche::PROTOCOL_VERSION;
        let mut config = quiche::Config::with_boring_ssl_ctx_builder(version, tls)?;
        config.set_application_protos(quiche::h3::APPLICATION_PROTOCOL)?;
        config.set_initial_congestion_window_packets(self.initial_window.into());
        if let Some(on) = self.silly_window_avoidance {
            config.set_silly_window_avoidance(on);
        }
        config.set_cubic_spurious_undo(self.cubic_spurious_undo);
        config.enable_pacing(self.paced());
        if let Some(rate) = self.max_pacing_rate {
            config.set_max_pacing_rate(rate.into());
        }
        config.set_max_send_udp_payload_size(self.max_datagram_size.into());
        config.enable_black_hole_detection(true);
        // Many requests or responses of a few bytes take fewer packets.
        config.set_stream_frame_coalescing(true);
        config.set_max_write_ahead(WRITE_AHEAD);
        config.set_max_idle_timeout(self.idle_timeout.as_millis() as u64);
        config.set_initial_max_data(WINDOW);
        config.set_max_connection_window(WINDOW);
        config.set_max_stream_window(WINDOW);
        config.set_initial_max_stream_data_bidi_local(WINDOW);
        // Requests have no bodies here, and QPACK and control streams are small.
        config.set_initial_max_stream_data_bidi_remote(1 << 16);
        config.set_initial_max_stream_data_uni(1 << 16);
        config.set_initial_max_streams_bidi(256);
        config.set_initial_max_streams_uni(16);
        config.set_disable_active_migration(true);
        // A NAT can rebind the client before the previous path has failed.
        config.set_active_connection_id_limit(4);
        if self.keylog.is_some() {
            config.log_keys();
        }
        Ok(config)
    }

    /// The logs of the connections, whose congestion controller is `cc`.
    pub fn logs(&self, cc: &str) -> Result<Logs> {
        Logs::new(self.keylog.as_deref(), self.qlog.as_deref(), cc)
    }
}
