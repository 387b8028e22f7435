//! quinn, noq and s2n-quic in virtual time over a simulated link, so that their controllers are
//! compared on one link.
//!
//! quinn and noq take the time as an argument, and s2n-quic has a network for tests. A server
//! sends without end to a client:
//!
//! ```text
//!  server ──▶ queue, rate, delay, random loss ──▶ client
//!         ◀────────────── delay ───────────────
//! ```
//!
//! The link counts IP packets, as `petra-lab sim` does. Random numbers of the link and of the
//! stacks follow from a seed. Those of TLS and of s2n-quic do not.

mod link;
mod s2n_quic;
mod stack;

use std::collections::BinaryHeap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure, Result};
pub use link::Link;
use link::{Bottleneck, Queueing};
use stack::End;

/// Bytes of a datagram: those of `petra-lab sim`.
pub const DATAGRAM: u16 = 1_350;

/// Steps at one instant after which the time stands still.
const MAX_STEPS: u32 = 1_000;

/// The addresses of both ends, which nothing listens on.
const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 443);
const CLIENT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 4433);

/// The stack of both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stack {
    /// quinn-proto, with `cubic`, `newreno` and `bbr` of its own.
    Quinn,
    /// noq-proto, with `cubic`, `newreno` and `bbr3` of its own.
    Noq,
    /// s2n-quic, with `cubic` and `bbr` of its own.
    S2nQuic,
}

impl std::str::FromStr for Stack {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "quinn" => Ok(Self::Quinn),
            "noq" => Ok(Self::Noq),
            "s2n-quic" => Ok(Self::S2nQuic),
            _ => bail!("stack: unknown name (got {text:?}); expected quinn, noq or s2n-quic"),
        }
    }
}

/// The measurements of a transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Bytes of the stream that the client has read, in bits per second.
    pub goodput: f64,
    /// That, as a share of the highest that the link permits.
    pub share: f64,
    /// Mean queueing delay of the packets at the bottleneck.
    pub queue_mean: Duration,
    /// Its 95th percentile.
    pub queue_p95: Duration,
    /// Packets that the server sent.
    pub sent: u64,
    /// Of these, dropped by the full queue.
    pub tail_drops: u64,
    /// Of these, lost at random.
    pub losses: u64,
    /// Of these, marked Congestion Experienced.
    pub marks: u64,
}

/// A datagram on its way.
struct Packet {
    at: Duration,
    /// The order of packets that arrive at one instant.
    number: u64,
    to_client: bool,
    marked: bool,
    data: Vec<u8>,
}

impl Ord for Packet {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl PartialOrd for Packet {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Packet {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Packet {}

/// Transfers from a server with this controller, for this long.
///
/// # Errors
///
/// An unknown controller, or a connection that ends.
pub fn transfer(stack: Stack, controller: &str, link: &Link, time: Duration) -> Result<Outcome> {
    match stack {
        Stack::Quinn => run(&mut stack::quinn::pair(controller, link.seed)?, link, time),
        Stack::S2nQuic => s2n_quic::transfer(controller, link, time),
        Stack::Noq => run(&mut stack::noq::pair(controller, link.seed)?, link, time),
    }
}

/// Runs two ends, the server first.
fn run<E: End>(ends: &mut [E; 2], link: &Link, time: Duration) -> Result<Outcome> {
    let origin = Instant::now();
    let mut bottleneck = Bottleneck::new(*link);
    let mut packets = BinaryHeap::new();
    let mut now = Duration::ZERO;
    let mut number = 0;
    let mut sent = 0;
    let mut steps = 0;
    while now < time {
        let at = origin + now;
        for (end, to_client) in ends.iter_mut().zip([true, false]) {
            end.work(at)?;
            while let Some((data, capable)) = end.transmit(at) {
                number += 1;
                let queueing = if to_client {
                    sent += 1;
                    bottleneck.pass(now, data.len(), capable)
                } else {
                    Some(Queueing::unlimited(now, link))
                };
                packets.extend(queueing.map(|queueing| Packet {
                    at: queueing.arrival,
                    number,
                    to_client,
                    marked: queueing.marked,
                    data,
                }));
            }
        }
        let arrival = packets.peek().map(|packet: &Packet| packet.at);
        let timer = ends.iter_mut().filter_map(End::timeout).min();
        let timer = timer.map(|timer| timer.saturating_duration_since(origin));
        let Some(next) = [arrival, timer].into_iter().flatten().min() else {
            bail!("connection: nothing left to do at {now:?}; expected a transfer of {time:?}");
        };
        steps = if next > now { 0 } else { steps + 1 };
        ensure!(
            steps < MAX_STEPS,
            "time: {MAX_STEPS} steps (got {now:?} after each); expected later times"
        );
        now = next.max(now);
        for end in &mut *ends {
            end.expire(origin + now);
        }
        while packets.peek().is_some_and(|packet| packet.at <= now) {
            let packet = packets.pop().expect("there is one");
            let end = &mut ends[usize::from(packet.to_client)];
            end.receive(origin + now, &packet.data, packet.marked);
        }
    }
    let goodput = ends[1].read() as f64 * 8.0 / time.as_secs_f64();
    Ok(bottleneck.outcome(goodput, sent))
}

/// A shared certificate for all connections of a process.
fn identity() -> Result<Arc<rcgen::CertifiedKey<rcgen::KeyPair>>> {
    // The signatures of Ed25519 are all of one length, so that the handshake is.
    let signing_key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519)?;
    let cert = rcgen::CertificateParams::new(["localhost".into()])?.self_signed(&signing_key)?;
    Ok(Arc::new(rcgen::CertifiedKey { cert, signing_key }))
}
