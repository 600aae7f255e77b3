//! What an operation costs: a deterministic model of the service's own charges, fitted to recorded answers.
//!
//! `docs/charges.md` has the model, the recorded figures beside ours, and what is an assumption. All prices stand in
//! this file. Sums are exact; only what a client is shown is rounded.

use model::Charge;

use crate::Error;

/// The unit in which the service counts everything but queries.
const fn twenty_firsts(count: u64) -> Charge {
    Charge::from_twenty_firsts(count)
}

const fn hundredths(count: u64) -> Charge {
    Charge::from_hundredths(count)
}

const fn hundred_thousandths(count: u64) -> Charge {
    Charge::from_hundred_thousandths(count)
}

/// Size classes: KiB up to which a class goes, its point read and its write, in twenty-firsts.
#[rustfmt::skip]
const CLASSES: [(u64, u64, u64); 12] = [
    (   1,    21,    104),
    (   2,    22,    132),
    (   4,    24,    140),
    (   8,    28,    148),
    (  16,    35,    200),
    (  32,    46,    236),
    (  64,   100,    476),
    ( 128,   209,  1_012),
    ( 256,   426,  2_064),
    ( 512,   860,  3_876),
    (1024, 3_064, 13_125),
    (2048, 6_128, 26_250),
];

/// Writing or removing one index term.
const TERM: Charge = twenty_firsts(4);
/// Each unique key of the container, for the look-up and the entry.
const UNIQUE_KEY: Charge = hundredths(148);
/// A time to live of the item's own, where the container has expiry.
const OWN_TTL: Charge = hundredths(23);
/// A patch, on top of the replace that it amounts to, and each of its operations.
const PATCH: Charge = hundred_thousandths(28_650);
const PATCH_OPERATION: Charge = hundred_thousandths(2_850);

/// A request that found nothing or returned nothing.
const NOTHING: Charge = twenty_firsts(21);
/// A write that was refused after the partition looked at it.
const REFUSED: Charge = twenty_firsts(26);
/// Each index term of a new item whose id or unique key is taken.
const REFUSED_TERM: Charge = twenty_firsts(1);
/// A unique key that is taken, on top.
const REFUSED_UNIQUE: Charge = hundredths(37);
/// A request that is over the throughput of its range.
const THROTTLED: Charge = twenty_firsts(8);

/// A query: each range that it visits, the first look-up in its index and each further one.
const VISIT: Charge = hundredths(225);
const FIRST_LOOKUP: Charge = hundredths(55);
const LOOKUP: Charge = hundredths(10);
/// An item that a query loads, each KiB of it, and what it costs more when the index found it.
const LOAD: Charge = hundred_thousandths(950);
const LOAD_KIB: Charge = hundred_thousandths(660);
const LOAD_FOUND: Charge = hundred_thousandths(1_100);
/// What the system properties add to a loaded item.
const SYSTEM_BYTES: u64 = 209;
/// Each KiB of a row, and each property that a SELECT list names for it.
const ROW_KIB: Charge = hundred_thousandths(1_080);
const ROW_PROPERTY: Charge = hundred_thousandths(150);
/// An index entry that is read instead of its item.
const ENTRY: Charge = hundred_thousandths(26);
/// A query that calls a function of the user.
const FUNCTION: Charge = hundredths(31);

/// A stored procedure or trigger, and what it costs more when it has worked with items.
const SCRIPT: Charge = hundredths(427);
const SCRIPT_OPERATIONS: Charge = hundredths(35);

/// Metadata: a look, a write, and the creation of a database or container.
const METADATA_READ: Charge = hundredths(200);
const METADATA_WRITE: Charge = twenty_firsts(104);
const METADATA_CREATE: Charge = hundredths(100);

/// What one version of an item weighs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Weight {
    /// Bytes of its text, without system properties.
    pub bytes: usize,
    /// Its index terms.
    pub n_terms: usize,
    /// Unique keys of its container.
    pub n_unique_keys: usize,
    /// Whether it has a time to live of its own that counts.
    pub has_ttl: bool,
}

impl Weight {
    /// What its index entries beside the terms cost.
    fn extras(self) -> Charge {
        let ttl = if self.has_ttl { OWN_TTL } else { Charge::ZERO };
        UNIQUE_KEY * self.n_unique_keys as u64 + ttl
    }
}

/// Returns the price of a point read, also of one item in a feed.
pub fn read(bytes: usize) -> Charge {
    twenty_firsts(class(bytes).1)
}

