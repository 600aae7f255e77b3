//! Items for queries: one consistent look at a scope, in creation order.

use query::{ItemSource, SourceItem};

use crate::partition::Partition;
use crate::reader::{Reader, ScopeFilter};
use crate::{Error, Result, Scope};

/// The live items of a scope as they were when the source was made.
#[derive(Debug)]
pub struct Source {
    reader: Reader,
    scope: ScopeFilter,
}

impl Partition {
    /// Opens a scope for a query.
    pub fn source(&self, scope: &Scope) -> Source {
        let reader = self.reader();
        let scope = ScopeFilter::new(scope, &reader.settings);
        Source { reader, scope }
    }
}

impl ItemSource for Source {
    fn scan(&self, after: Option<u64>) -> Box<dyn Iterator<Item = query::Result<SourceItem>> + '_> {
        let items = self.reader.numbered(&self.scope, after);
        Box::new(items.filter_map(|entry| {
            let item = entry.and_then(|(number, record)| {
                if !self.reader.shows(&self.scope, &record)? {
                    return Ok(None);
                }
                self.reader.source_item(number, &record).map(Some)
            });
            item.map_err(|error| query::Error::source(&error)).transpose()
        }))
    }
}

impl Reader {
    fn source_item(&self, number: u64, record: &crate::record::ItemRecord) -> Result<SourceItem> {
        let value = model::json::parse(&self.render(number, record, None))
            .map_err(|_| Error::Corrupt("a stored item is not JSON"))?;
        Ok(SourceItem { number, value, bytes: record.text().len() })
    }
}
