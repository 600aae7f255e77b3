//! Items for queries: one consistent look at a scope, in creation order.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use model::{EpkRange, Rid};
use query::{ItemIndex, ItemSource, Parts, SourceItem, StoredItem, System};

use crate::index::IndexView;
use crate::partition::Partition;
use crate::reader::{Reader, ScopeFilter};
use crate::record::ItemRecord;
use crate::{Result, Scope};

// Limit: items of one page that the store is to keep for the next query. A query that reads more would displace what
// short ones need.
const KEPT_MAX: u32 = 1_000;

/// The live items of a scope as they were when the source was made.
#[derive(Debug)]
pub struct PartitionSource {
    pub(crate) reader: Reader,
    scope: ScopeFilter,
    /// The index; `None` when there is none or it cannot be read.
    pub(crate) index: Option<IndexView>,
    n_found: AtomicU32,
    /// Whether items that are kept from queries are left out; a container without an index shows all.
    hides: bool,
}

impl Partition {
    /// Opens a scope for a query.
    pub fn source(&self, scope: &Scope) -> PartitionSource {
        let reader = self.reader();
        let is_whole = match scope {
            Scope::All => true,
            Scope::Epks(range) => range.covers(self.epks()),
            Scope::Logical(_) => false,
        };
        let scope = match scope {
            Scope::Epks(range) if !is_whole => narrowed(&reader, std::slice::from_ref(range)),
            scope => ScopeFilter::new(scope, &reader.settings),
        };
        self.open_source(reader, scope, is_whole)
    }

    /// Opens the parts of the partition that lie in some ranges, which must not overlap.
    pub fn source_in(&self, spans: &[EpkRange]) -> PartitionSource {
        if let [span] = spans {
            return self.source(&Scope::Epks(span.clone()));
        }
        let reader = self.reader();
        let scope = narrowed(&reader, spans);
        self.open_source(reader, scope, false)
    }

    fn open_source(&self, reader: Reader, scope: ScopeFilter, is_whole: bool) -> PartitionSource {
        // A scan meets the same trouble with the store and reports it.
        let index = IndexView::open(&reader, &scope, is_whole, &self.inner().index_looks);
        let hides = reader.settings.is_indexed;
        let (index, n_found) = (index.ok().flatten(), AtomicU32::default());
        PartitionSource { reader, scope, index, n_found, hides }
    }
}

fn narrowed(reader: &Reader, spans: &[EpkRange]) -> ScopeFilter {
    // A scan meets the same trouble with the store and reports it.
    reader.narrowed(spans).unwrap_or_else(|_| ScopeFilter::Epks(spans.to_vec()))
}

impl ItemSource for PartitionSource {
    fn scan(&self, after: Option<u64>) -> Box<dyn Iterator<Item = query::Result<SourceItem>> + '_> {
        let items = self.reader.numbered(&self.scope, after);
        Box::new(items.filter_map(|entry| {
            let item = entry.and_then(|(number, record)| {
                if !self.shows(&record)? {
                    return Ok(None);
                }
                Ok(Some(self.reader.source_item(number, &record)))
            });
            item.map_err(|error| query::Error::source(&error)).transpose()
        }))
    }

    fn index(&self) -> Option<&dyn ItemIndex> {
        self.index.is_some().then_some(self)
    }

    fn shared(&self) -> Option<&(dyn ItemSource + Sync)> {
        Some(self)
    }

    fn parts(&self) -> Option<Parts<'_>> {
        None
    }
}

impl PartitionSource {
    /// Returns the item with this number if it is alive and inside the scope.
    pub(crate) fn find(&self, number: u64) -> Result<Option<SourceItem>> {
        let keeps = self.n_found.fetch_add(1, Ordering::Relaxed) < KEPT_MAX;
        let Some(record) = self.reader.recall(number, keeps)? else { return Ok(None) };
        if !self.shows(&record)? {
            return Ok(None);
        }
        Ok(Some(self.reader.source_item(number, &record)))
    }

    fn shows(&self, record: &ItemRecord) -> Result<bool> {
        Ok(!(self.hides && record.is_hidden) && self.reader.shows(&self.scope, record)?)
    }
}

impl Reader {
    /// Hands out the stored text as it is: a query reads little of it.
    fn source_item(&self, number: u64, record: &ItemRecord) -> SourceItem {
        let system = System {
            rid: Rid::item(&self.settings.container, number),
            container_link: Arc::clone(&self.settings.container_link),
            lsn: record.moment.lsn,
            ts: record.ts,
            n_added: record.item_text().n_added,
        };
        SourceItem::stored(number, StoredItem { text: record.text_bytes(), system: Some(system) })
    }
}
