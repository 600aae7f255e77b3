//! Where ranges begin and end: at creation, and at a split.
//!
//! Wire: not visible as a rule, but recorded from the service, and cached by clients; the formulas
//! (integer division first) are the ones that give the recorded values.

use super::{
    Epk, EpkRange, PartitionKeyDefinition, PartitionKeyKind,
    encoding::{HASH_MAX, old_number, parse_old_number},
    epk::HASH_BYTES,
};

/// Limit: ranges that a container can be created with. At 10,000 request units each, more than any
/// account may have.
pub const RANGES_MAX: u32 = 10_000;

pub(super) fn boundaries(definition: &PartitionKeyDefinition, n_ranges: u32) -> Vec<EpkRange> {
    let n_ranges = n_ranges.clamp(1, RANGES_MAX);
    let inner = (1..n_ranges).map(|index| inner_boundary(definition, n_ranges, index));
    let mut ranges = Vec::with_capacity(n_ranges as usize);
    let mut rest = EpkRange::full();
    for boundary in inner {
        // Invariant: boundaries grow strictly and lie inside the hash space.
        if let Some([left, right]) = rest.split_at(&boundary) {
            ranges.push(left);
            rest = right;
        }
    }
    ranges.push(rest);
    ranges
}

fn inner_boundary(definition: &PartitionKeyDefinition, n_ranges: u32, index: u32) -> Epk {
    match style(definition) {
        Style::Numbers => Epk::from_bytes(old_number(u32::MAX / n_ranges * index)),
        Style::Hashes(_) => hash_epk(HASH_MAX / u128::from(n_ranges) * u128::from(index)),
    }
}

pub(super) fn split_point(definition: &PartitionKeyDefinition, range: &EpkRange) -> Option<Epk> {
    let middle = match style(definition) {
        Style::Numbers => middle_number(range)?,
        Style::Hashes(n_levels) => middle_hash(range, n_levels),
    };
    let is_inside = range.min() < &middle && &middle < range.max();
    is_inside.then_some(middle)
}

/// Where a key lies in the hash space, in 2^-32 of it.
pub(super) fn place(definition: &PartitionKeyDefinition, epk: &Epk) -> u32 {
    let bytes = epk.as_bytes();
    if bytes.first() == Some(&0xFF) {
        return u32::MAX;
    }
    match style(definition) {
        Style::Numbers => parse_old_number_prefix(bytes),
        // Two bits of a hash are always zero.
        Style::Hashes(_) => {
            let mut first = [0; 4];
            first.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            let rest = bytes.get(4).map_or(0, |byte| u32::from(byte >> 6));
            u32::from_be_bytes(first) << 2 | rest
        }
    }
}

fn parse_old_number_prefix(bytes: &[u8]) -> u32 {
    let n_max = bytes.len().min(OLD_NUMBER_BYTES_MAX);
    // A number is followed by the key that it is the hash of.
    (1..=n_max).rev().find_map(|n| parse_old_number(bytes.get(..n)?)).unwrap_or(0)
}

/// Limit: bytes of an old number.
const OLD_NUMBER_BYTES_MAX: usize = 10;

/// How bounds are written.
enum Style {
    /// Old: a 32-bit number.
    Numbers,
    /// 126-bit hashes, on so many levels.
    Hashes(usize),
}

fn style(definition: &PartitionKeyDefinition) -> Style {
    match definition.kind {
        PartitionKeyKind::Hash if definition.is_old() => Style::Numbers,
        PartitionKeyKind::Range => Style::Numbers,
        PartitionKeyKind::Hash => Style::Hashes(1),
        PartitionKeyKind::MultiHash => Style::Hashes(definition.paths.len()),
    }
}

fn hash_epk(hash: u128) -> Epk {
    Epk::from_bytes(hash.to_be_bytes())
}

fn middle_number(range: &EpkRange) -> Option<Epk> {
    let min = if *range.min() == Epk::MIN { 0 } else { parse_old_number(range.min().as_bytes())? };
    let max = if *range.max() == Epk::max() {
        u32::MAX
    } else {
        parse_old_number(range.max().as_bytes())?
    };
    Some(Epk::from_bytes(old_number(min.midpoint(max))))
}

/// Finds the middle level by level: where the bounds leave no room, the lower one is kept and the
/// next level is divided.
fn middle_hash(range: &EpkRange, n_levels: usize) -> Epk {
    let mut middle = Vec::with_capacity(n_levels * HASH_BYTES);
    for level in 0..n_levels {
        let min = level_hash(range.min(), level);
        let max = level_hash(range.max(), level);
        let is_last = level + 1 == n_levels;
        if min.abs_diff(max) <= 1 && !is_last {
            middle.extend_from_slice(&min.to_be_bytes());
            continue;
        }
        let max = if min > max { HASH_MAX } else { max };
        middle.extend_from_slice(&(min + (max - min) / 2).to_be_bytes());
        break;
    }
    Epk::from_bytes(middle)
}

/// Reads one level of a bound: zero where it is missing, the largest hash where it ends with FF.
fn level_hash(bound: &Epk, level: usize) -> u128 {
    let part = bound.as_bytes().chunks(HASH_BYTES).nth(level).unwrap_or_default();
    if part.first() == Some(&0xFF) {
        return HASH_MAX;
    }
    let mut bytes = [0; HASH_BYTES];
    bytes[..part.len()].copy_from_slice(part);
    u128::from_be_bytes(bytes).min(HASH_MAX)
}
