//! Packet errors behind the bottleneck.

use rand_pcg::Pcg64;

use super::random::chance;
use crate::link::{Direction, GilbertElliott};

/// What strikes packets, one after the other.
#[derive(Debug)]
pub(super) enum Errors {
    Runs(Runs),
    Burst(Burst),
}

/// Independent losses, or losses in runs after Gilbert (1960), where every
/// packet is lost in the bad state and none in the good one. The next state
/// and the loss are one draw.
#[derive(Debug)]
pub(super) struct Runs {
    bad: bool,
    /// Probability that a packet finds the bad state after a good one.
    enter: f64,
    /// Probability that it stays bad.
    stay: f64,
}

/// Both states lose, each with its share (Elliott 1963).
#[derive(Debug)]
pub(super) struct Burst {
    bad: bool,
    model: GilbertElliott,
}

impl Errors {
    pub(super) fn new(direction: &Direction) -> Self {
        if let Some(model) = direction.burst {
            return Errors::Burst(Burst { bad: false, model });
        }
        let loss = direction.loss;
        let (enter, stay) = match direction.loss_run {
            None => (loss, loss),
            // Of the stationary share `loss` and the mean run 1 / (1 - stay)
            // follows how often a run begins. Above `run / (1 + run)` of loss
            // good packets would have to be rarer than single ones.
            Some(run) => (loss / (run * (1.0 - loss)), 1.0 - 1.0 / run),
        };
        Errors::Runs(Runs {
            bad: false,
            enter,
            stay,
        })
    }

    /// Whether the next packet is lost.
    pub(super) fn strike(&mut self, random: &mut Pcg64) -> bool {
        match self {
            Errors::Runs(runs) => runs.strike(random),
            Errors::Burst(burst) => burst.strike(random),
        }
    }
}

impl Runs {
    fn strike(&mut self, random: &mut Pcg64) -> bool {
        let probability = if self.bad { self.stay } else { self.enter };
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
        let lost: Vec<bool> = (0..PACKETS).map(|_| errors.strike(&mut random)).collect();
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
}
