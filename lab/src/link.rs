//! What a link is asked to be. One description serves the simulator and netem.
//!
//! A link is a path of two directions, each a [`Direction`]; `netem` and `sim`
//! make it real.

use std::time::Duration;

use anyhow::{ensure, Result};
use serde::{Deserialize, Serialize};

/// One direction of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Direction {
    /// Bits per second of the bottleneck, counted over IP packets. `None`: as
    /// fast as the machine.
    pub rate: Option<u64>,
    /// One-way propagation delay.
    pub delay: Duration,
    /// Standard deviation of the delay; zero for a constant one.
    pub jitter: Duration,
    /// Probability that a packet is lost, 0 to 1.
    pub loss: f64,
    /// Mean length of a run of losses, in packets, at least 1 (Gilbert's
    /// model). `None`: each packet is lost or not by itself.
    pub loss_run: Option<f64>,
    /// Probability that a packet overtakes the delay line, 0 to 1.
    pub reorder: f64,
    /// Packets arrive only at multiples of this time, all together, as behind
    /// a medium with a schedule. Zero: each when it is there.
    pub grid: Duration,
    /// Drop-tail queue ahead of the bottleneck.
    pub queue: Queue,
}

/// Both directions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Link {
    /// From the server to the client: the data.
    pub down: Direction,
    /// From the client to the server: the ACKs.
    pub up: Direction,
}

impl Link {
    /// The sum of both propagation delays, which a [`Queue::Bdp`] refers to.
    pub fn round_trip(&self) -> Duration {
        self.down.delay + self.up.delay
    }
}

/// The size of a drop-tail queue. What is left of the packet in transmission
/// counts; an idle bottleneck takes any packet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// In bytes of IP packets.
    Bytes(u64),
    /// In bandwidth-delay products of the link: rate times the sum of both
    /// directions' delays.
    Bdp(f64),
}

impl Direction {
    /// Whether there can be such a link.
    ///
    /// # Errors
    ///
    /// What cannot be and what can, in one sentence.
    pub fn check(&self) -> Result<()> {
        let Direction { loss, reorder, .. } = *self;
        ensure!(self.rate != Some(0), "a rate of 0; it is at least 1 bit/s");
        for (name, share) in [("loss", loss), ("reorder", reorder)] {
            ensure!(
                (0.0..=1.0).contains(&share),
                "a {name} of {share}; it is a probability from 0 to 1"
            );
        }
        if let Some(run) = self.loss_run {
            // A single good packet between two runs is the least.
            let least = (loss / (1.0 - loss)).max(1.0);
            ensure!(
                run >= least && run.is_finite(),
                "losses in runs of {run}; at a loss of {loss} it is at least {least}"
            );
        }
        Ok(())
    }
}

impl Queue {
    /// The least that a queue in BDPs holds: an initial window of RFC 9002 7.2,
    /// ten datagrams. The BDP of a short path is less than one datagram, and
    /// no real queue is.
    pub const LEAST: u64 = 10 * 1500;

    /// The size in bytes behind a bottleneck of `rate` bits per second on a
    /// path whose propagation delays sum up to `round_trip`.
    pub fn bytes(self, rate: u64, round_trip: Duration) -> u64 {
        match self {
            Queue::Bytes(bytes) => bytes,
            Queue::Bdp(multiple) => {
                let bdp = rate as f64 / 8.0 * round_trip.as_secs_f64();
                ((multiple * bdp).round() as u64).max(Self::LEAST)
            }
        }
    }
}

impl Default for Direction {
    fn default() -> Self {
        Direction {
            rate: None,
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            loss: 0.0,
            loss_run: None,
            reorder: 0.0,
            grid: Duration::ZERO,
            queue: Queue::Bdp(1.0),
        }
    }
}

/// Bytes of the IPv4 and UDP headers of a datagram.
pub const IP_AND_UDP_HEADERS: usize = 20 + 8;

/// QUIC's own bytes in a full-sized packet that carries one STREAM frame.
const QUIC_OVERHEAD: usize = 1 + 20 + 2 // short header (RFC 9000 17.3.1): flags, a 20-byte connection ID, packet number
    + 16 // AEAD tag (RFC 9001 5.3)
    + 1 + 1 + 4 + 2; // STREAM frame (RFC 9000 19.8): type, stream ID, offset from 16 kB on, length

/// The most HTTP/3 body bits per second that a link can carry: what is left of
/// its rate after losses and after the headers of full-sized packets.
///
/// `rate` is in bits of IP packets per second, `loss` a probability,
/// `max_datagram_size` the UDP payload in bytes. HTTP/3's DATA frame headers,
/// a few bytes for each body, are left out.
pub fn goodput_limit(rate: u64, loss: f64, max_datagram_size: usize) -> f64 {
    let body = max_datagram_size.saturating_sub(QUIC_OVERHEAD);
    let packet = max_datagram_size + IP_AND_UDP_HEADERS;
    rate as f64 * (1.0 - loss) * body as f64 / packet as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        let wrong = |direction: Direction| direction.check().unwrap_err().to_string();
        let link = Direction::default;
        assert!(link().check().is_ok());
        assert!(wrong(Direction {
            rate: Some(0),
            ..link()
        })
        .contains("1 bit/s"));
        assert!(wrong(Direction {
            loss: 1.5,
            ..link()
        })
        .contains("loss of 1.5"));
        assert!(wrong(Direction {
            reorder: f64::NAN,
            ..link()
        })
        .contains("reorder"));
        let runs = |loss, run| Direction {
            loss,
            loss_run: Some(run),
            ..link()
        };
        assert!(runs(0.75, 3.0).check().is_ok());
        assert!(wrong(runs(0.75, 2.5)).contains("at least 3"));
        assert!(wrong(runs(0.01, 0.5)).contains("at least 1"));
        assert!(wrong(runs(1.0, 5.0)).contains("at least inf"));
    }

    #[test]
    fn goodput_limit_is_rate_less_losses_less_headers() {
        // 1350 bytes of UDP payload carry 1303 of body in 1378 of IP.
        let lossless = goodput_limit(13_780_000, 0.0, 1350);
        assert!((lossless - 13_030_000.0).abs() < 1e-3, "{lossless}");
        let halved = goodput_limit(13_780_000, 0.5, 1350);
        assert!((halved - 6_515_000.0).abs() < 1e-3, "{halved}");
        assert_eq!(goodput_limit(10_000_000, 0.0, 20), 0.0);
    }
}
