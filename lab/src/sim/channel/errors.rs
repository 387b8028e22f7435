//! Packet errors behind the bottleneck.

use rand_pcg::Pcg64;

use super::random::chance;
use super::schedule::Schedule;
use super::Nanos;
use crate::link::{Direction, GilbertElliott, LossEvery};

/// Loss models, applied to each packet in turn.
#[derive(Debug)]
pub(super) struct Errors {
    random: Random,
    /// The bursts that come by count, and the packets since the end of the last.
    every: Option<LossEvery>,
    count: u32,
}

#[derive(Debug)]
enum Random {
    Runs(Runs),
    Burst(Burst),
}

/// Independent losses, or losses in runs after Gilbert (1960), where every
/// packet is lost in the bad state and none in the good one. The next state
/// and the loss are one draw.
#[derive(Debug)]
struct Runs {
    bad: bool,
    chances: Schedule<Chances>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Chances {
    /// Probability that a packet finds the bad state after a good one.
    enter: f64,
    /// Probability that it stays bad.
    stay: f64,
}

/// Both states lose, each with its share (Elliott 1963).
#[derive(Debug)]
struct Burst {
    bad: bool,
    model: GilbertElliott,
}

impl Errors {
    pub(super) fn new(direction: &Direction) -> Self {
        let random = match direction.burst {
            Some(model) => Random::Burst(Burst { bad: false, model }),
            None => Random::Runs(Runs {
                bad: false,
                chances: Schedule::new(direction, Chances::new),
            }),
        };
        Errors {
            random,
            every: direction.loss_every,
            count: 0,
        }
    }

    /// Returns true if the next packet, which leaves the bottleneck at `now`, is lost.
    pub(super) fn strike(&mut self, now: Nanos, random: &mut Pcg64) -> bool {
        let by_count = self.every.is_some_and(|every| {
            self.count = self.count % every.packets + 1;
            self.count > every.packets - every.burst
        });
        let by_chance = match &mut self.random {
            Random::Runs(runs) => runs.strike(now, random),
            Random::Burst(burst) => burst.strike(random),
        };
        by_count || by_chance
    }
}

impl Chances {
    fn new(direction: &Direction) -> Self {
        let loss = direction.loss;
        let (enter, stay) = match direction.mean_burst_length {
            None => (loss, loss),
            // Of the stationary share `loss` and the mean run 1 / (1 - stay)
            // follows how often a run begins. Above `run / (1 + run)` of loss
            // good packets would have to be rarer than single ones.
            Some(run) => (loss / (run * (1.0 - loss)), 1.0 - 1.0 / run),
        };
        Chances { enter, stay }
    }
}

impl Runs {
    fn strike(&mut self, now: Nanos, random: &mut Pcg64) -> bool {
        let Chances { enter, stay } = *self.chances.at(now);
        let probability = if self.bad { stay } else { enter };
        self.bad = probability > 0.0 && chance(random, probability);
        self.bad
    }
}

impl Burst {
    fn strike(&mut self, random: &mut Pcg64) -> bool {
        let GilbertElliott {
            to_bad,
            to_good,
            loss_good,
            loss_bad,
        } = self.model;
        let leave = if self.bad { to_good } else { to_bad };
        self.bad ^= chance(random, leave);
        chance(random, if self.bad { loss_bad } else { loss_good })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::generator;

    #[test]
    fn a_burst_has_its_share_and_the_memory_of_its_states() {
        let model = GilbertElliott {
            to_bad: 0.02,
            to_good: 0.1,
            loss_good: 0.01,
            loss_bad: 0.5,
        };
        let mut errors = Errors::new(&Direction {
            burst: Some(model),
            ..Direction::default()
        });
        let mut random = generator(1, 1);
        const PACKETS: usize = 1_000_000;
        let lost: Vec<bool> = (0..PACKETS)
            .map(|_| errors.strike(0, &mut random))
            .collect();
        let share = |lost: &mut dyn Iterator<Item = bool>| {
            let (all, hits) =
                lost.fold((0, 0), |(all, hits), hit| (all + 1, hits + u32::from(hit)));
            f64::from(hits) / f64::from(all)
        };
        let mean = share(&mut lost.iter().copied());
        let expected = model.mean_loss();
        assert!((mean / expected - 1.0).abs() < 0.03, "{mean} {expected}");
        // After a loss the state is bad with P(bad | loss), and each step
        // pulls it back to the mean by 1 - to_bad - to_good.
        let bad = 0.02 / 0.12;
        let bad_after_loss: f64 = 0.5 * bad / expected;
        for steps in [1, 5] {
            let memory = 0.88f64.powi(steps);
            let then_bad = bad + (bad_after_loss - bad) * memory;
            let theory = then_bad * 0.5 + (1.0 - then_bad) * 0.01;
            let pairs = lost.iter().zip(&lost[steps as usize..]);
            let measured = share(&mut pairs.filter(|(first, _)| **first).map(|(_, then)| *then));
            assert!(
                (measured / theory - 1.0).abs() < 0.03,
                "{measured} {theory}"
            );
        }
    }

    #[test]
    fn of_every_ten_packets_the_last_three_are_lost() {
        let direction = Direction {
            loss_every: Some(LossEvery {
                packets: 10,
                burst: 3,
            }),
            ..Direction::default()
        };
        assert!((direction.mean_loss() - 0.3).abs() < 1e-12);
        let mut errors = Errors::new(&direction);
        let mut random = generator(1, 1);
        let lost: Vec<usize> = (1..=25).filter(|_| errors.strike(0, &mut random)).collect();
        assert_eq!(lost, [8, 9, 10, 18, 19, 20]);
        // In addition to random losses, which draw what they would without.
        let both = Direction {
            loss: 0.2,
            ..direction
        };
        let alone = Direction {
            loss_every: None,
            ..both.clone()
        };
        let strikes = |direction: &Direction| -> Vec<bool> {
            let mut random = generator(1, 1);
            let mut errors = Errors::new(direction);
            (0..1000).map(|_| errors.strike(0, &mut random)).collect()
        };
        for (index, (both, alone)) in strikes(&both).iter().zip(strikes(&alone)).enumerate() {
            assert_eq!(*both, alone || index % 10 >= 7, "{index}");
        }
        assert!((both.mean_loss() - 0.44).abs() < 1e-12);
    }

    #[test]
    fn losses_change_with_the_steps() {
        let at = |loss, seconds| crate::link::Step {
            at: std::time::Duration::from_secs(seconds),
            loss: Some(loss),
            ..crate::link::Step::default()
        };
        let mut errors = Errors::new(&Direction {
            steps: vec![at(1.0, 1), at(0.25, 2)],
            ..Direction::default()
        });
        let mut random = generator(1, 1);
        let mut lost = |second: Nanos| {
            let strikes =
                (0..10_000).filter(|_| errors.strike(second * 1_000_000_000, &mut random));
            strikes.count()
        };
        assert_eq!((lost(0), lost(1)), (0, 10_000));
        let some = lost(2);
        assert!((2_350..2_650).contains(&some), "{some}");
    }
}