/// Returns the price of an answer without an item: 304, 404, an empty page.
pub fn nothing() -> Charge {
    NOTHING
}

/// Returns the price of a page: its items as point reads, and never less than an empty answer.
pub fn page(sizes: impl IntoIterator<Item = usize>) -> Charge {
    sizes.into_iter().map(read).sum::<Charge>().max(nothing())
}

/// Returns the price of a create, and of an upsert that creates.
pub fn create(new: Weight) -> Charge {
    write(new.bytes) + TERM * new.n_terms as u64 + new.extras()
}

/// Returns the price of a delete.
pub fn delete(old: Weight) -> Charge {
    create(old)
}

/// Returns the price of a replace: the old version goes, the new one comes, and only changed terms are touched.
///
/// `n_changed` counts the terms that are removed and those that are added.
pub fn replace(old: Weight, new: Weight, n_changed: usize) -> Charge {
    write(old.bytes) + write(new.bytes) + TERM * n_changed as u64 + new.extras()
}

/// Returns what a patch of `n_operations` operations costs on top of the replace that it amounts to.
pub fn patch_operations(n_operations: usize) -> Charge {
    PATCH + PATCH_OPERATION * n_operations as u64
}

/// Returns the price of marking a logical partition as deleted; the removal itself uses spare throughput.
pub fn delete_logical() -> Charge {
    write(0)
}

/// What a query asks for beside its text.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked {
    /// One partition key, which is looked up if nothing else is.
    pub has_key: bool,
    /// Functions of the user.
    pub calls_functions: bool,
}

/// A part of the price of a query: what was counted, how much of it, and what that costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryPart {
    pub name: &'static str,
    pub count: u64,
    pub charge: Charge,
}

impl QueryPart {
    /// The part that one of `n` ranges bears when they share it. What cannot be divided is with the first, so that the
    /// shares are the whole.
    #[must_use]
    pub fn share(self, n: u64, is_first: bool) -> QueryPart {
        let (count, charge) = (self.count / n.max(1), self.charge.share(1, n));
        if !is_first {
            return QueryPart { count, charge, ..self };
        }
        let others = n.saturating_sub(1);
        QueryPart {
            count: self.count - count * others,
            charge: self.charge.saturating_sub(charge * others),
            ..self
        }
    }
}

/// The parts of what a range asks for a page of a query, whatever it finds.
pub fn query_visit_parts(metrics: &query::Metrics, asked: Asked) -> [QueryPart; 3] {
    let n_lookups = metrics.n_lookups.max(u64::from(asked.has_key));
    let lookups = match n_lookups {
        0 => Charge::ZERO,
        n_lookups => FIRST_LOOKUP + LOOKUP * (n_lookups - 1),
    };
    let n_functions = u64::from(asked.calls_functions);
    [
        QueryPart { name: "visit", count: 1, charge: VISIT },
        QueryPart { name: "functions", count: n_functions, charge: FUNCTION * n_functions },
        QueryPart { name: "lookUps", count: n_lookups, charge: lookups },
    ]
}

/// The parts of what the items and rows of a page cost.
pub fn query_rows_parts(metrics: &query::Metrics, asked: Asked) -> [QueryPart; 6] {
    let part = |name, count, charge| QueryPart { name, count, charge };
    let is_found = metrics.n_lookups > 0 || asked.has_key;
    let n_items = metrics.n_items_read;
    let n_found = if is_found { n_items } else { 0 };
    let item_bytes = metrics.bytes_read + SYSTEM_BYTES * n_items;
    let n_properties = metrics.n_properties.saturating_mul(metrics.n_rows);
    let n_entries = metrics.n_entries_read;
    [
        part("items", n_items, LOAD * n_items),
        part("foundItems", n_found, LOAD_FOUND * n_found),
        part("itemBytes", item_bytes, LOAD_KIB.share(item_bytes, 1024)),
        part("rowBytes", metrics.row_bytes, ROW_KIB.share(metrics.row_bytes, 1024)),
        part("rowProperties", n_properties, ROW_PROPERTY * n_properties),
        part("entries", n_entries, ENTRY * n_entries),
    ]
}

fn sum(parts: &[QueryPart]) -> Charge {
    parts.iter().map(|part| part.charge).sum()
}

/// Returns what a range asks for a page of a query, whatever it finds: the visit and the look-ups in its index.
pub fn query_visit(metrics: &query::Metrics, asked: Asked) -> Charge {
    sum(&query_visit_parts(metrics, asked))
}

