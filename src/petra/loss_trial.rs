//! Losses in jitter: do they become more frequent as the window grows?
//!
//! ```text
//!              some round trips, enough losses to know their share
//!     Responding ────────────────────────────────────────▶ Trial ⟲ no larger share
//!      ▲                    a larger share                   │
//!      └─────────────────────────────────────────────────────┘
//! ```
//!
//! Where the delay jitters by more than the target of an AQM, no RTT shows if packets were dropped
//! for a queue or lost by chance. A window that responds to losses gives their share. In a trial,
//! it does not respond to those that jitter explains, and grows. If a queue lost packets, it now
//! loses more, and the trial ends. A link loses as much as before.
//!
//! Other flows bound the share as well: a window takes their room only if more is lost. The next
//! trial comes after twice as many round trips. Where most ACKs report a loss, more losses do not
//! show, and only heavy ones end the growth.

use std::ops::RangeInclusive;

/// Round trips until a window that responds again has emptied the queue of a trial. Slow start
/// leaves such a queue as well.
const SETTLING_ROUNDS: u32 = 8;

/// Round trips from slow start or a trial to the next one: at first, and at most after trials that
/// found a queue.
const WAITS: RangeInclusive<u32> = 16..=256;

/// Losses without which no trial begins. With 64, trials come later and lose as much
/// (docs/attempts.md, "Losses in jitter that a window fills").
const MIN_LOSSES: f64 = 32.0;

/// Losses, or expected losses, of a trial after which it is judged anew.
const STRETCH_LOSSES: f64 = 128.0;

/// Largest share of losses in a trial, in multiples of the share before it.
const MAX_GROWTH: f64 = 1.5;

/// Losses above that bound that are chance. With 4 and 8, CoDel drops as much; with 4, more trials
/// end by chance.
const MAX_CHANCE_LOSSES: f64 = 6.0;

/// Decides if losses that jitter explains count.
#[derive(Clone, Copy, Debug)]
pub(super) struct LossTrial {
    is_on: bool,
    /// Round trips since the last trial or slow start.
    rounds: u32,
    /// Least number of them before the next trial.
    waits: u32,
    /// Bytes since the queue has emptied, or of the present stretch of a trial. Losses that are
    /// declared together count as one datagram.
    acked: f64,
    lost: f64,
    /// The share of losses before the trial.
    share: f64,
}

impl Default for LossTrial {
    fn default() -> Self {
        Self {
            is_on: false,
            rounds: 0,
            waits: *WAITS.start(),
            acked: 0.0,
            lost: 0.0,
            share: 0.0,
        }
    }
}

impl LossTrial {
    /// Ends a round trip. `counts`: its losses are of a window that can be compared with others.
    pub(super) fn end_round(&mut self, counts: bool) {
        if counts {
            self.rounds = self.rounds.saturating_add(1);
        } else {
            self.respond(self.waits);
        }
    }

    /// Counts bytes acknowledged.
    pub(super) fn on_ack(&mut self, bytes: u64) {
        if self.is_settled() {
            self.acked += bytes as f64;
        }
    }

    /// Counts packets declared lost together. `datagram`: its bytes.
    pub(super) fn on_loss(&mut self, datagram: f64) {
        if !self.is_settled() {
            return;
        }
        self.lost += datagram;
        let losses = self.lost / datagram;
        if self.is_on {
            let expected = self.share * (self.acked + self.lost) / datagram;
            self.judge(losses, expected);
        } else if losses >= MIN_LOSSES && self.rounds >= self.waits {
            self.is_on = true;
            self.share = self.share_of_stretch();
            self.begin_stretch();
        }
    }

    /// Ends the trial, or a stretch of it.
    fn judge(&mut self, losses: f64, expected: f64) {
        if losses > MAX_GROWTH * expected + MAX_CHANCE_LOSSES {
            self.respond((2 * self.waits).min(*WAITS.end()));
        } else if losses.max(expected) >= STRETCH_LOSSES {
            if losses <= expected {
                self.waits = *WAITS.start();
            }
            // The link has come to lose less, and by more than chance.
            if MAX_GROWTH * losses <= expected {
                self.share = self.share_of_stretch();
            }
            self.begin_stretch();
        }
    }

    /// Responds to losses, for `waits` round trips at least.
    fn respond(&mut self, waits: u32) {
        *self = Self {
            waits,
            ..Self::default()
        };
    }

    /// Returns true once a queue of before has emptied.
    fn is_settled(&self) -> bool {
        self.rounds >= SETTLING_ROUNDS
    }

    fn share_of_stretch(&self) -> f64 {
        self.lost / (self.acked + self.lost)
    }

    fn begin_stretch(&mut self) {
        (self.acked, self.lost) = (0.0, 0.0);
    }

    /// Returns true while losses that jitter explains do not count.
    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATAGRAM: u64 = 1_200;

    /// A loss after `distance` datagrams, itself included.
    fn lose(trial: &mut LossTrial, distance: u64) {
        trial.on_ack((distance - 1) * DATAGRAM);
        trial.on_loss(DATAGRAM as f64);
    }

    /// A round trip in which `losses` of 400 datagrams are lost, evenly.
    fn round(trial: &mut LossTrial, losses: u64) {
        (0..losses).for_each(|_| lose(trial, 400 / losses));
        trial.end_round(true);
    }

    /// Such round trips until a trial begins or ends.
    fn rounds_until(trial: &mut LossTrial, is_on: bool, losses: u64) -> u32 {
        let mut rounds = 0;
        while trial.is_on() != is_on {
            round(trial, losses);
            rounds += 1;
            assert!(rounds < 1_000);
        }
        rounds
    }

