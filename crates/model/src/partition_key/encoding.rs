//! Components → effective partition key, as clients compute it too.
//!
//! | kind, version | key |
//! |---|---|
//! | Hash, 2 | 128-bit hash of all components together |
//! | `MultiHash` | 128-bit hash of each component, one after the other |
//! | Hash, 1 | 32-bit hash as a number, then the components, order-preserving |
//! | Range | the components, order-preserving |
//!
//! Each 128-bit hash has its two top bits cleared.

use std::borrow::Cow;

use super::{
    Component, Epk, PartitionKeyDefinition, PartitionKeyKind,
    epk::HASH_BYTES,
    hash::{murmur3_32, murmur3_128},
};

/// Wire: old containers look at this many UTF-16 units of a string.
const OLD_UNITS_MAX: usize = 100;

/// Wire: old keys hold this many bytes of a string, or one more and then no terminator.
const OLD_BYTES_MAX: usize = 100;

/// The largest hash: 126 bits.
pub(super) const HASH_MAX: u128 = (1 << 126) - 1;

#[derive(Clone, Copy)]
#[repr(u8)]
enum Marker {
    Undefined = 0x00,
    Null = 0x01,
    False = 0x02,
    True = 0x03,
    Number = 0x05,
    String = 0x08,
}

impl Marker {
    fn of(component: &Component) -> Marker {
        match component {
            Component::Undefined => Self::Undefined,
            Component::Null => Self::Null,
            Component::Bool(false) => Self::False,
            Component::Bool(true) => Self::True,
            Component::Number(_) => Self::Number,
            Component::String(_) => Self::String,
        }
    }
}

pub(super) fn epk(definition: &PartitionKeyDefinition, components: &[Component]) -> Epk {
    if components.is_empty() {
        return Epk::MIN;
    }
    let bytes = match definition.kind {
        PartitionKeyKind::Hash if definition.is_old() => old_key(components),
        PartitionKeyKind::Hash => hash_128(components).to_vec(),
        PartitionKeyKind::MultiHash => components.chunks(1).flat_map(hash_128).collect(),
        PartitionKeyKind::Range => ordered_key(components),
    };
    Epk::from_bytes(bytes)
}

fn hash_128(components: &[Component]) -> [u8; HASH_BYTES] {
    const STRING_END: u8 = 0xFF;
    let mut bytes = Vec::with_capacity(64);
    for component in components {
        push_hashed(component, STRING_END, &mut bytes);
    }
    (murmur3_128(&bytes) & HASH_MAX).to_be_bytes()
}

fn old_key(components: &[Component]) -> Vec<u8> {
    const STRING_END: u8 = 0x00;
    let components: Vec<Component> = components.iter().map(truncated_component).collect();
    let mut bytes = Vec::with_capacity(64);
    for component in &components {
        push_hashed(component, STRING_END, &mut bytes);
    }
    let mut key = old_number(murmur3_32(&bytes, 0));
    key.extend(ordered_key(&components));
    key
}

/// Appends the bytes that are fed to a hash.
fn push_hashed(component: &Component, string_end: u8, bytes: &mut Vec<u8>) {
    bytes.push(Marker::of(component) as u8);
    match component {
        Component::Number(double) => bytes.extend_from_slice(&(double + 0.0).to_le_bytes()),
        Component::String(text) => {
            bytes.extend_from_slice(text.as_bytes());
            bytes.push(string_end);
        }
        Component::Undefined | Component::Null | Component::Bool(_) => {}
    }
}

fn truncated_component(component: &Component) -> Component {
    match component {
        Component::String(text) => Component::String(truncated(text).into_owned()),
        other => other.clone(),
    }
}

/// Cuts a string to what old containers see of it.
///
/// A pair of surrogates that the cut would divide leaves U+FFFD, as .NET has it. (Java writes a
/// question mark; which one the service stores is not known.)
pub(super) fn truncated(text: &str) -> Cow<'_, str> {
    if text.len() <= OLD_UNITS_MAX {
        return Cow::Borrowed(text);
    }
    let mut units_left = OLD_UNITS_MAX;
    for (index, character) in text.char_indices() {
        if character.len_utf16() > units_left {
            let kept = &text[..index];
            let is_divided = units_left == 1;
            return if is_divided {
                Cow::Owned(format!("{kept}\u{FFFD}"))
            } else {
                Cow::Borrowed(kept)
            };
        }
        units_left -= character.len_utf16();
    }
    Cow::Borrowed(text)
}