/// Returns what the items and rows of a page cost, without the visit.
pub fn query_rows(metrics: &query::Metrics, asked: Asked) -> Charge {
    sum(&query_rows_parts(metrics, asked))
}

/// Returns the price of a page of a query on one range.
pub fn query(metrics: &query::Metrics, asked: Asked) -> Charge {
    query_visit(metrics, asked) + query_rows(metrics, asked)
}

/// Returns what a script costs that has caused `operations`, which are added.
pub fn script(operations: Charge) -> Charge {
    let worked = if operations == Charge::ZERO { Charge::ZERO } else { SCRIPT_OPERATIONS };
    SCRIPT + worked + operations
}

/// Returns the price of reading or listing databases, containers, users, permissions and offers.
pub fn metadata_read() -> Charge {
    METADATA_READ
}

/// Returns the price of writing metadata.
pub fn metadata_write() -> Charge {
    METADATA_WRITE
}

/// Returns the price of a new database or container.
pub fn metadata_create() -> Charge {
    METADATA_CREATE
}

/// Returns the price of a refusal that a partition found out before it looked at an item: a body that is no item, a
/// partition key that does not match.
pub fn refused() -> Charge {
    REFUSED
}

/// Returns the price of a 429.
pub fn throttled() -> Charge {
    THROTTLED
}

/// Returns the price of finding out that a new item's id, or a unique key of it, is taken.
pub(crate) fn conflict(n_terms: usize, is_unique_key: bool) -> Charge {
    let unique = if is_unique_key { REFUSED_UNIQUE } else { Charge::ZERO };
    REFUSED + REFUSED_TERM * n_terms as u64 + unique
}

/// Returns the price of finding out that an operation cannot be done.
pub(crate) fn failure(error: &Error) -> Charge {
    match error {
        Error::ItemMissing { charge }
        | Error::ItemExists { charge }
        | Error::UniqueKeyTaken { charge }
        | Error::FailedDependency { charge } => *charge,
        Error::PartitionKeyMismatch
        | Error::EtagMismatch
        | Error::PatchConditionUnmet
        | Error::PatchUnfit { .. }
        | Error::AnswerTooLarge
        | Error::LogicalPartitionFull { .. }
        | Error::AttachmentsFull { .. }
        | Error::AttachmentsSpent
        | Error::AttachmentPropertyMissing { .. }
        | Error::AttachmentPropertyInvalid { .. }
        | Error::MediaTooLarge { .. }
        | Error::Item(_)
        | Error::PatchInvalid(_)
        | Error::PartitionKey(_) => REFUSED,
        Error::BatchEmpty
        | Error::BatchTooLong
        | Error::VersionsDisabled
        | Error::VersionsTrimmed
        | Error::Query(_)
        | Error::Forgotten
        | Error::Fenced
        | Error::Raced
        | Error::Script(_)
        | Error::Store(_)
        | Error::Relocating
        | Error::RelocationBehind
        | Error::Corrupt(_) => Charge::ZERO,
    }
}

fn write(bytes: usize) -> Charge {
    twenty_firsts(class(bytes).2)
}

/// Returns the price of writing or removing an attachment with its media, which may be longer than an item.
pub(crate) fn attachment(bytes: u64) -> Charge {
    parts(bytes).map(write).sum()
}

/// Returns the price of reading media.
pub(crate) fn media(bytes: usize) -> Charge {
    parts(bytes as u64).map(read).sum()
}

/// Cuts a size into parts of the last class, and what is left.
fn parts(bytes: u64) -> impl Iterator<Item = usize> {
    let whole = CLASSES[CLASSES.len() - 1].0 << 10;
    let n_parts = bytes.div_ceil(whole).max(1);
    (0..n_parts)
        .map(move |index| usize::try_from((bytes - index * whole).min(whole)).unwrap_or(usize::MAX))
}

