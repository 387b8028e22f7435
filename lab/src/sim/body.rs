//! Bodies that a client drops unread.

use bytes::buf::UninitSlice;
use bytes::BufMut;

/// Room for data that nobody looks at: it is used up as a slice is, and not written to.
pub(super) struct Drain<'a>(pub(super) &'a mut [u8]);

impl Drain<'_> {
    fn use_up(&mut self, bytes: usize) {
        self.0 = &mut std::mem::take(&mut self.0)[bytes..];
    }
}

// SAFETY: what is left is a slice, which `chunk_mut` gives as it is.
unsafe impl BufMut for Drain<'_> {
    fn remaining_mut(&self) -> usize {
        self.0.len()
    }

    unsafe fn advance_mut(&mut self, bytes: usize) {
        self.use_up(bytes);
    }

    fn chunk_mut(&mut self) -> &mut UninitSlice {
        UninitSlice::new(self.0)
    }

    fn put_slice(&mut self, data: &[u8]) {
        self.use_up(data.len());
    }
}
