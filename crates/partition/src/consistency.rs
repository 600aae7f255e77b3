//! Proves that all families of a partition agree. Crash and property tests run it after everything they do.

use std::collections::{BTreeMap, HashMap, HashSet};

use bytes::Bytes;
use model::{ItemBody, Lsn};

use crate::keys::{
    CommitPosition, Family, LogicalPrefix, due_of, id_of, moment_of, number_of_item,
    number_of_member, place_of,
};
use crate::partition::Partition;
use crate::reader::Reader;
use crate::record::{Change, Head, ItemRecord, LogicalRecord, VersionRecord, decode_number};
use crate::transaction::{TransactionContext, claims_of};
use crate::{Error, Result};

// Limit: a broken partition is not described entry by entry.
const PROBLEMS_MAX: usize = 100;

/// What the check saw. No problems: items, keys, members, feed, unique keys, expiry, attachments, counters and head
/// agree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    pub n_items: u64,
    /// Items that a reader would be shown now.
    pub n_live: u64,
    pub n_logical: u64,
    /// Entries of the index.
    pub n_terms: u64,
    pub lsn: Lsn,
    pub problems: Vec<String>,
}

impl Report {
    pub fn is_consistent(&self) -> bool {
        self.problems.is_empty()
    }

    pub(crate) fn check(&mut self, holds: bool, problem: impl FnOnce() -> String) {
        if !holds && self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem());
        }
    }
}

/// What the items say the other families must hold.
#[derive(Default)]
struct Expected {
    keys: HashMap<(LogicalPrefix, String), u64>,
    members: HashSet<(LogicalPrefix, u64)>,
    changes: BTreeMap<CommitPosition, Change>,
    due: HashSet<(u32, u64)>,
    uniques: HashMap<Bytes, u64>,
    logical: HashMap<LogicalPrefix, LogicalRecord>,
}

impl Partition {
    /// Reads the whole partition in one snapshot and compares every family with the items.
    pub fn check_consistency(&self) -> Result<Report> {
        let reader = self.reader();
        let head = reader.head()?;
        let mut report = Report { lsn: head.lsn, ..Report::default() };
        let mut expected = reader.expect_from_items(&head, &mut report)?;
        reader.check_keys(&mut expected, &mut report)?;
        reader.check_members(&mut expected, &mut report)?;
        reader.check_changes(&mut expected, &head, &mut report)?;
        reader.check_expiry(&mut expected, &mut report)?;
        reader.check_uniques(&mut expected, &mut report)?;
        reader.check_logicals(&mut expected, &head, &mut report)?;
        reader.check_versions(&head, &mut report)?;
        reader.check_index(&mut report)?;
        Ok(report)
    }
}

impl Reader {
    fn expect_from_items(&self, head: &Head, report: &mut Report) -> Result<Expected> {
        let mut expected = Expected::default();
        let mut bytes = 0;
        for entry in self.scan(self.keys.family(Family::Item)) {
            let (key, value) = entry?;
            let number = number_of_item(&key)?;
            let record = ItemRecord::decode(value)?;
            let at = record.place().to_logical()?;
            let body = ItemBody::parse(record.text())
                .map_err(|_| Error::Corrupt("a stored item is not an item"))?;
            let context = TransactionContext::new(self.settings.clone(), self.keys, &at);
            report.n_items += 1;
            report.n_live += u64::from(self.liveness.is_live(&record));
            bytes += record.text().len() as u64;
            report.check(record.moment.lsn <= head.lsn, || format!("item {number} is ahead"));
            report.check(record.ts <= head.ts, || format!("item {number} is later than the head"));
            report.check(context.new_version(&body).is_ok(), || {
                format!("item {number} is not in the logical partition of its key")
            });
            expected.note(number, &record, &body, claims_of(&context, &body), report);
        }
        bytes += self.check_attachments(head, &mut expected.logical, report)?;
        let n_items = report.n_items;
        report.check(n_items == head.n_items, || {
            format!("{n_items} items, the head says {}", head.n_items)
        });
        report
            .check(bytes == head.bytes, || format!("{bytes} bytes, the head says {}", head.bytes));
        Ok(expected)
    }

    fn check_keys(&self, expected: &mut Expected, report: &mut Report) -> Result<()> {
        // A key entry does not say where its place ends, so each is looked up from the item's side.
        let mut n_entries = 0;
        for entry in self.scan(self.keys.family(Family::Key)) {
            let (key, value) = entry?;
            n_entries += 1;
            let number = decode_number(&value)?;
            let Some(record) = self.item(number)? else {
                report.check(false, || format!("a key points at missing item {number}"));
                continue;
            };
            let place = record.place();
            let id = id_of(&key, &place)?;
            let is_it = self.keys.key(&place, &id) == key
                && expected.keys.remove(&(place, id.clone())) == Some(number);
            report.check(is_it, || format!("key {id:?} points at another item, {number}"));
        }
        let n_items = report.n_items;
        report.check(expected.keys.is_empty() && n_entries == n_items, || {
            format!("{n_entries} keys for {n_items} items")
        });
        Ok(())
    }

