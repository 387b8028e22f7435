//! A longer path: a delay that stays and does not follow the window.
//!
//! After a change of route every packet takes longer than the minimum RTT, as it would behind a
//! standing queue. But a queue of the connection's own follows its window, a queue of competing
//! flows follows theirs, and the delay of a longer path stays as it is, or rises with a queue of
//! the connection's own and falls back to where it was:
//!
//! ```text
//!           (largest window - least window) / rate
//! quotient = ───────────────────────────────────────    1 for a queue of the connection's own,
//!              largest minimum RTT - least one          large for a longer path
//! ```
//!
//! The queue of several flows may keep its length for as long while they answer to a drain, and
//! the window of one of them hardly shows in it. A longer path is therefore on trial at first:
//! if its delay falls, or rises and packets are lost, it was a queue. So is one whose delay
//! [came at once](super::delay_step).

use std::time::Duration;

use super::super::bandwidth::GRANULARITY;
use super::min_rtt_filter::Minima;
use super::standing_queue::transmission_time;

/// Quotient from which a path counts as longer.
const MIN_QUOTIENT: f64 = 4.0;

/// The same if no round trip was without a queue since slow start. In a queue that rivals fill, the
/// quotient is the inverse of the connection's share.
const MIN_QUOTIENT_WITHOUT_CALM: f64 = 8.0;

/// Datagrams of a change of the window that may not show in the delay: the window is rarely a
/// multiple of a datagram, and neither is what is in flight at the least RTT.
const MAX_UNSEEN_DATAGRAMS: f64 = 2.0;

/// Round trips over which the delay must stay.
const MIN_ROUNDS: u32 = 6;

/// Divisor of the additional delay that gives the largest variation of a delay that stays.
const VARIATION_DIVISOR: u32 = 16;

/// Round trips of the trial. Twice as many show nothing else.
const TRIAL_ROUNDS: u32 = 32;

/// Divisor of the additional delay that gives the largest movement of the delay in the trial.
const TRIAL_DIVISOR: u32 = 8;

/// Datagrams that a path may lose in the trial although its delay has risen.
const MAX_LOST_DATAGRAMS: f64 = 1.5;

/// Growth of the window in the trial from which it explains a rise of the delay. Of 2, 3 and 4,
/// the best for both 16 `petra` in `lab/plans/varying/crowds.toml` and paths that become faster.
const MIN_EXPLAINING_GROWTH: f64 = 3.0;

/// Largest number of doublings of `MIN_ROUNDS`, one after each trial that showed a queue.
const MAX_DOUBLINGS: u32 = 4;

/// Round trips after the last one without a queue in which a comparison may begin. A queue that
/// an outage left is gone by then, at half of the former rate as well.
const MAX_ROUNDS_TO_BEGIN: u32 = 16;

/// Round trips until a change of the window shows in the delay: at least one, and up to this
/// many.
const MAX_LAG: usize = 3;

/// The least and the largest window.
type Range = (f64, f64);

fn union(left: Range, right: Range) -> Range {
    (left.0.min(right.0), left.1.max(right.1))
}

/// The extremes of the delay and of the windows over round trips whose delay stays. Between them
/// may be others, in which a queue of the connection's own explains a longer delay.
#[derive(Clone, Copy, Debug)]
struct Comparison {
    rounds: u32,
    min_delay: Duration,
    max_delay: Duration,
    /// The windows of one round trip before each, of two and of three.
    windows: [Range; MAX_LAG],
    /// The highest rate, in bytes per second.
    max_rate: f64,
    /// The last one.
    last_rate: f64,
}

/// A path that counts as longer, unless it proves to be a queue.
#[derive(Clone, Copy, Debug)]
struct Trial {
    rounds: u32,
    delay: Duration,
    additional: Duration,
    /// The window at its beginning.
    window: f64,
    /// The delay has risen by more than the growth of the window explains. A queue of the
    /// connection's own does that, too, but is drained before it loses packets.
    has_risen: bool,
    /// Bytes lost.
    lost: f64,
    /// The minima to return to.
    former: Minima,
}

