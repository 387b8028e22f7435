//! An allocator that counts what each thread holds.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
}

/// Bytes that this thread has allocated and not freed.
pub(crate) fn held() -> isize {
    HELD.get()
}

/// The system's allocator, counted.
struct Counting;

// SAFETY: the system's allocator does the work. The counter neither allocates nor has a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.set(HELD.get() + layout.size() as isize);
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HELD.set(HELD.get() - layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}
