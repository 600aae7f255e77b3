//! The string hashes of .NET Framework, which its ring starts from: one for 64-bit, one for 32-bit processes.

const FACTOR: i32 = 1_566_083_941;

/// Two sums over alternating UTF-16 units, up to the first zero.
pub(super) fn string_hash_64(text: &str) -> i32 {
    let mut sums = [5381_i32; 2];
    for (index, unit) in text.encode_utf16().take_while(|it| *it != 0).enumerate() {
        let sum = &mut sums[index % 2];
        *sum = (sum.wrapping_shl(5).wrapping_add(*sum)) ^ i32::from(unit);
    }
    sums[0].wrapping_add(sums[1].wrapping_mul(FACTOR))
}

/// Two sums over alternating pairs of UTF-16 units; a zero fills the last pair.
pub(super) fn string_hash_32(text: &str) -> i32 {
    let units: Vec<u16> = text.encode_utf16().collect();
    let mut sums = [352_654_597_i32; 2];
    for (index, pair) in units.chunks(2).enumerate() {
        let high = pair.get(1).copied().unwrap_or(0);
        let word = i32::from(pair[0]) | (i32::from(high) << 16);
        let sum = &mut sums[index % 2];
        *sum = sum.wrapping_shl(5).wrapping_add(*sum).wrapping_add(*sum >> 27) ^ word;
    }
    sums[0].wrapping_add(sums[1].wrapping_mul(FACTOR))
}
