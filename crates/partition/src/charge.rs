//! What an operation costs: deterministic, documented in `docs/charges.md`, tested against published figures.
//!
//! Size is the item's JSON text without system properties; a price between two published sizes lies on the line
//! between them. All sums are in hundredths of a request unit.

use model::Charge;

use crate::Error;

/// (KiB, point read, base of a write), in hundredths: the published table.
#[rustfmt::skip]
const PRICES: [(u64, u64, u64); 12] = [
    (   1,    100,     495),
    (   2,    104,     629),
    (   4,    114,     667),
    (   8,    133,     704),
    (  16,    167,     952),
    (  32,    219,   1_123),
    (  64,    476,   2_267),
    ( 128,    995,   4_819),
    ( 256,  2_028,   9_829),
    ( 512,  4_095,  18_457),
    (1024, 14_590,  62_500),
    (2048, 29_180, 125_000),
];

/// Writing or removing one index term.
const TERM: u64 = 20;
/// Each operation of a patch, on top of the replace that it amounts to.
const PATCH_OPERATION: u64 = 40;
/// A query, each item that it reads, and each KiB of rows that it returns.
const QUERY: u64 = 250;
const QUERY_ITEM: u64 = 1;
const QUERY_ROW_KIB: u64 = 6;
/// A request that found nothing or returned nothing.
const MINIMUM: u64 = 100;
/// A write that was refused after looking at the item.
const REFUSED: u64 = 124;

/// Size and index terms of one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weight {
    pub bytes: usize,
    /// Scalar values; zero for a container that indexes nothing.
    pub n_terms: usize,
}

/// Returns the price of a point read, also of one item in a feed.
pub fn read(bytes: usize) -> Charge {
    Charge::from_hundredths(price(bytes, |row| row.1))
}

/// Returns the price of an answer without an item: 304, 404, an empty page.
pub fn nothing() -> Charge {
    Charge::from_hundredths(MINIMUM)
}

/// Returns the price of a page: its items as point reads, and never less than an empty answer.
pub fn page(sizes: impl IntoIterator<Item = usize>) -> Charge {
    sizes.into_iter().map(read).sum::<Charge>().max(nothing())
}

/// Returns the price of a create, and of an upsert that creates.
pub fn create(new: Weight) -> Charge {
    Charge::from_hundredths(write(new.bytes) + terms(new.n_terms))
}

/// Returns the price of a delete.
pub fn delete(old: Weight) -> Charge {
    create(old)
}

/// Returns the price of a replace: the old version goes, the new one comes, and only changed terms are touched.
///
/// `n_changed` is [`changed_terms`].
pub fn replace(old: Weight, new: Weight, n_changed: usize) -> Charge {
    Charge::from_hundredths(write(old.bytes) + write(new.bytes) + terms(n_changed))
}

/// Returns what a patch of `n_operations` operations costs on top of the replace that it amounts to.
pub fn patch_operations(n_operations: usize) -> Charge {
    Charge::from_hundredths(PATCH_OPERATION * n_operations as u64)
}

/// Returns the price of marking a logical partition as deleted; the removal itself uses spare throughput.
pub fn delete_logical() -> Charge {
    Charge::from_hundredths(write(0))
}

/// Returns the price of a query on one range: a visit costs even if nothing matches (published: about 2.5).
pub fn query(metrics: &query::Metrics) -> Charge {
    let rows = metrics.row_bytes.div_ceil(1024) * QUERY_ROW_KIB;
    Charge::from_hundredths(QUERY + metrics.n_items_read * QUERY_ITEM + rows)
}

/// Counts the terms to remove and to add when `old` becomes `new`, without a tree.
///
/// Only the bytes between the first and the last difference count; their share of the text is taken as the share
/// of the terms, rounded up.
pub fn changed_terms(old: (&[u8], usize), new: (&[u8], usize)) -> usize {
    let same_front = same_front(old.0, new.0);
    let (old_left, new_left) = (&old.0[same_front..], &new.0[same_front..]);
    let same_back = same_back(old_left, new_left);
    let n_different = (old_left.len() - same_back, new_left.len() - same_back);
    if n_different == (0, 0) {
        return 0;
    }
    let share = |n_terms: usize, n_bytes: usize, all: usize| {
        (n_terms * n_bytes).div_ceil(all.max(1)).clamp(usize::from(n_terms > 0), n_terms)
    };
    share(old.1, n_different.0, old.0.len()) + share(new.1, n_different.1, new.0.len())
}

/// Counts the bytes that two texts begin with alike. Most of an item stays the same, so blocks are compared first.
fn same_front(old: &[u8], new: &[u8]) -> usize {
    const BLOCK: usize = 32;
    let (old_blocks, new_blocks) = (old.as_chunks::<BLOCK>().0, new.as_chunks::<BLOCK>().0);
    let n_blocks = old_blocks.iter().zip(new_blocks).take_while(|(a, b)| a == b).count();
    let front = n_blocks * BLOCK;
    front + old[front..].iter().zip(&new[front..]).take_while(|(a, b)| a == b).count()
}

