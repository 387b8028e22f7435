//! A value that changes with time, once or over and over.

use std::time::Duration;

use super::{nanos, Nanos};
use crate::link::Direction;

/// One value after another.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Schedule<T> {
    /// From when on, and the value; the first from the beginning on.
    pieces: Vec<(Nanos, T)>,
    /// Period after which the schedule repeats.
    period: Option<Nanos>,
}

impl<T: PartialEq> Schedule<T> {
    /// `value` of the direction as its steps change it.
    pub(in crate::sim) fn new(direction: &Direction, value: impl Fn(&Direction) -> T) -> Self {
        let stages = direction.stages();
        let piece = |(from, stage): &(Duration, Direction)| (nanos(*from), value(stage));
        Self::of(stages.iter().map(piece).collect(), direction.repeat)
    }

    /// These pieces in the order of time.
    pub(super) fn of(mut pieces: Vec<(Nanos, T)>, period: Option<Duration>) -> Self {
        pieces.dedup_by(|later, earlier| later.1 == earlier.1);
        Schedule {
            period: period.map(nanos).filter(|_| pieces.len() > 1),
            pieces,
        }
    }
}

impl<T> Schedule<T> {
    /// The only value, if it never changes.
    pub(in crate::sim) fn constant(&self) -> Option<&T> {
        match &self.pieces[..] {
            [(_, only)] => Some(only),
            _ => None,
        }
    }

    /// The value at `now`.
    pub(super) fn at(&self, now: Nanos) -> &T {
        if let Some(only) = self.constant() {
            return only;
        }
        let phase = self.period.map_or(now, |period| now % period);
        let after = self.pieces.partition_point(|(from, _)| *from <= phase);
        &self.pieces[after - 1].1
    }

    /// The pieces of one period.
    pub(super) fn pieces(&self) -> &[(Nanos, T)] {
        &self.pieces
    }

    /// All values that there are.
    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.pieces.iter().map(|(_, value)| value)
    }

    /// The piece `index`, counted over all periods: its beginning and its
    /// value; `None` after the last.
    pub(super) fn piece(&self, index: usize) -> Option<(Nanos, &T)> {
        let count = self.pieces.len();
        let begins = match self.period {
            Some(period) => (index / count) as Nanos * period,
            None if index >= count => return None,
            None => 0,
        };
        let (from, value) = &self.pieces[index % count];
        Some((begins + from, value))
    }

    /// The integral over time until `at`, in seconds, of what `number` makes of
    /// the value.
    pub(in crate::sim) fn integral(&self, at: Nanos, number: impl Fn(&T) -> f64) -> f64 {
        let until = |at: Nanos| -> f64 {
            let ends = self.pieces.iter().skip(1).map(|(from, _)| *from);
            let pieces = self.pieces.iter().zip(ends.chain([Nanos::MAX]));
            let area = |((from, value), to): (&(Nanos, T), Nanos)| {
                number(value) * to.min(at).saturating_sub(*from) as f64 / 1e9
            };
            pieces.map(area).sum()
        };
        match self.period {
            Some(period) if at >= period => {
                (at / period) as f64 * until(period) + until(at % period)
            }
            _ => until(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Step;

    const SECOND: Nanos = 1_000_000_000;

    fn schedule(repeat: Option<u64>) -> Schedule<u64> {
        let step = |at: u64, rate| Step {
            at: Duration::from_secs(at),
            rate: Some(rate),
            ..Step::default()
        };
        let direction = Direction {
            rate: Some(1),
            steps: vec![step(2, 5), step(3, 5), step(4, 2)],
            repeat: repeat.map(Duration::from_secs),
            ..Direction::default()
        };
        Schedule::new(&direction, |stage| stage.rate.unwrap())
    }

    #[test]
    fn a_value_counts_from_its_time_on() {
        let once = schedule(None);
        let seen = [0, 1, 2, 3, 4, 9].map(|at| *once.at(at * SECOND));
        assert_eq!(seen, [1, 1, 5, 5, 2, 2]);
        assert_eq!(*once.at(2 * SECOND - 1), 1);
        assert_eq!(once.piece(2), Some((4 * SECOND, &2)));
        assert_eq!(once.piece(3), None);
        assert_eq!(once.integral(6 * SECOND, |it| *it as f64), 2.0 + 10.0 + 4.0);
        assert_eq!(once.constant(), None);
    }

    #[test]
    fn a_period_begins_with_the_first_value_again() {
        let again = schedule(Some(5));
        let seen = [0, 2, 4, 5, 7, 9, 10, 14].map(|at| *again.at(at * SECOND));
        assert_eq!(seen, [1, 5, 2, 1, 5, 2, 1, 2]);
        assert_eq!(again.piece(4), Some((7 * SECOND, &5)));
        // A period is 2 + 10 + 2; of the third there are three seconds.
        let area = again.integral(13 * SECOND, |it| *it as f64);
        assert_eq!(area, 28.0 + 2.0 + 5.0);
    }
}
