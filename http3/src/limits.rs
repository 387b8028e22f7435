//! Limits of a server on connections.

use std::collections::{HashMap, VecDeque};
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

/// Divisor of the number of all handshakes. A network with more than this share is a crowd.
const CROWD_DIVISOR: usize = 10;

/// Least handshakes of a crowd. Those of one browser are fewer, and need not wait for others.
const MIN_CROWD: usize = 4;

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

/// The handshakes of a server: the unfinished ones, and the times at which others failed.
#[derive(Default)]
pub struct Handshakes {
    unfinished: HashMap<ConnectionId<'static>, Handshake>,
    failed: VecDeque<Instant>,
}

impl Handshakes {
    /// Takes note of a handshake that begins. `client` is its address, if that is validated.
    pub fn begin(&mut self, id: ConnectionId<'static>, client: Option<IpAddr>, now: Instant) {
        let handshake = Handshake {
            network: client.map(network),
            begun: now,
            heard: now,
        };
        self.unfinished.insert(id, handshake);
    }

    /// Takes note of a datagram, if the handshake is unfinished.
    pub fn hear(&mut self, id: &ConnectionId<'static>, now: Instant) {
        if let Some(handshake) = self.unfinished.get_mut(id) {
            handshake.heard = now;
        }
    }

    /// Forgets a handshake that is over.
    pub fn end(&mut self, id: &ConnectionId<'static>) {
        self.unfinished.remove(id);
    }

    /// Forgets a handshake that the client, or an error of its packets, has ended.
    pub fn fail(&mut self, id: &ConnectionId<'static>, now: Instant) {
        self.end(id);
        self.failed.push_back(now);
    }

    /// Number of unfinished handshakes.
    pub fn count(&self) -> usize {
        self.unfinished.len()
    }

    /// Number of handshakes that are unfinished, or failed within the last 3 s. These hold no
    /// place, but each has cost the server as much as an unfinished one.
    pub fn load(&mut self, now: Instant) -> usize {
        let is_old = |failed: &Instant| *failed + MAX_SILENCE <= now;
        while self.failed.front().is_some_and(is_old) {
            self.failed.pop_front();
        }
        self.count() + self.failed.len()
    }

    /// Returns the handshakes that have to make room while others wait.
    pub fn overdue(&self, now: Instant) -> Vec<ConnectionId<'static>> {
        let overdue = self.unfinished.iter().filter(|(_, it)| it.is_overdue(now));
        overdue.map(|(id, _)| id.clone()).collect()
    }

    /// Chooses the handshake that makes room for one of `newcomer`, whose address is validated.
    ///
    /// The oldest does, first of all one of a network with four at least and more than a tenth of
    /// all. Others have 250 ms. If the newcomer's network has four, it must be of a network that
    /// has more than twice as many. Clients without a validated address count as one network.
    pub fn make_room(&self, newcomer: IpAddr, now: Instant) -> Option<ConnectionId<'static>> {
        let mut counts: HashMap<Option<IpAddr>, usize> = HashMap::new();
        for handshake in self.unfinished.values() {
            *counts.entry(handshake.network).or_default() += 1;
        }
        let own = counts.get(&Some(network(newcomer))).copied().unwrap_or(0);
        let candidates = self.unfinished.iter().filter_map(|(id, handshake)| {
            let count = counts[&handshake.network];
            let of_few = count < MIN_CROWD || count * CROWD_DIVISOR <= self.count();
            let may_go = own < MIN_CROWD || count > 2 * own;
            let disturbed = !of_few || handshake.begun + UNDISTURBED <= now;
            (may_go && disturbed).then_some((of_few, handshake.begun, id))
        });
        let (_, _, id) = candidates.min_by_key(|(of_few, begun, _)| (*of_few, *begun))?;
        Some(id.clone())
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
    /// address is validated, and other first packets are dropped. Never more than
    /// --max-connections has left
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
    /// While at least half of the places for handshakes are taken, or have failed in the last 3 s
    Load,
    /// For none
    Never,
}

