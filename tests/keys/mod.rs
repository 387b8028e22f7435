//! Protection of packets (RFC 9001, Section 5,
//! <https://www.rfc-editor.org/rfc/rfc9001#section-5>), with AES-128-GCM.

use boring::hash::hmac_sha256;
use boring::symm::{encrypt, encrypt_aead, Cipher};

/// Bytes of a packet number, as it is written here.
pub(crate) const NUMBER: usize = 4;

pub(crate) const SAMPLE: usize = 16;
pub(crate) const TAG: usize = 16;

/// Keys of one direction.
pub(crate) struct Keys {
    key: Vec<u8>,
    iv: Vec<u8>,
    hp: Vec<u8>,
}

impl Keys {
    /// Derives the keys from the secret of a direction.
    pub(crate) fn of_secret(secret: &[u8]) -> Keys {
        Keys {
            key: expand(secret, "quic key", 16),
            iv: expand(secret, "quic iv", 12),
            hp: expand(secret, "quic hp", 16),
        }
    }

    pub(crate) fn mask(&self, sample: &[u8]) -> Vec<u8> {
        encrypt(Cipher::aes_128_ecb(), &self.hp, None, sample).expect("AES encrypts a block")
    }

    /// Makes a packet with this number, whose header lacks nothing else.
    pub(crate) fn seal(&self, header: &[u8], number: u32, frames: &[u8]) -> Vec<u8> {
        let number = number.to_be_bytes();
        let from = header.len();
        let header = [header, &number].concat();
        let mut nonce = self.iv.clone();
        for (byte, other) in nonce[12 - NUMBER..].iter_mut().zip(number) {
            *byte ^= other;
        }
        let mut tag = [0; TAG];
        let sealed = encrypt_aead(
            Cipher::aes_128_gcm(),
            &self.key,
            Some(&nonce),
            &header,
            frames,
            &mut tag,
        );
        let sealed = sealed.expect("AES-GCM encrypts");
        let mut packet = [&header[..], &sealed, &tag].concat();
        let mask = self.mask(&packet[from + 4..][..SAMPLE]);
        let hidden = if packet[0] & 0x80 == 0 { 0x1f } else { 0x0f };
        packet[0] ^= mask[0] & hidden;
        for (byte, mask) in packet[from..][..NUMBER].iter_mut().zip(&mask[1..]) {
            *byte ^= mask;
        }
        packet
    }
}

/// HKDF-Expand-Label of TLS 1.3 for up to 32 bytes.
pub(crate) fn expand(secret: &[u8], label: &str, length: usize) -> Vec<u8> {
    let label = format!("tls13 {label}");
    let sizes = [0, length as u8, label.len() as u8];
    let info = [&sizes[..], label.as_bytes(), &[0, 1]].concat();
    hmac_sha256(secret, &info).expect("HMAC")[..length].to_vec()
}
