//! A processor for one run.
//!
//! User-mode Linux is a handful of processes of which one runs at a time: to wake
//! the next on another processor takes longer than to switch to it.

use std::collections::BTreeSet;
use std::sync::Mutex;

use nix::sched::{sched_getaffinity, sched_setaffinity, CpuSet};
use nix::unistd::Pid;

/// The processors of runs under way.
static TAKEN: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

/// This thread, and what it starts, on one processor until the end.
pub(super) struct Processor {
    number: usize,
    before: CpuSet,
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
        Some(Processor { number, before })
    }
}

impl Drop for Processor {
    fn drop(&mut self) {
        // The thread ends with the runs; at worst it stays where it is.
        let _ = sched_setaffinity(Pid::from_raw(0), &self.before);
        if let Ok(mut taken) = TAKEN.lock() {
            taken.remove(&self.number);
        }
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