impl Limits {
    /// Places for unfinished handshakes, beside the finished ones.
    fn places(&self, finished: usize) -> usize {
        let left = (self.max_connections as usize).saturating_sub(finished);
        left.min(self.max_handshakes as usize)
    }

    /// Returns true if the finished handshakes leave no place for another.
    pub fn full(&self, finished: usize) -> bool {
        self.places(finished) == 0
    }

    /// Returns true if the unfinished handshakes take all places that the finished ones leave.
    pub fn crowded(&self, finished: usize, unfinished: usize) -> bool {
        unfinished >= self.places(finished)
    }

    /// Returns true if the next connection needs a validated address, with this load of handshakes.
    pub fn validate(&self, finished: usize, load: usize) -> bool {
        match self.retry {
            Retry::Always => true,
            Retry::Load => 2 * load >= self.places(finished),
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
        assert!(limits.crowded(0, 4) && !limits.crowded(0, 3));
        // Nine connections leave one place.
        assert!(limits.crowded(9, 1) && !limits.crowded(9, 0));
        assert!(limits.validate(9, 1) && !limits.validate(9, 0));
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
        let mut all = vec![
            ("2001:db8::1", 251),
            ("2001:db8::2", 259),
            ("192.0.2.1", 255),
        ];
        assert_eq!(room(&[], "192.0.2.1"), None);
        assert_eq!(room(&all, "192.0.2.1"), Some(1));
        // With few of its own, a newcomer has the oldest place of those with many.
        all.extend([("192.0.2.1", 22), ("192.0.2.1", 21), ("192.0.2.1", 20)]);
        assert_eq!(room(&all, "192.0.2.2"), Some(2));
        assert_eq!(room(&all, "2001:db8::3"), Some(2));
        // With four, it has one of a network with more than twice as many.
        assert_eq!(room(&all, "::ffff:192.0.2.1"), None);
        all.extend([("2001:db8::4", 10)]);
        all.extend([("2001:db8::4", 7); 5]);
        assert_eq!(room(&all, "192.0.2.1"), None);
        all.push(("2001:db8::5", 8));
        assert_eq!(room(&all, "192.0.2.1"), Some(1));
        // Of IPv6 addresses, 64 bits count.
        assert_eq!(room(&all, "2001:db8::6"), None);
        assert_eq!(room(&all, "2001:db8:0:1::6"), Some(1));
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

    /// A network with a tenth of all has many places.
    #[test]
    fn networks_with_many_handshakes_make_room_before_older_ones() {
        let now = Instant::now();
        let mut all: Vec<_> = (0..3).map(|it| ("203.0.113.1", 900 - it)).collect();
        all.extend((0..4).map(|it| ("192.0.2.1", 9 - it)));
        let room = |all: &[(&str, u64)]| {
            let id = handshakes(now, all).make_room("198.51.100.1".parse().unwrap(), now);
            id.map(|id| id[0] as usize)
        };
        assert_eq!(room(&all), Some(3));
        // Three are not many, though more than a tenth.
        assert_eq!(room(&all[..6]), Some(0));
        // Nor are four of forty.
        let clients: Vec<String> = (0..33)
            .map(|host| format!("192.0.2.{}", host + 2))
            .collect();
        all.extend(clients.iter().map(|client| (client.as_str(), 1)));
        assert_eq!(room(&all), Some(0));
    }

    #[test]
    fn failed_handshakes_are_a_load_for_three_seconds() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut handshakes = handshakes(begun, &[("192.0.2.1", 0), ("192.0.2.1", 0)]);
        handshakes.fail(&ConnectionId::from_vec(vec![0]), at(1));
        assert_eq!((handshakes.count(), handshakes.load(at(3))), (1, 2));
        assert_eq!(handshakes.load(at(4)), 1);
    }

    #[test]
    fn under_load_addresses_are_validated() {
        let when = |retry| [0, 1, 2, 4].map(|load| limits(retry).validate(0, load));
        assert_eq!(when(Retry::Load), [false, false, true, true]);
        assert_eq!(when(Retry::Always), [true; 4]);
        assert_eq!(when(Retry::Never), [false; 4]);
    }
}
