//! Read feed: items in creation order, page by page. A position is an item number and stays valid whatever is written.

use std::iter::Peekable;

use crate::keys::{LogicalPrefix, number_of_item, number_of_member};
use crate::partition::Partition;
use crate::reader::{Reader, ScopeFilter};
use crate::record::ItemRecord;
use crate::{Error, ItemPage, PageLimits, Result, Scope, charge};

// Limit: entries that one page looks at. A narrow scope in a large partition gives an empty page with a position
// instead of an unbounded walk.
pub(crate) const SCANNED_MAX: usize = 20_000;

impl Partition {
    /// Returns the items of the scope created after item `after`.
    pub fn page(&self, scope: &Scope, after: Option<u64>, limits: PageLimits) -> Result<ItemPage> {
        let reader = self.reader();
        let scope = ScopeFilter::new(scope, &reader.settings);
        let (mut items, mut sizes, mut n_bytes) = (Vec::new(), Vec::new(), 0);
        let (mut next, mut last) = (None, after);
        for (n_scanned, entry) in reader.numbered(&scope, after).enumerate() {
            if items.len() >= limits.items_max.max(1) || n_scanned >= SCANNED_MAX {
                next = last;
                break;
            }
            let (number, record) = entry?;
            if reader.shows(&scope, &record)? {
                let item = reader.render(number, &record, None);
                if !items.is_empty() && n_bytes + item.len() > limits.bytes_max {
                    next = last;
                    break;
                }
                n_bytes += item.len();
                sizes.push(record.text().len());
                items.push(item);
            }
            last = Some(number);
        }
        Ok(ItemPage { items, next, charge: charge::page(sizes) })
    }
}

/// Item numbers with their records, as they are stored.
pub(crate) type Numbered<'a> = Box<dyn Iterator<Item = Result<(u64, ItemRecord)>> + Send + 'a>;

impl Reader {
    /// Walks the items after item `after` in creation order: those of logical partitions through their members,
    /// otherwise all. The caller filters.
    pub(crate) fn numbered<'a>(&'a self, scope: &ScopeFilter, after: Option<u64>) -> Numbered<'a> {
        match scope {
            ScopeFilter::All | ScopeFilter::Epks(_) => {
                let entries = self.scan(self.keys.items(after));
                Box::new(entries.map(|entry| {
                    let (key, value) = entry?;
                    Ok((number_of_item(&key)?, ItemRecord::decode(value)?))
                }))
            }
            ScopeFilter::LogicalPrefix(place) => {
                Box::new(self.members(place, after).map(|number| {
                    let number = number?;
                    Ok((number, self.member_item(number)?))
                }))
            }
            ScopeFilter::Places { places, .. } => {
                let members = places.iter().map(|place| self.members(place, after).peekable());
                let mut members: Vec<_> = members.collect();
                Box::new(std::iter::from_fn(move || {
                    let number = next_number(&mut members)?;
                    let item = |number| Ok((number, self.member_item(number)?));
                    Some(number.and_then(item))
                }))
            }
        }
    }

    fn members(&self, place: &LogicalPrefix, after: Option<u64>) -> Members<'_> {
        let entries = self.scan(self.keys.members_of(place, after));
        Box::new(entries.map(|entry| number_of_member(&entry?.0)))
    }

    fn member_item(&self, number: u64) -> Result<ItemRecord> {
        self.item(number)?.ok_or(Error::Corrupt("a member is no item"))
    }
}

/// The numbers of the items of a logical partition.
type Members<'a> = Box<dyn Iterator<Item = Result<u64>> + Send + 'a>;

/// Takes the least number, or the first error.
fn next_number(members: &mut [Peekable<Members<'_>>]) -> Option<Result<u64>> {
    let mut best: Option<(usize, u64)> = None;
    for (index, list) in members.iter_mut().enumerate() {
        match list.peek() {
            Some(Ok(number)) if best.is_none_or(|(_, least)| *number < least) => {
                best = Some((index, *number));
            }
            None | Some(Ok(_)) => {}
            Some(Err(_)) => return list.next(),
        }
    }
    members.get_mut(best?.0)?.next()
}
