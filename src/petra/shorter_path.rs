//! A shorter path: packets take far less time than on the path that the window was made for.
//!
//! All that is in flight is acknowledged at once then. In slow start, the window grows by as much,
//! although the shorter path holds less. The RTT shows it first: jitter lets some packets be
//! faster than any before, but not each one for a round trip.

use std::time::Duration;

use super::super::controller::{Ack, Time};

/// Divisor of the former minimum RTT that gives the least fall that counts. In slow start, the
/// window may be twice what the path holds in any case. Of a quarter, a third and half, the
/// first: where packets keep their order, the last ones of the former path delay those behind
/// them (docs/attempts.md, "Shorter paths").
const FALL_DIVISOR: u32 = 4;

/// RTT samples that make a shorter path likely.
const MIN_SAMPLES: u32 = 4;

/// Divisor of the minimum RTT that gives the time over which they must come. Those of a burst are
/// one observation. Of none, 2, 4 and 8, the last (docs/attempts.md, "Shorter paths").
const LIKELY_TIME_DIVISOR: u32 = 8;

/// RTT samples in a row that are shorter by so much.
#[derive(Clone, Copy, Debug)]
struct Fall {
    began: Time,
    lasted: Duration,
    samples: u32,
    /// The smoothed RTT.
    rtt: Duration,
}

/// Compares RTT samples with the minimum RTT of before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ShorterPath {
    /// The minimum RTT of the path that the window was made for.
    former: Option<Duration>,
    /// Send time of the newest packet acknowledged.
    newest: Time,
    fall: Option<Fall>,
}

impl ShorterPath {
    /// Takes the RTT sample of an ACK, and the minimum RTT with it.
    pub(super) fn on_ack(&mut self, ack: &Ack, min_rtt: Duration) {
        let former = *self.former.get_or_insert(min_rtt);
        // Only the largest acknowledged packet gives a sample (RFC 9002, Section 5.1,
        // <https://www.rfc-editor.org/rfc/rfc9002#section-5.1>).
        if ack.newest_sent <= self.newest {
            return;
        }
        self.newest = ack.newest_sent;
        if ack.rtt.latest >= former - former / FALL_DIVISOR {
            self.fall = None;
            return;
        }
        let (began, samples) = self
            .fall
            .map_or((ack.now, 0), |fall| (fall.began, fall.samples));
        self.fall = Some(Fall {
            began,
            lasted: ack.now.saturating_sub(began),
            samples: samples.saturating_add(1),
            rtt: ack.rtt.smoothed,
        });
    }

    /// Ends a round trip with this minimum RTT.
    pub(super) fn end_round(&mut self, min_rtt: Duration) {
        if self.fall.is_none() {
            self.former = Some(min_rtt);
        }
    }

    /// The share of the former minimum RTT that the smoothed RTT has, from 0 to 1, if the path is
    /// likely to be shorter.
    pub(super) fn share(&self) -> Option<f64> {
        let (fall, former) = self.fall.zip(self.former)?;
        let likely = fall.samples >= MIN_SAMPLES && fall.lasted >= fall.rtt / LIKELY_TIME_DIVISOR;
        likely.then(|| (fall.rtt.as_secs_f64() / former.as_secs_f64()).min(1.0))
    }

    /// Returns true if each sample of this number of round trips was shorter.
    pub(super) fn lasts(&self, round_trips: u32) -> bool {
        let fall = self.fall.filter(|_| self.share().is_some());
        fall.is_some_and(|fall| fall.lasted >= fall.rtt.saturating_mul(round_trips))
    }

    /// Compares with the shorter path from now on, if there is one. Returns its share.
    pub(super) fn adopt(&mut self, min_rtt: Duration) -> Option<f64> {
        let share = self.share()?;
        self.former = Some(min_rtt);
        self.fall = None;
        Some(share)
    }
}

#[cfg(kani)]
mod proofs {
    use super::super::super::proofs::{any_ack, any_duration, maybe};
    use super::*;

