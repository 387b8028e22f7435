//! A box that thins ACKs out: of small packets that follow each other only
//! some pass.

use super::{Nanos, QueuedPacket};
use crate::link::SMALL;

/// After such a time without a small packet the next one passes: ACKs are
/// filtered where they meet in a queue (RFC 3449).
const PAUSE: Nanos = 100_000_000;

/// A box in operation.
#[derive(Debug)]
pub(super) struct Thinning {
    /// Number of small packets of which one passes.
    every: u32,
    /// Those that have not passed since the last that has.
    taken: u32,
    /// Arrival time of the last ACK.
    last: Option<Nanos>,
}

impl Thinning {
    pub(super) fn new(every: u32) -> Self {
        Thinning {
            every,
            taken: 0,
            last: None,
        }
    }

    /// Returns true if the filter removes this packet.
    pub(super) fn takes<T>(&mut self, now: Nanos, packet: &QueuedPacket<T>) -> bool {
        if self.every == 1 || packet.bytes >= SMALL || packet.long_header {
            return false;
        }
        let follows = self.last.is_some_and(|last| now < last + PAUSE);
        self.last = Some(now);
        let takes = follows && self.taken + 1 < self.every;
        self.taken = if takes { self.taken + 1 } else { 0 };
        takes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    fn takes(thinning: &mut Thinning, at: Nanos, bytes: usize, long_header: bool) -> bool {
        let packet = QueuedPacket {
            content: (),
            bytes,
            flow: 0,
            long_header,
        };
        thinning.takes(at * MS, &packet)
    }

    #[test]
    fn handshakes_large_packets_and_what_comes_alone_pass() {
        let mut thinning = Thinning::new(3);
        let mut small = |at| takes(&mut thinning, at, 60, false);
        let followed = [0, 1, 2, 3, 4, 5, 104, 205].map(&mut small);
        let expected = [false, true, true, false, true, true, false, false];
        assert_eq!(followed, expected);
        assert!(takes(&mut thinning, 206, 199, false));
        assert!(!takes(&mut thinning, 206, 200, false));
        assert!(!takes(&mut thinning, 206, 60, true));
        assert!(takes(&mut thinning, 206, 60, false));
        assert!(!takes(&mut thinning, 206, 60, false));
        let mut without = Thinning::new(1);
        assert!((0..9).all(|at| !takes(&mut without, at, 60, false)));
    }
}
