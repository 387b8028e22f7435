//! The identity that the laboratory's servers have, for tests with connections of their own.

use boring::pkey::PKey;
use boring::ssl::{SslContextBuilder, SslMethod, SslSignatureAlgorithm};
use boring::x509::X509;

const IDENTITY: &[u8] = include_bytes!("../../src/sim/identity.pem");

/// Returns a TLS context with the identity, for either end.
pub(crate) fn tls() -> SslContextBuilder {
    let mut tls = SslContextBuilder::new(SslMethod::tls()).unwrap();
    tls.set_private_key(&PKey::private_key_from_pem(IDENTITY).unwrap())
        .unwrap();
    tls.set_certificate(&X509::from_pem(IDENTITY).unwrap())
        .unwrap();
    tls.set_verify_algorithm_prefs(&[SslSignatureAlgorithm::ED25519])
        .unwrap();
    tls
}
