//! The way behind the bottleneck: delay, jitter, reordering, slot, handover.

use rand_pcg::Pcg64;

use super::random::{chance, deviation};
use super::schedule::Schedule;
use super::{nanos, Nanos};
use crate::link::{Direction, Distribution};

/// The delay line of one direction.
#[derive(Debug)]
pub(super) struct Line {
    delay: Schedule<Nanos>,
    jitter: Schedule<Nanos>,
    deviations: Deviations,
    jitter_reorders: bool,
    slot: Nanos,
    reorder: f64,
    handover: Option<Handover>,
    /// The latest arrival so far: the delay line keeps order.
    last_arrival: Nanos,
}

/// Random factors of the jitter.
#[derive(Debug)]
struct Deviations {
    distribution: Distribution,
    /// For so long a draw counts.
    hold: Nanos,
    /// The number of such a time, and its draw.
    held: Option<(u64, f64)>,
}

impl Deviations {
    /// That of a packet that left the transmitter at `sent`.
    fn next(&mut self, sent: Nanos, random: &mut Pcg64) -> f64 {
        let Some(time) = sent.checked_div(self.hold) else {
            return deviation(self.distribution, random);
        };
        match self.held {
            Some((drawn, held)) if drawn == time => held,
            _ => {
                let drawn = deviation(self.distribution, random);
                self.held = Some((time, drawn));
                drawn
            }
        }
    }
}

#[derive(Debug)]
struct Handover {
    every: Nanos,
    gap: Nanos,
    delay: Nanos,
}

impl Line {
    pub(super) fn new(direction: &Direction) -> Self {
        Line {
            delay: Schedule::new(direction, |stage| nanos(stage.delay)),
            jitter: Schedule::new(direction, |stage| nanos(stage.jitter)),
            deviations: Deviations {
                distribution: direction.jitter_distribution,
                hold: nanos(direction.jitter_hold),
                held: None,
            },
            jitter_reorders: direction.jitter_reorders,
            slot: nanos(direction.slot),
            reorder: direction.reorder,
            handover: direction.handover.map(|handover| Handover {
                every: nanos(handover.every),
                gap: nanos(handover.gap),
                delay: nanos(handover.delay),
            }),
            last_arrival: 0,
        }
    }

    /// Returns the arrival time of a packet that left the transmitter at `sent`.
    pub(super) fn arrival(&mut self, sent: Nanos, random: &mut Pcg64) -> Nanos {
        let overtakes = self.reorder > 0.0 && chance(random, self.reorder);
        let mut at = sent;
        if !overtakes {
            at += self.delay_at(sent);
            let jitter = *self.jitter.at(sent);
            if jitter > 0 {
                let offset = jitter as f64 * self.deviations.next(sent, random);
                at = at.saturating_add_signed(offset as i64).max(sent);
            }
        }
        if self.slot > 0 {
            at = at.next_multiple_of(self.slot);
        }
        if let Some(handover) = &self.handover {
            at = handover.deliver(at);
        }
        if overtakes || self.jitter_reorders {
            return at;
        }
        self.last_arrival = self.last_arrival.max(at);
        self.last_arrival
    }

    fn delay_at(&self, sent: Nanos) -> Nanos {
        match &self.handover {
            Some(handover) if (sent / handover.every) % 2 == 1 => handover.delay,
            _ => *self.delay.at(sent),
        }
    }
}

impl Handover {
    /// Returns the delivery time of a packet that would arrive at `at`.
    fn deliver(&self, at: Nanos) -> Nanos {
        let begun = at / self.every * self.every;
        if begun > 0 && at < begun + self.gap {
            begun + self.gap
        } else {
            at
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::entropy::generator;
    use crate::link;

    const MS: Nanos = 1_000_000;

    fn arrivals(direction: Direction, sent: &[Nanos]) -> Vec<Nanos> {
        let mut line = Line::new(&direction);
        let mut random = generator(1, 1);
        sent.iter()
            .map(|sent| line.arrival(*sent, &mut random))
            .collect()
    }

    #[test]
    fn a_handover_holds_what_falls_in_its_gap_and_changes_the_delay() {
        let direction = Direction {
            delay: Duration::from_millis(10),
            handover: Some(link::Handover {
                every: Duration::from_millis(100),
                gap: Duration::from_millis(20),
                delay: Duration::from_millis(40),
            }),
            ..Direction::default()
        };
        let sent = [0, 80, 95, 100, 150, 190, 200, 211].map(|at| at * MS);
        let expected = [10, 90, 120, 140, 190, 230, 230, 230].map(|at| at * MS);
        assert_eq!(arrivals(direction, &sent), expected);
    }

    #[test]
    fn what_overtakes_the_delay_does_not_pass_a_handover_or_a_grid() {
        let direction = Direction {
            delay: Duration::from_millis(10),
            reorder: 1.0,
            slot: Duration::from_millis(5),
            handover: Some(link::Handover {
                every: Duration::from_millis(100),
                gap: Duration::from_millis(20),
                delay: Duration::from_millis(40),
            }),
            ..Direction::default()
        };
        let sent = [1, 96, 101, 119, 121].map(|at| at * MS);
        let expected = [5, 120, 120, 120, 125].map(|at| at * MS);
        assert_eq!(arrivals(direction, &sent), expected);
    }

    #[test]
    fn a_delay_that_falls_lets_nothing_overtake() {
        let step = |at: u64, delay: u64| link::Step {
            at: Duration::from_millis(at),
            delay: Some(Duration::from_millis(delay)),
            ..link::Step::default()
        };
        let direction = Direction {
            delay: Duration::from_millis(10),
            steps: vec![step(20, 30), step(40, 5)],
            repeat: Some(Duration::from_millis(100)),
            ..Direction::default()
        };
        let sent = [0, 19, 20, 39, 40, 60, 65, 99, 100, 120].map(|at| at * MS);
        let expected = [10, 29, 50, 69, 69, 69, 70, 104, 110, 150].map(|at| at * MS);
        assert_eq!(arrivals(direction, &sent), expected);
    }

    #[test]
    fn packets_of_one_hold_have_one_jitter() {
        let direction = Direction {
            delay: Duration::from_millis(50),
            jitter: Duration::from_millis(5),
            jitter_hold: Duration::from_millis(4),
            jitter_reorders: true,
            ..Direction::default()
        };
        let sent: Vec<Nanos> = (0..400).map(|i| i * MS).collect();
        let arrived = arrivals(direction, &sent);
        let delays: Vec<Nanos> = arrived
            .iter()
            .zip(&sent)
            .map(|(at, sent)| at - sent)
            .collect();
        assert!(delays
            .chunks(4)
            .all(|hold| hold.iter().all(|it| it == &hold[0])));
        let mut draws: Vec<Nanos> = delays.chunks(4).map(|hold| hold[0]).collect();
        draws.dedup();
        assert_eq!(draws.len(), 100);
    }

    #[test]
    fn jitter_reorders_only_when_it_is_asked_to() {
        let sent: Vec<Nanos> = (0..1_000).map(|i| i * MS / 10).collect();
        let shaky = |jitter_reorders| Direction {
            delay: Duration::from_millis(10),
            jitter: Duration::from_millis(1),
            jitter_reorders,
            ..Direction::default()
        };
        assert!(arrivals(shaky(false), &sent).is_sorted());
        assert!(!arrivals(shaky(true), &sent).is_sorted());
    }
}
