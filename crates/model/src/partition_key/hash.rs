//! `MurmurHash3`, in the two variants that partition keys use.
//!
//! Wire: clients compute the same to route requests, so the numbers are not ours to choose.

/// Returns the 32-bit hash (x86 variant).
pub fn murmur3_32(bytes: &[u8], seed: u32) -> u32 {
    let (blocks, tail) = bytes.as_chunks::<4>();
    let mut hash = seed;
    for block in blocks {
        hash ^= scramble_32(u32::from_le_bytes(*block));
        hash = hash.rotate_left(13).wrapping_mul(5).wrapping_add(0xE654_6B64);
    }
    if !tail.is_empty() {
        let mut block = [0; 4];
        block[..tail.len()].copy_from_slice(tail);
        hash ^= scramble_32(u32::from_le_bytes(block));
    }
    // The algorithm takes the length modulo 2^32.
    #[expect(clippy::cast_possible_truncation, reason = "modulo 2^32 by definition")]
    let length = bytes.len() as u32;
    finish_32(hash ^ length)
}

fn scramble_32(block: u32) -> u32 {
    block.wrapping_mul(0xCC9E_2D51).rotate_left(15).wrapping_mul(0x1B87_3593)
}

fn finish_32(mut hash: u32) -> u32 {
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85EB_CA6B);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xC2B2_AE35);
    hash ^ (hash >> 16)
}

const C1: u64 = 0x87C3_7B91_1142_53D5;
const C2: u64 = 0x4CF5_AD43_2745_937F;

/// Returns the 128-bit hash (x64 variant, both seeds 0) as one number: h2 high, h1 low.
pub fn murmur3_128(bytes: &[u8]) -> u128 {
    let (blocks, tail) = bytes.as_chunks::<16>();
    let (mut h1, mut h2) = (0_u64, 0_u64);
    for block in blocks {
        let (k1, k2) = halves(*block);
        h1 = (h1 ^ scramble_low(k1)).rotate_left(27).wrapping_add(h2);
        h1 = h1.wrapping_mul(5).wrapping_add(0x52DC_E729);
        h2 = (h2 ^ scramble_high(k2)).rotate_left(31).wrapping_add(h1);
        h2 = h2.wrapping_mul(5).wrapping_add(0x3849_5AB5);
    }
    if !tail.is_empty() {
        let mut block = [0; 16];
        block[..tail.len()].copy_from_slice(tail);
        let (k1, k2) = halves(block);
        // A missing upper half scrambles to zero, so no case is needed for short tails.
        h1 ^= scramble_low(k1);
        h2 ^= scramble_high(k2);
    }
    let length = bytes.len() as u64;
    (h1, h2) = (h1 ^ length, h2 ^ length);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    (h1, h2) = (finish_64(h1), finish_64(h2));
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    u128::from(h2) << 64 | u128::from(h1)
}

/// Splits a block into its two little-endian words.
fn halves(block: [u8; 16]) -> (u64, u64) {
    let number = u128::from_le_bytes(block);
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is wanted")]
    let low = number as u64;
    let high = (number >> 64) as u64;
    (low, high)
}

fn scramble_low(block: u64) -> u64 {
    block.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

fn scramble_high(block: u64) -> u64 {
    block.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

fn finish_64(mut hash: u64) -> u64 {
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_undefined_marker_hashes_as_published() {
        assert_eq!(murmur3_32(&[0], 0), 0x514E_28B7);
        assert_eq!(murmur3_128(&[0]), 0x5162_2DAA_78F8_3583_4610_ABE5_6EFF_5CB5);
    }

    #[test]
    fn nothing_hashes_to_zero_and_the_seed_counts() {
        assert_eq!((murmur3_32(&[], 0), murmur3_128(&[])), (0, 0));
        assert_ne!(murmur3_32(b"a", 0), murmur3_32(b"a", 1));
    }
}
