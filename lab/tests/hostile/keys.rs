//! Keys that a client may know: its own for what it sends, and the server's header protection for
//! what it receives.

#[path = "../../../tests/keys/mod.rs"]
mod protection;

pub(crate) use protection::Keys;
use protection::{NUMBER, SAMPLE};

impl Keys {
    /// Derives the keys from a line `LABEL RANDOM SECRET` of a key log; `None` before it is there.
    pub(crate) fn of(log: &str, label: &str) -> Option<Keys> {
        let mut words = log.lines().map(|line| line.split(' '));
        let mut words = words.find(|words| words.clone().next() == Some(label))?;
        let digits = words.nth(2)?.trim();
        let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal");
        let secret: Vec<u8> = (0..digits.len()).step_by(2).map(byte).collect();
        Some(Keys::of_secret(&secret))
    }

    /// Makes a 1-RTT packet with this number.
    pub(crate) fn seal_1rtt(&self, id: &[u8], number: u32, frames: &[u8]) -> Vec<u8> {
        let header = [&[0x40 | (NUMBER as u8 - 1)], id].concat();
        self.seal(&header, number, frames)
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
