//! Seeded randomness for the thread that simulates, the kernel's for others.
//!
//! Connection ids, keys, skipped packet numbers and grease come from
//! BoringSSL's `RAND_bytes`. The linker sends every call of it here
//! (`build.rs`); on a thread that holds a [`Seed`] the bytes are a generator's,
//! so that a simulation has the same packets every time.

use std::cell::RefCell;
use std::marker::PhantomData;

use rand_pcg::rand_core::Rng;
use rand_pcg::Pcg64;

thread_local! {
    static GENERATOR: RefCell<Option<Pcg64>> = const { RefCell::new(None) };
}

/// While it lives, this thread's random bytes follow from a seed.
#[derive(Debug)]
pub struct Seed {
    /// The generator is its thread's: the guard must not be sent to another.
    _thread: PhantomData<*const ()>,
}

impl Seed {
    /// Begins the sequence of `seed` on this thread.
    ///
    /// # Panics
    ///
    /// When this thread's bytes are seeded already.
    pub fn start(seed: u64) -> Self {
        let previous = GENERATOR.replace(Some(generator(seed, 0)));
        assert!(previous.is_none(), "one seed at a time");
        Seed {
            _thread: PhantomData,
        }
    }

    /// Fills `bytes` from the same sequence that BoringSSL draws on.
    pub fn fill(&self, bytes: &mut [u8]) {
        fill(bytes);
    }
}

impl Drop for Seed {
    fn drop(&mut self) {
        GENERATOR.set(None);
    }
}

/// A generator for one use, `stream`, of a run's `seed`: uses do not disturb
/// each other's sequence.
pub fn generator(seed: u64, stream: u64) -> Pcg64 {
    Pcg64::new(u128::from(seed), u128::from(stream))
}

/// Fills `bytes` from this thread's generator; false when it has none.
fn fill(bytes: &mut [u8]) -> bool {
    GENERATOR.with_borrow_mut(|generator| match generator {
        Some(generator) => {
            generator.fill_bytes(bytes);
            true
        }
        None => false,
    })
}

/// Replaces BoringSSL's `RAND_bytes`, by the linker. It always returns 1.
///
/// # Safety
///
/// As for `RAND_bytes`: `len` bytes from `buf` must be writable.
#[no_mangle]
pub unsafe extern "C" fn __wrap_RAND_bytes(buf: *mut u8, len: usize) -> libc::c_int {
    if len == 0 {
        return 1;
    }
    // SAFETY: the caller promises that these bytes may be written. A slice must be initialised.
    let bytes = unsafe {
        buf.write_bytes(0, len);
        std::slice::from_raw_parts_mut(buf, len)
    };
    if !fill(bytes) {
        from_kernel(bytes);
    }
    1
}

/// The kernel's random bytes, which BoringSSL's generator is seeded with too.
fn from_kernel(bytes: &mut [u8]) {
    let mut done = 0;
    while done < bytes.len() {
        let rest = &mut bytes[done..];
        // SAFETY: pointer and length are those of `rest`.
        let got = unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0) };
        match usize::try_from(got) {
            Ok(got) => done += got,
            Err(_) => {
                // As BoringSSL does: there is no safe way on without entropy.
                let error = std::io::Error::last_os_error();
                if error.kind() != std::io::ErrorKind::Interrupted {
                    eprintln!("getrandom: {error}");
                    std::process::abort();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 16 bytes as BoringSSL's callers get them.
    fn boringssl() -> [u8; 16] {
        let mut bytes = [0; 16];
        boring::rand::rand_bytes(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn boringssl_draws_the_same_bytes_for_the_same_seed() {
        let draw = |seed| {
            let _seed = Seed::start(seed);
            [boringssl(), boringssl()]
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        let [first, second] = draw(1);
        assert_ne!(first, second);
    }

    #[test]
    fn without_a_seed_the_bytes_are_the_kernels() {
        assert_ne!(boringssl(), boringssl());
    }
}
