//! One item: copy it, compare it, remove the copy of one that is gone. Each can be repeated at any time.

use serde_json::Value;

use super::spec::{Copy, Keyed};
use super::{Refusal, Rekey};
use crate::items::{id_of, without_system_properties};
use crate::{Error, Result, Stored};

// Limit: a copy that changes this often while it is written has another writer than this job.
const ATTEMPTS_MAX: u32 = 10;

impl Rekey {
    /// Makes the copy like the item. Returns whether something had to be written.
    pub(super) async fn write_copy(&self, keyed: &Keyed<'_>, item: &Value) -> Result<bool> {
        let copy = keyed.copy(item)?;
        let (target, id) = (&keyed.spec.target, id_of(item)?);
        let mut last = Error::service(409, "the copy keeps changing");
        for _ in 0..ATTEMPTS_MAX {
            match self.items.create(target, &copy.partition, &copy.body).await {
                Ok(_) => return Ok(true),
                Err(error) if error.is_service(409) => last = error,
                Err(error) => return Err(error),
            }
            // Nothing there in spite of the conflict: a unique key, which another try does not change, or a
            // delete by another hand, which it does.
            let Some(found) = self.items.read(target, &copy.partition, id).await? else { continue };
            check_same(keyed, item, &found, &copy)?;
            if without_system_properties(&found.item) == copy.body {
                return Ok(false);
            }
            let etag = Some(found.etag.as_str());
            match self.items.replace(target, &copy.partition, &copy.body, etag).await {
                Ok(Some(_)) => return Ok(true),
                Ok(None) => {}
                Err(error) if error.is_service(412) => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    /// Compares an item of the source with its copy and repairs it. Returns whether it had to.
    pub(super) async fn verify_source(&self, keyed: &Keyed<'_>, item: &Value) -> Result<bool> {
        let copy = keyed.copy(item)?;
        let found = self.items.read(&keyed.spec.target, &copy.partition, id_of(item)?).await?;
        if let Some(found) = found {
            check_same(keyed, item, &found, &copy)?;
            if without_system_properties(&found.item) == copy.body {
                return Ok(false);
            }
        }
        // The page is a moment old: only what the source says now is copied.
        let partition = keyed.source_partition(item)?;
        match self.items.read(&keyed.spec.source, &partition, id_of(item)?).await? {
            Some(now) => self.write_copy(keyed, &now.item).await,
            None => Ok(false),
        }
    }

    /// Removes a copy whose source is gone or has another key now. Returns whether it was removed.
    pub(super) async fn verify_target(&self, keyed: &Keyed<'_>, copy: &Value) -> Result<bool> {
        let (spec, id) = (keyed.spec, id_of(copy)?);
        let here = keyed.target_partition(copy)?;
        let source = keyed.source_partition(copy)?;
        if let Some(now) = self.items.read(&spec.source, &source, id).await?
            && keyed.copy(&now.item)?.partition == here
        {
            return Ok(false);
        }
        let etag = copy.get("_etag").and_then(Value::as_str);
        match self.items.delete(&spec.target, &here, id, etag).await {
            // Written since the page was read: the next pass looks at it again.
            Err(error) if error.is_service(412) => Ok(true),
            result => result.map(|_| true),
        }
    }
}

/// Refuses to take the copy of one item for that of another.
fn check_same(keyed: &Keyed<'_>, item: &Value, found: &Stored, copy: &Copy) -> Result<()> {
    if keyed.source_partition(&found.item)? == keyed.source_partition(item)? {
        return Ok(());
    }
    let (id, key) = (id_of(item)?.to_owned(), copy.partition.to_string());
    Err(Refusal::Collision { id, key }.into())
}
