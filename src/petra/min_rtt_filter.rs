//! The minimum RTT over packets that were not reordered.
//!
//! A packet that overtakes the queue, or takes a shorter part of the path, has an RTT that
//! no other packet repeats. Measured against such a minimum, every later packet seems to
//! wait. Reordering shows in two ways:
//!
//! - An ACK acknowledges packets that were sent before those of an earlier ACK. Had they
//!   arrived in order, the earlier ACK would have acknowledged them too.
//! - An ACK acknowledges packets that had been declared lost.

use std::time::Duration;

use super::super::controller::{Ack, Time};

/// Samples close to a candidate that confirm it. Packets behind a reordered one take as
/// long as before.
const MIN_CONFIRMING_SAMPLES: u32 = 4;

/// ACKs within which a candidate must be confirmed. Delayed ACKs may lie between the
/// confirming samples.
const MAX_CANDIDATE_ACKS: u32 = 16;

/// Samples within this factor of the candidate confirm it.
const CONFIRMING_RTT_FACTOR: f64 = 1.25;

/// A sample below the minimum that is not confirmed yet.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    sent: Time,
    rtt: Duration,
    /// The largest sample that confirms it.
    close: Duration,
    acks: u32,
    confirming: u32,
}

/// The minimum RTTs of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Minima {
    /// The last confirmed minimum.
    min: Option<Duration>,
    /// The minimum since the path became longer.
    longer: Option<Duration>,
}

/// Filters RTT samples of reordered packets and keeps the minimum of the others.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MinRttFilter {
    /// True once any packet was reordered. Until then every sample counts.
    reordering_seen: bool,
    minima: Minima,
    candidate: Option<Candidate>,
    /// Send time of the newest packet acknowledged.
    newest: Time,
}

impl MinRttFilter {
    /// Returns the RTT sample of this ACK if the ACK has one and reordering cannot have
    /// shortened it.
    pub(super) fn on_ack(&mut self, ack: &Ack) -> Option<Duration> {
        self.reordering_seen |= ack.first_sent < self.newest;
        // Only the largest acknowledged packet gives a sample (RFC 9002, Section 5.1,
        // <https://www.rfc-editor.org/rfc/rfc9002#section-5.1>). A packet sent at the same
        // instant as the newest may be one that the newest has overtaken.
        let fresh = ack.newest_sent > self.newest || !self.reordering_seen;
        self.newest = self.newest.max(ack.newest_sent);
        let reordered = |candidate: &mut Candidate| ack.first_sent < candidate.sent;
        self.candidate.take_if(reordered);
        if !fresh {
            return None;
        }
        let rtt = ack.rtt.latest;
        self.confirm_candidate(rtt);
        let below = self.minima.min.is_none_or(|min| rtt < min);
        if below && self.candidate.is_none_or(|candidate| rtt < candidate.rtt) {
            self.candidate = Some(Candidate {
                sent: ack.newest_sent,
                rtt,
                close: rtt.mul_f64(CONFIRMING_RTT_FACTOR),
                acks: 0,
                confirming: 0,
            });
        }
        let doubtful = self.reordering_seen && self.minima.min.is_some_and(|min| rtt < min);
        let sample = Some(rtt).filter(|_| !doubtful);
        self.minima.longer = self
            .minima
            .longer
            .map(|min| sample.map_or(min, |rtt| min.min(rtt)));
        sample
    }

    fn confirm_candidate(&mut self, rtt: Duration) {
        let Some(candidate) = &mut self.candidate else {
            return;
        };
        candidate.acks += 1;
        if rtt <= candidate.close {
            candidate.confirming += 1;
        }
        let confirmed = candidate.confirming >= MIN_CONFIRMING_SAMPLES;
        if confirmed {
            self.minima.min = Some(candidate.rtt);
        }
        if confirmed || candidate.acks >= MAX_CANDIDATE_ACKS {
            self.candidate = None;
        }
    }

    /// Drops the candidate: it may have overtaken the packets that were declared lost.
    pub(super) fn on_spurious_loss(&mut self) {
        self.reordering_seen = true;
        self.candidate = None;
    }

