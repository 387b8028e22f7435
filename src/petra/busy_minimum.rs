//! The minimum RTT of busy round trips.
//!
//! Where the delay jitters and packets keep their order, each waits for the slower ones before it.
//! The more packets a round trip has, the longer is its minimum RTT, and a busy path seems to have
//! a queue that never empties. It is therefore compared with round trips that had about as large a
//! window.

use std::time::Duration;

/// Smallest window of a busy round trip, in datagrams. Of 32 and 64, the better, as several flows
/// stay fair; with more, the queue of a slow path becomes part of it (docs/attempts.md, "Jitter on
/// fast paths").
const MIN_DATAGRAMS: f64 = 64.0;

/// Largest excess over the minimum RTT, in multiples of the noise, so that a queue without jitter
/// is no part of it.
const MAX_EXCESS_NOISE: u32 = 2;

/// Smallest window that is compared with similar ones, in datagrams. Below it are those of flows
/// that share a path with many: with 64, 32 of them become less fair.
const MIN_SIMILAR_DATAGRAMS: f64 = 256.0;

/// Classes of such windows. The last one has all above 11,585 datagrams.
const CLASSES: usize = 12;

/// Classes for each doubling of the window. Of 1 and 2, the better (docs/attempts.md, "Jitter that
/// a window fills").
const CLASSES_PER_DOUBLING: f64 = 2.0;

/// Largest excess of round trips with a similar window, in multiples of the noise. With 4 it has
/// less effect, and with 16 and 64 as much. Jitter with a bound leaves little noise on a busy path.
const MAX_SIMILAR_EXCESS_NOISE: u32 = 8;

/// The same in multiples of the jitter that slow start has shown, where packets are few: a queue
/// that came later is no part of it. Of 1, 2 and 4, the least with the full effect.
const MAX_SIMILAR_EXCESS_JITTER: u32 = 2;

/// The least minimum RTT of round trips with a large window, of the whole connection. On a path
/// that has become longer it is below the minimum RTT, and has no effect.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BusyMinimum {
    /// The window of the last round trip was large.
    is_busy: bool,
    min: Option<Duration>,
    /// The class of that window, if it is compared with similar ones.
    class: Option<usize>,
    /// The least minimum RTT of each class, as it was measured, with the time for which ACKs were
    /// held back: where jitter looks like that, one sample that is too small would last.
    classes: [Option<Duration>; CLASSES],
    /// The least of the present class, the one below it, and those above.
    similar: Option<Duration>,
}

impl BusyMinimum {
    /// Takes the window in datagrams.
    pub(super) fn on_window(&mut self, datagrams: f64) {
        self.is_busy = datagrams >= MIN_DATAGRAMS;
        self.class = (datagrams >= MIN_SIMILAR_DATAGRAMS).then(|| {
            let doublings = (datagrams / MIN_SIMILAR_DATAGRAMS).log2();
            ((CLASSES_PER_DOUBLING * doublings) as usize).min(CLASSES - 1)
        });
        self.compare();
    }

    /// Takes the minimum RTT of a round trip, and as it was measured.
    pub(super) fn on_round(&mut self, min: Duration, measured: Duration) {
        if self.is_busy {
            lower(&mut self.min, min);
        }
        if let Some(class) = self.class {
            lower(&mut self.classes[class], measured);
            self.compare();
        }
    }

    /// Finds the least of similar windows. Each ACK asks for it, and it rarely changes.
    fn compare(&mut self) {
        self.similar = self.class.and_then(|class| {
            let from = class.saturating_sub(1);
            self.classes[from..].iter().flatten().min().copied()
        });
    }

    /// Returns true if the window of the last round trip is compared with similar ones.
    pub(super) fn compares_windows(&self) -> bool {
        self.class.is_some()
    }

    /// The path has become shorter: what was measured with similar windows is too long.
    pub(super) fn on_shorter_path(&mut self) {
        self.classes = Default::default();
        self.compare();
    }

    /// Returns the excess over the minimum RTT, as far as jitter explains it. An excess within half
    /// of the noise is in that already. Without this limit, flows whose noise hides most of the
    /// queue take more from others (docs/attempts.md, "Jitter on fast paths").
    pub(super) fn excess(&self, min_rtt: Duration, noise: Duration) -> Duration {
        let most = noise.saturating_mul(MAX_EXCESS_NOISE);
        counted(self.min, min_rtt, noise / 2, most)
    }

    /// Returns the same of round trips with a similar window. `jitter`: that of slow start. An
    /// excess within one and a half times the noise may be the queue of others.
    pub(super) fn similar_excess(
        &self,
        min_rtt: Duration,
        noise: Duration,
        jitter: Duration,
    ) -> Duration {
        let most = noise.saturating_mul(MAX_SIMILAR_EXCESS_NOISE);
        let most = most.min(jitter.saturating_mul(MAX_SIMILAR_EXCESS_JITTER));
        counted(self.similar, min_rtt, noise.saturating_add(noise / 2), most)
    }
}

