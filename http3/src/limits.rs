//! Limits of a server on connections.

use std::time::{Duration, Instant};

use clap::ValueEnum;

/// Time for which a client may be silent in its handshake, while others wait for its place.
const MAX_SILENCE: Duration = Duration::from_secs(3);

/// Time that a handshake may take, while others wait for its place.
const MAX_HANDSHAKE: Duration = Duration::from_secs(10);

/// Times of a handshake.
pub struct Handshake {
    begun: Instant,
    /// Time of the client's last datagram.
    heard: Instant,
}

impl Handshake {
    /// A handshake that begins now.
    pub fn begin(now: Instant) -> Handshake {
        Handshake {
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

/// Options of a server that limit what clients can make it hold.
#[derive(clap::Args)]
pub struct Limits {
    /// Maximum number of connections; beyond it, the first packets of others are dropped
    #[arg(long, value_name = "N", default_value_t = 10_000,
          value_parser = clap::value_parser!(u32).range(1..))]
    max_connections: u32,

    /// Maximum number of connections whose handshake is not finished; beyond it, those that
    /// take 10 s or whose client is silent for 3 s are closed, and the first packets of others are
    /// dropped
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
    /// Returns true if one more connection may begin, besides these.
    pub fn admit(&self, connections: usize, handshakes: usize) -> bool {
        connections < self.max_connections as usize && !self.crowded(handshakes)
    }

    /// Returns true if so many handshakes are unfinished that overdue handshakes have to make room.
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
        assert!(limits.admit(9, 3));
        assert!(!limits.admit(10, 0));
        assert!(!limits.admit(4, 4));
        assert!(limits.crowded(4) && !limits.crowded(3));
    }

    #[test]
    fn a_handshake_is_overdue_after_silence_or_by_its_age() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut handshake = Handshake::begin(begun);
        assert!(!handshake.is_overdue(at(2)));
        assert!(handshake.is_overdue(at(3)));
        for second in 1..=9 {
            handshake.hear(at(second));
            assert!(!handshake.is_overdue(at(second)));
        }
        assert!(handshake.is_overdue(at(10)));
    }

    #[test]
    fn under_load_addresses_are_validated() {
        let when = |retry| [0, 1, 2, 4].map(|handshakes| limits(retry).validate(handshakes));
        assert_eq!(when(Retry::Load), [false, false, true, true]);
        assert_eq!(when(Retry::Always), [true; 4]);
        assert_eq!(when(Retry::Never), [false; 4]);
    }
}