impl Trial {
    /// Takes the delay of a round trip. `own_queue`: see [`Self::own_queue`]. Returns true if a
    /// path of constant length does not have it.
    fn is_refuted_by(&mut self, delay: Duration, own_queue: Duration, datagram: f64) -> bool {
        let most = self.most();
        let explained = (self.delay + most).saturating_add(own_queue);
        self.has_risen |= delay > explained;
        let falls = delay + most < self.delay;
        falls || self.has_risen && self.lost > MAX_LOST_DATAGRAMS * datagram
    }

    /// The delay that this window adds at this rate, if it has grown by much.
    fn own_queue(&self, window: f64, rate: f64) -> Duration {
        if window < MIN_EXPLAINING_GROWTH * self.window {
            return Duration::ZERO;
        }
        transmission_time(window - self.window, rate)
    }

    /// Reports a delay of before: the path is short again, or the queue is empty.
    fn is_of_before(&self, delay: Duration) -> bool {
        delay + self.additional <= self.delay + self.most()
    }

    /// The largest movement of the delay.
    fn most(&self) -> Duration {
        (self.additional / TRIAL_DIVISOR).max(GRANULARITY)
    }
}

/// Compares the minimum RTTs of round trips with the windows before them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PathChange {
    /// The windows at the end of the last round trips, newest first.
    windows: [Option<f64>; MAX_LAG],
    comparison: Option<Comparison>,
    /// Round trips since the last one without a queue.
    delayed_rounds: u32,
    /// The estimated rate in the last round trip without a queue, in bytes per second.
    unqueued_rate: Option<f64>,
    trial: Option<Trial>,
    /// Trials in a row that showed a queue.
    refuted: u32,
}

/// A round trip in which every packet was delayed.
#[derive(Clone, Copy, Debug)]
pub(super) struct DelayedRound {
    /// The minimum RTT of the round trip.
    pub(super) delay: Duration,
    /// The base RTT.
    pub(super) base: Duration,
    /// The estimated rate, in bytes per second.
    pub(super) rate: f64,
    /// The maximum datagram size, in bytes.
    pub(super) datagram: f64,
}

/// A path that has become longer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LongerPath {
    /// The minimum RTT of the path now.
    pub(super) min_rtt: Duration,
    /// The growth of the minimum RTT.
    pub(super) additional: Duration,
    /// The rate of the path in bytes per second, as it was before. `None` in the first slow start,
    /// and if each round trip since then was delayed: what the window lets through is no rate.
    pub(super) rate: Option<f64>,
}

impl PathChange {
    /// Takes the window at the end of a round trip, after all responses.
    pub(super) fn on_window(&mut self, bytes: f64) {
        self.windows.rotate_right(1);
        self.windows[0] = Some(bytes);
    }

    /// Begins the trial of a path, from which one may have to return to `former`.
    pub(super) fn begin_trial(&mut self, path: LongerPath, former: Minima) {
        // A second step belongs to the first one's trial.
        let before = self.trial;
        self.trial = Some(Trial {
            rounds: 0,
            delay: path.min_rtt,
            additional: before.map_or(Duration::ZERO, |it| it.additional) + path.additional,
            window: self.largest_window(),
            has_risen: before.is_some_and(|it| it.has_risen),
            lost: before.map_or(0.0, |it| it.lost),
            former: before.map_or(former, |it| it.former),
        });
    }

    /// Takes bytes that were declared lost.
    pub(super) fn on_loss(&mut self, bytes: u64) {
        if let Some(trial) = &mut self.trial {
            trial.lost += bytes as f64;
        }
    }

    /// The largest window of the last round trips, in bytes.
    fn largest_window(&self) -> f64 {
        self.windows.iter().flatten().copied().fold(0.0, f64::max)
    }

