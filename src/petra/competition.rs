//! Competition: is the standing queue self-inflicted, or kept full by competing flows?
//!
//! ```text
//!                        reduction under a queue
//!     Unknown ──────────────────────────────────────▶ Testing ──┐
//!      ▲   ▲   delivery rate holds, or the queue is gone │ ▲ │  │ delivery rate falls,
//!      │   ├─────────────────────────────────────────────┘ │ │  │ the queue persists
//!      │   └───────────── Drained ── drain at once ────────┘ │  │
//!      │                     ▲  rate holds, queue persists   │  │
//!      │                     └───────────────────────────────┘  ▼
//!      └─────────────────────────────────────────────────── Competing
//!       round trip without a queue, or after 2, 4, ... 64 round trips
//! ```
//!
//! A test also ends, without a conclusion, where the application held back or the link may have
//! become slower.
//!
//! | delivery rate after a reduction | queue    | conclusion                             |
//! |---------------------------------|----------|----------------------------------------|
//! | holds                           | gone     | the queue was self-inflicted           |
//! | holds                           | persists | the same, unless the next drain shows  |
//! |                                 |          | that the rate falls by both            |
//! | falls                           | persists | competing flows took the room          |
//! | falls                           | gone     | the reduction was too large: undone    |
//!
//! Next to others, the rate of a flow with much of the path falls by less than the noise of a
//! round trip after a drain of a twentieth. Where a drain shows no change and the queue persists,
//! a second one in the next round trip is judged by the rate of before both, too. What both
//! show is less sure, and does not double the time until the next test.
//!
//! A link that became slower lets the delivery rate fall as competing flows do. But those take
//! the room that a reduction leaves, and what they add besides takes them many round trips, unless
//! they begin. On a slower link, the same packets wait for longer at once.
//!
//! The conclusion may be wrong all the same: jitter lets the delivery rate fall, too, and so does
//! a link that became little slower. It is therefore forgotten after two round trips, and each
//! time that a later test finds it again, after twice as many.
//!
//! A round trip without a queue does not end the test: competing flows that reduce their
//! windows empty a short queue for one round trip, and so does jitter. One in which the
//! application held back does.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::super::controller::Time;

/// Share of the delivery rate that remains after the drain of a self-inflicted queue: all
/// of it, except for the measurement noise of one round trip.
const MIN_KEPT_RATE_SHARE: f64 = 0.95;

/// Round trips until a reduction shows in the delivery rate: the one with the reduction,
/// the one in which packets leave the reduced window, and the one that acknowledges them.
const TEST_ROUNDS: u32 = 3;

/// Largest growth of the minimum RTT in a test, as a share of what it was. Beyond it, and beyond
/// the noise, the link may have become slower, or new flows have come, and the delivery rate does
/// not show the effect of the reduction. Of 0.25, 0.33, 0.4 and 0.6, the least whose shares next to
/// others are as without this end of a test.
const MAX_RTT_GROWTH: f64 = 0.4;

/// Datagrams by which a round trip may deliver less because of when it began and ended. A
/// whole datagram would hide a drain of 15 % from windows below seven datagrams.
const ROUND_EDGE_DATAGRAMS: f64 = 0.25;

/// Round trips after which competition is tested again, the first time and at most. A test
/// costs a reduction, which competing flows answer by taking the room.
const RETEST_ROUNDS: RangeInclusive<u32> = 2..=64;

/// A whole round trip.
#[derive(Clone, Copy, Debug)]
struct Round {
    min_rtt: Duration,
    /// The delivery rate in bytes per second.
    rate: f64,
}

impl Round {
    /// Before the first one: nothing is longer, and no rate is lower.
    const NONE: Self = Self {
        min_rtt: Duration::MAX,
        rate: 0.0,
    };

    /// Returns true if packets wait for longer than in an `earlier` round trip, by more than what
    /// others make of the room that a reduction leaves.
    fn is_longer_than(&self, earlier: &Self, noise: Duration) -> bool {
        let growth = self.min_rtt.saturating_sub(earlier.min_rtt);
        growth > noise && growth.as_secs_f64() > MAX_RTT_GROWTH * earlier.min_rtt.as_secs_f64()
    }
}

/// The state before a reduction.
#[derive(Clone, Copy, Debug)]
struct Before {
    last: Round,
    /// The window to return to.
    window: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Unknown,
    /// The window was reduced. `first`: before the drain that came right before that.
    Testing {
        before: Before,
        first: Option<Before>,
        rounds: u32,
    },
    /// A drain has not changed the delivery rate, and the queue persisted in the last round trip.
    Drained(Before),
    /// Tested again after this many round trips.
    Competing { rounds: u32 },
}

