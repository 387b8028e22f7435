//! A NAT that forgets: from time to time the client has another port, and
//! another address, for the server. IPv4 alone.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use petra_lab::sim::Nanos;
use petra_lab::units::parse_duration;
use rand_pcg::rand_core::Rng;
use rand_pcg::Pcg64;

use crate::packet::{address, port, put, seal, udp};

/// Offset of the source address in an IPv4 header.
const SOURCE: usize = 12;
const DESTINATION: usize = 16;

/// Times of rebinding, on the command line.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "The interop runner's scenarios")]
#[group(id = "translation")]
pub(crate) struct Options {
    /// Rebind the client's port, for the first time this long after its first datagram
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    rebind: Option<Duration>,

    /// Interval of further rebindings
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration)]
    rebind_every: Duration,

    /// Rebind the address as well
    #[arg(long)]
    rebind_address: bool,
}

/// The translation of both directions.
pub(crate) struct Translation {
    options: Options,
    random: Pcg64,
    /// Time of the next rebinding.
    due: Option<Nanos>,
    /// The client's address as the server sees it, after the first change.
    outside: Option<Ipv4Addr>,
    inside: Option<Ipv4Addr>,
    /// The outside ports of inside ports.
    ports: HashMap<u16, u16>,
}

impl Translation {
    pub(crate) fn new(options: &Options, random: Pcg64) -> Translation {
        Translation {
            options: options.clone(),
            random,
            due: None,
            outside: None,
            inside: None,
            ports: HashMap::new(),
        }
    }

    /// Translates a packet. Returns false for a packet without a destination.
    pub(crate) fn translate(&mut self, now: Nanos, to_server: bool, packet: &mut [u8]) -> bool {
        let (Some(first), Some(at)) = (self.options.rebind, udp(packet)) else {
            return true;
        };
        if packet[0] >> 4 != 4 {
            return true;
        }
        let due = *self.due.get_or_insert(now + first.as_nanos() as Nanos);
        if due <= now {
            self.forget();
            self.due = Some(due + self.options.rebind_every.as_nanos() as Nanos);
        }
        if to_server {
            let inside = port(packet, at);
            let outside = *self.ports.entry(inside).or_insert(inside);
            self.inside = Some(address(packet, SOURCE));
            put(packet, at, outside);
            if let Some(outside) = self.outside {
                packet[SOURCE..SOURCE + 4].copy_from_slice(&outside.octets());
            }
        } else {
            let (to, outside) = (address(packet, DESTINATION), port(packet, at + 2));
            let bound = self.ports.iter().find(|(_, port)| **port == outside);
            let Some((&inside, _)) = bound.filter(|_| Some(to) == self.outside.or(self.inside))
            else {
                return false;
            };
            put(packet, at + 2, inside);
            if let Some(inside) = self.inside {
                packet[DESTINATION..DESTINATION + 4].copy_from_slice(&inside.octets());
            }
        }
        seal(packet, at);
        true
    }

    fn forget(&mut self) {
        for outside in self.ports.values_mut() {
            *outside = 1024 + (self.random.next_u32() % 60_000) as u16;
        }
        if let (true, Some(inside)) = (self.options.rebind_address, self.inside) {
            let old = self.outside.unwrap_or(inside);
            let [a, b, c, _] = inside.octets();
            // A neighbour that is neither of the two, nor the gateway.
            self.outside = (0..)
                .map(|_| 10 + (self.random.next_u32() % 200) as u8)
                .map(|last| Ipv4Addr::new(a, b, c, last))
                .find(|new| *new != old && *new != inside);
        }
    }
}
