//! Items that may be in two containers, because they are moving: what counts, and how it is changed.

use serde_json::Value;

use super::{Address, PartitionedDatabase};
use crate::items::{id_of, source_of};
use crate::{Error, Key, Placement, Result, Stored};

// Limit: an item that moves is found at its new place at the second look; more looks mean a fault.
const LOOKS_MAX: usize = 4;

/// Where an item was found.
pub(super) enum ItemWhereabouts {
    /// At its owner, where it counts.
    Owned(Stored),
    /// Where it comes from, and perhaps as a marked copy at its owner.
    Coming { source: Stored, copy: Option<Stored> },
    /// Nowhere, but perhaps as a marked copy that a move has left behind.
    Nowhere { copy: Option<Stored> },
}

impl ItemWhereabouts {
    /// Returns the version that counts.
    pub(super) fn counting(self) -> Option<Stored> {
        match self {
            ItemWhereabouts::Owned(it) | ItemWhereabouts::Coming { source: it, .. } => Some(it),
            ItemWhereabouts::Nowhere { .. } => None,
        }
    }
}

impl PartitionedDatabase {
    /// Looks for an item at its owner, then where it comes from.
    pub(super) async fn look(&self, place: &Placement, at: &Address) -> Result<ItemWhereabouts> {
        let partition = at.service_partition();
        let copy = match self.items.read(&place.owner, partition, &at.id).await? {
            Some(it) if source_of(&it.item).is_none() => return Ok(ItemWhereabouts::Owned(it)),
            copy => copy,
        };
        for link in &place.others {
            if let Some(source) = self.items.read(link, partition, &at.id).await? {
                return Ok(ItemWhereabouts::Coming { source, copy });
            }
        }
        if copy.is_none() {
            return Ok(ItemWhereabouts::Nowhere { copy });
        }
        // Its move may have come to its end between our looks.
        match self.items.read(&place.owner, partition, &at.id).await? {
            Some(it) if source_of(&it.item).is_none() => Ok(ItemWhereabouts::Owned(it)),
            copy => Ok(ItemWhereabouts::Nowhere { copy }),
        }
    }

    /// Creates an item unless it is where it comes from.
    pub(super) async fn create_moving(
        &self,
        place: &Placement,
        partition: &Key,
        item: &Value,
    ) -> Result<String> {
        let at = Address::new(id_of(item)?, Key::Null).partition(partition.clone());
        for link in &place.others {
            if self.items.read(link, partition, &at.id).await?.is_some() {
                return Err(Error::service(409, "the item has not been moved yet"));
            }
        }
        let taken = match self.items.create(&place.owner, partition, item).await {
            Err(error) if error.is_service(409) => error,
            result => return result,
        };
        match self.look(place, &at).await? {
            ItemWhereabouts::Nowhere { copy } => {
                self.write(place, partition, item, copy).await?.ok_or(taken)
            }
            ItemWhereabouts::Owned(_) | ItemWhereabouts::Coming { .. } => Err(taken),
        }
    }

    /// Replaces an item at its owner, or writes it there if it has not come yet.
    pub(super) async fn replace_moving(
        &self,
        place: &Placement,
        at: &Address,
        item: &Value,
        if_match: Option<&str>,
    ) -> Result<String> {
        let partition = at.service_partition();
        for _ in 0..LOOKS_MAX {
            let replaced = match self.look(place, at).await? {
                ItemWhereabouts::Owned(_) => {
                    self.items.replace(&place.owner, partition, item, if_match).await?
                }
                ItemWhereabouts::Coming { source, copy } => {
                    check_etag(&source, if_match)?;
                    self.write(place, partition, item, copy).await?
                }
                ItemWhereabouts::Nowhere { .. } => {
                    return Err(Error::service(404, "there is no such item"));
                }
            };
            if let Some(etag) = replaced {
                return Ok(etag);
            }
        }
        Err(Error::Migrating)
    }

    /// Writes an item to its owner in the place of a marked copy or of nothing; `None` if that has changed.
    async fn write(
        &self,
        place: &Placement,
        partition: &Key,
        item: &Value,
        copy: Option<Stored>,
    ) -> Result<Option<String>> {
        let written = match &copy {
            Some(it) => self.items.replace(&place.owner, partition, item, Some(&it.etag)).await,
            None => self.items.create(&place.owner, partition, item).await.map(Some),
        };
        match written {
            Err(error) if error.is_service(409) || error.is_service(412) => Ok(None),
            result => result,
        }
    }

    /// Deletes the source first: as long as it exists, it could be copied again.
    pub(super) async fn delete_moving(
        &self,
        place: &Placement,
        at: &Address,
        if_match: Option<&str>,
    ) -> Result<bool> {
        let partition = at.service_partition();
        let found = self.look(place, at).await?;
        if let ItemWhereabouts::Owned(it) = &found {
            check_etag(it, if_match)?;
        }
        // The etag counts for the source only while nothing at the owner counts.
        let is_owned = matches!(found, ItemWhereabouts::Owned(_));
        let guard = if is_owned { None } else { if_match };
        let mut is_found = false;
        for link in &place.others {
            is_found |= self.items.delete(link, partition, &at.id, guard).await?;
        }
        is_found |= self.items.delete(&place.owner, partition, &at.id, None).await? && is_owned;
        Ok(is_found)
    }
}

fn check_etag(found: &Stored, if_match: Option<&str>) -> Result<()> {
    match if_match {
        Some(etag) if etag != "*" && etag != found.etag => {
            Err(Error::service(412, "the item has changed"))
        }
        _ => Ok(()),
    }
}
