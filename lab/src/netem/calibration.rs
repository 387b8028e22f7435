//! Calibration: properties of the real link, measured before each run.

use std::net::UdpSocket;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{ensure, Context, Result};
use petra_qlog::stats::quantile;
use serde::{Deserialize, Serialize};

use crate::link::{Direction, Link, IP_AND_UDP_HEADERS};
use crate::testbed::{within, MAX_DATAGRAM_SIZE};

use super::network::{statistics, Place, CLIENT, DOWN_BOTTLENECK, SERVER, UP_BOTTLENECK};

/// The port of both ends.
const PORT: u16 = 5000;

/// Probes for the round-trip time.
const PROBES: u32 = 20;

/// Every datagram has a number in front.
const NUMBER: usize = size_of::<u32>();

/// The link as measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Calibration {
    /// Round-trip times of full-sized datagrams and small answers over the
    /// idle link, in milliseconds.
    pub rtt_ms: Spread,
    /// RTT probes sent.
    pub probes: u32,
    /// RTT probes with a response.
    pub answered: u32,
    /// Bits of IP packets per second that came through at overload, where the
    /// direction has a rate.
    pub down_rate_bps: Option<f64>,
    /// The same of the way back.
    pub up_rate_bps: Option<f64>,
    /// Duration of 100 sleeps of 1 ms, in milliseconds. Pacing from user space is no finer than
    /// this.
    pub sleep_of_1ms_ms: Spread,
}

/// Statistics of measured values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub(super) struct Spread {
    pub min: f64,
    pub median: f64,
    pub max: f64,
}

impl Spread {
    /// Of at least one value.
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let [min, median, max] = [0.0, 0.5, 1.0].map(|share| quantile(&values, share));
        Spread { min, median, max }
    }

    /// Of the duration of 100 sleeps of 1 ms, in milliseconds.
    pub(super) fn of_sleeps() -> Self {
        let sleep = |_| {
            let start = Instant::now();
            thread::sleep(Duration::from_millis(1));
            start.elapsed().as_secs_f64() * 1e3
        };
        Spread::of((0..100).map(sleep).collect())
    }
}

impl Calibration {
    /// Measures the network that this process has built.
    pub(super) fn measure(link: &Link) -> Result<Self> {
        let server = within("server", || UdpSocket::bind((SERVER, PORT)))??;
        let client = within("client", || UdpSocket::bind((CLIENT, PORT)))??;
        server.connect((CLIENT, PORT))?;
        client.connect((SERVER, PORT))?;

        let (rtts, sent) = round_trips(link, &server, &client)?;
        ensure!(
            !rtts.is_empty(),
            "none of {sent} probes came back over the link"
        );
        Ok(Calibration {
            probes: sent,
            answered: rtts.len() as u32,
            rtt_ms: Spread::of(rtts),
            down_rate_bps: rate(&link.down, link, &server, &client, DOWN_BOTTLENECK)?,
            up_rate_bps: rate(&link.up, link, &client, &server, UP_BOTTLENECK)?,
            sleep_of_1ms_ms: Spread::of_sleeps(),
        })
    }
}

/// Round-trip times in milliseconds, and the number of probes.
fn round_trips(link: &Link, server: &UdpSocket, client: &UdpSocket) -> Result<(Vec<f64>, u32)> {
    // Probes do not queue behind each other, and find a slot at other times
    // than the probes before.
    let spacing = Duration::from_micros(10_700).max(3 * transmission(&link.down));
    let patience = patience(link);
    client.set_read_timeout(Some(PROBES * spacing + patience))?;

    let echo = || -> Result<()> {
        let mut buffer = [0; MAX_DATAGRAM_SIZE];
        while let Ok(length) = client.recv(&mut buffer) {
            if length == NUMBER {
                break;
            }
            client.send(&buffer[..NUMBER])?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let echo = scope.spawn(echo);
        let mut buffer = [0; MAX_DATAGRAM_SIZE];
        let mut sent = Vec::new();
        let mut rtts = Vec::new();
        let start = Instant::now();
        let end = PROBES * spacing + patience;
        while start.elapsed() < end && rtts.len() < PROBES as usize {
            let due = spacing * sent.len() as u32;
            if sent.len() < PROBES as usize && start.elapsed() >= due {
                let number = sent.len() as u32;
                buffer[..NUMBER].copy_from_slice(&number.to_be_bytes());
                sent.push(Instant::now());
                server.send(&buffer)?;
                continue;
            }
            let until = if sent.len() < PROBES as usize {
                due
            } else {
                end
            };
            let wait = until.saturating_sub(start.elapsed());
            server.set_read_timeout(Some(wait.max(Duration::from_micros(1))))?;
            let mut answer = [0; NUMBER];
            if server.recv(&mut answer).is_ok() {
                if let Some(sent) = sent.get(u32::from_be_bytes(answer) as usize) {
                    rtts.push(sent.elapsed().as_secs_f64() * 1e3);
                }
            }
        }
        server.send(&[0; NUMBER])?;
        echo.join().expect("the echo does not panic")?;
        Ok((rtts, sent.len() as u32))
    })
}

