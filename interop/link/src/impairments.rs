//! Impairments of the interop runner's scenarios, after the link: packets are dropped, corrupted or
//! blocked. They apply to UDP only.

use std::str::FromStr;
use std::time::Duration;

use petra_lab::sim::Nanos;
use petra_lab::units::parse_duration;
use rand_pcg::rand_core::Rng;
use rand_pcg::Pcg64;

use crate::packet::{seal, udp, UDP_HEADER};

/// Corruption hits the first bytes of the payload, most of which are QUIC's header.
const CORRUPTIBLE: usize = 50;

/// Impairments on the command line. They apply in both directions by default.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "The interop runner's scenarios")]
#[group(id = "impairments")]
pub(crate) struct Options {
    /// Percentage of datagrams to drop
    #[arg(long, value_name = "PERCENT", default_value_t = 0)]
    drop: u32,

    /// Percentage of datagrams in which to change a byte
    #[arg(long, value_name = "PERCENT", default_value_t = 0)]
    corrupt: u32,

    /// Maximum number of consecutive datagrams to drop or change
    #[arg(long, value_name = "DATAGRAMS", default_value_t = 3)]
    in_a_row: u32,

    /// Drop everything for a time, `5s+2s`: from 5 s on for 2 s, counted from the first
    /// datagram of the direction
    #[arg(long, value_name = "TIME+TIME")]
    blackhole: Option<Blackhole>,

    /// Drop these datagrams to the server, counted from 1
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    drop_to_server: Vec<u64>,
}

/// Start and length of a black hole.
#[derive(Clone, Copy, Debug)]
struct Blackhole {
    from: Duration,
    lasts: Duration,
}

impl FromStr for Blackhole {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (from, lasts) = text
            .split_once('+')
            .ok_or_else(|| format!("`{text}` is not like 5s+2s"))?;
        Ok(Blackhole {
            from: parse_duration(from)?,
            lasts: parse_duration(lasts)?,
        })
    }
}

/// The impairments of one direction.
pub(crate) struct Impairments {
    options: Options,
    random: Pcg64,
    begun: Option<Nanos>,
    datagrams: u64,
    in_a_row: u32,
}

impl Options {
    /// For one direction.
    pub(crate) fn of(&self, to_server: bool, random: Pcg64) -> Impairments {
        let mut options = self.clone();
        if !to_server {
            options.drop_to_server.clear();
        }
        Impairments {
            options,
            random,
            begun: None,
            datagrams: 0,
            in_a_row: 0,
        }
    }
}

impl Impairments {
    /// Applies the impairments, which may change the packet. Returns true if the packet continues.
    pub(crate) fn passes(&mut self, now: Nanos, packet: &mut [u8]) -> bool {
        let Some(at) = udp(packet) else {
            return true;
        };
        self.datagrams += 1;
        let since = Duration::from_nanos(now - *self.begun.get_or_insert(now));
        let swallowed = |hole: Blackhole| hole.from <= since && since < hole.from + hole.lasts;
        if self.options.blackhole.is_some_and(swallowed)
            || self.options.drop_to_server.contains(&self.datagrams)
        {
            return false;
        }
        let Options { drop, corrupt, .. } = self.options;
        if drop > 0 {
            return !self.strikes(drop);
        }
        if corrupt > 0 && self.strikes(corrupt) {
            self.corrupt(packet, at);
        }
        true
    }

    /// Returns true if this datagram is to be impaired.
    fn strikes(&mut self, percent: u32) -> bool {
        let strikes =
            self.in_a_row < self.options.in_a_row && self.random.next_u32() % 100 < percent;
        self.in_a_row = if strikes { self.in_a_row + 1 } else { 0 };
        strikes
    }

    fn corrupt(&mut self, packet: &mut [u8], at: usize) {
        let payload = &mut packet[at + UDP_HEADER..];
        let within = payload.len().min(CORRUPTIBLE);
        if within > 0 {
            let place = self.random.next_u32() as usize % within;
            // Another byte for sure.
            payload[place] ^= (1 + self.random.next_u32() % 255) as u8;
            // So that it is QUIC that notices.
            seal(packet, at);
        }
    }
}
