//! What a direction has carried, in figures.

use petra_lab::sim::{Fate, Nanos};
use serde::Serialize;

/// Counts packets as their fate is decided.
#[derive(Default)]
pub(crate) struct Tally {
    packets: u64,
    bytes: u64,
    overflowed: u64,
    lost: u64,
    waits: Vec<Nanos>,
}

/// The figures.
#[derive(Serialize)]
pub(crate) struct Report {
    /// Packets that entered, and their bytes with IP's headers.
    packets: u64,
    bytes: u64,
    /// Those that found the queue full.
    overflowed: u64,
    /// Those that were lost behind the bottleneck.
    lost: u64,
    /// Time in the queue, in milliseconds: mean and 95th percentile.
    queue_ms: f64,
    queue_ms_p95: f64,
}

impl Tally {
    pub(crate) fn count(&mut self, bytes: usize, fate: Fate) {
        self.packets += 1;
        self.bytes += bytes as u64;
        match fate {
            Fate::Thinned | Fate::Overflowed | Fate::Dropped => self.overflowed += 1,
            Fate::Lost { queued } => {
                self.lost += 1;
                self.waits.push(queued);
            }
            Fate::Arrives { queued, .. } => self.waits.push(queued),
        }
    }

    /// One that was counted as arriving did not.
    pub(crate) fn lose(&mut self) {
        self.lost += 1;
    }

    pub(crate) fn report(&mut self) -> Report {
        self.waits.sort_unstable();
        let ms = |nanos: Nanos| nanos as f64 / 1e6;
        let (count, sum) = (self.waits.len(), self.waits.iter().sum::<Nanos>());
        let p95 = self.waits.get(count * 95 / 100).copied().unwrap_or(0);
        Report {
            packets: self.packets,
            bytes: self.bytes,
            overflowed: self.overflowed,
            lost: self.lost,
            queue_ms: ms(sum) / count.max(1) as f64,
            queue_ms_p95: ms(p95),
        }
    }
}
