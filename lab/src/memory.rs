//! The allocator, and how long it keeps memory that a simulation has freed.

use std::ffi::{c_int, c_long};
use std::sync::Once;

use libmimalloc_sys::mi_option_set_default;

/// A simulation allocates many times per packet; this saves it a tenth of its
/// time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The number of mimalloc's `mi_option_purge_delay`, for which its crate has no name.
const PURGE_DELAY: c_int = 15;

/// Milliseconds. Buffers of a fast path with losses fill and empty again and again. With
/// mimalloc's own 10 ms their pages go back to the system each time, which has to clear
/// them before they are touched again.
const KEPT: c_long = 1000;

/// Has the allocator keep free memory for longer, unless `MIMALLOC_PURGE_DELAY` says for
/// how long.
pub(crate) fn keep() {
    static ONCE: Once = Once::new();
    // SAFETY: the option exists, and nobody else sets one.
    ONCE.call_once(|| unsafe { mi_option_set_default(PURGE_DELAY, KEPT) });
}

#[cfg(test)]
mod tests {
    use libmimalloc_sys::mi_option_get;

    use super::*;

    #[test]
    fn the_number_is_that_of_the_delay() {
        // SAFETY: a number without an option gives zero.
        let delay = || unsafe { mi_option_get(PURGE_DELAY) };
        // mimalloc's own, unless another test of this process has run a simulation.
        assert!([10, KEPT].contains(&delay()), "{}", delay());
        keep();
        assert_eq!(delay(), KEPT);
    }
}
