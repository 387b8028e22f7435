//! The least RTT of the packets that overtook no other.
//!
//! A packet that overtakes the queue, or a part of the path, has a round trip that
//! no other packet repeats. Measured against it, everything behind it seems to wait. An
//! ACK for packets that left before those of an earlier ACK tells of it: had they
//! arrived by then, the earlier one would have acknowledged them too. So does an ACK
//! for packets that had been given up as lost.

use std::time::Duration;

use super::super::controller::{Ack, Time};

/// Samples near a new minimum that prove it: those behind a packet that overtook take
/// as long as ever.
const PROOF: u32 = 4;

/// Samples within which they must come. Delayed ACKs may lie between them.
const PATIENCE: u32 = 16;

/// What is near: up to so many times as long.
const NEAR: f64 = 1.25;

/// A sample below the minimum, not yet trusted.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    sent: Time,
    rtt: Duration,
    acks: u32,
    near: u32,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Overtaking {
    /// Whether any packet ever overtook another: before, every sample is one.
    seen: bool,
    least: Option<Duration>,
    candidate: Option<Candidate>,
    newest: Time,
}

impl Overtaking {
    /// Returns the RTT sample of this ACK, if it has one that can be trusted.
    pub(super) fn on_ack(&mut self, ack: &Ack) -> Option<Duration> {
        self.seen |= ack.first_sent < self.newest;
        // RFC 9002 section 5.1: only the largest acknowledged gives a sample. One that
        // left at the same instant as the newest may be what that has overtaken.
        let fresh = ack.newest_sent > self.newest || !self.seen;
        self.newest = self.newest.max(ack.newest_sent);
        let exposed = |candidate: &mut Candidate| ack.first_sent < candidate.sent;
        self.candidate.take_if(exposed);
        if !fresh {
            return None;
        }
        let rtt = ack.rtt.latest;
        self.judge_candidate(rtt);
        let below = self.least.is_none_or(|least| rtt < least);
        if below && self.candidate.is_none_or(|candidate| rtt < candidate.rtt) {
            self.candidate = Some(Candidate {
                sent: ack.newest_sent,
                rtt,
                acks: 0,
                near: 0,
            });
        }
        let doubtful = self.seen && self.least.is_some_and(|least| rtt < least);
        (!doubtful).then_some(rtt)
    }

    fn judge_candidate(&mut self, rtt: Duration) {
        let Some(candidate) = &mut self.candidate else {
            return;
        };
        candidate.acks += 1;
        if rtt <= candidate.rtt.mul_f64(NEAR) {
            candidate.near += 1;
        }
        if candidate.near >= PROOF {
            self.least = Some(candidate.rtt);
        }
        if candidate.near >= PROOF || candidate.acks >= PATIENCE {
            self.candidate = None;
        }
    }

    /// Packets were overtaken by so many that they were taken for lost.
    pub(super) fn on_spurious_loss(&mut self) {
        self.seen = true;
        self.candidate = None;
    }

