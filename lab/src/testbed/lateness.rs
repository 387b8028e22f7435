//! Time that the machine did not keep during a transfer. A thread sleeps again and again, and
//! counts by how much it wakes late.
//!
//! In user-mode Linux the thread wakes when the whole of it does, so what other load of the host
//! takes from a run is time by which the thread is late.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Length of a sleep.
const PERIOD: Duration = Duration::from_millis(5);

/// A wake-up that is late by less counts as none: ten times the median of an idle machine.
const GRANULARITY: Duration = Duration::from_millis(1);

/// Wake-ups over a transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lateness {
    /// Number of wake-ups.
    pub wakeups: u64,
    /// The latest of them, in milliseconds.
    pub worst_ms: f64,
    /// Sum of what was late, as a share of the transfer's time: 0 to 1.
    pub lost: f64,
}

/// The thread that sleeps.
pub struct Watch {
    stop: Sender<()>,
    watching: JoinHandle<Lateness>,
}

impl Watch {
    /// Starts to count.
    pub fn start() -> Self {
        let (stop, stopped) = mpsc::channel();
        let watch = move || {
            let (mut lateness, mut lost) = (Lateness::default(), Duration::ZERO);
            let start = Instant::now();
            let mut before = start;
            while stopped.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                let now = Instant::now();
                let late = (now - before).saturating_sub(PERIOD);
                lateness.wakeups += 1;
                lateness.worst_ms = lateness.worst_ms.max(late.as_secs_f64() * 1e3);
                if late > GRANULARITY {
                    lost += late;
                }
                before = now;
            }
            lateness.lost = lost.as_secs_f64() / start.elapsed().as_secs_f64();
            lateness
        };
        Watch {
            stop,
            watching: thread::spawn(watch),
        }
    }

    /// Ends the count.
    pub fn stop(self) -> Lateness {
        drop(self.stop);
        self.watching.join().expect("watching does not panic")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wake_up_is_counted_and_no_more_is_lost_than_there_was() {
        let start = Instant::now();
        let watch = Watch::start();
        thread::sleep(10 * PERIOD);
        let lateness = watch.stop();
        let most = start.elapsed().as_nanos() / PERIOD.as_nanos();
        assert!(u128::from(lateness.wakeups) <= most, "{lateness:?}");
        assert!((0.0..=1.0).contains(&lateness.lost), "{lateness:?}");
    }
}
