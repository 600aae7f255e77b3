//! `MurmurHash3` x86 32 bit, seed 0.

const C1: u32 = 0xcc9e_2d51;
const C2: u32 = 0x1b87_3593;

pub(super) fn murmur3_x86_32(bytes: &[u8]) -> u32 {
    let (words, tail) = bytes.as_chunks::<4>();
    let mut hash = words.iter().fold(0, |hash: u32, word| {
        let mixed = hash ^ scramble(u32::from_le_bytes(*word));
        mixed.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
    });
    let mut last = [0; 4];
    last[..tail.len()].copy_from_slice(tail);
    hash ^= scramble(u32::from_le_bytes(last));
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the algorithm takes the length modulo 2^32"
    )]
    let n_bytes = bytes.len() as u32;
    finish(hash ^ n_bytes)
}

fn scramble(word: u32) -> u32 {
    word.wrapping_mul(C1).rotate_left(15).wrapping_mul(C2)
}

fn finish(mut hash: u32) -> u32 {
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}
