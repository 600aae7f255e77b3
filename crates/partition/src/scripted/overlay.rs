//! The items of the logical partition as a script's transaction sees them: the snapshot, what was submitted by others
//! and is not yet acknowledged, and its own writes, merged by item number.

use std::collections::BTreeMap;

use bytes::Bytes;
use query::{ItemSource, SourceItem};
use script::FeedPage;
use store::Direction;

use super::transaction::Transaction;
use crate::charge;
use crate::keys::{number_if_item, number_of_member};
use crate::reader::render;
use crate::record::ItemRecord;
use crate::transaction::Image;
use crate::{Error, Result};

// Limit: items and bytes of one page that a script reads.
pub(super) const PAGE_ITEMS_MAX: usize = 1_000;
pub(super) const PAGE_BYTES_MAX: usize = 4 << 20;

/// What the snapshot does not know about a number.
enum Change {
    Gone,
    Submitted(ItemRecord),
    /// Written by this transaction, into this slot.
    Own(usize),
}

/// One item, rendered, with its number and the length of its text.
pub(super) struct Seen {
    pub(super) number: u64,
    pub(super) item: Bytes,
    pub(super) bytes: usize,
    /// Queries do not find it.
    pub(super) is_hidden: bool,
}

pub(super) type Sight<'a> = Box<dyn Iterator<Item = Result<Seen>> + 'a>;

impl Transaction {
    fn changes(&self) -> Result<BTreeMap<u64, Change>> {
        let mut changes = BTreeMap::new();
        for (key, pending) in &self.view.overlay {
            let Some(number) = number_if_item(key) else { continue };
            let Some(bytes) = &pending.value else {
                changes.insert(number, Change::Gone);
                continue;
            };
            let record = ItemRecord::decode(bytes.clone())?;
            if record.place_bytes() == self.context.place.as_bytes() {
                changes.insert(number, Change::Submitted(record));
            }
        }
        for (index, slot) in self.paused.slots.iter().enumerate() {
            let Some(number) = slot.number() else { continue };
            match &slot.image {
                Image::Written(_) => drop(changes.insert(number, Change::Own(index))),
                Image::Absent => drop(changes.insert(number, Change::Gone)),
                Image::Stored => {}
            }
        }
        Ok(changes)
    }