    /// The minimum RTT, given that of the transport, which every packet counts for.
    pub(super) fn min_rtt(&self, all: Duration) -> Duration {
        self.least
            .filter(|_| self.seen)
            .map_or(all, |least| least.max(all))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::events::{measured, ms};
    use super::*;

    /// A packet every 10 ms that takes 90.
    fn flow(overtaking: &mut Overtaking, from: u64, to: u64) {
        for now in (from..to).step_by(10) {
            overtaking.on_ack(&measured(now, 90));
        }
    }

    /// After 100 ms of that.
    fn flowing() -> Overtaking {
        let mut overtaking = Overtaking::default();
        flow(&mut overtaking, 100, 200);
        overtaking
    }

    #[test]
    fn while_none_overtakes_the_transports_minimum_holds() {
        let mut overtaking = Overtaking::default();
        flow(&mut overtaking, 100, 300);
        assert_eq!(overtaking.min_rtt(ms(45)), ms(45));
        assert_eq!(overtaking.on_ack(&measured(300, 60)), Some(ms(60)));
    }

    #[test]
    fn a_packet_that_overtook_counts_for_nothing() {
        let mut overtaking = flowing();
        // Left at 153, in front of those that are acknowledged from 200 on.
        overtaking.on_ack(&measured(198, 45));
        flow(&mut overtaking, 200, 400);
        assert_eq!(overtaking.min_rtt(ms(45)), ms(90));
        // Nobody knew then; now it is known that some do.
        assert_eq!(overtaking.on_ack(&measured(398, 45)), None);
        flow(&mut overtaking, 400, 600);
        assert_eq!(overtaking.min_rtt(ms(45)), ms(90));
    }

    #[test]
    fn nor_does_one_that_made_others_seem_lost() {
        let mut overtaking = flowing();
        // The packets that left before it arrive, but only as spurious losses.
        overtaking.on_ack(&measured(198, 45));
        overtaking.on_spurious_loss();
        flow(&mut overtaking, 250, 400);
        assert_eq!(overtaking.min_rtt(ms(45)), ms(90));
    }

    #[test]
    fn nor_does_one_that_none_comes_near() {
        let mut overtaking = flowing();
        overtaking.on_spurious_loss();
        // What it overtook was given up and is never told of.
        overtaking.on_ack(&measured(198, 45));
        flow(&mut overtaking, 250, 400);
        assert_eq!(overtaking.min_rtt(ms(45)), ms(90));
    }

    /// Near enough to those behind that only what it overtook gives it away.
    #[test]
    fn nor_does_one_that_overtook_by_little() {
        for given_up in [false, true] {
            let mut overtaking = flowing();
            overtaking.on_ack(&measured(195, 80));
            if given_up {
                overtaking.on_spurious_loss();
                flow(&mut overtaking, 210, 400);
            } else {
                flow(&mut overtaking, 200, 400);
            }
            assert_eq!(overtaking.min_rtt(ms(45)), ms(90), "{given_up}");
        }
    }

    #[test]
    fn delayed_acks_do_not_hide_a_shorter_path() {
        let mut overtaking = flowing();
        overtaking.on_spurious_loss();
        // Every other ACK waits for 25 ms.
        for sent in (300..600).step_by(45) {
            overtaking.on_ack(&measured(sent + 40, 40));
            overtaking.on_ack(&measured(sent + 75, 65));
        }
        assert_eq!(overtaking.min_rtt(ms(40)), ms(40));
    }

    #[test]
    fn before_any_is_proven_every_sample_counts() {
        let mut overtaking = Overtaking::default();
        overtaking.on_spurious_loss();
        assert_eq!(overtaking.on_ack(&measured(200, 90)), Some(ms(90)));
        assert_eq!(overtaking.on_ack(&measured(210, 80)), Some(ms(80)));
    }

    #[test]
    fn what_was_overtaken_gives_no_sample() {
        let mut overtaking = flowing();
        overtaking.on_ack(&measured(198, 45));
        // Left at 110 and 150, before 153; and then at 160.
        assert_eq!(overtaking.on_ack(&measured(200, 90)), None);
        assert_eq!(overtaking.on_ack(&measured(240, 90)), None);
        assert_eq!(overtaking.on_ack(&measured(250, 90)), Some(ms(90)));
    }

    #[test]
    fn nor_does_what_left_together_with_what_overtook_it() {
        let mut overtaking = flowing();
        overtaking.on_ack(&measured(198, 45));
        flow(&mut overtaking, 200, 240);
        // Left at 153 as well; the transport still has the sample of the other.
        let together = Ack {
            now: ms(243),
            ..measured(198, 45)
        };
        assert_eq!(overtaking.on_ack(&together), None);
        flow(&mut overtaking, 250, 400);
        assert_eq!(overtaking.min_rtt(ms(45)), ms(90));
    }

    #[test]
    fn a_path_that_became_shorter_is_believed() {
        let mut overtaking = flowing();
        overtaking.on_ack(&measured(198, 45));
        flow(&mut overtaking, 200, 300);
        for now in [300, 310, 320, 330] {
            assert_eq!(overtaking.on_ack(&measured(now, 50)), None);
            assert_eq!(overtaking.min_rtt(ms(45)), ms(90));
        }
        overtaking.on_ack(&measured(340, 50));
        assert_eq!(overtaking.min_rtt(ms(45)), ms(50));
    }

    #[test]
    fn a_path_that_became_longer_is_the_transports_affair() {
        let overtaking = flowing();
        assert_eq!(overtaking.min_rtt(ms(120)), ms(120));
    }
}