/// The same from their ends.
fn same_back(old: &[u8], new: &[u8]) -> usize {
    const BLOCK: usize = 32;
    let (old_blocks, new_blocks) = (old.as_rchunks::<BLOCK>().1, new.as_rchunks::<BLOCK>().1);
    let n_blocks =
        old_blocks.iter().rev().zip(new_blocks.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[..old.len() - n_blocks * BLOCK], &new[..new.len() - n_blocks * BLOCK]);
    n_blocks * BLOCK + old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count()
}

/// Returns the price of finding out that an operation cannot be done.
pub(crate) fn failure(error: &Error) -> Charge {
    Charge::from_hundredths(match error {
        Error::ItemMissing | Error::PartitionKeyMismatch => MINIMUM,
        Error::ItemExists
        | Error::UniqueKeyTaken
        | Error::EtagMismatch
        | Error::PatchConditionUnmet
        | Error::PatchUnfit { .. }
        | Error::LogicalPartitionFull { .. } => REFUSED,
        Error::PatchInvalid(_)
        | Error::BatchEmpty
        | Error::BatchTooLong
        | Error::FailedDependency
        | Error::VersionsDisabled
        | Error::VersionsTrimmed
        | Error::Item(_)
        | Error::PartitionKey(_)
        | Error::Query(_)
        | Error::Forgotten
        | Error::Fenced
        | Error::Raced
        | Error::Script(_)
        | Error::Store(_)
        | Error::Relocating
        | Error::RelocationBehind
        | Error::Corrupt(_) => 0,
    })
}

fn write(bytes: usize) -> u64 {
    price(bytes, |row| row.2)
}

fn terms(n_terms: usize) -> u64 {
    TERM * n_terms as u64
}

/// Interpolates one column of the table; flat below the first size, on the last line beyond the last.
fn price(bytes: usize, column: fn(&(u64, u64, u64)) -> u64) -> u64 {
    let bytes = bytes as u64;
    let mut below = &PRICES[0];
    if bytes <= below.0 << 10 {
        return column(below);
    }
    for above in &PRICES[1..] {
        if bytes <= above.0 << 10 || above.0 == PRICES[PRICES.len() - 1].0 {
            let (from, to) = (below.0 << 10, above.0 << 10);
            let rise = column(above) - column(below);
            return column(below) + (rise * (bytes - from)).div_ceil(to - from);
        }
        below = above;
    }
    column(below)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1024;

    fn weight(bytes: usize, n_terms: usize) -> Weight {
        Weight { bytes, n_terms }
    }

    #[test]
    fn published_sizes_have_their_published_price() {
        for (kib, point_read, base) in PRICES {
            let bytes = usize::try_from(kib).unwrap() * KIB;
            assert_eq!(read(bytes).hundredths(), point_read, "{kib} KiB read");
            assert_eq!(create(weight(bytes, 0)).hundredths(), base, "{kib} KiB write");
        }
        assert_eq!(read(1).to_string(), "1");
        assert_eq!(read(0).to_string(), "1");
    }

    /// Operations on 1 KB items: figure in the documentation, in hundredths. Ours is within three per cent.
    #[test]
    fn worked_examples_of_the_documentation_come_out() {
        let item = weight(KIB, 10);
        #[rustfmt::skip]
        let table = [
            ("create, 10 terms",    create(item),              700),
            ("delete, 10 terms",    delete(item),              700),
            ("replace, 2 changed",  replace(item, item, 4),   1080),
            ("patch, 2 changed",    replace(item, item, 4) + patch_operations(2), 1160),
            ("feed of five items",  page([KIB; 5]),            500),
        ];
        for (what, ours, published) in table {
            let apart = ours.hundredths().abs_diff(published);
            assert!(apart * 100 <= published * 3, "{what}: {ours} against {published}");
        }
    }

    #[test]
    fn prices_never_fall_with_size() {
        let mut last = (Charge::ZERO, Charge::ZERO);
        for bytes in (0..3 * KIB * KIB).step_by(997) {
            let now = (read(bytes), create(weight(bytes, 0)));
            assert!(now.0 >= last.0 && now.1 >= last.1, "{bytes}");
            last = now;
        }
    }

    #[test]
    fn changed_terms_follow_the_changed_share_of_the_text() {
        #[rustfmt::skip]
        let table = [
            ("aaaaaaaaaa", 10, "aaaaaaaaaa",  10, 0),
            ("aaaaabaaaa", 10, "aaaaacaaaa",  10, 2),  // one old term, one new
            ("aaaaaaaaaa", 10, "aaaaaaaaaab", 10, 2),  // appended: at least one on each side
            ("abcdefghij", 10, "ABCDEFGHIJ",  10, 20),
            ("aaaa",        0, "bbbb",         0, 0),  // not indexed
            ("",            0, "bbbb",         4, 4),
        ];
        for (old, n_old, new, n_new, expected) in table {
            let changed = changed_terms((old.as_bytes(), n_old), (new.as_bytes(), n_new));
            assert_eq!(changed, expected, "{old} {new}");
        }
    }

    #[test]
    fn a_missing_item_costs_what_an_empty_answer_costs() {
        assert_eq!(Error::ItemMissing.charge(), nothing());
        assert_eq!(Error::FailedDependency.charge(), Charge::ZERO);
    }
}
