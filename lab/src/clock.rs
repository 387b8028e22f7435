//! Virtual time for the thread that simulates, real time for every other.
//!
//! quiche reads `Instant::now()` wherever it needs the time. On Linux the
//! standard library gets it from libc's `clock_gettime`, and BoringSSL from
//! `gettimeofday`. The laboratory defines both symbols itself: on a thread
//! that holds a [`VirtualClock`] they tell its time, elsewhere the kernel's.
//! Clocks that count CPU time are never virtual.

use std::cell::Cell;
use std::marker::PhantomData;
use std::time::{Duration, Instant};

use libc::{c_int, c_long, clockid_t, timespec, timeval};

const SECOND: u64 = 1_000_000_000;

/// Monotonic clock at the beginning of virtual time. One day leaves room for code that subtracts
/// from the present.
const MONOTONIC_START: u64 = 86_400 * SECOND;

/// Wall clock at the beginning of virtual time: 2026-01-01 00:00 UTC.
const WALL_START: u64 = 1_767_225_600 * SECOND;

thread_local! {
    /// Nanoseconds since virtual time began on this thread.
    static ELAPSED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// This thread's virtual time. It begins at zero, moves only when told to,
/// and ends when the value is dropped.
#[derive(Debug)]
pub struct VirtualClock {
    origin: Instant,
    /// A clock is its thread's: it must not be sent to another.
    _thread: PhantomData<*const ()>,
}

impl VirtualClock {
    /// Stops this thread's time.
    ///
    /// # Panics
    ///
    /// When this thread holds a virtual clock already.
    pub fn start() -> Self {
        let previous = ELAPSED.replace(Some(0));
        assert!(previous.is_none(), "one virtual clock at a time");
        VirtualClock {
            origin: Instant::now(),
            _thread: PhantomData,
        }
    }

    /// Moves time to `nanos` nanoseconds after its beginning.
    pub fn set(&self, nanos: u64) {
        ELAPSED.set(Some(nanos));
    }

    /// The instant `nanos` nanoseconds after the beginning.
    pub fn instant(&self, nanos: u64) -> Instant {
        self.origin + Duration::from_nanos(nanos)
    }

    /// Nanoseconds from the beginning to `instant`; zero when it is earlier.
    pub fn nanos(&self, instant: Instant) -> u64 {
        instant.saturating_duration_since(self.origin).as_nanos() as u64
    }
}

impl Drop for VirtualClock {
    fn drop(&mut self) {
        ELAPSED.set(None);
    }
}

/// Returns the virtual time of `clock` in nanoseconds; `None` if this thread or this clock runs in
/// real time.
fn virtual_time(clock: clockid_t) -> Option<u64> {
    let start = match clock {
        libc::CLOCK_MONOTONIC
        | libc::CLOCK_MONOTONIC_RAW
        | libc::CLOCK_MONOTONIC_COARSE
        | libc::CLOCK_BOOTTIME => MONOTONIC_START,
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE => WALL_START,
        _ => return None,
    };
    ELAPSED.get().map(|elapsed| start + elapsed)
}

/// Takes the place of libc's function of this name in the whole executable.
///
/// # Safety
///
/// As libc's: `time` points to a `timespec` that may be written.
#[no_mangle]
pub unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    match virtual_time(clock) {
        Some(nanos) => {
            // SAFETY: the caller promises that `time` may be written. The
            // thread-local cell that was read needs no initialisation and no
            // destructor, so reading it neither allocates nor calls back here.
            unsafe {
                (*time).tv_sec = (nanos / SECOND) as libc::time_t;
                (*time).tv_nsec = (nanos % SECOND) as c_long;
            }
            0
        }
        // SAFETY: the arguments are the caller's, passed on to the system call
        // that libc's function stands for; it sets errno as libc's does.
        None => unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) as c_int },
    }
}

/// Takes the place of libc's function of this name in the whole executable.
///
/// # Safety
///
/// As libc's: `time` is null or points to a `timeval` that may be written.
#[no_mangle]
pub unsafe extern "C" fn gettimeofday(time: *mut timeval, _zone: *mut libc::c_void) -> c_int {
    let mut now = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is a local that may be written.
    let status = unsafe { clock_gettime(libc::CLOCK_REALTIME, &mut now) };
    if !time.is_null() {
        // SAFETY: the caller promises that `time` may be written, unless null.
        unsafe {
            (*time).tv_sec = now.tv_sec;
            (*time).tv_usec = now.tv_nsec / 1000;
        }
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn time_stands_until_it_is_moved_and_only_on_this_thread() {
        let clock = VirtualClock::start();
        let before = Instant::now();
        std::thread::spawn(|| {
            let real = Instant::now();
            std::thread::sleep(Duration::from_millis(2));
            assert!(real.elapsed() >= Duration::from_millis(2));
        })
        .join()
        .unwrap();
        assert_eq!(before.elapsed(), Duration::ZERO);

        clock.set(1_500_000_001);
        assert_eq!(before.elapsed(), Duration::from_nanos(1_500_000_001));
        assert_eq!(clock.nanos(Instant::now()), 1_500_000_001);
        assert_eq!(clock.instant(1_500_000_001), Instant::now());
    }

    #[test]
    fn the_wall_clock_is_virtual_too_and_real_again_afterwards() {
        let clock = VirtualClock::start();
        clock.set(SECOND);
        let wall = SystemTime::UNIX_EPOCH + Duration::from_nanos(WALL_START + SECOND);
        assert_eq!(SystemTime::now(), wall);
        drop(clock);
        let real = Instant::now();
        std::thread::sleep(Duration::from_millis(2));
        assert!(real.elapsed() >= Duration::from_millis(2));
    }
}