/// Sends more than `direction` carries, and measures what arrives.
fn rate(
    direction: &Direction,
    link: &Link,
    from: &UdpSocket,
    to: &UdpSocket,
    bottleneck: Place,
) -> Result<Option<f64>> {
    if direction.rate.is_none() {
        return Ok(None);
    }
    // What passes in a second, within reason.
    let packet = transmission(direction);
    let count = (1.0 / packet.as_secs_f64()).clamp(20.0, 500.0) as u32;
    let before = passed(bottleneck)?;

    let send = || -> Result<()> {
        let datagram = [0; MAX_DATAGRAM_SIZE];
        let start = Instant::now();
        for number in 0..count {
            let due = packet.mul_f64(0.8) * number;
            thread::sleep(due.saturating_sub(start.elapsed()));
            from.send(&datagram)?;
        }
        Ok(())
    };
    let receive = || -> Result<Option<(Instant, Instant)>> {
        let mut buffer = [0; MAX_DATAGRAM_SIZE];
        let mut times = None;
        // The longest wait is the one for the first packet, with a queue and
        // several losses in a row behind it.
        to.set_read_timeout(Some(patience(link) + 20 * packet))?;
        while let Ok(length) = to.recv(&mut buffer) {
            if length == MAX_DATAGRAM_SIZE {
                let now = Instant::now();
                let (first, _) = times.unwrap_or((now, now));
                times = Some((first, now));
            }
        }
        Ok(times)
    };
    let times = thread::scope(|scope| {
        let receiver = scope.spawn(receive);
        send()?;
        receiver.join().expect("the receiver does not panic")
    })?;
    let (first, last) = times.context("no packet of a test of the rate arrived")?;
    // What passed the bottleneck and was lost behind it has used the rate.
    let bytes = passed(bottleneck)?.saturating_sub(before);
    let packets = bytes / (MAX_DATAGRAM_SIZE + IP_AND_UDP_HEADERS + ETHERNET) as u64;
    let bits = 8 * packets.saturating_sub(1) * (MAX_DATAGRAM_SIZE + IP_AND_UDP_HEADERS) as u64;
    Ok(Some(bits as f64 / (last - first).as_secs_f64()))
}

/// Bytes of the Ethernet header, which qdiscs count.
const ETHERNET: usize = 14;

/// Bytes that a qdisc has let pass.
fn passed(place: Place) -> Result<u64> {
    let netem = statistics(place)?.context("the bottleneck has no netem")?;
    netem["bytes"]
        .as_u64()
        .context("`tc -s -j`: missing `bytes`; expected those of netem")
}

/// Transmission time of a full-sized packet.
fn transmission(direction: &Direction) -> Duration {
    let bits = 8.0 * (MAX_DATAGRAM_SIZE + IP_AND_UDP_HEADERS) as f64;
    direction.rate.map_or(Duration::ZERO, |rate| {
        Duration::from_secs_f64(bits / rate as f64)
    })
}

/// Time to wait for a probe that may be lost.
fn patience(link: &Link) -> Duration {
    let [down, up] = [&link.down, &link.up].map(|direction| {
        direction.delay + 4 * direction.jitter + direction.slot + transmission(direction)
    });
    down + up + Duration::from_millis(200)
}