/// The class of a size: sizes are rounded up to the next power of two KiB, and beyond the last class stay in it.
fn class(bytes: usize) -> &'static (u64, u64, u64) {
    let bytes = bytes as u64;
    let last = &CLASSES[CLASSES.len() - 1];
    CLASSES.iter().find(|(kib, _, _)| bytes <= kib << 10).unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1024;

    #[test]
    fn a_size_costs_what_its_class_costs() {
        for (kib, read_units, write_units) in CLASSES {
            let most = usize::try_from(kib).unwrap() * KIB;
            for bytes in [most / 2 + 1, most] {
                assert_eq!(read(bytes), twenty_firsts(read_units), "{bytes} read");
                let create = create(Weight { bytes, ..Weight::default() });
                assert_eq!(create, twenty_firsts(write_units), "{bytes} write");
            }
        }
        assert_eq!(
            (read(0).to_string(), read(3 * KIB * KIB)),
            ("1".to_owned(), read(2 * KIB * KIB))
        );
    }

    #[test]
    fn prices_never_fall_with_size() {
        let mut last = (Charge::ZERO, Charge::ZERO);
        for bytes in (0..3 * KIB * KIB).step_by(997) {
            let now = (read(bytes), create(Weight { bytes, ..Weight::default() }));
            assert!(now.0 >= last.0 && now.1 >= last.1, "{bytes}");
            last = now;
        }
    }

    /// A query, what it took, and what the service charged for the like, in hundredths.
    #[test]
    fn queries_cost_about_what_was_recorded() {
        let row = |n: u64, bytes: u64| query::Metrics {
            n_items_read: n,
            bytes_read: n * bytes,
            n_rows: n,
            row_bytes: n * bytes,
            ..query::Metrics::default()
        };
        let found = |n_lookups: u64, n: u64| query::Metrics { n_lookups, ..row(n, 250) };
        let counted = |n: u64| query::Metrics { n_entries_read: n, ..query::Metrics::default() };
        let key = Asked { has_key: true, calls_functions: false };
        let udf = Asked { has_key: false, calls_functions: true };
        let plain = Asked::default();
        #[rustfmt::skip]
        let table = [
            ("SELECT 1",                        query::Metrics::default(), plain, 225),
            ("SELECT *, 1 item",                row(1, 250), plain, 226),
            ("SELECT *, 9 items",               row(9, 250), plain, 238),
            ("nothing found by id",             found(1, 0), plain, 280),
            ("one found by id",                 found(1, 1), plain, 282),
            ("two filters",                     found(2, 1), plain, 292),
            ("three look-ups, 2 rows",          found(3, 2), plain, 306),
            ("six look-ups, 5 rows",            found(6, 5), plain, 347),
            ("COUNT of 2,500 in a range",       counted(2_500), plain, 289),
            ("COUNT of 500 of one key",         counted(500), key, 299),
            ("a function of the user",          query::Metrics::default(), udf, 256),
        ];
        for (what, metrics, asked, recorded) in table {
            let ours = query(&metrics, asked);
            let apart = ours.hundredths().abs_diff(recorded);
            assert!(apart * 100 <= recorded * 3, "{what}: {ours} against {recorded}");
            assert_eq!(ours, query_visit(&metrics, asked) + query_rows(&metrics, asked));
        }
    }

    /// Whatever a page takes more of, it costs more.
    #[test]
    fn more_work_costs_more() {
        let base = query::Metrics {
            n_items_read: 10,
            bytes_read: 10_000,
            n_rows: 5,
            row_bytes: 2_000,
            n_entries_read: 100,
            n_lookups: 2,
            n_properties: 3,
        };
        let more = [
            query::Metrics { n_items_read: 11, ..base },
            query::Metrics { bytes_read: 10_100, ..base },
            query::Metrics { n_rows: 6, ..base },
            query::Metrics { row_bytes: 2_100, ..base },
            query::Metrics { n_entries_read: 101, ..base },
            query::Metrics { n_lookups: 3, ..base },
            query::Metrics { n_properties: 4, ..base },
        ];
        let asked = Asked::default();
        for more in more {
            assert!(query(&more, asked) > query(&base, asked), "{more:?}");
        }
        let double = query::Metrics {
            n_items_read: 20,
            bytes_read: 20_000,
            n_rows: 10,
            row_bytes: 4_000,
            n_entries_read: 200,
            ..base
        };
        assert_eq!(
            query_rows(&double, asked).hundredths(),
            (query_rows(&base, asked) * 2).hundredths()
        );
        assert_eq!(query_visit(&double, asked), query_visit(&base, asked));
        let pages = [vec![], vec![100], vec![100, 100], vec![100, 100_000]].map(page);
        assert!(pages.is_sorted(), "{pages:?}");
        assert!(script(create(Weight::default())) > create(Weight::default()));
    }

    #[test]
    fn a_script_costs_more_than_its_operations() {
        assert_eq!(script(Charge::ZERO).to_string(), "4.27");
        assert_eq!(script(read(1)).to_string(), "5.62");
    }
}