/// Encodes components so that byte order is key order.
fn ordered_key(components: &[Component]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for component in components {
        bytes.push(Marker::of(component) as u8);
        match component {
            Component::Number(double) => push_ordered_number(double + 0.0, &mut bytes),
            Component::String(text) => push_ordered_string(text, &mut bytes),
            Component::Undefined | Component::Null | Component::Bool(_) => {}
        }
    }
    bytes
}

fn push_ordered_string(text: &str, bytes: &mut Vec<u8>) {
    let is_long = text.len() > OLD_BYTES_MAX;
    let shown = &text.as_bytes()[..text.len().min(OLD_BYTES_MAX + 1)];
    // UTF-8 has no byte FF, so adding one never wraps.
    bytes.extend(shown.iter().map(|byte| byte.wrapping_add(1)));
    if !is_long {
        bytes.push(0x00);
    }
}

/// Encodes a hash of an old container as the number that starts its keys.
pub(super) fn old_number(hash: u32) -> Vec<u8> {
    let mut bytes = vec![Marker::Number as u8];
    push_ordered_number(f64::from(hash), &mut bytes);
    bytes
}

/// Reads the number at the start of an old key; `None` if it is not a hash.
pub(super) fn parse_old_number(key: &[u8]) -> Option<u32> {
    let (&marker, rest) = key.split_first()?;
    let (&first, groups) = rest.split_first()?;
    if marker != Marker::Number as u8 {
        return None;
    }
    let mut payload = u64::from(first) << 56;
    let mut shift = 49;
    for &byte in groups {
        payload |= u64::from(byte >> 1) << shift;
        if byte & 1 == 0 || shift < 7 {
            break;
        }
        shift -= 7;
    }
    // Hashes are not negative, so the payload is the bits with the sign turned.
    let double = f64::from_bits(payload ^ 1 << 63);
    let is_hash = (0.0..=f64::from(u32::MAX)).contains(&double);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "range was checked"
    )]
    is_hash.then_some(double as u32)
}

/// Appends a double so that byte order is numeric order: eight bits, then groups of seven with a
/// bit that says whether more follow.
fn push_ordered_number(double: f64, bytes: &mut Vec<u8>) {
    let bits = double.to_bits();
    let payload = if bits >> 63 == 0 { bits ^ 1 << 63 } else { (!bits).wrapping_add(1) };
    let [first, ..] = payload.to_be_bytes();
    bytes.push(first);
    let mut rest = payload << 8;
    loop {
        let [group, ..] = rest.to_be_bytes();
        rest <<= 7;
        bytes.push(group & 0xFE | u8::from(rest != 0));
        if rest == 0 {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_cut_at_one_hundred_utf16_units() {
        assert_eq!(truncated(&"a".repeat(100)), "a".repeat(100));
        assert_eq!(truncated(&"a".repeat(101)), "a".repeat(100));
        assert_eq!(truncated(&"é".repeat(100)), "é".repeat(100));
        assert_eq!(truncated(&"é".repeat(101)), "é".repeat(100));
        assert_eq!(truncated(&"😀".repeat(50)), "😀".repeat(50));
        assert_eq!(truncated(&"😀".repeat(51)), "😀".repeat(50));
    }

    #[test]
    fn a_divided_pair_leaves_the_replacement_character() {
        let text = "a".repeat(99) + "😀";
        assert_eq!(truncated(&text), "a".repeat(99) + "\u{FFFD}");
    }

    #[test]
    fn the_number_of_an_old_key_reads_back() {
        for hash in
            [0, 1, 2, 127, 128, 0x8000_0000, 0x8B3B_3313, 0x1234_5678, u32::MAX - 1, u32::MAX]
        {
            assert_eq!(parse_old_number(&old_number(hash)), Some(hash));
        }
        for bad in [&[][..], &[5], &[8, 1], &[5, 0x40, 0x10], &[5, 0xFF, 0xF0]] {
            assert_eq!(parse_old_number(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn numbers_encode_as_published() {
        #[rustfmt::skip]
        let table: [(f64, &[u8]); 5] = [
            (0.0, &[0x80, 0x00]), (1.0, &[0xBF, 0xF0]), (-1.0, &[0x40, 0x10]), (5.0, &[0xC0, 0x14]),
            (4_294_967_295.0, &[0xC1, 0xEF, 0xFF, 0xFF, 0xFF, 0xFE]),
        ];
        for (double, expected) in table {
            let mut bytes = Vec::new();
            push_ordered_number(double, &mut bytes);
            assert_eq!(bytes, expected, "{double}");
        }
    }
}