    #[kani::proof]
    fn the_share_is_from_zero_to_one() {
        let mut path = ShorterPath::default();
        path.former = Some(any_duration());
        // A fall is below a former minimum, which is then not zero.
        path.fall = maybe(Fall {
            began: any_duration(),
            lasted: any_duration(),
            samples: kani::any(),
            rtt: any_duration(),
        })
        .filter(|_| path.former > Some(Duration::ZERO));
        path.on_ack(&any_ack(), any_duration());
        if let Some(share) = path.share() {
            assert!((0.0..=1.0).contains(&share));
        }
        kani::cover!(path.share().is_some_and(|share| share < 0.1));
        kani::cover!(path.lasts(4));
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::events::{measured, ms};
    use super::*;

    /// A path of 600 ms.
    fn path() -> ShorterPath {
        let mut path = ShorterPath::default();
        path.end_round(ms(600));
        path
    }

    /// Takes an ACK with this RTT, which is the smoothed one and the least.
    fn acknowledge(path: &mut ShorterPath, now: u64, rtt: u64) {
        path.on_ack(&measured(now, rtt), ms(rtt));
    }

    /// Takes an ACK every 5 ms from `from` to `to`.
    fn flow(path: &mut ShorterPath, from: u64, to: u64, rtt: u64) {
        for now in (from..=to).step_by(5) {
            acknowledge(path, now, rtt);
        }
    }

    #[test]
    fn four_samples_over_an_eighth_of_the_rtt_make_it_likely() {
        let mut path = path();
        flow(&mut path, 1_000, 1_010, 60);
        assert_eq!(path.share(), None);
        flow(&mut path, 1_015, 1_015, 60);
        assert_eq!(path.share(), Some(0.1));
        assert!(!path.lasts(1));
        flow(&mut path, 1_020, 1_060, 60);
        assert!(path.lasts(1));
        assert!(!path.lasts(2));
    }

    #[test]
    fn samples_of_one_burst_do_not() {
        let mut path = path();
        for latest in (54..=60).rev() {
            acknowledge(&mut path, 1_000, latest);
        }
        assert_eq!(path.share(), None);
        acknowledge(&mut path, 1_008, 60);
        assert_eq!(path.share(), Some(0.1));
    }

    #[test]
    fn acks_of_older_packets_have_no_sample() {
        let mut path = path();
        acknowledge(&mut path, 1_000, 60);
        for now in 1_001..1_100 {
            let late = Ack {
                newest_sent: ms(930),
                ..measured(now, 60)
            };
            path.on_ack(&late, ms(60));
        }
        assert_eq!(path.share(), None);
    }

    #[test]
    fn one_slower_sample_refutes_it() {
        let mut path = path();
        flow(&mut path, 1_000, 1_100, 60);
        acknowledge(&mut path, 1_500, 450);
        assert_eq!(path.share(), None);
        acknowledge(&mut path, 1_505, 449);
        flow(&mut path, 1_510, 1_515, 60);
        assert_eq!(path.share(), None);
        flow(&mut path, 1_520, 1_520, 60);
        assert_eq!(path.share(), Some(0.1));
    }

    #[test]
    fn a_fall_in_steps_is_one() {
        let mut path = path();
        flow(&mut path, 1_000, 1_100, 330);
        path.end_round(ms(330));
        flow(&mut path, 1_105, 1_200, 60);
        assert_eq!(path.adopt(ms(60)), Some(0.1));
        flow(&mut path, 1_205, 1_300, 60);
        assert_eq!(path.share(), None);
        assert_eq!(path.adopt(ms(60)), None);
    }

    #[test]
    fn a_round_trip_without_a_fall_has_the_minimum_to_compare_with() {
        let mut path = path();
        flow(&mut path, 1_000, 1_100, 500);
        path.end_round(ms(500));
        flow(&mut path, 1_105, 1_200, 400);
        assert_eq!(path.share(), None);
        flow(&mut path, 1_205, 1_300, 370);
        assert_eq!(path.share(), Some(0.74));
    }
}
