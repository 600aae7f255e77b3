//! The structural 128-bit hash by which SDKs order arrays and objects.
//!
//! Wire: .NET merges ranges by this hash and sends it back in resume filters as two signed integers.

use model::{Number, Value};

/// A 128-bit hash, as two halves.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Hash128 {
    pub(crate) low: u64,
    pub(crate) high: u64,
}

const fn seed(low: u64, high: u64) -> Hash128 {
    Hash128 { low, high }
}

const ROOT: Hash128 = seed(0xbfc2_359e_afc0_e2b7, 0x8846_e002_84c4_cf1f);
const NULL: Hash128 = seed(0x1380_f68b_b3b0_cfe4, 0x156c_918b_f564_ee48);
const FALSE: Hash128 = seed(0xc1be_517f_e893_b40c, 0xe9fc_8a4c_531c_d0dd);
const TRUE: Hash128 = seed(0xf86d_4abf_9a41_2e74, 0x7884_8836_5c8a_985d);
const STRING: Hash128 = seed(0x61f5_3f0a_4420_4cfb, 0x0948_1be8_ef4b_56dd);
const ARRAY: Hash128 = seed(0xfa57_3b01_4c4d_c18e, 0xa014_512c_858e_b115);
const OBJECT: Hash128 = seed(0x77b2_85ac_511a_ef30, 0x3dcf_1872_4582_2449);
const ARRAY_INDEX: Hash128 = seed(0xfe05_7204_216d_b999, 0x5b1c_c317_8bd9_c593);
const PROPERTY: Hash128 = seed(0xc915_dde0_5849_2a8a, 0x7c8b_e2eb_a72e_4634);
const NUMBER: Hash128 = seed(0x2400_e8b8_94ce_9c2a, 0x790b_e1ea_bd7b_9481);

impl Hash128 {
    fn to_bytes(self) -> [u8; 16] {
        (u128::from(self.high) << 64 | u128::from(self.low)).to_le_bytes()
    }

    fn plus(self, n: u64) -> Hash128 {
        let sum = (u128::from(self.high) << 64 | u128::from(self.low)).wrapping_add(u128::from(n));
        Hash128 { low: half(sum), high: half(sum >> 64) }
    }

    /// The order of .NET: the low half with its bytes reversed first, then the high half.
    pub(crate) fn order(self, other: Hash128) -> std::cmp::Ordering {
        self.low
            .swap_bytes()
            .cmp(&other.low.swap_bytes())
            .then(self.high.swap_bytes().cmp(&other.high.swap_bytes()))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "takes the low half")]
fn half(wide: u128) -> u64 {
    wide as u64
}

/// Returns a number by which to tell keys apart that sort alike.
pub(crate) fn digest(key: &[u8]) -> u64 {
    murmur(key, ROOT).low
}

/// Hashes a value.
pub(crate) fn structural_hash(value: &Value) -> Hash128 {
    hash_value(value, ROOT)
}

fn hash_value(value: &Value, parent: Hash128) -> Hash128 {
    match value {
        Value::Null => mix(NULL, parent),
        Value::Bool(false) => mix(FALSE, parent),
        Value::Bool(true) => mix(TRUE, parent),
        Value::Number(number) => murmur(&number_bytes(number), mix(NUMBER, parent)),
        Value::String(text) => murmur(text.as_bytes(), mix(STRING, parent)),
        Value::Array(list) => {
            let mut hash = mix(ARRAY, parent);
            for (index, element) in (0..).zip(list) {
                hash = mix(hash_value(element, ARRAY_INDEX.plus(index)), hash);
            }
            hash
        }
        Value::Object(object) => {
            let hash = mix(OBJECT, parent);
            let mut members = Hash128::default();
            for (name, value) in object.iter() {
                let name_hash = murmur(name.as_bytes(), mix(STRING, PROPERTY));
                let member = hash_value(value, name_hash);
                members.low ^= member.low;
                members.high ^= member.high;
            }
            if members == Hash128::default() { hash } else { mix(members, hash) }
        }
    }
}

