//! How much of what was sent is lost.

/// A share of losses that no link has by itself and stays in use: BBRv2 takes
/// 2 % for congestion, but radio links lose that much and this controller has
/// other signs of a queue.
const HEAVY: f64 = 0.1;

/// Losses that prove nothing, in datagrams.
const FEW: f64 = 2.0;

/// Datagrams over which the share is taken: enough for one of them to weigh
/// little, few enough to belong to the present.
const MEMORY: f64 = 64.0;

/// Bytes acknowledged and lost of late.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    acked: f64,
    lost: f64,
}

impl Losses {
    pub(super) fn on_ack(&mut self, bytes: u64, datagram: f64) {
        self.acked += bytes as f64;
        self.fade(datagram);
    }

    pub(super) fn on_loss(&mut self, bytes: u64, datagram: f64) {
        self.lost += bytes as f64;
        self.fade(datagram);
    }

    fn fade(&mut self, datagram: f64) {
        let all = self.acked + self.lost;
        let most = MEMORY * datagram;
        if all > most {
            self.acked *= most / all;
            self.lost *= most / all;
        }
    }

    /// Whether so much is lost that it must be congestion, queue or not: a path
    /// may have hardly any buffer, or drop by a policy.
    pub(super) fn are_heavy(&self, datagram: f64) -> bool {
        self.lost > FEW * datagram && self.lost > HEAVY * (self.acked + self.lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATAGRAM: f64 = 1_200.0;

    fn after(acked: u64, lost: u64) -> Losses {
        let mut losses = Losses::default();
        losses.on_ack(acked * 1_200, DATAGRAM);
        losses.on_loss(lost * 1_200, DATAGRAM);
        losses
    }

    #[test]
    fn more_than_a_tenth_is_heavy() {
        // 4 of 40 is a tenth, 5 of 41 more.
        assert!(!after(36, 4).are_heavy(DATAGRAM));
        assert!(after(36, 5).are_heavy(DATAGRAM));
    }

    #[test]
    fn two_datagrams_prove_nothing() {
        assert!(!after(0, 2).are_heavy(DATAGRAM));
        assert!(after(0, 3).are_heavy(DATAGRAM));
    }

    #[test]
    fn what_is_long_ago_fades() {
        let mut losses = after(30, 10);
        assert!(losses.are_heavy(DATAGRAM));
        for _ in 0..100 {
            losses.on_ack(1_200, DATAGRAM);
        }
        assert!(!losses.are_heavy(DATAGRAM));
        losses.on_loss(u64::MAX, DATAGRAM);
        assert!(losses.are_heavy(DATAGRAM));
    }
}
