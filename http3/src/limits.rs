//! Limits of a server on connections.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use clap::ValueEnum;

/// Time for which a client may be silent in its handshake, while others wait for its place.
const MAX_SILENCE: Duration = Duration::from_secs(3);

/// Time that a handshake may take, while others wait for its place.
const MAX_HANDSHAKE: Duration = Duration::from_secs(10);

/// An unfinished handshake.
pub struct Handshake {
    network: IpAddr,
    begun: Instant,
    /// Time of the client's last datagram.
    heard: Instant,
}

impl Handshake {
    /// A handshake that a client begins now.
    pub fn begin(client: IpAddr, now: Instant) -> Handshake {
        Handshake {
            network: network(client),
            begun: now,
            heard: now,
        }
    }

    /// Takes note of a datagram.
    pub fn hear(&mut self, now: Instant) {
        self.heard = now;
    }

    /// Returns true if the handshake, unfinished, has to make room for others.
    pub fn is_overdue(&self, now: Instant) -> bool {
        self.heard + MAX_SILENCE <= now || self.begun + MAX_HANDSHAKE <= now
    }
}

/// The part of an address that tells networks apart: an IPv4 address, or the first 64 bits of an
/// IPv6 address, the rest of which a client can choose.
fn network(client: IpAddr) -> IpAddr {
    match client.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into()
        }
    }
}

/// Chooses the handshake that makes room for one of `newcomer`: of the networks that have more than
/// twice as many unfinished ones as the newcomer's, the oldest. Its age is what a client cannot
/// pretend.
pub fn makes_room<'a, K>(
    unfinished: impl Iterator<Item = (K, &'a Handshake)> + Clone,
    newcomer: IpAddr,
) -> Option<K> {
    let mut counts: HashMap<IpAddr, usize> = HashMap::new();
    for (_, handshake) in unfinished.clone() {
        *counts.entry(handshake.network).or_default() += 1;
    }
    let own = counts.get(&network(newcomer)).copied().unwrap_or_default();
    let greedy = unfinished.filter(|(_, handshake)| counts[&handshake.network] > 2 * own);
    let oldest = greedy.min_by_key(|(_, handshake)| handshake.begun);
    oldest.map(|(key, _)| key)
}

/// Options of a server that limit what clients can make it hold.
#[derive(clap::Args)]
pub struct Limits {
    /// Maximum number of connections; beyond it, the first packets of others are dropped
    #[arg(long, value_name = "N", default_value_t = 10_000,
          value_parser = clap::value_parser!(u32).range(1..))]
    max_connections: u32,

    /// Maximum number of connections whose handshake is not finished; beyond it, those that
    /// take 10 s or whose client is silent for 3 s are closed; networks with more than twice as
    /// many as a newcomer's make room for it; and other first packets are dropped
    #[arg(long, value_name = "N", default_value_t = 1_000,
          value_parser = clap::value_parser!(u32).range(1..))]
    max_handshakes: u32,

    /// Validation of the clients' addresses by Retry packets
    #[arg(long, value_enum, value_name = "WHEN", default_value = "load")]
    retry: Retry,
}

/// Condition for Retry packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Retry {
    /// For each connection
    Always,
    /// While at least half of --max-handshakes are unfinished
    Load,
    /// For none
    Never,
}

impl Limits {
    /// Returns true if there are so many connections that no other may begin.
    pub fn full(&self, connections: usize) -> bool {
        connections >= self.max_connections as usize
    }

    /// Returns true if so many handshakes are unfinished that one has to make room for another.
    pub fn crowded(&self, handshakes: usize) -> bool {
        handshakes >= self.max_handshakes as usize
    }

    /// Returns true if the next connection needs a validated address.
    pub fn validate(&self, handshakes: usize) -> bool {
        match self.retry {
            Retry::Always => true,
            Retry::Load => 2 * handshakes >= self.max_handshakes as usize,
            Retry::Never => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn limits(retry: Retry) -> Limits {
        Limits {
            max_connections: 10,
            max_handshakes: 4,
            retry,
        }
    }

    #[test]
    fn both_limits_hold() {
        let limits = limits(Retry::Load);
        assert!(limits.full(10) && !limits.full(9));
        assert!(limits.crowded(4) && !limits.crowded(3));
    }

    #[test]
    fn a_handshake_is_overdue_after_silence_or_by_its_age() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut handshake = Handshake::begin(Ipv4Addr::LOCALHOST.into(), begun);
        assert!(!handshake.is_overdue(at(2)));
        assert!(handshake.is_overdue(at(3)));
        for second in 1..=9 {
            handshake.hear(at(second));
            assert!(!handshake.is_overdue(at(second)));
        }
        assert!(handshake.is_overdue(at(10)));
    }

    #[test]
    fn networks_with_many_handshakes_make_room() {
        let begun = Instant::now();
        let handshake = |(client, age): (&str, u64)| {
            Handshake::begin(client.parse().unwrap(), begun - Duration::from_millis(age))
        };
        let all = [
            ("2001:db8::1", 1),
            ("2001:db8::2", 9),
            ("2001:db8::3", 5),
            ("192.0.2.1", 50),
            ("203.0.113.1", 60),
        ]
        .map(handshake);
        let room = |of: &[Handshake], newcomer: &str| {
            let begun_of = of.iter().map(|one| (one.begun, one));
            let oldest = makes_room(begun_of, newcomer.parse().unwrap());
            oldest.map(|oldest| (begun - oldest).as_millis())
        };
        // Of IPv6 addresses, 64 bits count.
        assert_eq!(room(&all, "2001:db8::4"), None);
        assert_eq!(room(&all, "2001:db8:0:1::4"), Some(60));
        assert_eq!(room(&all, "192.0.2.2"), Some(60));
        assert_eq!(room(&all, "192.0.2.1"), Some(9));
        assert_eq!(room(&all[1..], "::ffff:192.0.2.1"), None);
        assert_eq!(room(&all[3..], "192.0.2.1"), None);
        assert_eq!(room(&[], "192.0.2.1"), None);
    }

    #[test]
    fn under_load_addresses_are_validated() {
        let when = |retry| [0, 1, 2, 4].map(|handshakes| limits(retry).validate(handshakes));
        assert_eq!(when(Retry::Load), [false, false, true, true]);
        assert_eq!(when(Retry::Always), [true; 4]);
        assert_eq!(when(Retry::Never), [false; 4]);
    }
}