    /// Ends a round trip with this minimum RTT and estimated rate in bytes per second, if they are
    /// known. Returns the minima to return to if the longer path was a queue, or is short again.
    pub(super) fn end_round(
        &mut self,
        delay: Option<Duration>,
        rate: Option<f64>,
        datagram: f64,
    ) -> Option<Minima> {
        let window = self.largest_window();
        let trial = self.trial.as_mut()?;
        trial.rounds += 1;
        let own_queue = rate.map_or(Duration::ZERO, |rate| trial.own_queue(window, rate));
        if let Some(delay) = delay.filter(|it| trial.is_refuted_by(*it, own_queue, datagram)) {
            if !trial.is_of_before(delay) {
                self.refuted = self.refuted.saturating_add(1);
            }
            return self.trial.take().map(|trial| trial.former);
        }
        if trial.rounds >= TRIAL_ROUNDS {
            self.refuted = 0;
            self.trial = None;
        }
        None
    }

    /// Ends a round trip without a queue, at this rate.
    pub(super) fn on_calm_round(&mut self, rate: f64) {
        self.unqueued_rate = Some(rate);
        self.delayed_rounds = 0;
        self.comparison = None;
    }

    /// Ends a round trip of which nothing can be said: the window did not limit the sender, or
    /// slow start changed it by too much.
    pub(super) fn on_unlimited_round(&mut self) {
        self.comparison = None;
    }

    /// Factor of the round trips for which a delay has to stay: twice as many after each trial in a
    /// row that showed a queue.
    pub(super) fn caution(&self) -> u32 {
        1 << self.refuted.min(MAX_DOUBLINGS)
    }

    /// Ends the comparison: the path has become longer, with this minimum RTT. `base`: the base RTT
    /// of before.
    pub(super) fn conclude(&mut self, min_rtt: Duration, base: Duration) -> LongerPath {
        self.comparison = None;
        LongerPath {
            min_rtt,
            additional: min_rtt.saturating_sub(base),
            rate: self.unqueued_rate,
        }
    }

    /// Ends a round trip in which every packet was delayed.
    pub(super) fn on_delayed_round(&mut self, round: DelayedRound) -> Option<LongerPath> {
        self.delayed_rounds = self.delayed_rounds.saturating_add(1);
        let [Some(first), Some(second), Some(third)] = self.windows else {
            return None;
        };
        let began = Comparison {
            rounds: 1,
            min_delay: round.delay,
            max_delay: round.delay,
            windows: [first, second, third].map(|window| (window, window)),
            max_rate: round.rate,
            last_rate: round.rate,
        };
        let transmission = round.datagram / self.unqueued_rate.unwrap_or(round.rate);
        let resolution = transmission.max(GRANULARITY.as_secs_f64());
        self.compare(began, round.base, resolution);
        let compared = self.comparison?;
        let ignores_window = match self.unqueued_rate {
            Some(_) => compared.quotient(0.0, resolution) >= MIN_QUOTIENT,
            None => {
                let unseen = MAX_UNSEEN_DATAGRAMS * round.datagram;
                let quotient = compared.quotient(unseen, GRANULARITY.as_secs_f64());
                quotient >= MIN_QUOTIENT_WITHOUT_CALM
            }
        };
        let longer = compared.rounds >= MIN_ROUNDS * self.caution() && ignores_window;
        longer.then(|| self.conclude(compared.min_delay, round.base))
    }

    /// Adds a round trip to the comparison if the delay stays, leaves it out if a queue of the
    /// connection's own explains its delay, or begins anew. `resolution`: see
    /// [`Comparison::quotient`].
    fn compare(&mut self, round: Comparison, base: Duration, resolution: f64) {
        let stays = |it: &Comparison| {
            let most = it.additional(base) / VARIATION_DIVISOR;
            it.varied() <= most.as_secs_f64().max(resolution)
        };
        // The base RTT may have risen with the noise, so that less was added.
        let before = self.comparison.take().filter(stays);
        let compared = before.map(|so_far| so_far.and(round)).filter(stays);
        self.comparison = match (before, compared) {
            (_, Some(compared)) => Some(compared),
            (Some(so_far), None) if so_far.is_without_queue_of(&round, resolution) => Some(so_far),
            _ => (self.delayed_rounds <= MAX_ROUNDS_TO_BEGIN).then_some(round),
        };
    }
}

