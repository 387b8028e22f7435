//! Cipher suites of TLS 1.3, which neither quiche nor boring has a way to set.

use boring::error::ErrorStack;
use boring::ssl::SslContextBuilder;
use boring_sys as ffi;

/// TLS_AES_128_GCM_SHA256.
pub const AES_128_GCM: u16 = ffi::SSL_CIPHER_AES_128_GCM_SHA256 as u16;

/// TLS_AES_256_GCM_SHA384.
pub const AES_256_GCM: u16 = ffi::SSL_CIPHER_AES_256_GCM_SHA384 as u16;

/// TLS_CHACHA20_POLY1305_SHA256.
pub const CHACHA20_POLY1305: u16 = ffi::SSL_CIPHER_CHACHA20_POLY1305_SHA256 as u16;

/// Permits these cipher suites and no others, the preferred first.
pub fn set_ciphers(tls: &mut SslContextBuilder, ciphers: &[u16]) -> Result<(), ErrorStack> {
    let (ids, len) = (ciphers.as_ptr(), ciphers.len());
    // SAFETY: the context is alive, `ids` has `len` entries, which are copied, and the
    // flags may be null: no cipher has the same preference as the next.
    let done = unsafe { ffi::SSL_CTX_set1_tls13_ciphers(tls.as_ptr(), ids, std::ptr::null(), len) };
    match done {
        1 => Ok(()),
        _ => Err(ErrorStack::get()),
    }
}
