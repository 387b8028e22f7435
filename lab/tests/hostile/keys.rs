//! Protection of 1-RTT packets (RFC 9001, Section 5), with keys that a client may know: its own
//! for what it sends, and the server's header protection for what it receives.

use boring::hash::hmac_sha256;
use boring::symm::{encrypt, encrypt_aead, Cipher};

/// Bytes of a packet number as the client writes it.
const NUMBER: usize = 4;

const SAMPLE: usize = 16;
const TAG: usize = 16;

/// Keys of one direction, for AES-128-GCM.
pub(crate) struct Keys {
    key: Vec<u8>,
    iv: Vec<u8>,
    hp: Vec<u8>,
}

impl Keys {
    /// Derives the keys from a line `LABEL RANDOM SECRET` of a key log; `None` before it is there.
    pub(crate) fn of(log: &str, label: &str) -> Option<Keys> {
        let mut words = log.lines().map(|line| line.split(' '));
        let mut words = words.find(|words| words.clone().next() == Some(label))?;
        let digits = words.nth(2)?.trim();
        let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal");
        let secret: Vec<u8> = (0..digits.len()).step_by(2).map(byte).collect();
        Some(Keys {
            key: expand(&secret, "quic key", 16),
            iv: expand(&secret, "quic iv", 12),
            hp: expand(&secret, "quic hp", 16),
        })
    }

    fn mask(&self, sample: &[u8]) -> Vec<u8> {
        encrypt(Cipher::aes_128_ecb(), &self.hp, None, sample).expect("AES encrypts a block")
    }

    /// Makes a packet with this number.
    pub(crate) fn seal(&self, id: &[u8], number: u32, frames: &[u8]) -> Vec<u8> {
        let header = [&[0x40 | (NUMBER as u8 - 1)], id, &number.to_be_bytes()].concat();
        let mut nonce = self.iv.clone();
        for (byte, other) in nonce[12 - NUMBER..].iter_mut().zip(number.to_be_bytes()) {
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
        let from = 1 + id.len();
        let mask = self.mask(&packet[from + 4..][..SAMPLE]);
        packet[0] ^= mask[0] & 0x1f;
        for (byte, mask) in packet[from..][..NUMBER].iter_mut().zip(&mask[1..]) {
            *byte ^= mask;
        }
        packet
    }

    /// The number of a packet that follows `largest` (RFC 9000, Appendix A.3); `None` of one with a
    /// long header.
    pub(crate) fn number(&self, packet: &[u8], id: usize, largest: u64) -> Option<u64> {
        let from = 1 + id;
        if packet[0] & 0x80 != 0 || packet.len() < from + 4 + SAMPLE {
            return None;
        }
        let mask = self.mask(&packet[from + 4..][..SAMPLE]);
        let length = usize::from((packet[0] ^ mask[0]) & 3) + 1;
        let digits = packet[from..][..length].iter().zip(&mask[1..]);
        let truncated = digits.fold(0, |all, (byte, mask)| all << 8 | u64::from(byte ^ mask));
        let window = 1u64 << (8 * length);
        let (expected, half) = (largest + 1, window / 2);
        let candidate = (expected & !(window - 1)) | truncated;
        Some(match candidate {
            low if low + half <= expected => low + window,
            high if high > expected + half && high >= window => high - window,
            same => same,
        })
    }
}

/// HKDF-Expand-Label of TLS 1.3 for up to 32 bytes.
fn expand(secret: &[u8], label: &str, length: usize) -> Vec<u8> {
    let label = format!("tls13 {label}");
    let sizes = [0, length as u8, label.len() as u8];
    let info = [&sizes[..], label.as_bytes(), &[0, 1]].concat();
    hmac_sha256(secret, &info).expect("HMAC")[..length].to_vec()
}
