//! A processor for one run.
//!
//! User-mode Linux is a handful of processes of which one runs at a time: to wake
//! the next on another processor takes longer than to switch to it. And a processor
//! that went to sleep wakes late, in a virtual machine by milliseconds now and
//! then; what should have left in the meantime leaves at once. So it is kept awake.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::{hint, thread};

use nix::sched::{sched_getaffinity, sched_setaffinity, CpuSet};
use nix::unistd::Pid;

use crate::testbed::schedule;

/// Number of processors available to this program.
pub(super) fn count() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Default number of concurrent runs: two, as each needs a processor for its pair.
pub(crate) fn runs_at_a_time() -> usize {
    count().min(2)
}

/// The processors of runs under way.
static TAKEN: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

/// Number of runs that keep a processor awake.
pub(super) fn awake() -> usize {
    TAKEN.lock().map_or(0, |taken| taken.len())
}

/// This thread, and what it starts, on one processor until the end.
pub(super) struct Processor {
    number: usize,
    before: CpuSet,
    /// Ends the thread that keeps it awake.
    sleep: Arc<AtomicBool>,
}

impl Processor {
    /// None when all are taken, or when the system does not say which there are:
    /// then the run goes wherever it is put, as ever.
    pub(super) fn take() -> Option<Self> {
        let this = Pid::from_raw(0);
        let before = sched_getaffinity(this).ok()?;
        let mut taken = TAKEN.lock().ok()?;
        let free = |number: &usize| before.is_set(*number) == Ok(true) && !taken.contains(number);
        let number = (0..CpuSet::count()).find(free)?;
        let mut alone = CpuSet::new();
        alone.set(number).ok()?;
        sched_setaffinity(this, &alone).ok()?;
        taken.insert(number);
        let sleep = Arc::new(AtomicBool::new(false));
        let told = sleep.clone();
        // Where it was started it stays. Without it a run is as it was.
        let _ = thread::Builder::new().spawn(move || keep_awake(&told));
        Some(Processor {
            number,
            before,
            sleep,
        })
    }
}

impl Drop for Processor {
    fn drop(&mut self) {
        self.sleep.store(true, Ordering::Relaxed);
        // The thread ends with the runs; at worst it stays where it is.
        let _ = sched_setaffinity(Pid::from_raw(0), &self.before);
        if let Ok(mut taken) = TAKEN.lock() {
            taken.remove(&self.number);
        }
    }
}

/// Spends the time that nobody else wants. Only a quota of processor time, as a
/// container may have, counts it.
fn keep_awake(sleep: &AtomicBool) {
    let idle = schedule(libc::SCHED_IDLE, 0);
    while idle && !sleep.load(Ordering::Relaxed) {
        hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed() -> CpuSet {
        sched_getaffinity(Pid::from_raw(0)).unwrap()
    }

    #[test]
    fn two_runs_do_not_share_one_and_give_it_back() {
        let before = allowed();
        let first = Processor::take().unwrap();
        let only = CpuSet::count();
        let here: Vec<_> = (0..only)
            .filter(|n| allowed().is_set(*n).unwrap())
            .collect();
        assert_eq!(here, [first.number]);
        let second = std::thread::spawn(|| Processor::take().map(|other| other.number));
        // What a thread may use it has from the one that started it: this processor only.
        assert_eq!(second.join().unwrap(), None);
        drop(first);
        assert_eq!(allowed(), before);
        assert!(Processor::take().is_some());
    }
}
