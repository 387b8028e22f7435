//! A queue of the ACKs: their way back is full, and drops some of them.
//!
//! The RTT cannot tell a queue ahead from one on the way back. But ACKs are packets, with numbers:
//! where many are missing, the way back is full, and the delay is its own. To send less ends that
//! queue only where hardly any ACKs are left.

use super::super::controller::PeerPackets;
use super::min_rtt_filter::Minima;

/// Divisor of the peer's packets of a round trip that gives the number of missing ones from which
/// the way back is full. Peers may skip some numbers: quiche does one in 20 or more.
const FULL_DIVISOR: u64 = 8;

/// Fewest packets of the peer's in a round trip that say something.
const MIN_PACKETS: u64 = 8;

/// Round trips in a row after which the way back counts as full, or no longer.
const MIN_ROUNDS: u32 = 3;

/// Counts the ACKs that are missing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckPath {
    now: PeerPackets,
    /// As of the end of the last round trip.
    before: PeerPackets,
    /// Round trips in a row in which the way back was full.
    full: u32,
    /// Round trips in a row in which it was not.
    clear: u32,
    /// The minima of the path without the queue of the ACKs.
    former: Option<Minima>,
}

impl AckPath {
    pub(super) fn on_peer_packets(&mut self, peer: PeerPackets) {
        self.now = peer;
    }

    /// Ends a round trip. Returns the minima to return to if the way back is no longer full.
    pub(super) fn end_round(&mut self) -> Option<Minima> {
        let sent = self.now.sent.saturating_sub(self.before.sent);
        let received = self.now.received.saturating_sub(self.before.received);
        let missing = sent.saturating_sub(received);
        self.before = self.now;
        if sent >= MIN_PACKETS && missing >= sent / FULL_DIVISOR {
            (self.full, self.clear) = (self.full.saturating_add(1), 0);
        } else {
            (self.full, self.clear) = (0, self.clear.saturating_add(1));
        }
        let ended = self.clear >= MIN_ROUNDS;
        self.former.take_if(|_| ended)
    }

    /// Returns true if the way back is full.
    pub(super) fn is_full(&self) -> bool {
        self.full >= MIN_ROUNDS
    }

    /// The delay counts as the way back's, until it is no longer full.
    pub(super) fn adopt(&mut self, former: Minima) {
        self.former.get_or_insert(former);
        self.full = 0;
    }
}