impl Comparison {
    fn and(self, other: Self) -> Self {
        let both = |lag| union(self.windows[lag], other.windows[lag]);
        Self {
            rounds: self.rounds.saturating_add(other.rounds),
            min_delay: self.min_delay.min(other.min_delay),
            max_delay: self.max_delay.max(other.max_delay),
            windows: std::array::from_fn(both),
            max_rate: self.max_rate.max(other.max_rate),
            last_rate: other.last_rate,
        }
    }

    /// The delay beyond the base RTT.
    fn additional(&self, base: Duration) -> Duration {
        self.min_delay.saturating_sub(base)
    }

    /// Returns true if `longer` differs by a queue of the connection's own: its delay is longer,
    /// but not by more than its window was larger.
    fn is_without_queue_of(&self, longer: &Self, resolution: f64) -> bool {
        let delay = longer.min_delay.saturating_sub(self.min_delay);
        let (least, _) = self.windows.into_iter().fold(self.windows[0], union);
        let (_, largest) = longer.windows.into_iter().fold(longer.windows[0], union);
        let most = (largest - least) / longer.last_rate + resolution;
        !delay.is_zero() && delay.as_secs_f64() <= most
    }

    /// Seconds by which the delay varied.
    fn varied(&self) -> f64 {
        (self.max_delay - self.min_delay).as_secs_f64()
    }

    /// The quotient at the lag at which it is least. `unseen`: bytes of a change of the window that
    /// may not show. `resolution`: seconds by which every delay varies, on account of timers and,
    /// if nothing is unseen, of whole datagrams.
    fn quotient(&self, unseen: f64, resolution: f64) -> f64 {
        let changes = self.windows.iter().map(|(min, max)| max - min);
        let change = changes.fold(f64::INFINITY, f64::min);
        (change - unseen).max(0.0) / self.max_rate / self.varied().max(resolution)
    }
}

#[cfg(kani)]
mod proofs {
    use super::super::super::proofs::{any_between, any_duration};
    use super::*;

