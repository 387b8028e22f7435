//! Memory and CPU time of this thread.

use std::ffi::c_void;

use libmimalloc_sys::{mi_heap_area_t, mi_heap_get_default, mi_heap_t, mi_heap_visit_blocks};

/// Live bytes of this thread's heap.
pub(crate) fn heap() -> usize {
    extern "C" fn add(
        _: *const mi_heap_t,
        _: *const mi_heap_area_t,
        block: *mut c_void,
        size: usize,
        sum: *mut c_void,
    ) -> bool {
        if !block.is_null() {
            // SAFETY: `sum` is the number below, which nothing else uses meanwhile.
            unsafe { *sum.cast::<usize>() += size };
        }
        true
    }
    let mut sum = 0usize;
    // SAFETY: the heap is this thread's, and `add` neither allocates nor frees.
    unsafe {
        let sum: *mut usize = &mut sum;
        mi_heap_visit_blocks(mi_heap_get_default(), true, Some(add), sum.cast());
    }
    sum
}

/// CPU time of this thread in seconds.
fn cpu() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` may be written.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Does some work, and adds its CPU time.
pub(crate) fn timed<T>(sum: &mut f64, work: impl FnOnce() -> T) -> T {
    let began = cpu();
    let result = work();
    *sum += cpu() - began;
    result
}
