//! One item: copy it, compare it, delete its source. Each can be repeated at any time.

use serde_json::Value;

use super::Repartitioner;
use crate::items::{id_of, is_same, marked, source_of, without_system_properties};
use crate::{ContainerLink, Key, Result, Scheme, Stored};

/// An item that is not where the next scheme wants it.
#[derive(Clone)]
pub(super) struct Moving<'a> {
    pub(super) source: &'a ContainerLink,
    pub(super) owner: ContainerLink,
    pub(super) partition: Key,
    pub(super) item: &'a Value,
}

impl<'a> Moving<'a> {
    /// Returns the item as one that moves, `None` if it stays.
    pub(super) fn find(
        next: &Scheme,
        source: &'a ContainerLink,
        item: &'a Value,
    ) -> Result<Option<Moving<'a>>> {
        let (key, partition) = next.keys_of(item)?;
        let owner = next.resolver.container_for_create(&key)?;
        Ok((owner != *source).then_some(Moving { source, owner, partition, item }))
    }

    fn id(&self) -> Result<&'a str> {
        id_of(self.item)
    }
}

impl Repartitioner {
    /// Creates the copy unless there is one. Returns whether it was created and has stayed.
    pub(super) async fn copy(&self, moving: &Moving<'_>) -> Result<bool> {
        let (owner, partition) = (&moving.owner, &moving.partition);
        let mut copy = marked(moving.item, moving.source);
        match self.items.create(owner, partition, &copy).await {
            Ok(etag) => copy["_etag"] = etag.into(),
            // What is there was written by the application, or by us before a crash.
            Err(error) if error.is_service(409) => return Ok(false),
            Err(error) => return Err(error),
        }
        self.settle(moving.source, owner, partition, &copy).await
    }

    /// Looks back from a marked copy: removes the mark, or the copy if its source is gone. Returns whether it stays.
    ///
    /// A delete by the application takes the source first and then the copy. So whoever deletes the source after this
    /// look finds the copy, and who has deleted it before has left a copy that does not count.
    pub(super) async fn settle(
        &self,
        source: &ContainerLink,
        owner: &ContainerLink,
        partition: &Key,
        copy: &Value,
    ) -> Result<bool> {
        let (id, etag) = (id_of(copy)?, copy.get("_etag").and_then(Value::as_str));
        let is_there = self.items.read(source, partition, id).await?.is_some();
        let stays = if is_there {
            let body = without_system_properties(copy);
            let replaced = self.items.replace(owner, partition, &body, etag).await;
            replaced.map(|it| it.is_some())
        } else {
            self.items.delete(owner, partition, id, etag).await.map(|_| false)
        };
        match stays {
            // The application has written it since, and that stays.
            Err(error) if error.is_service(412) => Ok(true),
            stays => stays,
        }
    }

    /// Looks at the copy and repairs it. Returns whether something had to be changed.
    pub(super) async fn verify(&self, moving: &Moving<'_>) -> Result<bool> {
        let found = self.items.read(&moving.owner, &moving.partition, moving.id()?).await?;
        let Some(found) = found else {
            // The page is a moment old. A delete takes the source first: without a copy and without a source the item
            // was deleted, and must not be made again.
            let now = self.items.read(moving.source, &moving.partition, moving.id()?).await?;
            let Some(now) = now else { return Ok(false) };
            return self.copy(&Moving { item: &now.item, ..moving.clone() }).await;
        };
        if source_of(&found.item).is_some() {
            // Made by a run that was killed before it looked back.
            let (source, owner) = (moving.source, &moving.owner);
            self.settle(source, owner, &moving.partition, &found.item).await?;
            return Ok(true);
        }
        if !is_older(&found, moving.item) {
            return Ok(false);
        }
        // A client that had not noticed the transition wrote to the source after the copy was made.
        let body = without_system_properties(moving.item);
        let replaced =
            self.items.replace(&moving.owner, &moving.partition, &body, Some(&found.etag)).await;
        match replaced {
            Err(error) if error.is_service(412) => Ok(true),
            result => result.map(|_| true),
        }
    }

    /// Deletes a source whose copy is there. Returns whether it is gone.
    pub(super) async fn delete_source(&self, moving: &Moving<'_>) -> Result<bool> {
        self.verify(moving).await?;
        // Invariant: the copy has just been seen or made; without it the source stays.
        let copy = self.items.read(&moving.owner, &moving.partition, moving.id()?).await?;
        if copy.is_none_or(|it| source_of(&it.item).is_some()) {
            return Ok(false);
        }
        let etag = moving.item.get("_etag").and_then(Value::as_str);
        let deleted = self.items.delete(moving.source, &moving.partition, moving.id()?, etag).await;
        match deleted {
            // It has changed since it was read: the next pass looks at it again.
            Err(error) if error.is_service(412) => Ok(false),
            result => result.map(|_| true),
        }
    }
}

/// Returns whether the copy was made before the last change of its source.
fn is_older(copy: &Stored, source: &Value) -> bool {
    let time = |item: &Value| item.get("_ts").and_then(Value::as_u64);
    match (time(&copy.item), time(source)) {
        (Some(copied), Some(changed)) => copied < changed && !is_same(&copy.item, source),
        _ => false,
    }
}