/// Detects competing flows by the delivery rate after reductions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Competition {
    state: State,
    /// Round trips that the next detection lasts.
    lasts: u32,
    round_began: Time,
    delivered: u64,
    /// The minimum RTT of the round trip in progress.
    min_rtt: Duration,
    last: Round,
}

impl Default for Competition {
    fn default() -> Self {
        Self {
            state: State::Unknown,
            lasts: *RETEST_ROUNDS.start(),
            round_began: Time::default(),
            delivered: 0,
            min_rtt: Duration::MAX,
            last: Round::NONE,
        }
    }
}

impl Competition {
    pub(super) fn on_ack(&mut self, bytes: u64, rtt: Duration) {
        self.delivered = self.delivered.saturating_add(bytes);
        self.min_rtt = self.min_rtt.min(rtt);
    }

    /// Starts a test: the window was reduced under a queue. `restore`: the window to return
    /// to if the reduction only makes room for competing flows. If that shows only together with
    /// the drain right before it, that drain is undone, too.
    pub(super) fn on_reduction(&mut self, restore: Option<f64>) {
        let first = match self.state {
            State::Drained(first) => restore.and(Some(first)),
            _ => None,
        };
        let before = Before {
            last: self.last,
            window: restore,
        };
        self.state = State::Testing {
            before,
            first,
            rounds: 0,
        };
    }

    /// Ends a test without a conclusion: the application held back, so that the delivery rate
    /// does not show the effect of the reduction.
    pub(super) fn abandon_test(&mut self) {
        if self.is_open() {
            self.state = State::Unknown;
        }
    }

    /// Forgets what was concluded, but not the round trip in progress.
    pub(super) fn restart(&mut self) {
        self.state = State::Unknown;
        self.lasts = *RETEST_ROUNDS.start();
    }

    /// Ends a round trip. `noise`: the RTT variation that is no queue. Returns the window to
    /// restore, if any.
    pub(super) fn end_round(
        &mut self,
        now: Time,
        queued: bool,
        noise: Duration,
        datagram: f64,
    ) -> Option<f64> {
        let elapsed = now.saturating_sub(self.round_began).as_secs_f64();
        let delivered = self.delivered as f64;
        self.round_began = now;
        self.delivered = 0;
        if elapsed > 0.0 {
            self.last = Round {
                min_rtt: self.min_rtt,
                rate: delivered / elapsed,
            };
        }
        self.min_rtt = Duration::MAX;
        let mut restored = None;
        self.state = match self.state {
            State::Competing { .. } if !queued => {
                self.lasts = *RETEST_ROUNDS.start();
                State::Unknown
            }
            State::Competing { rounds } if rounds > 1 => State::Competing { rounds: rounds - 1 },
            State::Competing { .. } => State::Unknown,
            State::Testing { before, .. } if self.last.is_longer_than(&before.last, noise) => {
                State::Unknown
            }
            State::Testing {
                before,
                first,
                rounds,
            } if rounds + 1 < TEST_ROUNDS => State::Testing {
                before,
                first,
                rounds: rounds + 1,
            },
            State::Testing { before, first, .. } => {
                let falls = |before: &Before| {
                    let expected = MIN_KEPT_RATE_SHARE * before.last.rate * elapsed;
                    delivered + ROUND_EDGE_DATAGRAMS * datagram < expected
                };
                let both = first.filter(|first| queued && falls(first));
                let fell = both.or(Some(before).filter(falls));
                restored = fell.and_then(|before| before.window);
                match (fell, queued) {
                    (Some(_), true) => {
                        let rounds = self.lasts;
                        if both.is_none() {
                            self.lasts = (2 * rounds).min(*RETEST_ROUNDS.end());
                        }
                        State::Competing { rounds }
                    }
                    (None, true) if first.is_none() && before.window.is_some() => {
                        State::Drained(before)
                    }
                    _ => State::Unknown,
                }
            }
            State::Drained(_) | State::Unknown => State::Unknown,
        };
        restored
    }

    /// Returns true until the effect of the last reduction is known.
    pub(super) fn is_testing(&self) -> bool {
        matches!(self.state, State::Testing { .. })
    }

