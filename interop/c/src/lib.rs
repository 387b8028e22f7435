//! quiche's C API, and the one function that PETRA adds to it.

// What quiche.h declares is in the library because of this.
pub use quiche;

/// Makes `petra` and its relatives known to quiche; see `petra.h`.
#[no_mangle]
pub extern "C" fn petra_register() {
    petra::register();
}