    /// At the beginning of a trial, on a link that loses 1 %.
    fn on_trial() -> LossTrial {
        let mut trial = LossTrial::default();
        rounds_until(&mut trial, true, 4);
        trial.begin_stretch();
        trial
    }

    /// A stretch of this many losses, each after `distance` datagrams.
    fn stretch(trial: &mut LossTrial, losses: u32, distance: u64) {
        (0..losses).for_each(|_| lose(trial, distance));
    }

    #[test]
    fn a_trial_begins_after_16_round_trips_and_32_losses() {
        // The first eight do not count. A loss after the last one is the first chance.
        assert_eq!(rounds_until(&mut LossTrial::default(), true, 8), 16 + 1);
        assert_eq!(rounds_until(&mut LossTrial::default(), true, 2), 8 + 16);
        assert_eq!(rounds_until(&mut LossTrial::default(), true, 1), 8 + 32);
    }

    #[test]
    fn what_slow_start_and_small_windows_lose_is_no_measure() {
        let mut trial = LossTrial::default();
        for _ in 0..8 {
            round(&mut trial, 200);
        }
        assert_eq!((trial.acked, trial.lost), (0.0, 0.0));
        round(&mut trial, 4);
        assert_eq!((trial.acked, trial.lost), (396.0 * 1_200.0, 4.0 * 1_200.0));
        trial.waits = 64;
        trial.end_round(false);
        assert_eq!((trial.acked, trial.lost), (0.0, 0.0));
        assert_eq!(rounds_until(&mut trial, true, 4), 64 + 1);
        trial.end_round(false);
        assert!(!trial.is_on());
        assert_eq!(trial.waits, 64);
    }

    #[test]
    fn a_link_that_loses_as_before_passes() {
        let mut trial = on_trial();
        for _ in 0..1_000 {
            round(&mut trial, 4);
            assert!(trial.is_on());
        }
    }

    /// Eight losses in a round trip. An end by chance costs 32 round trips and more.
    #[test]
    fn a_link_that_loses_by_chance_passes_nearly_always() {
        // Knuth's generator: quiche's build of these tests has no crate for it.
        let mut state: u64 = 1;
        let mut is_lost = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 32).is_multiple_of(100)
        };
        let mut trial = LossTrial::default();
        let (mut ends, mut rounds_on) = (0, 0);
        for _ in 0..5_000 {
            let before = trial.is_on();
            for _ in 0..800 {
                trial.on_ack(DATAGRAM);
                if is_lost() {
                    trial.on_loss(DATAGRAM as f64);
                }
            }
            trial.end_round(true);
            ends += u32::from(before && !trial.is_on());
            rounds_on += u32::from(trial.is_on());
        }
        assert!(ends <= 8, "{ends} ends for 40 000 losses");
        assert!(rounds_on > 4_500, "{rounds_on}");
    }

    #[test]
    fn six_losses_more_than_half_as_many_again_end_a_trial() {
        let losses = |distance| {
            let mut trial = on_trial();
            let losses = (1..128).find(|_| {
                lose(&mut trial, distance);
                !trial.is_on()
            });
            losses.unwrap_or(0)
        };
        // 24 = 1.5 x 12 + 6, and 25 > 1.5 x 12.5 + 6.
        assert_eq!(losses(50), 25);
        // 7 > 1.5 x 0.07 + 6.
        assert_eq!(losses(1), 7);
        // At 1.5 %, none is more.
        assert_eq!(losses(67), 0);
    }

    #[test]
    fn a_queue_is_tested_again_after_twice_as_many_round_trips_up_to_256() {
        let mut trial = on_trial();
        for waits in [32, 64, 128, 256, 256] {
            (0..7).for_each(|_| lose(&mut trial, 1));
            assert!(!trial.is_on());
            // What is left of the queue does not count.
            for _ in 0..8 {
                round(&mut trial, 40);
            }
            assert_eq!(8 + rounds_until(&mut trial, true, 4), waits + 1);
            assert!((trial.share - 0.01).abs() < 1e-9);
            trial.begin_stretch();
        }
    }

    #[test]
    fn a_stretch_ends_after_128_losses_or_where_as_many_are_expected() {
        for (losses, distance) in [(128, 100), (128, 80), (64, 200)] {
            let mut trial = on_trial();
            stretch(&mut trial, losses - 1, distance);
            assert!(trial.acked > 0.0 && trial.lost > 0.0, "{distance}");
            lose(&mut trial, distance);
            assert_eq!((trial.acked, trial.lost), (0.0, 0.0), "{distance}");
            assert!(trial.is_on());
        }
    }

    #[test]
    fn few_losses_make_the_next_wait_short_and_much_fewer_lower_the_share() {
        // The share, in thousandths, and the wait after a stretch.
        let after = |distance| {
            let mut trial = on_trial();
            trial.waits = 128;
            stretch(&mut trial, 128, distance);
            ((1e3 * trial.share).round(), trial.waits)
        };
        assert_eq!(after(200), (5.0, 16));
        assert_eq!(after(140), (10.0, 16));
        assert_eq!(after(100), (10.0, 16));
        assert_eq!(after(99), (10.0, 128));
    }

    #[test]
    fn a_time_without_losses_allows_for_no_burst_later() {
        let mut trial = on_trial();
        trial.on_ack(1 << 50);
        lose(&mut trial, 100);
        let rounds = rounds_until(&mut trial, false, 4);
        assert!(rounds < 3, "{rounds}");
    }
}
