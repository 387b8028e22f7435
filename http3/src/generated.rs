//! The bodies of `/bytes/<n>`: the same pseudorandom block over and over.
//!
//! Both ends have the block, so that the client compares what it receives byte
//! for byte, at the cost of a `memcmp`. Hashing would cost more than all of
//! QUIC's cryptography.

use std::sync::LazyLock;

/// The field, and its value, by which a server says that a body is made of this
/// block; a path alone would mean something else on another server.
pub(crate) const FIELD: (&str, &str) = ("petra-body", "generated");

/// A prime number of bytes: no two parts of a body that a QUIC stack could
/// mistake for one another, at a distance of packets or buffers, are equal.
const PERIOD: usize = 1_048_573;

/// Bytes at the end of the block that repeat its beginning, so that a part may begin anywhere.
const OVERLAP: usize = 65_536;

/// The block, and its beginning once more. The numbers are SplitMix64's
/// (Steele, Lea and Flood: Fast Splittable Pseudorandom Number Generators, 2014).
static BLOCK: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let words = (1..=PERIOD.div_ceil(8) as u64).flat_map(|counter| {
        let mut z = counter.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)).to_le_bytes()
    });
    let mut block: Vec<u8> = words.take(PERIOD).collect();
    block.extend_from_within(..OVERLAP);
    block
});

/// The bytes of every generated body from `offset` on: at least `most` or
/// [`OVERLAP`] of them, whichever is less, and at most `most`.
pub(crate) fn block_from(offset: u64, most: usize) -> &'static [u8] {
    let start = (offset % PERIOD as u64) as usize;
    let part = &BLOCK[start..];
    &part[..part.len().min(most)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_the_same_whatever_the_parts_it_is_read_in() {
        let period = PERIOD as u64;
        for offset in [0, 1, period - 1, period, 5 * period + 7, u64::MAX - 100] {
            for most in [1, 100, OVERLAP, 10 * OVERLAP] {
                let part = block_from(offset, most);
                assert!(part.len() >= most.min(OVERLAP) && part.len() <= most);
                assert_eq!(part[0], block_from(offset % period, 1)[0]);
                assert_eq!(
                    part.last(),
                    block_from(offset % period + part.len() as u64 - 1, 1).last()
                );
            }
        }
        assert_ne!(block_from(0, 1200), block_from(1200, 1200));
    }
}
