//! One item as a transaction knows it: what the store holds, and what it will hold.

use std::sync::Arc;

use model::json::ItemText;
use model::{ETag, Lsn};

use super::step::{New, TransactionContext};
use crate::charge::Weight;
use crate::index::{Held, Wanted};
use crate::record::ItemRecord;

/// The item before the transaction.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    pub(crate) id: String,
    pub(crate) number: u64,
    pub(crate) record: ItemRecord,
}

/// The item at this point of the transaction.
#[derive(Debug, Clone)]
pub(crate) enum Image {
    Absent,
    /// As in the base.
    Stored,
    Written(Arc<New>),
}

/// What a script is shown of an item that its own transaction wrote: the number that the item will have, and an
/// etag that stands for the one the commit will give.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Provisional {
    pub(crate) number: u64,
    pub(crate) lsn: Lsn,
    pub(crate) ts: u32,
}

impl Provisional {
    pub(crate) fn etag(self) -> ETag {
        ETag::from_lsn(self.lsn, u64::from(self.ts))
    }
}

#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) base: Option<Base>,
    pub(crate) image: Image,
    /// Set by scripts only; nobody else sees an item before it is committed.
    pub(crate) provisional: Option<Provisional>,
    /// What the index holds of the base, once somebody needed it.
    pub(crate) held: Option<Held>,
    /// The index terms of a written image.
    pub(crate) wanted: Option<Wanted>,
}

impl Slot {
    pub(crate) fn fresh() -> Slot {
        Slot { base: None, image: Image::Absent, provisional: None, held: None, wanted: None }
    }

    pub(crate) fn stored(base: Base) -> Slot {
        Slot { base: Some(base), image: Image::Stored, provisional: None, held: None, wanted: None }
    }

    /// The stored record, if the item is still as stored.
    pub(crate) fn stored_record(&self) -> Option<&ItemRecord> {
        match (&self.image, &self.base) {
            (Image::Stored, Some(base)) => Some(&base.record),
            _ => None,
        }
    }

    /// What was added to the item, from the comma before the first property on.
    pub(crate) fn added(&self) -> &[u8] {
        let text = match &self.image {
            Image::Absent => return &[],
            Image::Stored => self.base.as_ref().map(|base| base.record.item_text()),
            Image::Written(new) => Some(new.record.item_text()),
        };
        text.map_or(&[], ItemText::added)
    }

    /// The text of the item now; empty when absent.
    pub(crate) fn text(&self) -> &[u8] {
        match &self.image {
            Image::Absent => &[],
            Image::Stored => self.base.as_ref().map_or(&[], |base| base.record.text()),
            Image::Written(new) => new.record.text(),
        }
    }

    pub(crate) fn id(&self) -> Option<&str> {
        match &self.image {
            Image::Absent => None,
            Image::Stored => self.base.as_ref().map(|base| base.id.as_str()),
            Image::Written(new) => Some(&new.id),
        }
    }

    /// What a charge needs to know of the item now. The terms of a stored one must have been looked up.
    pub(crate) fn weight(&self, context: &TransactionContext) -> Weight {
        let settings = &context.settings;
        let (n_terms, has_ttl) = match &self.image {
            Image::Absent => return Weight::default(),
            Image::Stored => (
                self.held.as_ref().map_or(0, Held::n_counted),
                self.base.as_ref().is_some_and(|base| base.record.ttl != 0),
            ),
            Image::Written(new) => {
                (self.wanted.as_ref().map_or(0, Wanted::n_counted), new.ttl != 0)
            }
        };
        Weight {
            bytes: self.text().len(),
            n_terms: if settings.is_indexed { n_terms } else { 0 },
            n_unique_keys: settings.unique_keys.len(),
            has_ttl: has_ttl && settings.default_ttl.is_some(),
        }
    }

    /// Takes a new image with its index terms. Returns how many terms go and come; `_ts` is one of each when the second
    /// is another.
    pub(crate) fn write(&mut self, new: &Arc<New>, wanted: Wanted, now: u32) -> usize {
        let n_changed = match (&self.image, &self.held, &self.wanted) {
            (Image::Stored, Some(held), _) => {
                let is_later = self.base.as_ref().is_some_and(|base| base.record.ts < now);
                held.n_changed(&wanted) + if is_later { 2 } else { 0 }
            }
            (Image::Written(_), _, Some(before)) => before.n_changed(&wanted),
            _ => wanted.n_counted(),
        };
        self.image = Image::Written(Arc::clone(new));
        self.wanted = Some(wanted);
        n_changed
    }

    /// Says whether a condition header names the item as it is now. What this transaction wrote has no etag that
    /// a client could know, so only `*` names it; a script knows the provisional one.
    pub(crate) fn is_named_by(&self, header: &str) -> bool {
        match (self.stored_record(), &self.provisional) {
            (Some(record), _) => record.etag().matches(header),
            (None, Some(provisional)) => provisional.etag().matches(header),
            (None, None) => header.trim() == "*",
        }
    }

    /// The number that the item has or will have, if that is known.
    pub(crate) fn number(&self) -> Option<u64> {
        let base = self.base.as_ref().map(|base| base.number);
        base.or(self.provisional.as_ref().map(|provisional| provisional.number))
    }

    pub(crate) fn etag(&self) -> Option<ETag> {
        self.stored_record().map(ItemRecord::etag)
    }
}
