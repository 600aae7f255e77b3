//! Emptying an account or a container: one commit each, whatever the amount of data.

use std::sync::Arc;

use model::{ETag, Value};

use crate::account::Account;
use crate::catalog::Draft;
use crate::container::Container;
use crate::error::{Error, Result};
use crate::operation::{Link, ResourceKind};
use crate::range_map::RangeEntry;

impl Account {
    /// Drops every database. Tokens and continuations of before are void.
    pub async fn reset(&self) -> Result<()> {
        let reset = self.inner.catalog.change(|draft| {
            let databases: Vec<_> = draft.tables.children_of_kind(ResourceKind::Database);
            for database in databases {
                draft.delete(&database);
            }
            draft.new_secret();
            Ok(())
        });
        reset.await
    }

    /// Removes every item of a container; its properties, scripts and ranges stay. A write that is under way may go
    /// with the old content.
    pub async fn reset_container(&self, container: &Link) -> Result<()> {
        let link = container.clone();
        let reset = self.inner.catalog.change(move |draft| {
            let found = draft.tables.find_owner(&link)?;
            let container = draft.tables.container(found.number()).cloned();
            empty(draft, &container.ok_or(Error::OwnerNotFound)?);
            Ok(())
        });
        reset.await
    }
}

/// Puts an empty partition in the place of each. Positions and session tokens of before stay usable: commits go on
/// where they were.
fn empty(draft: &mut Draft<'_>, container: &Arc<Container>) {
    let mut entries = Vec::new();
    for range in container.ranges.iter() {
        let lsn = range.partition.lsn().next();
        let incarnation = draft.new_partition_at(range.entry.rid_prefix, lsn);
        entries.push(RangeEntry { incarnation, ..range.entry.clone() }.to_value());
        draft.drop_partition(&range.partition);
    }
    let mut state = container.record().state.clone();
    state.insert("ranges", Value::Array(entries));
    state.insert("rangesEtag", ETag::random(draft.env).as_str());
    draft.update_state(container.record(), state);
}
