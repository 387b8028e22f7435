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
//! loses more, and the trial ends. A link loses by chance as much as before.
//!
//! Other flows bound the share as well: a window takes their room only if more is lost. The next
//! trial comes after twice as many round trips.

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

/// Largest share of losses in a trial, in multiples of that before, and losses that are more than
/// that by chance. With twice as many of either, CoDel drops more.
const MAX_GROWTH: f64 = 1.5;
const MAX_CHANCE_LOSSES: f64 = 4.0;

/// Decides if losses that jitter explains count.
#[derive(Clone, Copy, Debug)]
pub(super) struct LossTrial {
    is_on: bool,
    /// Round trips since the last trial or slow start.
    rounds: u32,
    /// Round trips until the next trial.
    waits: u32,
    /// Bytes since then, or of the present stretch of a trial. Losses that are declared together
    /// count as one datagram.
    acked: f64,
    lost: f64,
    /// The share of losses before the trial, or the least of a stretch.
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
        if !counts {
            *self = Self {
                waits: self.waits,
                ..Self::default()
            };
        }
        self.rounds = self.rounds.saturating_add(1);
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
        if !self.is_on {
            if losses >= MIN_LOSSES && self.rounds >= self.waits {
                self.is_on = true;
                self.share = self.share_of_stretch();
                self.begin_stretch();
            }
            return;
        }
        let expected = self.share * (self.acked + self.lost) / datagram;
        if losses > MAX_GROWTH * expected + MAX_CHANCE_LOSSES {
            *self = Self {
                waits: (2 * self.waits).min(*WAITS.end()),
                ..Self::default()
            };
        } else if losses.max(expected) >= STRETCH_LOSSES {
            if losses <= expected {
                self.waits = *WAITS.start();
                self.share = self.share_of_stretch();
            }
            self.begin_stretch();
        }
    }

    /// Returns true once a queue of before has emptied.
    fn is_settled(&self) -> bool {
        self.is_on || self.rounds >= SETTLING_ROUNDS
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

    /// A round trip in which `losses` of `datagrams` are lost, evenly.
    fn round(trial: &mut LossTrial, datagrams: u64, losses: u64) {
        for _ in 0..losses {
            trial.on_ack((datagrams / losses - 1) * DATAGRAM);
            trial.on_loss(DATAGRAM as f64);
        }
        trial.end_round(true);
    }

    /// Round trips until a trial begins or ends, in each of which `losses` of 400 datagrams are
    /// lost.
    fn rounds_until(trial: &mut LossTrial, is_on: bool, losses: u64) -> u32 {
        let mut rounds = 0;
        while trial.is_on() != is_on {
            round(trial, 400, losses);
            rounds += 1;
            assert!(rounds < 1_000);
        }
        rounds
    }

    /// In a trial, on a link that loses 1 %.
    fn on_trial() -> LossTrial {
        let mut trial = LossTrial::default();
        rounds_until(&mut trial, true, 4);
        trial
    }

    #[test]
    fn a_link_that_loses_as_before_passes() {
        let mut trial = on_trial();
        for _ in 0..1_000 {
            round(&mut trial, 400, 4);
            assert!(trial.is_on());
        }
    }

    #[test]
    fn a_trial_begins_after_16_round_trips_and_32_losses() {
        // The first eight do not count. A loss in the last one is the first chance.
        assert_eq!(rounds_until(&mut LossTrial::default(), true, 8), 17);
        assert_eq!(rounds_until(&mut LossTrial::default(), true, 2), 8 + 16);
    }

    #[test]
    fn what_slow_start_and_small_windows_lose_is_no_measure() {
        let mut trial = LossTrial::default();
        for _ in 0..8 {
            round(&mut trial, 400, 200);
        }
        assert_eq!((trial.acked, trial.lost), (0.0, 0.0));
        round(&mut trial, 400, 4);
        assert!(trial.acked > 0.0 && trial.lost > 0.0);
        trial.end_round(false);
        assert_eq!((trial.acked, trial.lost), (0.0, 0.0));
        assert_eq!(rounds_until(&mut trial, true, 4), 16);
        trial.end_round(false);
        assert!(!trial.is_on());
    }

    #[test]
    fn four_losses_more_than_half_as_many_again_end_a_trial() {
        let lose = |distance: u64| {
            let mut trial = on_trial();
            trial.begin_stretch();
            let mut losses = 0;
            while trial.is_on() && losses < 127 {
                trial.on_ack((distance - 1) * DATAGRAM);
                trial.on_loss(DATAGRAM as f64);
                losses += 1;
            }
            (losses, trial.is_on())
        };
        // 16 < 1.5 x 8 + 4.5, but for the last: 17 > 1.5 x 8.5 + 4.
        assert_eq!(lose(50), (17, false));
        assert_eq!(lose(67), (127, true));
        // 5 > 1.5 x 0.05 + 4.
        assert_eq!(lose(1), (5, false));
    }

    #[test]
    fn a_queue_is_tested_again_after_twice_as_many_round_trips_up_to_256() {
        let mut trial = on_trial();
        for waits in [32, 64, 128, 256, 256] {
            rounds_until(&mut trial, false, 40);
            // What is left of the queue.
            for _ in 0..7 {
                round(&mut trial, 400, 40);
            }
            let rounds = 7 + rounds_until(&mut trial, true, 4);
            assert!((waits..=waits + 1).contains(&rounds), "{rounds}");
            assert!((trial.share - 0.01).abs() < 1e-9);
        }
    }

    /// The share, in thousandths, and the wait after a stretch in which `losses` of 400 are lost.
    #[test]
    fn a_stretch_without_more_losses_makes_the_next_wait_short() {
        let after = |losses| {
            let mut trial = on_trial();
            trial.waits = 128;
            for _ in 0..33 {
                round(&mut trial, 400, losses);
            }
            assert!(trial.is_on());
            ((1e3 * trial.share).round(), trial.waits)
        };
        assert_eq!(after(2), (5.0, 16));
        assert_eq!(after(4), (10.0, 16));
        assert_eq!(after(5), (10.0, 128));
    }

    #[test]
    fn a_time_without_losses_allows_for_no_burst_later() {
        let mut trial = on_trial();
        trial.on_ack(1 << 50);
        trial.on_loss(DATAGRAM as f64);
        let rounds = rounds_until(&mut trial, false, 4);
        assert!(rounds < 3, "{rounds}");
    }
}