    /// Returns true while a test goes on, and between two drains that are judged together.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Testing { .. } | State::Drained(_))
    }

    /// Returns true while competing flows keep the queue full. A drain would only leave
    /// them the path.
    pub(super) fn is_detected(&self) -> bool {
        matches!(self.state, State::Competing { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::events::ms;
    use super::*;

    /// Round trips of 100 ms under a queue, each with this many datagrams of 1200 bytes.
    /// Returns the window that was restored.
    fn rounds(competition: &mut Competition, from: u64, datagrams: &[u64]) -> Option<f64> {
        let mut restored = None;
        for (round, datagrams) in (1..).zip(datagrams) {
            competition.on_ack(1_200 * datagrams, ms(100));
            let ended =
                competition.end_round(ms(from + 100 * round), true, Duration::ZERO, 1_200.0);
            restored = restored.or(ended);
        }
        restored
    }

    fn drained_at_100() -> Competition {
        let mut competition = Competition::default();
        rounds(&mut competition, 0, &[100]);
        competition.on_reduction(Some(150_000.0));
        competition
    }

    #[test]
    fn a_delivery_rate_that_falls_shows_competition() {
        let mut competition = drained_at_100();
        assert_eq!(rounds(&mut competition, 100, &[100, 95]), None);
        assert!(competition.is_testing());
        // 94 and a quarter are below 0.95 x 100.
        assert_eq!(rounds(&mut competition, 300, &[94]), Some(150_000.0));
        assert!(competition.is_detected());
        // The window is restored once.
        assert_eq!(rounds(&mut competition, 400, &[80]), None);
        assert!(competition.is_detected());
    }

    /// A drain that shows no change although the queue persists: 96 of 100 datagrams are left.
    fn drained_without_a_change() -> Competition {
        let mut competition = drained_at_100();
        assert_eq!(rounds(&mut competition, 100, &[100, 96, 96]), None);
        assert!(!competition.is_detected() && !competition.is_testing());
        competition
    }

    /// 93 and a quarter are below 0.95 x 100, but not below 0.95 x 96.
    const SECOND: [u64; 3] = [96, 93, 93];

    /// Reduces the window, and has too little of a fall to show competition by itself.
    fn assert_judged_alone(mut competition: Competition, from: u64, restore: Option<f64>) {
        competition.on_reduction(restore);
        assert_eq!(rounds(&mut competition, from, &SECOND), None);
        assert!(!competition.is_detected());
    }

    #[test]
    fn a_drain_right_after_another_is_judged_with_it() {
        let mut competition = drained_without_a_change();
        competition.on_reduction(Some(142_500.0));
        assert_eq!(rounds(&mut competition, 400, &SECOND), Some(150_000.0));
        assert!(competition.is_detected());
    }

    /// The second drain alone shows it, from 110 datagrams, and is all that is undone.
    #[test]
    fn the_second_of_two_drains_is_judged_alone_too() {
        let mut competition = drained_at_100();
        rounds(&mut competition, 100, &[100, 96, 110]);
        competition.on_reduction(Some(142_500.0));
        let restored = rounds(&mut competition, 400, &[96, 104, 104]);
        assert_eq!(restored, Some(142_500.0));
        assert!(competition.is_detected());
    }

    /// The rate held after the first drain, and the second one was too large.
    #[test]
    fn of_two_drains_the_second_is_undone_if_the_queue_is_gone() {
        for (datagrams, expected) in [(93, None), (80, Some(142_500.0))] {
            let mut competition = drained_without_a_change();
            competition.on_reduction(Some(142_500.0));
            rounds(&mut competition, 400, &[96, datagrams]);
            competition.on_ack(1_200 * datagrams, ms(100));
            let restored = competition.end_round(ms(700), false, Duration::ZERO, 1_200.0);
            assert_eq!(restored, expected);
            assert!(!competition.is_detected());
        }
    }

    /// Two round trips again and again, where one drain that shows it doubles them.
    #[test]
    fn what_two_drains_show_lasts_no_longer_the_next_time() {
        let (mut competition, mut now) = (Competition::default(), 0);
        let mut round = |competition: &mut Competition, datagrams| {
            rounds(competition, now, &[datagrams]);
            now += 100;
        };
        for _ in 0..3 {
            round(&mut competition, 100);
            for datagrams in [[100, 96, 96], SECOND] {
                competition.on_reduction(Some(150_000.0));
                for count in datagrams {
                    round(&mut competition, count);
                }
            }
            for _ in 0..2 {
                assert!(competition.is_detected());
                round(&mut competition, 100);
            }
            assert!(!competition.is_detected());
        }
    }

    #[test]
    fn a_test_is_open_between_two_drains() {
        let mut competition = drained_at_100();
        assert!(competition.is_open());
        rounds(&mut competition, 100, &[100, 96, 96]);
        assert!(competition.is_open() && !competition.is_testing());
        rounds(&mut competition, 400, &[96]);
        assert!(!competition.is_open());
    }

    #[test]
    fn no_more_than_two_drains_are_judged_together() {
        let mut competition = drained_without_a_change();
        competition.on_reduction(Some(142_500.0));
        assert_eq!(rounds(&mut competition, 400, &[96, 96, 96]), None);
        assert_judged_alone(competition, 700, Some(135_000.0));
    }

    #[test]
    fn a_drain_is_judged_alone_if_it_does_not_follow_at_once() {
        let later = |competition: &mut Competition| {
            rounds(competition, 400, &[96]);
        };
        for between in [later, Competition::abandon_test, Competition::restart] {
            let mut competition = drained_without_a_change();
            between(&mut competition);
            assert_judged_alone(competition, 500, Some(142_500.0));
        }
    }

    #[test]
    fn a_drain_is_judged_alone_after_a_loss_and_a_loss_after_a_drain() {
        assert_judged_alone(drained_without_a_change(), 400, None);

        let mut competition = drained_at_100();
        competition.on_reduction(None);
        rounds(&mut competition, 100, &[100, 96, 96]);
        assert_judged_alone(competition, 400, Some(142_500.0));
    }

    #[test]
    fn a_drain_is_judged_alone_after_one_that_emptied_the_queue() {
        let mut competition = drained_at_100();
        rounds(&mut competition, 100, &[100, 96]);
        competition.on_ack(1_200 * 96, ms(100));
        assert_eq!(
            competition.end_round(ms(400), false, Duration::ZERO, 1_200.0),
            None
        );
        assert_judged_alone(competition, 400, Some(142_500.0));
    }

    /// By as little as a quarter of a datagram, which the edges of the round trip explain.
    #[test]
    fn a_delivery_rate_that_holds_but_for_noise_shows_none() {
        let mut competition = drained_at_100();
        rounds(&mut competition, 100, &[100, 95]);
        competition.on_ack(1_200 * 95 - 300, ms(100));
        assert_eq!(
            competition.end_round(ms(400), true, Duration::ZERO, 1_200.0),
            None
        );
        assert!(!competition.is_detected() && !competition.is_testing());
    }

    #[test]
    fn a_round_trip_without_duration_has_no_rate() {
        let mut competition = Competition::default();
        rounds(&mut competition, 0, &[100]);
        competition.end_round(ms(100), true, Duration::ZERO, 1_200.0);
        competition.on_reduction(None);
        rounds(&mut competition, 100, &[100, 50, 50]);
        assert!(competition.is_detected());
    }

    #[test]
    fn an_abandoned_test_restores_nothing_and_finds_no_competition() {
        let mut competition = drained_at_100();
        rounds(&mut competition, 100, &[100, 50]);
        competition.abandon_test();
        assert!(!competition.is_testing());
        assert_eq!(rounds(&mut competition, 300, &[50]), None);
        assert!(!competition.is_detected());
    }

    /// Reduces under a queue so that a test finds competition. Returns the round trips until
    /// that is forgotten, and moves `now` on by all of them.
    fn lasts(competition: &mut Competition, now: &mut u64) -> usize {
        let mut round = |competition: &mut Competition, datagrams| {
            rounds(competition, *now, &[datagrams]);
            *now += 100;
        };
        round(competition, 100);
        competition.on_reduction(None);
        (0..TEST_ROUNDS).for_each(|_| round(competition, 50));
        let mut lasts = 0;
        while competition.is_detected() {
            round(competition, 100);
            lasts += 1;
            assert!(lasts < 1_000);
        }
        lasts
    }

    #[test]
    fn it_is_tested_again_ever_more_rarely() {
        let (mut competition, mut now) = (Competition::default(), 0);
        let all = [(); 7].map(|()| lasts(&mut competition, &mut now));
        assert_eq!(all, [2, 4, 8, 16, 32, 64, 64]);
    }

    #[test]
    fn without_a_queue_and_after_a_restart_it_is_tested_soon() {
        for restart in [false, true] {
            let (mut competition, mut now) = (Competition::default(), 0);
            let all = [(); 3].map(|()| lasts(&mut competition, &mut now));
            assert_eq!(all, [2, 4, 8]);
            if restart {
                competition.restart();
            } else {
                rounds(&mut competition, now, &[100]);
                competition.on_reduction(None);
                rounds(&mut competition, now + 100, &[50, 50, 50]);
                assert!(competition.is_detected());
                now += 500;
                competition.end_round(ms(now), false, Duration::ZERO, 1_200.0);
            }
            assert_eq!(lasts(&mut competition, &mut now), 2);
        }
    }

    #[test]
    fn one_that_holds_shows_none() {
        let mut competition = drained_at_100();
        assert_eq!(rounds(&mut competition, 100, &[50, 50, 95]), None);
        assert!(!competition.is_detected() && !competition.is_testing());
    }

    /// A drain by 15 % of six datagrams: one of them.
    #[test]
    fn small_windows_detect_competition_too() {
        let mut competition = Competition::default();
        rounds(&mut competition, 0, &[6]);
        competition.on_reduction(Some(7_200.0));
        assert_eq!(rounds(&mut competition, 100, &[6, 5, 5]), Some(7_200.0));
        assert!(competition.is_detected());
    }

    /// 60 datagrams of 100 are left after a drain at 100 ms. The minimum RTT of one of the three
    /// round trips is `rtt`.
    fn detected_where_one_has(rtt: u64, noise: u64) -> bool {
        let detected = (0..3).map(|longer| {
            let mut competition = drained_at_100();
            let restored = (0..3).filter_map(|round| {
                let rtt = if round == longer { rtt } else { 100 };
                competition.on_ack(1_200 * 60, ms(rtt + 20));
                competition.on_ack(0, ms(rtt));
                competition.end_round(ms(200 + 100 * round), true, ms(noise), 1_200.0)
            });
            let restored = restored.count() == 1;
            assert!(competition.is_detected() == restored && !competition.is_open());
            restored
        });
        let detected: Vec<bool> = detected.collect();
        assert!(detected.iter().all(|it| *it == detected[0]), "{rtt}");
        detected[0]
    }

    #[test]
    fn an_rtt_that_grows_in_a_test_shows_a_slower_link() {
        assert!(detected_where_one_has(140, 0));
        assert!(!detected_where_one_has(141, 0));
    }

    #[test]
    fn noise_is_no_slower_link() {
        assert!(detected_where_one_has(150, 50));
        assert!(!detected_where_one_has(151, 50));
    }

    #[test]
    fn a_queue_that_a_drain_empties_is_self_inflicted() {
        let mut competition = drained_at_100();
        rounds(&mut competition, 100, &[100, 95]);
        competition.on_ack(1_200 * 95, ms(100));
        assert_eq!(
            competition.end_round(ms(400), false, Duration::ZERO, 1_200.0),
            None
        );
        assert!(!competition.is_detected() && !competition.is_testing());
    }

    #[test]
    fn a_delivery_rate_that_falls_with_the_queue_restores_the_window() {
        let mut competition = drained_at_100();
        rounds(&mut competition, 100, &[50, 50]);
        competition.on_ack(1_200 * 50, ms(100));
        let restored = competition.end_round(ms(400), false, Duration::ZERO, 1_200.0);
        assert_eq!(restored, Some(150_000.0));
        assert!(!competition.is_detected() && !competition.is_testing());
    }

    /// CUBIC's own reduction empties a short queue for a round.
    #[test]
    fn a_round_without_a_queue_does_not_end_the_test() {
        let mut competition = drained_at_100();
        competition.on_ack(1_200 * 100, ms(100));
        assert_eq!(
            competition.end_round(ms(200), false, Duration::ZERO, 1_200.0),
            None
        );
        assert!(competition.is_testing());
        assert_eq!(rounds(&mut competition, 200, &[90, 90]), Some(150_000.0));
        assert!(competition.is_detected());
    }

    #[test]
    fn competition_ends_with_the_queue() {
        let mut competition = drained_at_100();
        rounds(&mut competition, 100, &[50, 50, 50]);
        competition.end_round(ms(500), false, Duration::ZERO, 1_200.0);
        assert!(!competition.is_detected());
    }

    #[test]
    fn a_loss_starts_a_test_but_restores_nothing() {
        let mut competition = drained_at_100();
        competition.on_reduction(None);
        assert_eq!(rounds(&mut competition, 100, &[50, 50, 50]), None);
        assert!(competition.is_detected());
        competition.on_reduction(None);
        rounds(&mut competition, 400, &[50, 50, 50]);
        assert!(!competition.is_detected());
    }
}
