//! The RTT estimator of RFC 9002, Section 5 (<https://www.rfc-editor.org/rfc/rfc9002#section-5>),
//! from send times alone.

use std::time::Duration;

use super::super::controller::Rtt;

/// An RTT estimator without the delays that ACKs report. Where the stack's `smoothed_rtt` can be
/// read, each estimate starts from it, so that an ACK delay counts once, by an eighth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RttEstimator(Option<Rtt>);

impl RttEstimator {
    /// The estimator after its first sample (Section 5.3).
    pub fn first(sample: Duration) -> Rtt {
        Rtt {
            latest: sample,
            smoothed: sample,
            variation: sample / 2,
            min: sample,
        }
    }

    /// The estimator, after at least one sample.
    pub fn get(&self) -> Option<Rtt> {
        self.0
    }

    /// Adds a sample.
    pub fn update(&mut self, sample: Duration) {
        let smoothed = self.0.map_or(sample, |rtt| rtt.smoothed);
        self.update_from(smoothed, sample);
    }

    /// Adds a sample to the stack's `smoothed_rtt` of the samples before. The first sample
    /// replaces it, because the stack's value is then a configured one.
    pub fn update_from(&mut self, smoothed: Duration, sample: Duration) {
        self.0 = Some(match self.0 {
            None => Self::first(sample),
            Some(rtt) => Rtt {
                latest: sample,
                smoothed: (smoothed.saturating_mul(7)).saturating_add(sample) / 8,
                variation: (rtt.variation.saturating_mul(3))
                    .saturating_add(smoothed.abs_diff(sample))
                    / 4,
                min: rtt.min.min(sample),
            },
        });
    }

    /// Takes the estimator of the stack.
    pub(super) fn set(&mut self, rtt: Rtt) {
        self.0 = Some(rtt);
    }

    /// Restarts the minimum with the newest sample, after persistent congestion (Section 5.2).
    pub(super) fn restart_minimum(&mut self) {
        if let Some(rtt) = &mut self.0 {
            rtt.min = rtt.latest;
        }
    }
}