    fn check_members(&self, expected: &mut Expected, report: &mut Report) -> Result<()> {
        for entry in self.scan(self.keys.family(Family::Member)) {
            let (key, _) = entry?;
            let number = number_of_member(&key)?;
            let place = key.len().checked_sub(8).map(|end| place_of(&key.slice(..end)));
            let is_it = place.is_some_and(|place| expected.members.remove(&(place, number)));
            report.check(is_it, || format!("member {number} is no item of its place"));
        }
        let n_left = expected.members.len();
        report.check(n_left == 0, || format!("{n_left} items are no members"));
        Ok(())
    }

    fn check_changes(
        &self,
        expected: &mut Expected,
        head: &Head,
        report: &mut Report,
    ) -> Result<()> {
        let mut last_ts = 0;
        for entry in self.scan(self.keys.family(Family::Change)) {
            let (key, value) = entry?;
            let (moment, change) = (moment_of(&key)?, Change::decode(&value)?);
            let is_it = expected.changes.remove(&moment) == Some(change);
            report.check(is_it, || format!("feed entry {moment:?} is not its item's last write"));
            let is_ordered = change.ts >= last_ts || moment.lsn <= head.merged;
            report.check(is_ordered, || format!("time runs backwards at {moment:?}"));
            last_ts = change.ts;
        }
        let n_left = expected.changes.len();
        report.check(n_left == 0, || format!("{n_left} items are not in the feed"));
        Ok(())
    }

    fn check_expiry(&self, expected: &mut Expected, report: &mut Report) -> Result<()> {
        for entry in self.scan(self.keys.family(Family::Expiry)) {
            let due = due_of(&entry?.0)?;
            report.check(expected.due.remove(&due), || format!("expiry entry {due:?} is stray"));
        }
        let n_left = expected.due.len();
        report.check(n_left == 0, || format!("{n_left} items have no expiry entry"));
        Ok(())
    }

    fn check_uniques(&self, expected: &mut Expected, report: &mut Report) -> Result<()> {
        for entry in self.scan(self.keys.family(Family::Unique)) {
            let (key, value) = entry?;
            let number = decode_number(&value)?;
            let is_it = expected.uniques.remove(&key) == Some(number);
            report.check(is_it, || format!("a unique key is held by {number} without reason"));
        }
        let n_left = expected.uniques.len();
        report.check(n_left == 0, || format!("{n_left} unique keys are not held"));
        Ok(())
    }

    fn check_logicals(
        &self,
        expected: &mut Expected,
        head: &Head,
        report: &mut Report,
    ) -> Result<()> {
        for entry in self.scan(self.keys.family(Family::Logical)) {
            let (key, value) = entry?;
            let found = LogicalRecord::decode(&value)?;
            report.n_logical += 1;
            let is_it = expected.logical.remove(&place_of(&key)).is_some_and(|counted| {
                (counted.n_items, counted.bytes) == (found.n_items, found.bytes)
                    && counted.lsn <= found.lsn
                    && found.lsn <= head.lsn
            });
            report.check(is_it, || format!("counters {found:?} do not agree with the items"));
        }
        let n_left = expected.logical.len();
        report.check(n_left == 0, || format!("{n_left} logical partitions have no counters"));
        let n_logical = report.n_logical;
        report.check(n_logical == head.n_logical, || {
            format!("{n_logical} logical partitions, the head says {}", head.n_logical)
        });
        Ok(())
    }

    fn check_versions(&self, head: &Head, report: &mut Report) -> Result<()> {
        for entry in self.scan(self.keys.family(Family::Version)) {
            let (key, value) = entry?;
            let (moment, version) = (moment_of(&key)?, VersionRecord::decode(&value)?);
            let is_it = moment.lsn <= head.lsn && version.previous_lsn <= moment.lsn;
            report.check(is_it, || format!("version {moment:?} is ahead of the head"));
        }
        Ok(())
    }
}

impl Expected {
    fn note(
        &mut self,
        number: u64,
        record: &ItemRecord,
        body: &ItemBody,
        claims: Vec<Bytes>,
        report: &mut Report,
    ) {
        let place = record.place();
        let twice = self.keys.insert((place.clone(), body.id().to_owned()), number);
        report.check(twice.is_none(), || format!("two items have the id {:?}", body.id()));
        self.members.insert((place.clone(), number));
        let change = Change { number, ts: record.ts };
        let twice = self.changes.insert(record.moment, change);
        report.check(twice.is_none(), || format!("two items were written at {:?}", record.moment));
        self.due.extend(record.due().map(|due| (due, number)));
        for claim in claims {
            let twice = self.uniques.insert(claim, number);
            report.check(twice.is_none(), || format!("item {number} breaks a unique key"));
        }
        let counted = self.logical.entry(place).or_default();
        counted.n_items += 1;
        counted.bytes += record.text().len() as u64;
        counted.lsn = counted.lsn.max(record.moment.lsn);
    }
}