    /// Walks the live items with numbers above `after`, by number.
    pub(super) fn sight(&self, after: Option<u64>) -> Result<Sight<'_>> {
        let (keys, place) = (self.context.keys, &self.context.place);
        let members = self.view.snapshot.scan(keys.members_of(place, after), Direction::Forward);
        let mut members = members.map(|entry| number_of_member(&entry?.0)).peekable();
        let first = after.map_or(0, |number| number.saturating_add(1));
        let mut changes = self.changes()?.split_off(&first).into_iter().peekable();
        let numbers = std::iter::from_fn(move || match (members.peek(), changes.peek()) {
            (None, None) => None,
            (Some(Err(_)), _) => members.next().map(|member| member.map(|it| (it, None))),
            (Some(Ok(member)), Some((number, _))) if member >= number => {
                if member == number {
                    members.next();
                }
                changes.next().map(|(number, change)| Ok((number, Some(change))))
            }
            (Some(Ok(_)), _) => members.next().map(|member| member.map(|it| (it, None))),
            (None, Some(_)) => changes.next().map(|(number, change)| Ok((number, Some(change)))),
        });
        Ok(Box::new(numbers.filter_map(|entry| {
            entry.and_then(|(number, change)| self.see(number, change)).transpose()
        })))
    }

    fn see(&self, number: u64, change: Option<Change>) -> Result<Option<Seen>> {
        let record = match change {
            Some(Change::Gone) => return Ok(None),
            Some(Change::Submitted(record)) => record,
            Some(Change::Own(slot)) => {
                let slot = &self.paused.slots[slot];
                let bytes = slot.text().len();
                let is_hidden =
                    matches!(&slot.image, Image::Written(new) if new.record.is_hidden());
                let seen = |item| Seen { number, item, bytes, is_hidden };
                return Ok(self.render_own(slot).map(seen));
            }
            None => {
                let bytes = self.view.snapshot.get(&self.context.keys.item(number))?;
                ItemRecord::decode(bytes.ok_or(Error::Corrupt("a member is no item"))?)?
            }
        };
        if !self.view.liveness.is_live(&record) {
            return Ok(None);
        }
        let (text, etag) = (record.item_text(), record.etag());
        let item = render(&self.context.settings, number, text, &etag, record.ts, None);
        Ok(Some(Seen { number, item, bytes: text.bytes.len(), is_hidden: record.is_hidden }))
    }

    /// One page in creation order, and where the next one starts.
    pub(super) fn page(
        &mut self,
        after: Option<u64>,
        items_max: Option<usize>,
    ) -> Result<FeedPage> {
        let items_max = items_max.unwrap_or(PAGE_ITEMS_MAX).clamp(1, PAGE_ITEMS_MAX);
        let (mut items, mut sizes, mut n_bytes) = (Vec::new(), Vec::new(), 0);
        let mut next = None;
        for seen in self.sight(after)? {
            let Seen { number, item, bytes, .. } = seen?;
            let is_full = items.len() >= items_max || n_bytes + item.len() > PAGE_BYTES_MAX;
            if is_full && let Some((last, _)) = items.last() {
                next = Some(*last);
                break;
            }
            n_bytes += item.len();
            sizes.push(bytes);
            items.push((number, item));
        }
        self.charge += charge::page(sizes);
        Ok(FeedPage { items, next })
    }

    /// One page of a query.
    pub(super) fn query(
        &mut self,
        statement: &query::Statement,
        page: script::PageRequest<'_>,
    ) -> Result<query::Page> {
        let page = run(statement, &*self, page)?;
        self.charge += price(&page);
        Ok(page)
    }

    /// One page of a query over the attachments of an item.
    pub(super) fn query_attached(
        &mut self,
        item: &str,
        statement: &query::Statement,
        page: script::PageRequest<'_>,
    ) -> Result<query::Page> {
        let page = run(statement, &self.attached_sight(item)?, page)?;
        self.charge += price(&page);
        Ok(page)
    }
}

fn run(
    statement: &query::Statement,
    source: &dyn ItemSource,
    page: script::PageRequest<'_>,
) -> Result<query::Page> {
    let script::PageRequest { items_max, continuation, deadline } = page;
    let request = query::PageRequest {
        items_max: items_max.unwrap_or(PAGE_ITEMS_MAX).clamp(1, PAGE_ITEMS_MAX),
        bytes_max: PAGE_BYTES_MAX,
        deadline: Some(deadline),
        may_wait: true,
        continuation,
    };
    Ok(statement.run(source, &request)?)
}

fn price(page: &query::Page) -> model::Charge {
    charge::query(&page.metrics, charge::Asked { has_key: true, calls_functions: false })
}

impl ItemSource for Transaction {
    fn scan(&self, after: Option<u64>) -> Box<dyn Iterator<Item = query::Result<SourceItem>> + '_> {
        let to_item = |seen: Result<Seen>| -> Result<SourceItem> {
            let Seen { number, item, bytes, .. } = seen?;
            let value = model::json::parse(&item)
                .map_err(|_| Error::Corrupt("a stored item is not JSON"))?;
            Ok(SourceItem::new(number, value, bytes))
        };
        let hides = self.context.settings.is_indexed;
        let is_found =
            move |seen: &Result<Seen>| !(hides && seen.as_ref().is_ok_and(|seen| seen.is_hidden));
        match self.sight(after) {
            Ok(sight) => Box::new(
                sight
                    .filter(is_found)
                    .map(move |seen| to_item(seen).map_err(|error| query::Error::source(&error))),
            ),
            Err(error) => Box::new(std::iter::once(Err(query::Error::source(&error)))),
        }
    }

    fn index(&self) -> Option<&dyn query::ItemIndex> {
        None
    }

    fn shared(&self) -> Option<&(dyn ItemSource + Sync)> {
        None
    }

    fn parts(&self) -> Option<query::Parts<'_>> {
        None
    }
}
