//! Writes a synthetic key into items that are there already.

use serde_json::Value;

use super::SyntheticKey;
use crate::items::id_of;
use crate::{ContainerLink, Error, ItemStore, KeySource, PageRequest, Result, Statement};

// Limit: an item that changes this often while it is written has a writer that sets the key itself.
const ATTEMPTS_MAX: u32 = 10;

/// What a backfill has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backfill {
    /// Items looked at.
    pub n_scanned: u64,
    /// Items that got the property.
    pub n_written: u64,
    /// Items that have nothing to make a key from.
    pub n_skipped: u64,
}

/// Adds the property of a scheme to every item of a container that lacks it.
///
/// `partition` says where the partition key of the container stands, which is not the new property: the key
/// of a container cannot be changed. Copy the items into a container with the new key afterwards. Items that
/// have the property keep it, so a run that was interrupted is simply repeated; an item that changes
/// meanwhile is read again.
pub async fn backfill(
    items: &dyn ItemStore,
    container: &ContainerLink,
    partition: &KeySource,
    scheme: &(dyn SyntheticKey + Sync),
    report: &mut (dyn FnMut(Backfill) + Send),
) -> Result<Backfill> {
    let statement = Statement::new("SELECT * FROM c");
    let mut done = Backfill::default();
    let mut continuation: Option<String> = None;
    loop {
        let request = PageRequest {
            container,
            statement: &statement,
            partition: None,
            continuation: continuation.as_deref(),
            rows_max: None,
        };
        let page = items.page(request).await?;
        for item in page.rows {
            done.n_scanned += 1;
            match write(items, container, partition, scheme, item).await {
                Ok(is_written) => done.n_written += u64::from(is_written),
                Err(Error::KeyMissing { .. } | Error::KeyNotScalar { .. }) => done.n_skipped += 1,
                Err(error) => return Err(error),
            }
        }
        report(done);
        continuation = page.continuation;
        if continuation.is_none() {
            return Ok(done);
        }
    }
}

async fn write(
    items: &dyn ItemStore,
    container: &ContainerLink,
    partition: &KeySource,
    scheme: &(dyn SyntheticKey + Sync),
    mut item: Value,
) -> Result<bool> {
    let partition = partition.key_of(&item)?;
    for _ in 0..ATTEMPTS_MAX {
        if scheme.property().find(&item).is_some() {
            return Ok(false);
        }
        let etag = item.get("_etag").and_then(Value::as_str).map(ToOwned::to_owned);
        scheme.apply(&mut item)?;
        match items.replace(container, &partition, &item, etag.as_deref()).await {
            Ok(etag) => return Ok(etag.is_some()),
            Err(error) if error.is_service(412) => {}
            Err(error) => return Err(error),
        }
        match items.read(container, &partition, id_of(&item)?).await? {
            Some(found) => item = found.item,
            None => return Ok(false),
        }
    }
    Err(Error::service(412, "the item keeps changing"))
}
