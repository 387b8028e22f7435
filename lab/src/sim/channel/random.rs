//! Draws whose digits are the same on every machine.

use rand_pcg::rand_core::Rng;
use rand_pcg::Pcg64;

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
