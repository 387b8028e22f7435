//! How a random delay is distributed.

use serde::{Deserialize, Serialize};

/// The distribution of the delay around its mean, under netem's names. Each
/// has the mean 0 and the standard deviation 1 before it is scaled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// Normal.
    #[default]
    Normal,
    /// All values of a range alike: 1.73 deviations each way.
    Uniform,
    /// Pareto with shape 3: from 0.58 deviations below the mean on, and without
    /// end above it. One packet in 200 is more than 5 deviations late, one in
    /// 1000 more than 10.
    Pareto,
    /// Three parts of Pareto's and one of the normal one, as netem mixes them.
    ParetoNormal,
}