/// Takes a further value of which the least is kept.
fn lower(least: &mut Option<Duration>, value: Duration) {
    *least = Some(least.map_or(value, |known| known.min(value)));
}

/// The excess of a busy minimum over the minimum RTT, up to `most`, if that is above `least`.
fn counted(busy: Option<Duration>, min_rtt: Duration, least: Duration, most: Duration) -> Duration {
    let excess = busy.map_or(Duration::ZERO, |it| it.saturating_sub(min_rtt));
    let excess = excess.min(most);
    if excess > least {
        excess
    } else {
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::events::ms;
    use super::*;

    /// Round trips with these windows in datagrams and minimum RTTs.
    fn after(rounds: &[(f64, u64)]) -> BusyMinimum {
        let mut minimum = BusyMinimum::default();
        for (datagrams, min) in rounds {
            minimum.on_window(*datagrams);
            minimum.on_round(ms(*min), ms(*min));
        }
        minimum
    }

    /// The excess on a path of 50 ms.
    fn excess(rounds: &[(f64, u64)], noise: u64) -> Duration {
        after(rounds).excess(ms(50), ms(noise))
    }

    #[test]
    fn it_is_the_least_of_round_trips_with_many_packets() {
        assert_eq!(excess(&[(63.0, 50), (63.0, 60)], 8), ms(0));
        let rounds = [(63.0, 50), (64.0, 65), (70.0, 61), (99.0, 70)];
        assert_eq!(excess(&rounds, 8), ms(11));
        assert_eq!(excess(&[(64.0, 61), (63.0, 53)], 8), ms(11));
        // The path has become longer, and this is of before.
        assert_eq!(excess(&[(64.0, 49)], 8), ms(0));
    }

    #[test]
    fn it_counts_from_half_of_the_noise_to_twice_the_noise() {
        let of = |min| excess(&[(64.0, min)], 8);
        assert_eq!([of(54), of(55), of(66), of(67)], [0, 5, 16, 16].map(ms));
        assert_eq!(excess(&[(64.0, 70)], 0), ms(0));
        let mut minimum = BusyMinimum::default();
        minimum.on_window(64.0);
        minimum.on_round(Duration::MAX, Duration::MAX);
        assert_eq!(minimum.excess(ms(0), Duration::MAX), Duration::MAX);
    }

    /// The excess of similar windows, on that path.
    fn similar(minimum: &BusyMinimum, noise: u64, jitter: u64) -> Duration {
        minimum.similar_excess(ms(50), ms(noise), ms(jitter))
    }

    #[test]
    fn that_of_similar_windows_counts_from_one_and_a_half_times_to_eight_times_the_noise() {
        let of = |min| similar(&after(&[(256.0, min)]), 2, 100);
        assert_eq!([of(53), of(54), of(66), of(67)], [0, 4, 16, 16].map(ms));
        assert_eq!(similar(&after(&[(256.0, 70)]), 0, 100), ms(0));
        assert_eq!(similar(&BusyMinimum::default(), 2, 100), ms(0));
    }

    #[test]
    fn that_of_similar_windows_is_at_most_twice_the_jitter_of_slow_start() {
        let minimum = after(&[(256.0, 66)]);
        let of = |jitter| similar(&minimum, 2, jitter);
        assert_eq!(
            [of(0), of(1), of(2), of(8), of(9)],
            [0, 0, 4, 16, 16].map(ms)
        );
    }

    #[test]
    fn similar_windows_are_as_large_but_for_a_class() {
        let mut minimum = after(&[(256.0, 52), (512.0, 58), (1_024.0, 67)]);
        for (datagrams, excess) in [
            (1_024.0, 17),
            (1_023.0, 8),
            (512.0, 8),
            (511.0, 0),
            (255.0, 0),
        ] {
            minimum.on_window(datagrams);
            let found = minimum.similar_excess(ms(50), ms(5) / 2, ms(100));
            assert_eq!(found, ms(excess), "{datagrams}");
        }
        // None was as large as this, or nearly.
        minimum.on_window(2_048.0);
        assert_eq!(similar(&minimum, 1, 100), ms(0));
        minimum.on_window(f64::MAX);
        minimum.on_round(ms(70), ms(70));
        assert_eq!(similar(&minimum, 4, 100), ms(20));
        // As it was measured.
        minimum.on_window(1_024.0);
        minimum.on_round(ms(50), ms(57));
        assert_eq!(similar(&minimum, 4, 100), ms(7));
        minimum.on_window(255.0);
        assert_eq!(similar(&minimum, 4, 100), ms(0));
        minimum.on_window(1_024.0);
        minimum.on_shorter_path();
        assert_eq!(similar(&minimum, 1, 100), ms(0));
    }
}
