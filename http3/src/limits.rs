//! Limits of a server on connections.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use quiche::ConnectionId;

/// Time for which a client may be silent in its handshake, while others wait for its place.
const MAX_SILENCE: Duration = Duration::from_secs(3);

/// Time that a handshake may take, while others wait for its place.
const MAX_HANDSHAKE: Duration = Duration::from_secs(10);

/// Time that a handshake has before it makes room for another, unless its network has many. Most
/// handshakes are over by then.
const UNDISTURBED: Duration = Duration::from_millis(250);

/// Share of all handshakes, as one in so many, that are many for one network.
const MANY: usize = 10;

/// Handshakes of one network that need not wait for one of another, as of a browser.
const FEW: usize = 4;

/// An unfinished handshake.
struct Handshake {
    /// The client's network. `None` if it has not shown that it receives there.
    network: Option<IpAddr>,
    begun: Instant,
    /// Time of the client's last datagram.
    heard: Instant,
}

impl Handshake {
    fn is_overdue(&self, now: Instant) -> bool {
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

/// The unfinished handshakes of a server.
#[derive(Default)]
pub struct Handshakes(HashMap<ConnectionId<'static>, Handshake>);

impl Handshakes {
    /// Takes note of a handshake that begins. `client` is its address, if that is validated.
    pub fn begin(&mut self, id: ConnectionId<'static>, client: Option<IpAddr>, now: Instant) {
        let handshake = Handshake {
            network: client.map(network),
            begun: now,
            heard: now,
        };
        self.0.insert(id, handshake);
    }

    /// Takes note of a datagram, if the handshake is unfinished.
    pub fn hear(&mut self, id: &ConnectionId<'static>, now: Instant) {
        if let Some(handshake) = self.0.get_mut(id) {
            handshake.heard = now;
        }
    }

    /// Forgets a handshake that is over, if it is still unfinished here.
    pub fn end(&mut self, id: &ConnectionId<'static>) {
        self.0.remove(id);
    }

    /// Number of unfinished handshakes.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the handshakes that have to make room while others wait.
    pub fn overdue(&self, now: Instant) -> Vec<ConnectionId<'static>> {
        let overdue = self.0.iter().filter(|(_, it)| it.is_overdue(now));
        overdue.map(|(id, _)| id.clone()).collect()
    }

    /// Chooses the handshake that makes room for one of `newcomer`, whose address is validated: the
    /// oldest, as its age is what a client cannot pretend. If the newcomer's network has four, it
    /// must be of a network that has more than twice as many. A handshake whose network has at most
    /// a tenth of all gets 250 ms. Clients without a validated address count as one network.
    pub fn make_room(&self, newcomer: IpAddr, now: Instant) -> Option<ConnectionId<'static>> {
        let mut counts: HashMap<Option<IpAddr>, usize> = HashMap::new();
        for handshake in self.0.values() {
            *counts.entry(handshake.network).or_default() += 1;
        }
        let own = counts.get(&Some(network(newcomer))).copied().unwrap_or(0);
        let makes_room = |handshake: &Handshake| {
            let count = counts[&handshake.network];
            let old = handshake.begun + UNDISTURBED <= now;
            (own < FEW || count > 2 * own) && (old || count * MANY > self.count())
        };
        let candidates = self.0.iter().filter(|(_, it)| makes_room(it));
        let oldest = candidates.min_by_key(|(_, it)| it.begun);
        oldest.map(|(id, _)| id.clone())
    }
}

/// Options of a server that limit what clients can make it hold.
#[derive(clap::Args)]
pub struct Limits {
    /// Maximum number of connections; beyond it, the first packets of others are dropped
    #[arg(long, value_name = "N", default_value_t = 10_000,
          value_parser = clap::value_parser!(u32).range(1..))]
    max_connections: u32,

    /// Maximum number of connections whose handshake is not finished; beyond it, those that take 10
    /// s or whose client is silent for 3 s are closed, the oldest makes room for a client whose
    /// address is validated, and other first packets are dropped
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

    /// Handshakes by the client's address, if it is validated, and their age in ms.
    fn handshakes(now: Instant, all: &[(&str, u64)]) -> Handshakes {
        let mut handshakes = Handshakes::default();
        for (number, (client, age)) in all.iter().enumerate() {
            let id = ConnectionId::from_vec(vec![number as u8]);
            let begun = now - Duration::from_millis(*age);
            handshakes.begin(id, client.parse().ok(), begun);
        }
        handshakes
    }

    #[test]
    fn a_handshake_is_overdue_after_silence_or_by_its_age() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut handshakes = handshakes(begun, &[("192.0.2.1", 0)]);
        let id = ConnectionId::from_vec(vec![0]);
        let overdue = |handshakes: &Handshakes, seconds| handshakes.overdue(at(seconds)).len();
        assert_eq!(overdue(&handshakes, 2), 0);
        assert_eq!(overdue(&handshakes, 3), 1);
        for second in 1..=9 {
            handshakes.hear(&id, at(second));
            assert_eq!(overdue(&handshakes, second), 0);
        }
        assert_eq!(overdue(&handshakes, 10), 1);
        handshakes.end(&id);
        assert_eq!((overdue(&handshakes, 10), handshakes.count()), (0, 0));
    }

    #[test]
    fn networks_with_more_handshakes_make_room() {
        let now = Instant::now();
        let room = |all: &[(&str, u64)], newcomer: &str| {
            let id = handshakes(now, all).make_room(newcomer.parse().unwrap(), now);
            id.map(|id| id[0] as usize)
        };
        let mut all = vec![("2001:db8::1", 1), ("2001:db8::2", 9), ("192.0.2.1", 5)];
        assert_eq!(room(&[], "192.0.2.1"), None);
        assert_eq!(room(&all, "192.0.2.1"), Some(1));
        // With few of its own, a newcomer has the oldest place of all.
        all.extend([("192.0.2.1", 22), ("192.0.2.1", 21), ("192.0.2.1", 20)]);
        assert_eq!(room(&all, "192.0.2.2"), Some(3));
        assert_eq!(room(&all, "2001:db8::3"), Some(3));
        // With four, it has one of a network with more than twice as many.
        assert_eq!(room(&all, "::ffff:192.0.2.1"), None);
        all.extend([("2001:db8::4", 10)]);
        all.extend([("2001:db8::4", 7); 5]);
        assert_eq!(room(&all, "192.0.2.1"), None);
        all.push(("2001:db8::5", 8));
        assert_eq!(room(&all, "192.0.2.1"), Some(6));
        // Of IPv6 addresses, 64 bits count.
        assert_eq!(room(&all, "2001:db8::6"), None);
        assert_eq!(room(&all, "2001:db8:0:1::6"), Some(3));
        // Who borrows the newcomer's address does not count for it.
        let mut spoofed = vec![("-", 1); 9];
        spoofed[0].1 = 2;
        assert_eq!(room(&spoofed, "192.0.2.1"), Some(0));
    }

    #[test]
    fn a_handshake_of_a_network_with_few_is_undisturbed_for_a_time() {
        let now = Instant::now();
        let clients: Vec<String> = (0..20).map(|host| format!("192.0.2.{host}")).collect();
        let of_age = |age: u64| {
            let all: Vec<(&str, u64)> = clients.iter().map(|it| (it.as_str(), age)).collect();
            handshakes(now, &all).make_room("203.0.113.1".parse().unwrap(), now)
        };
        assert_eq!(of_age(249), None);
        assert!(of_age(250).is_some());
    }

    #[test]
    fn under_load_addresses_are_validated() {
        let when = |retry| [0, 1, 2, 4].map(|handshakes| limits(retry).validate(handshakes));
        assert_eq!(when(Retry::Load), [false, false, true, true]);
        assert_eq!(when(Retry::Always), [true; 4]);
        assert_eq!(when(Retry::Never), [false; 4]);
    }
}