/// The ten bytes of a number: a double, and ten bits more for an integer that has more digits than a double holds.
/// The double of such an integer is cut and not rounded.
fn number_bytes(number: &Number) -> [u8; 10] {
    let exact = number.as_i64().filter(|integer| {
        let (size, zeros) = (integer.unsigned_abs(), integer.trailing_zeros());
        *integer != i64::MIN && 64_u32.saturating_sub(size.leading_zeros() + zeros) > 53
    });
    let (double, extra) = match exact {
        None => (number.as_f64(), 0_u16),
        Some(integer) => {
            // 62 bits behind the leading one: 52 for the double, 10 beside it.
            let size = integer.unsigned_abs();
            let fraction = (size << (size.leading_zeros() - 1)) & 0x3fff_ffff_ffff_ffff;
            let exponent = u64::from(size.ilog2() + 1023);
            let double = f64::from_bits(exponent << 52 | fraction >> 10);
            let extra = u16::try_from(fraction & 0x3ff).unwrap_or_default() << 6;
            (if integer < 0 { -double } else { double }, extra)
        }
    };
    let mut bytes = [0; 10];
    let (front, back) = bytes.split_at_mut(8);
    front.copy_from_slice(&double.to_le_bytes());
    back.copy_from_slice(&extra.to_le_bytes());
    bytes
}

fn mix(content: Hash128, seed: Hash128) -> Hash128 {
    murmur(&content.to_bytes(), seed)
}

/// `MurmurHash3`, 128 bits, x64 variant, with a 128-bit seed.
fn murmur(bytes: &[u8], seed: Hash128) -> Hash128 {
    const C1: u64 = 0x87c3_7b91_1142_53d5;
    const C2: u64 = 0x4cf5_ad43_2745_937f;
    let (mut h1, mut h2) = (seed.low, seed.high);
    let mut chunks = bytes.chunks_exact(16);
    for chunk in chunks.by_ref() {
        let (k1, k2) = halves(chunk);
        h1 ^= k1.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
        h1 = h1.rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 ^= k2.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
        h2 = h2.rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let tail = chunks.remainder();
    let (k1, k2) = halves(tail);
    if tail.len() > 8 {
        h2 ^= k2.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    }
    if !tail.is_empty() {
        h1 ^= k1.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    }
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    h1 ^= length;
    h2 ^= length;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = finish(h1);
    h2 = finish(h2);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    Hash128 { low: h1, high: h2 }
}

/// Reads up to 16 bytes, little-endian, missing ones as zero.
fn halves(bytes: &[u8]) -> (u64, u64) {
    let mut padded = [0; 16];
    for (to, from) in padded.iter_mut().zip(bytes) {
        *to = *from;
    }
    let wide = u128::from_le_bytes(padded);
    (half(wide), half(wide >> 64))
}

fn finish(mut k: u64) -> u64 {
    k ^= k >> 33;
    k = k.wrapping_mul(0xff51_afd7_ed55_8ccd);
    k ^= k >> 33;
    k = k.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ k >> 33
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the .NET SDK sends for the value in a resume filter.
    #[track_caller]
    fn check(text: &str, low: i64, high: i64) {
        let hash = structural_hash(&model::json::parse(text.as_bytes()).unwrap());
        assert_eq!((hash.low.cast_signed(), hash.high.cast_signed()), (low, high), "{text}");
    }

    #[test]
    fn hashes_are_those_of_the_clients() {
        check("[1]", 3_156_792_105_152_516_121, -4_093_997_899_287_633_148);
        check("[10,20]", 3_604_200_685_355_014_576, -3_938_048_409_070_886_104);
        check("[1.5]", -5_305_828_395_466_136_052, 8_573_855_073_990_713_471);
        check(r#"{"a":1}"#, 6_626_721_030_009_087_975, 3_382_389_252_530_516_517);
    }

    #[test]
    fn integers_beyond_doubles_have_more_bits() {
        let bytes = |integer: i64| number_bytes(&Number::from_i64(integer));
        assert_eq!(bytes(1 << 53), [0, 0, 0, 0, 0, 0, 0x40, 0x43, 0, 0]);
        assert_eq!(bytes((1 << 53) + 1), [0, 0, 0, 0, 0, 0, 0x40, 0x43, 0, 0x80]);
        assert_eq!(bytes(-(1 << 53) - 1), [0, 0, 0, 0, 0, 0, 0x40, 0xc3, 0, 0x80]);
        let ones = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xdf, 0x43, 0xc0, 0xff];
        assert_eq!(bytes(i64::MAX), ones);
        assert_eq!(bytes(i64::MIN), [0, 0, 0, 0, 0, 0, 0xe0, 0xc3, 0, 0]);
    }
}
