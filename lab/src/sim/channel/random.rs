//! Draws whose digits are the same on every machine.

use rand_pcg::rand_core::Rng;
use rand_pcg::Pcg64;

use crate::link::Distribution;

/// Uniform in 0 (included) to 1 (excluded), in the 53 bits that an `f64` has.
pub(crate) fn uniform(random: &mut Pcg64) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

pub(super) fn chance(random: &mut Pcg64, probability: f64) -> bool {
    uniform(random) < probability
}

/// Close to the standard normal distribution: the sum of twelve uniform
/// variables, less 6. It needs no logarithm and never leaves -6 to 6.
pub(super) fn normal(random: &mut Pcg64) -> f64 {
    (0..12).map(|_| uniform(random)).sum::<f64>() - 6.0
}

/// Of this distribution with mean 0 and standard deviation 1.
pub(in crate::sim) fn deviation(distribution: Distribution, random: &mut Pcg64) -> f64 {
    match distribution {
        Distribution::Normal => normal(random),
        // The variance of 0 to 1 is 1 / 12.
        Distribution::Uniform => (uniform(random) - 0.5) * 12f64.sqrt(),
        Distribution::Pareto => pareto(random),
        Distribution::ParetoNormal => {
            // Independent parts add their variances.
            let sum = 0.75 * pareto(random) + 0.25 * normal(random);
            sum / (0.75f64 * 0.75 + 0.25 * 0.25).sqrt()
        }
    }
}

/// Pareto's distribution with shape 3 and least 1, whose mean is 3 / 2 and whose
/// variance is 3 / 4.
fn pareto(random: &mut Pcg64) -> f64 {
    // libm's root has the same digits on every machine.
    let value = 1.0 / libm::cbrt(1.0 - uniform(random));
    (value - 1.5) / 0.75f64.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::generator;

    #[test]
    fn each_distribution_has_its_moments_and_its_tail() {
        const DRAWS: usize = 2_000_000;
        for (distribution, least, beyond_5) in [
            (Distribution::Normal, -6.0, 0.0),
            (Distribution::Uniform, -1.7321, 0.0),
            // Of Pareto (1.5 + 5 x 0.866)^-3.
            (Distribution::Pareto, -0.5774, 0.00505),
            // Of the mixture nearly as much: 5 deviations are 5.27 of Pareto's.
            (Distribution::ParetoNormal, -3.0, 0.00444),
        ] {
            let mut random = generator(1, 1);
            let draws: Vec<f64> = (0..DRAWS)
                .map(|_| deviation(distribution, &mut random))
                .collect();
            let share = |of: &dyn Fn(f64) -> f64| {
                draws.iter().map(|draw| of(*draw)).sum::<f64>() / DRAWS as f64
            };
            let mean = share(&|draw| draw);
            assert!(mean.abs() < 0.004, "{distribution:?}: {mean}");
            // The fourth moment of Pareto with shape 3 is not finite, so that its
            // variance converges slowly.
            let variance = share(&|draw| draw * draw);
            assert!((variance - 1.0).abs() < 0.1, "{distribution:?}: {variance}");
            assert!(draws.iter().all(|draw| *draw >= least), "{distribution:?}");
            let tail = share(&|draw| f64::from(u8::from(draw > 5.0)));
            assert!((tail - beyond_5).abs() < 0.0003, "{distribution:?}: {tail}");
        }
    }
}
