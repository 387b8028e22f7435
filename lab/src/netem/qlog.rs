//! Evaluation of a server's qlog.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{bail, Result};
use petra_qlog::stats::Stats;
use serde::Serialize;

use crate::testbed::{statistics, traces};

/// Statistics of the sending side of a connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Transport {
    /// QUIC packets of all kinds.
    pub packets_sent: u64,
    /// Their bytes, without the headers of UDP and IP.
    pub bytes_sent: u64,
    /// Packets that loss detection has declared lost.
    pub packets_lost: u64,
    /// Round-trip times: the 5th, 50th, 95th and 99th percentile of the
    /// samples, in milliseconds.
    pub rtt_ms: Option<RttPercentiles>,
    /// Excess of the samples over the RTT of the idle link: mean and 95th percentile, in
    /// milliseconds.
    pub queueing_ms: Option<Queueing>,
    /// The log ends in the middle of a record.
    pub truncated: bool,
}

/// Percentiles of round-trip times in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub(super) struct RttPercentiles {
    pub p5: f64,
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
}

/// Queueing delay in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub(super) struct Queueing {
    pub mean: f64,
    pub p95: f64,
}

/// The one qlog in a folder, copies for qvis aside.
///
/// # Errors
///
/// When there is not exactly one.
pub(super) fn trace(folder: &Path) -> Result<PathBuf> {
    match <[PathBuf; 1]>::try_from(traces(folder)?) {
        Ok([log]) => Ok(log),
        Err(logs) => bail!("{} has {} qlogs, expected 1", folder.display(), logs.len()),
    }
}

impl Transport {
    /// Reads the qlog in `folder`. `base_rtt` is the round-trip time of the
    /// idle link.
    ///
    /// # Errors
    ///
    /// When there is not exactly one qlog, or it is none; a last record that is
    /// not whole is no error.
    pub(super) fn read(folder: &Path, base_rtt: Duration) -> Result<Self> {
        Ok(Self::of(&statistics(&trace(folder)?)?, base_rtt))
    }

    fn of(stats: &Stats, base_rtt: Duration) -> Self {
        let base = base_rtt.as_secs_f64() * 1e3;
        let samples = &stats.rtt_samples;
        let rtt = stats.rtt_ms;
        Transport {
            packets_sent: stats.sent.packets,
            bytes_sent: stats.sent.bytes,
            packets_lost: stats.packets_lost,
            rtt_ms: rtt.map(|rtt| RttPercentiles {
                p5: rtt.p5,
                p50: rtt.p50,
                p95: rtt.p95,
                p99: rtt.p99,
            }),
            queueing_ms: rtt.map(|rtt| Queueing {
                mean: samples.iter().map(|rtt| (rtt - base).max(0.0)).sum::<f64>()
                    / samples.len() as f64,
                p95: (rtt.p95 - base).max(0.0),
            }),
            truncated: stats.end.truncated.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Duration = Duration::from_millis(90);

    /// A qlog with an RTT sample of 90, 91, ... 109 ms after each packet.
    fn log() -> String {
        let mut log = "\u{1e}{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\",\
             \"serialization_format\":\"JSON-SEQ\",\"trace\":{}}\n"
            .to_owned();
        for i in 0..20 {
            log += &format!(
                "\u{1e}{{\"time\":{i}.5,\"name\":\"quic:packet_sent\",\"data\":{{\"header\":\
                 {{\"packet_type\":\"1RTT\"}},\"raw\":{{\"length\":1200}},\"frames\":[]}}}}\n\
                 \u{1e}{{\"time\":{i}.6,\"name\":\"quic:recovery_metrics_updated\",\"data\":\
                 {{\"latest_rtt\":{},\"congestion_window\":13500}}}}\n",
                90 + i
            );
        }
        log + "\u{1e}{\"time\":30,\"name\":\"quic:recovery_metrics_updated\",\"data\":\
               {\"cf_lost_packets\":{\"delta\":3,\"total\":3}}}\n"
    }

    fn read(log: &str) -> Transport {
        Transport::of(&Stats::read(log.as_bytes()).unwrap(), BASE)
    }

    #[test]
    fn packets_losses_and_rtts_are_counted() {
        let transport = read(&log());
        let expected = Transport {
            packets_sent: 20,
            bytes_sent: 24_000,
            packets_lost: 3,
            rtt_ms: Some(RttPercentiles {
                p5: 90.0,
                p50: 99.0,
                p95: 108.0,
                p99: 109.0,
            }),
            queueing_ms: Some(Queueing {
                mean: 9.5,
                p95: 18.0,
            }),
            truncated: false,
        };
        assert_eq!(transport, expected);
    }

    #[test]
    fn a_truncated_last_record_is_told_and_the_rest_counts() {
        let log = log();
        let transport = read(&log[..log.len() - 20]);
        assert!(transport.truncated);
        assert_eq!((transport.packets_sent, transport.packets_lost), (20, 0));
    }

    #[test]
    fn the_copy_for_qvis_beside_the_log_is_not_another_log() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| std::fs::write(folder.path().join(name), log()).unwrap();
        write("server-1.sqlog");
        write("server-1.qvis.sqlog");
        let transport = Transport::read(folder.path(), BASE).unwrap();
        assert_eq!(transport.packets_sent, 20);
        write("server-2.sqlog");
        let error = Transport::read(folder.path(), BASE).unwrap_err();
        assert!(error.to_string().contains("2 qlogs"), "{error}");
    }

    #[test]
    fn a_transfer_without_samples_has_no_percentiles() {
        let log = log();
        let header = &log[..=log.find('\n').unwrap()];
        assert_eq!(read(header), Transport::default());
    }
}
