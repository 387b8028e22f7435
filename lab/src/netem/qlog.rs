//! What a server's qlog says of a transfer, read as a stream.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Duration;

use anyhow::{bail, ensure, Context, Result};
use serde::{Deserialize, Serialize};

use super::calibration::quantile;

/// The record separator of JSON text sequences (RFC 7464).
const SEPARATOR: u8 = 0x1e;

/// The sending side of a connection, in figures.
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
    /// What the samples have over the round-trip time of the idle link: mean
    /// and 95th percentile, in milliseconds.
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

/// The parts of an event that count here.
#[derive(Deserialize)]
struct Event {
    name: String,
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    raw: Option<Raw>,
    latest_rtt: Option<f64>,
    cf_lost_packets: Option<Total>,
}

#[derive(Deserialize)]
struct Raw {
    length: u64,
}

#[derive(Deserialize)]
struct Total {
    total: u64,
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
        let mut logs = Vec::new();
        for entry in folder.read_dir().context("there is no folder of qlogs")? {
            let path = entry?.path();
            if path.extension().is_some_and(|kind| kind == "sqlog") {
                logs.push(path);
            }
        }
        let [log] = &logs[..] else {
            bail!("{} has {} qlogs, expected 1", folder.display(), logs.len());
        };
        Self::from_records(BufReader::new(File::open(log)?), base_rtt)
            .with_context(|| format!("cannot read the qlog {}", log.display()))
    }

    fn from_records(mut log: impl BufRead, base_rtt: Duration) -> Result<Self> {
        let mut transport = Transport::default();
        let mut rtts = Vec::new();
        let mut header = Vec::new();
        log.read_until(b'\n', &mut header)?;
        let version = header
            .strip_prefix(&[SEPARATOR])
            .and_then(|json| serde_json::from_slice::<serde_json::Value>(json).ok());
        ensure!(version.is_some(), "it does not begin like a JSON-SEQ qlog");

        let mut record = Vec::new();
        for number in 2.. {
            record.clear();
            log.read_until(b'\n', &mut record)?;
            let json = record.strip_prefix(&[SEPARATOR]).unwrap_or(&record);
            if json.trim_ascii().is_empty() {
                break;
            }
            match serde_json::from_slice::<Event>(json) {
                Ok(event) => transport.count(event, &mut rtts),
                Err(_) if log.fill_buf()?.is_empty() => transport.truncated = true,
                Err(error) => return Err(error).with_context(|| format!("record {number}")),
            }
        }
        transport.summarise(rtts, base_rtt.as_secs_f64() * 1e3);
        Ok(transport)
    }

    fn count(&mut self, event: Event, rtts: &mut Vec<f64>) {
        match event.name.rsplit(':').next() {
            Some("packet_sent") => {
                self.packets_sent += 1;
                self.bytes_sent += event.data.raw.map_or(0, |raw| raw.length);
            }
            Some("recovery_metrics_updated") => {
                rtts.extend(event.data.latest_rtt);
                if let Some(lost) = event.data.cf_lost_packets {
                    self.packets_lost = lost.total;
                }
            }
            _ => {}
        }
    }

    fn summarise(&mut self, mut rtts: Vec<f64>, base: f64) {
        if rtts.is_empty() {
            return;
        }
        rtts.sort_by(f64::total_cmp);
        let [p5, p50, p95, p99] = [0.05, 0.5, 0.95, 0.99].map(|share| quantile(&rtts, share));
        self.rtt_ms = Some(RttPercentiles { p5, p50, p95, p99 });
        let sum: f64 = rtts.iter().map(|rtt| (rtt - base).max(0.0)).sum();
        self.queueing_ms = Some(Queueing {
            mean: sum / rtts.len() as f64,
            p95: (p95 - base).max(0.0),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Duration = Duration::from_millis(90);

    /// A qlog with an RTT sample of 90, 91, ... 109 ms after each packet.
    fn log() -> String {
        let mut log =
            "\u{1e}{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\"}\n".to_owned();
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
               {\"cf_lost_packets\":{\"delta\":2,\"total\":3}}}\n"
    }

    #[test]
    fn packets_losses_and_rtts_are_counted() {
        let transport = Transport::from_records(log().as_bytes(), BASE).unwrap();
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
        let cut = &log[..log.len() - 20];
        let transport = Transport::from_records(cut.as_bytes(), BASE).unwrap();
        assert!(transport.truncated);
        assert_eq!((transport.packets_sent, transport.packets_lost), (20, 0));
    }

    #[test]
    fn what_is_no_qlog_is_an_error_with_its_place() {
        let broken = log().replacen("\"data\"", "data", 1);
        let error = Transport::from_records(broken.as_bytes(), BASE).unwrap_err();
        assert!(format!("{error:#}").contains("record 2"), "{error:#}");
        let error = Transport::from_records(&b"hello\n"[..], BASE).unwrap_err();
        assert!(error.to_string().contains("JSON-SEQ"), "{error}");
    }

    #[test]
    fn a_transfer_without_samples_has_no_percentiles() {
        let log = log();
        let header = &log[..=log.find('\n').unwrap()];
        let transport = Transport::from_records(header.as_bytes(), BASE).unwrap();
        assert_eq!(transport, Transport::default());
    }
}