    /// At a rate near zero, the queue of a window lasts for `Duration::MAX`.
    #[kani::proof]
    fn a_queue_of_any_length_refutes_no_trial() {
        let mut trial = Trial {
            rounds: 0,
            delay: any_duration(),
            additional: any_duration(),
            window: any_between(2.0, 1e16),
            has_risen: kani::any(),
            lost: any_between(0.0, 1e20),
            former: Minima::default(),
        };
        let risen = trial.has_risen;
        trial.is_refuted_by(any_duration(), Duration::MAX, 1_200.0);
        assert!(trial.has_risen == risen);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::events::ms;
    use super::*;

    /// 1 MB/s: a datagram of 1000 bytes takes a millisecond.
    const RATE: f64 = 1e6;

    fn delayed(delay: u64) -> DelayedRound {
        DelayedRound {
            delay: ms(delay),
            base: ms(90),
            rate: RATE,
            datagram: 1e3,
        }
    }

    /// After calm round trips with a window of 100 datagrams.
    fn calm() -> PathChange {
        let mut change = PathChange::default();
        for _ in 0..MAX_LAG {
            change.on_calm_round(RATE);
            change.on_window(100e3);
        }
        change
    }

    /// Ends a delayed round trip before a window in datagrams.
    fn end(change: &mut PathChange, round: DelayedRound, datagrams: u32) -> Option<LongerPath> {
        let found = change.on_delayed_round(round);
        change.on_window(1e3 * f64::from(datagrams));
        found
    }

    /// After calm ones, round trips with these delays in milliseconds, each before a window in
    /// datagrams. Returns the first conclusion.
    fn rounds(rounds: impl IntoIterator<Item = (u64, u32)>) -> Option<LongerPath> {
        let mut change = calm();
        let mut rounds = rounds.into_iter();
        rounds.find_map(|(delay, datagrams)| end(&mut change, delayed(delay), datagrams))
    }

    const LONGER: Option<LongerPath> = Some(LongerPath {
        min_rtt: Duration::from_millis(180),
        additional: Duration::from_millis(90),
        rate: Some(RATE),
    });

    #[test]
    fn a_delay_that_stays_while_the_window_changes_is_of_the_path() {
        // Growth by a datagram per round trip, and a delay that varies by a millisecond.
        let growing = |last| (0..last).map(|round| (180 + u64::from(round) % 2, 101 + round));
        assert_eq!(rounds(growing(6)), None);
        assert_eq!(rounds(growing(7)), LONGER);
        // A reduction for losses: it shows after a round trip or after three.
        let reduced = |last| (0..last).map(|round| (180, if round < 2 { 100 } else { 80 }));
        assert_eq!(rounds(reduced(5)), None);
        assert_eq!(rounds(reduced(6)), LONGER);
    }

    #[test]
    fn what_an_outage_left_does_not_hide_it() {
        let queue = [(260, 100), (240, 100), (215, 100), (190, 100)];
        let growing = (0..8).map(|round| (180, 101 + round));
        assert_eq!(rounds(queue.into_iter().chain(growing)), LONGER);
    }

    /// A window of 180 datagrams fills a path of 180 ms. This one is below, and above for every
    /// other three round trips, which shows two round trips later.
    #[test]
    fn a_queue_of_the_window_may_come_and_go_on_a_longer_path() {
        let above = |round: u32| round / 3 % 2 == 1;
        let windows = (0..20).map(|round| if above(round) { 192 } else { 150 + round });
        let delays = |queue: u64| {
            (0..20).map(move |round| match round {
                // The queue of an outage.
                0..4 => 260 - 20 * u64::from(round),
                _ if above(round - 2) => 180 + queue,
                _ => 180,
            })
        };
        assert_eq!(rounds(delays(12).zip(windows.clone())), LONGER);
        // The window has grown by 41 datagrams, which take 41 ms.
        assert_eq!(rounds(delays(42).zip(windows.clone())), LONGER);
        assert_eq!(rounds(delays(43).zip(windows)), None);
    }

    /// Without a calm round trip. `grows`: growth in kB per round trip.
    #[test]
    fn without_a_calm_round_trip_the_delay_stays_for_twice_the_change_and_the_rate_is_unknown() {
        let found = |grows: u32, varies: u64| {
            let mut change = PathChange {
                windows: [Some(100e3); MAX_LAG],
                ..PathChange::default()
            };
            (1..=20).find_map(|round: u32| {
                let round_trip = DelayedRound {
                    datagram: 1.5e3,
                    ..delayed(180 + varies * u64::from(round % 2))
                };
                let path = end(&mut change, round_trip, 100 + grows * round)?;
                Some((round, path))
            })
        };
        let after = |round| {
            Some((
                round,
                LongerPath {
                    rate: None,
                    ..LONGER.unwrap()
                },
            ))
        };
        // The window of three round trips before has grown by three times as much. Of that, two
        // datagrams of 1.5 kB do not count, and eight kB take as many milliseconds.
        assert_eq!((found(4, 0), found(3, 0)), (after(6), after(7)));
        assert_eq!((found(2, 0), found(7, 2)), (after(9), after(6)));
        assert_eq!(found(6, 2), after(7));
        // A sixteenth of 90 ms are 5.6 ms. A longer delay may be a queue that the window explains,
        // which shows no rate, either.
        assert_eq!((found(20, 5), found(20, 6)), (after(6), after(12)));
    }

    #[test]
    fn a_comparison_whose_base_rtt_rises_is_not_kept_if_its_delay_varied_by_too_much() {
        let mut change = calm();
        let found = (0..20).find_map(|round: u32| {
            // 90 ms allow 5 ms, and 70 ms do not. A queue would explain the delay from then on.
            let (base, delay) = match round {
                0..4 => (90, 180 + 5 * u64::from(round % 2)),
                _ => (110, 184),
            };
            let round_trip = DelayedRound {
                base: ms(base),
                ..delayed(delay)
            };
            end(&mut change, round_trip, 101 + round).map(|path| (round, path.additional))
        });
        assert_eq!(found, Some((9, ms(74))));
    }

    #[test]
    fn a_queue_is_as_long_as_the_window_of_any_lag_explains() {
        let round = |delay: u64, windows: [f64; MAX_LAG], last_rate| Comparison {
            rounds: 1,
            min_delay: ms(delay),
            max_delay: ms(delay),
            windows: windows.map(|window| (window, window)),
            max_rate: 9.0 * RATE,
            last_rate,
        };
        for lag in 0..MAX_LAG {
            let (mut small, mut large) = ([100e3; MAX_LAG], [100e3; MAX_LAG]);
            small[lag] = 80e3;
            large[(lag + 1) % MAX_LAG] = 120e3;
            let shorter = round(180, small, 9.0 * RATE);
            let explains = |delay, resolution| {
                shorter.is_without_queue_of(&round(delay, large, RATE), resolution)
            };
            assert!(explains(220, 0.0) && !explains(221, 0.0) && explains(221, 1e-3));
            assert!(!explains(180, 1e-3) && !explains(170, 1e-3));
        }
    }

    #[test]
    fn a_comparison_begins_within_sixteen_round_trips() {
        for (before, longer) in [(15, LONGER), (16, None)] {
            let moves = (0..before).map(|round| (300 + 300 * (round % 2), 100));
            let stays = (0..30).map(|round| (180, 101 + round));
            assert_eq!(rounds(moves.chain(stays)), longer, "{before}");
        }
    }

    #[test]
    fn a_delay_that_follows_the_window_is_of_a_queue() {
        assert_eq!(
            rounds((0..40).map(|round| (180 + u64::from(round), 101 + round))),
            None
        );
        // Drains of 15 %, whichever round trip after them shows them.
        for lag in 1..=MAX_LAG {
            let windows = [
                100, 100, 85, 85, 85, 72, 72, 72, 61, 61, 61, 61, 61, 61, 61, 61,
            ];
            let delays = (0..windows.len()).map(|round| {
                let cause = round.checked_sub(lag).map_or(100, |before| windows[before]);
                80 + u64::from(cause)
            });
            assert_eq!(rounds(delays.zip(windows)), None, "{lag}");
        }
    }

    #[test]
    fn a_delay_that_moves_with_other_flows_is_of_a_queue() {
        let delays = [150, 156, 162, 168, 174, 180, 180, 150];
        let windows = (0..80).map(|round| 101 + round);
        assert_eq!(rounds(delays.into_iter().cycle().zip(windows)), None);
    }

    #[test]
    fn a_round_trip_that_the_window_did_not_limit_begins_a_new_comparison() {
        let mut change = PathChange::default();
        change.on_calm_round(RATE);
        for round in 0..10 {
            change.on_window(1e3 * f64::from(100 + round));
            // Without it, the rounds before and after would be enough.
            if round == 5 {
                change.on_unlimited_round();
            } else {
                assert_eq!(change.on_delayed_round(delayed(180)), None, "{round}");
            }
        }
    }

    #[test]
    fn a_delay_that_stays_with_the_window_shows_nothing() {
        assert_eq!(rounds([(180, 100); 40]), None);
    }

    /// Round trips of a trial at 180 ms, with these delays and a lost datagram each. Returns
    /// whether it showed a queue.
    fn tried(change: &mut PathChange, delays: impl IntoIterator<Item = u64>) -> bool {
        change.begin_trial(LONGER.unwrap(), Minima::default());
        let mut ends = delays.into_iter().map(|it| {
            change.on_loss(1_000);
            change.end_round(Some(ms(it)), Some(RATE), 1e3)
        });
        ends.any(|former| former.is_some())
    }

    #[test]
    fn a_delay_that_moves_in_its_trial_was_of_a_queue() {
        // An eighth of 90 ms is 11.25 ms.
        for (delay, queue) in [(191, false), (192, true), (169, false), (168, true)] {
            let mut change = PathChange::default();
            assert_eq!(tried(&mut change, [180, delay]), queue, "{delay}");
            // A fall needs no loss.
            let alone = tried(&mut PathChange::default(), [delay]);
            assert_eq!(alone, queue && delay < 180, "{delay}");
            // Once risen, it is a queue with the next loss.
            let later = tried(&mut PathChange::default(), [delay, 180]);
            assert_eq!(later, queue, "{delay}");
        }
        // At the limits of the movement, and of a datagram and a half.
        let ends = |micros, lost| {
            let mut change = PathChange::default();
            change.begin_trial(LONGER.unwrap(), Minima::default());
            change.on_loss(lost);
            let ended = change.end_round(Some(Duration::from_micros(micros)), Some(RATE), 1e3);
            ended.is_some()
        };
        assert!(!ends(191_250, 9_000) && !ends(168_750, 0));
        assert!(!ends(192_000, 1_500) && ends(192_000, 1_501));
        let mut change = PathChange::default();
        assert_eq!(change.end_round(Some(ms(500)), Some(RATE), 1e3), None);
        // A round trip without an RTT says nothing. After the trial, the path may be shared.
        change.begin_trial(LONGER.unwrap(), Minima::default());
        for _ in 0..TRIAL_ROUNDS {
            assert_eq!(change.end_round(None, Some(RATE), 1e3), None);
        }
        change.on_loss(9_000);
        assert_eq!(change.end_round(Some(ms(500)), Some(RATE), 1e3), None);
    }

    #[test]
    fn a_second_step_keeps_what_its_trial_has_shown() {
        for (risen, lost) in [(true, 2_000), (false, 2_000), (true, 1_000)] {
            let mut change = PathChange::default();
            change.begin_trial(LONGER.unwrap(), Minima::default());
            change.on_loss(lost / 2);
            let delay = ms(if risen { 250 } else { 180 });
            assert_eq!(change.end_round(Some(delay), Some(RATE), 1e3), None);
            change.begin_trial(LONGER.unwrap(), Minima::default());
            change.on_loss(lost / 2);
            let ended = change.end_round(Some(ms(180)), Some(RATE), 1e3);
            assert_eq!(ended.is_some(), risen && lost == 2_000, "{risen} {lost}");
        }
    }

    #[test]
    fn a_window_that_has_tripled_in_the_trial_explains_a_rise() {
        // An eighth of 90 ms are 11.25 ms, and 200 datagrams take 200 ms more.
        for (delay, largest, rate, refuted) in [
            (391, 300e3, Some(RATE), false),
            (392, 300e3, Some(RATE), true),
            (300, 299e3, Some(RATE), true),
            (391, 300e3, None, true),
            (191, 299e3, None, false),
        ] {
            let mut change = calm();
            change.begin_trial(LONGER.unwrap(), Minima::default());
            change.on_window(largest);
            change.on_window(100e3);
            change.on_loss(9_000);
            let ended = change.end_round(Some(ms(delay)), rate, 1e3);
            assert_eq!(ended.is_some(), refuted, "{delay} {largest} {rate:?}");
        }
    }

    #[test]
    fn each_trial_that_shows_a_queue_doubles_the_round_trips_of_the_next_comparison() {
        let growing = || (0..200).map(|round| (180, 101 + round));
        let compared = |refuted: u32| {
            let mut change = PathChange::default();
            for _ in 0..refuted {
                assert!(tried(&mut change, [180, 250]));
            }
            for _ in 0..MAX_LAG {
                change.on_calm_round(RATE);
                change.on_window(100e3);
            }
            growing().position(|(delay, datagrams)| {
                end(&mut change, delayed(delay), datagrams).is_some()
            })
        };
        let rounds: Vec<_> = (0..6)
            .map(|refuted| 1 + compared(refuted).unwrap())
            .collect();
        // The first one has to wait for the window to grow.
        assert_eq!(rounds, [7, 12, 24, 48, 96, 96]);
        // A path that is short again was no queue.
        let mut change = PathChange::default();
        assert!(tried(&mut change, [101]));
        assert_eq!(change.refuted, 0);
        assert!(tried(&mut change, [102]));
        assert_eq!(change.refuted, 1);
        assert!(!tried(&mut change, [180; 32]));
        assert_eq!(change.refuted, 0);
    }

    #[test]
    fn round_trips_without_a_queue_or_a_full_window_begin_a_new_comparison() {
        let mut change = PathChange::default();
        for round in 0..60 {
            match round % 6 {
                0 => change.on_calm_round(RATE),
                3 => change.on_unlimited_round(),
                _ => assert_eq!(change.on_delayed_round(delayed(180)), None),
            }
            change.on_window(100e3 + 2e3 * f64::from(round));
        }
    }
}