    /// Takes the minimum RTT of a path that has become longer. Returns the former minima.
    pub(super) fn on_longer_path(&mut self, min_rtt: Duration) -> Minima {
        let longer = Minima {
            min: Some(min_rtt),
            longer: Some(min_rtt),
        };
        self.candidate = None;
        std::mem::replace(&mut self.minima, longer)
    }

    /// Returns to the minima of before: the path did not become longer.
    pub(super) fn return_to(&mut self, former: Minima) {
        self.minima = former;
        self.candidate = None;
    }

    /// The minimum RTT, given the transport's, which includes reordered packets.
    pub(super) fn min_rtt(&self, transport: Duration) -> Duration {
        let min = self.minima.min.filter(|_| self.reordering_seen);
        transport
            .max(min.unwrap_or_default())
            .max(self.minima.longer.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::events::{measured, ms, rtt};
    use super::*;

    /// A packet every 10 ms with an RTT of 90 ms.
    fn flow(filter: &mut MinRttFilter, from: u64, to: u64) {
        for now in (from..to).step_by(10) {
            filter.on_ack(&measured(now, 90));
        }
    }

    /// A filter after 100 ms of that flow.
    fn flowing() -> MinRttFilter {
        let mut filter = MinRttFilter::default();
        flow(&mut filter, 100, 200);
        filter
    }

    #[test]
    fn without_reordering_the_transports_minimum_holds() {
        let mut filter = MinRttFilter::default();
        flow(&mut filter, 100, 300);
        assert_eq!(filter.min_rtt(ms(45)), ms(45));
        assert_eq!(filter.on_ack(&measured(300, 60)), Some(ms(60)));
    }

    #[test]
    fn the_rtt_of_a_packet_that_overtook_others_is_ignored() {
        let mut filter = flowing();
        // Sent at 153, ahead of those that are acknowledged from 200 on.
        filter.on_ack(&measured(198, 45));
        flow(&mut filter, 200, 400);
        assert_eq!(filter.min_rtt(ms(45)), ms(90));
        // From now on reordering is known.
        assert_eq!(filter.on_ack(&measured(398, 45)), None);
        flow(&mut filter, 400, 600);
        assert_eq!(filter.min_rtt(ms(45)), ms(90));
    }

    #[test]
    fn a_queue_that_was_taken_for_a_longer_path_leaves_the_former_minimum() {
        let mut filter = flowing();
        let former = filter.on_longer_path(ms(150));
        filter.on_ack(&measured(400, 152));
        filter.return_to(former);
        assert_eq!(filter.min_rtt(ms(90)), ms(90));
    }

    #[test]
    fn a_longer_path_has_its_own_minimum_until_it_is_shorter_again() {
        let mut filter = flowing();
        filter.on_longer_path(ms(150));
        filter.on_ack(&measured(400, 152));
        assert_eq!(filter.min_rtt(ms(90)), ms(150));
        filter.on_ack(&measured(500, 110));
        assert_eq!(filter.min_rtt(ms(90)), ms(110));
        filter.on_ack(&measured(600, 90));
        assert_eq!(filter.min_rtt(ms(90)), ms(90));
    }

    #[test]
    fn so_is_that_of_one_that_made_others_seem_lost() {
        let mut filter = flowing();
        // The packets that left before it arrive, but only as spurious losses.
        filter.on_ack(&measured(198, 45));
        filter.on_spurious_loss();
        flow(&mut filter, 250, 400);
        assert_eq!(filter.min_rtt(ms(45)), ms(90));
    }

    #[test]
    fn so_is_one_that_no_sample_confirms() {
        let mut filter = flowing();
        filter.on_spurious_loss();
        // The packets that it overtook were declared lost and are never acknowledged.
        filter.on_ack(&measured(198, 45));
        flow(&mut filter, 250, 400);
        assert_eq!(filter.min_rtt(ms(45)), ms(90));
    }

    /// Close enough to later samples to be confirmed, unless the overtaken packets show.
    #[test]
    fn so_is_that_of_a_packet_that_overtook_by_little() {
        for given_up in [false, true] {
            let mut filter = flowing();
            filter.on_ack(&measured(195, 80));
            if given_up {
                filter.on_spurious_loss();
                flow(&mut filter, 210, 400);
            } else {
                flow(&mut filter, 200, 400);
            }
            assert_eq!(filter.min_rtt(ms(45)), ms(90), "{given_up}");
        }
    }

    #[test]
    fn delayed_acks_do_not_hide_a_shorter_path() {
        let mut filter = flowing();
        filter.on_spurious_loss();
        // Every other ACK waits for 25 ms.
        for sent in (300..600).step_by(45) {
            filter.on_ack(&measured(sent + 40, 40));
            filter.on_ack(&measured(sent + 75, 65));
        }
        assert_eq!(filter.min_rtt(ms(40)), ms(40));
    }

    #[test]
    fn before_any_is_confirmed_every_sample_counts() {
        let mut filter = MinRttFilter::default();
        filter.on_spurious_loss();
        assert_eq!(filter.on_ack(&measured(200, 90)), Some(ms(90)));
        assert_eq!(filter.on_ack(&measured(210, 80)), Some(ms(80)));
    }

    #[test]
    fn overtaken_packets_give_no_sample() {
        let mut filter = flowing();
        filter.on_ack(&measured(198, 45));
        // Sent at 110 and 150, before 153; then at 160.
        assert_eq!(filter.on_ack(&measured(200, 90)), None);
        assert_eq!(filter.on_ack(&measured(240, 90)), None);
        assert_eq!(filter.on_ack(&measured(250, 90)), Some(ms(90)));
    }

    #[test]
    fn nor_do_those_sent_together_with_the_packet_that_overtook_them() {
        let mut filter = flowing();
        filter.on_ack(&measured(198, 45));
        flow(&mut filter, 200, 240);
        // Sent at 153 as well; the transport still has the sample of the other.
        let together = Ack {
            now: ms(243),
            ..measured(198, 45)
        };
        assert_eq!(filter.on_ack(&together), None);
        // Nor where the packet has a sample of its own, which may be of the other.
        let slower = Ack {
            now: ms(248),
            rtt: rtt(95, 95),
            ..together
        };
        assert_eq!(filter.on_ack(&slower), None);
        flow(&mut filter, 250, 400);
        assert_eq!(filter.min_rtt(ms(45)), ms(90));
    }

    #[test]
    fn a_shorter_path_is_confirmed() {
        let mut filter = flowing();
        filter.on_ack(&measured(198, 45));
        flow(&mut filter, 200, 300);
        for now in [300, 310, 320, 330] {
            assert_eq!(filter.on_ack(&measured(now, 50)), None);
            assert_eq!(filter.min_rtt(ms(45)), ms(90));
        }
        filter.on_ack(&measured(340, 50));
        assert_eq!(filter.min_rtt(ms(45)), ms(50));
    }

    #[test]
    fn packets_sent_together_do_not_hide_a_shorter_path() {
        let mut filter = flowing();
        filter.on_spurious_loss();
        for now in [300, 310, 320, 330, 340] {
            for _ in 0..2 {
                filter.on_ack(&measured(now, 50));
            }
        }
        assert_eq!(filter.min_rtt(ms(45)), ms(50));
    }

    #[test]
    fn later_samples_confirm_only_a_recent_one() {
        let mut filter = flowing();
        filter.on_spurious_loss();
        filter.on_ack(&measured(198, 45));
        flow(&mut filter, 250, 450);
        for now in [450, 460, 470, 480, 490] {
            filter.on_ack(&measured(now, 50));
        }
        assert_eq!(filter.min_rtt(ms(45)), ms(50));
    }

    #[test]
    fn a_longer_path_raises_the_transports_minimum() {
        let filter = flowing();
        assert_eq!(filter.min_rtt(ms(120)), ms(120));
    }
}
