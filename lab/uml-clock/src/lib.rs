//! A monotonic clock without system calls, to be preloaded in user-mode Linux.
//!
//! Every other Linux reads the clock without entering the kernel. In user-mode
//! Linux it takes a system call, which is some thousand times as long, and a
//! QUIC endpoint reads the clock ten to twenty times for each packet: three
//! quarters of what it does there. Preloaded (`LD_PRELOAD`), this library
//! counts the processor's ticks since the last time that it asked the kernel,
//! and asks it again after some milliseconds.
//!
//! It stands in for `clock_gettime(CLOCK_MONOTONIC)` and leaves all other
//! clocks alone.

#![cfg(target_arch = "x86_64")]

use std::cell::Cell;

use libc::{c_int, c_long, clockid_t, timespec};

/// Nanoseconds after which the kernel is asked again. Ticks and the kernel's
/// clock differ by less than a thousandth, so by less than 5 us until then.
const TRUST: u64 = 5_000_000;

/// A reading of both clocks.
#[derive(Clone, Copy, Debug)]
struct Reading {
    ticks: u64,
    nanos: u64,
}

/// State of a thread's clock.
#[derive(Clone, Copy, Debug)]
struct Clock {
    first: Reading,
    last: Reading,
    /// Last time that was returned: time never decreases.
    told: u64,
}

thread_local! {
    static CLOCK: Cell<Option<Clock>> = const { Cell::new(None) };
}

/// `clock_gettime` of the C library.
///
/// # Safety
///
/// `time` is valid for a write, as POSIX asks.
#[cfg_attr(not(test), no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    if clock != libc::CLOCK_MONOTONIC {
        // SAFETY: what the caller promised.
        return unsafe { libc::syscall(libc::SYS_clock_gettime, clock as c_long, time) } as c_int;
    }
    let nanos = CLOCK.with(|cell| {
        let (nanos, clock) = tell(cell.get(), ticks(), kernel);
        cell.set(Some(clock));
        nanos
    });
    let value = timespec {
        tv_sec: (nanos / 1_000_000_000) as _,
        tv_nsec: (nanos % 1_000_000_000) as _,
    };
    // SAFETY: what the caller promised.
    unsafe { time.write(value) };
    0
}

/// The time in nanoseconds at `ticks`, and what is known after that. `kernel`
/// shows the time of the kernel's clock.
fn tell(clock: Option<Clock>, ticks: u64, kernel: impl FnOnce() -> u64) -> (u64, Clock) {
    let counted = clock.and_then(|clock| clock.count(ticks));
    let told = clock.map_or(0, |clock| clock.told);
    match (clock, counted) {
        (Some(clock), Some(nanos)) => {
            let told = nanos.max(told);
            (told, Clock { told, ..clock })
        }
        (clock, _) => {
            let last = Reading {
                ticks,
                nanos: kernel(),
            };
            // Ticks that went back make all that was known of them worthless.
            let first = clock
                .map(|clock| clock.first)
                .filter(|first| first.ticks < ticks);
            let told = last.nanos.max(told);
            let first = first.unwrap_or(last);
            (told, Clock { first, last, told })
        }
    }
}

impl Clock {
    /// The time at `ticks`, if they are not too far from the last reading.
    fn count(&self, ticks: u64) -> Option<u64> {
        let nanos = self.last.nanos - self.first.nanos;
        let period = self.last.ticks - self.first.ticks;
        let passed = ticks.checked_sub(self.last.ticks)?;
        // The rate is not known before the second reading, nor from two that
        // are close to each other.
        if nanos < TRUST {
            return None;
        }
        let passed = (u128::from(passed) * u128::from(nanos) / u128::from(period)) as u64;
        (passed < TRUST).then_some(self.last.nanos + passed)
    }
}

fn ticks() -> u64 {
    // SAFETY: every x86-64 has this instruction, and user-mode Linux is for x86.
    unsafe { std::arch::x86_64::_rdtsc() }
}

fn kernel() -> u64 {
    let mut time = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for a write. This clock exists, so it cannot fail.
    unsafe {
        libc::syscall(
            libc::SYS_clock_gettime,
            c_long::from(libc::CLOCK_MONOTONIC),
            &mut time,
        );
    }
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three ticks per nanosecond.
    fn at(clock: &mut Option<Clock>, nanos: u64) -> (u64, bool) {
        let mut asked = false;
        let (told, next) = tell(*clock, 3 * nanos + 7, || {
            asked = true;
            nanos
        });
        *clock = Some(next);
        (told, asked)
    }

    #[test]
    fn ticks_count_between_readings_once_the_rate_is_known() {
        let mut clock = None;
        assert_eq!(at(&mut clock, 1_000), (1_000, true));
        assert_eq!(at(&mut clock, 2_000), (2_000, true));
        assert_eq!(at(&mut clock, 6_000_000), (6_000_000, true));
        assert_eq!(at(&mut clock, 6_000_100), (6_000_100, false));
        assert_eq!(at(&mut clock, 10_999_999), (10_999_999, false));
        assert_eq!(at(&mut clock, 11_000_000), (11_000_000, true));
    }

    #[test]
    fn time_never_goes_back() {
        let mut clock = None;
        at(&mut clock, 1_000);
        at(&mut clock, 6_000_000);
        // The kernel's clock stood still while ticks went on.
        let (told, next) = tell(clock, 3 * 9_000_000, || unreachable!());
        assert!(told > 8_999_000, "{told}");
        let (again, next) = tell(Some(next), 3 * 20_000_000, || 6_000_001);
        assert_eq!(again, told);
        // Ticks went back.
        assert_eq!(tell(Some(next), 5, || 30_000_000).0, 30_000_000);
    }

    #[test]
    fn the_real_clock_is_close_to_the_kernel_s() {
        let mut time = timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let mut last = 0;
        while last == 0
            || CLOCK
                .get()
                .is_some_and(|clock| clock.last.nanos - clock.first.nanos < 20 * TRUST)
        {
            let before = kernel();
            // SAFETY: `time` is valid for a write.
            let status = unsafe { clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
            assert_eq!(status, 0);
            let now = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
            let after = kernel();
            assert!(now >= last);
            assert!(
                now + TRUST > before && now < after + TRUST,
                "{before} {now} {after}"
            );
            last = now;
        }
    }
}
