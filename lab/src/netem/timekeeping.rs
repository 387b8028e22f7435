//! Evidence that a machine was late in a run, so that the figures are not the link's.

use crate::testbed::Lateness;

/// Share of a run's time that may be lost: as much as goodputs differ from run to run.
const MAX_LOST_SHARE: f64 = 0.03;

/// The longest median of sleeps of 1 ms. Idle machines take 1.1 ms.
const MAX_MEDIAN_SLEEP_MS: f64 = 2.0;

/// The most processes that want a processor. The runs themselves show 1 to 2.7 each: user-mode
/// Linux is processes that wake each other.
const MAX_LOAD_PER_PROCESSOR: f64 = 3.0;

/// The machine's time in a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timekeeping {
    pub(super) lateness: Lateness,
    /// Share of the time that the hypervisor gave to others, 0 to 1.
    pub(super) stolen: f64,
    /// Medians of sleeps of 1 ms, before and after the run.
    pub(super) sleeps_ms: [f64; 2],
    /// Processes that wanted a processor.
    pub(super) load: f64,
    pub(super) processors: usize,
}

impl Timekeeping {
    /// The cause that delayed the pair of `cc`, if any.
    pub(super) fn fault(&self, cc: &str) -> Option<String> {
        if self.lateness.lost > MAX_LOST_SHARE || self.stolen > MAX_LOST_SHARE {
            return Some(format!(
                "this machine was late for {:.0} % of the run of {cc}, {:.0} ms at a time, and \
                 {:.0} % of its time was stolen: what delayed the pair is in its figures",
                100.0 * self.lateness.lost,
                self.lateness.worst_ms,
                100.0 * self.stolen
            ));
        }
        let [before, after] = self.sleeps_ms;
        if before.max(after) > MAX_MEDIAN_SLEEP_MS {
            return Some(format!(
                "a sleep of 1 ms took {before:.1} ms before the run of {cc} and {after:.1} ms \
                 after it: what delayed the pair is in its figures"
            ));
        }
        (self.load > MAX_LOAD_PER_PROCESSOR * self.processors as f64).then(|| {
            format!(
                "this machine had {:.1} processes for {} processors: what delayed the pair of \
                 {cc} is in its figures",
                self.load, self.processors
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IN_TIME: Timekeeping = Timekeeping {
        lateness: Lateness {
            wakeups: 1000,
            worst_ms: 50.0,
            lost: MAX_LOST_SHARE,
        },
        stolen: MAX_LOST_SHARE,
        sleeps_ms: [MAX_MEDIAN_SLEEP_MS; 2],
        load: 2.0 * MAX_LOAD_PER_PROCESSOR,
        processors: 2,
    };

    #[test]
    fn a_machine_within_all_bounds_kept_time() {
        assert_eq!(IN_TIME.fault("petra"), None);
    }

    #[test]
    fn each_bound_alone_shows_that_it_did_not() {
        let late = |change: fn(&mut Timekeeping)| {
            let mut it = IN_TIME;
            change(&mut it);
            it
        };
        let cases = [
            (late(|it| it.lateness.lost = 0.04), "late for 4 %"),
            (late(|it| it.stolen = 0.05), "5 % of its time was stolen"),
            (late(|it| it.sleeps_ms[0] = 2.1), "took 2.1 ms before"),
            (late(|it| it.sleeps_ms[1] = 3.4), "3.4 ms after"),
            (late(|it| it.load = 6.1), "had 6.1 processes for 2"),
        ];
        for (machine, message) in cases {
            let fault = machine.fault("petra").expect(message);
            assert!(
                fault.contains(message) && fault.contains("petra"),
                "{fault}"
            );
        }
    }
}
