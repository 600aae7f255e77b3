//! Operations on one item.

use bytes::Bytes;
use model::{ItemBody, PartitionKeyError, Rid, RidKind, Status};
use partition::scripts::Operation;
use partition::{ItemCall, ItemOp, ItemOutcome, Logical, Patch};

use super::ItemRequest;
use super::query::LONG_TEXT_BYTES;
use super::scripts::Write;
use crate::error::{Error, Result};
use crate::operation::KEY_REQUIRED_SINCE;
use crate::outcome::{Body, Facts, Failed, Outcome};
use crate::range_map::Range;
use crate::threads::{run_blocking, wait_blocking};

/// Where an item is: its logical partition and its id.
pub(super) struct ItemAddress {
    pub(super) at: Logical,
    pub(super) id: String,
}

impl ItemRequest<'_> {
    pub(super) async fn create(&self, bytes: &Bytes, is_upsert: bool) -> Result<Outcome, Failed> {
        if self.has_triggers() {
            let at = self.logical_before_triggers(bytes).map_err(|error| self.fail(error))?;
            let operation = if is_upsert { Operation::Upsert } else { Operation::Create };
            let write = Write { operation, id: None, body: Some(bytes) };
            return self.apply_triggered(&at, write).await;
        }
        let prepared = self.check_key_sent().and_then(|()| {
            let body = ItemBody::parse(bytes)?;
            Ok((self.logical_of_body(&body)?, body))
        });
        let (at, body) = prepared.map_err(|error| self.fail(error))?;
        let op = if is_upsert { ItemOp::Upsert(body) } else { ItemOp::Create(body) };
        self.apply(&at, op).await
    }

    pub(super) fn read(&self, id: &str) -> Result<Outcome, Failed> {
        let place = self.place(id).map_err(|error| self.fail(error))?;
        let range = self.route(&place.at).map_err(|error| self.fail(error))?;
        self.check_session(range).map_err(|error| self.fail_at(range, error))?;
        let lsn = range.partition.lsn();
        let if_none_match = self.options.if_none_match.as_deref();
        let outcome = range
            .partition
            .read(&place.at, &place.id, if_none_match)
            .map_err(|error| self.fail_at(range, error))?;
        Ok(self.answer(range, outcome, lsn))
    }

    pub(super) async fn replace(&self, id: &str, bytes: &Bytes) -> Result<Outcome, Failed> {
        if self.has_triggers() {
            let place = self.place(id).map_err(|error| self.fail(error))?;
            if self.allowed.item.is_some() {
                let body = ItemBody::parse(bytes).map_err(|error| self.fail(error))?;
                self.check_kept(&place, &body).map_err(|error| self.fail(error))?;
            }
            let ItemAddress { at, id } = place;
            let write = Write { operation: Operation::Replace, id: Some(&id), body: Some(bytes) };
            return self.apply_triggered(&at, write).await;
        }
        let place = self.place(id).map_err(|error| self.fail(error))?;
        let prepared = ItemBody::parse(bytes).map_err(Error::from).and_then(|body| {
            self.check_body_key(&place.at, &body)?;
            Ok(body)
        });
        let body = prepared.map_err(|error| self.fail_present(&place, error))?;
        self.check_kept(&place, &body).map_err(|error| self.fail(error))?;
        self.apply(&place.at, ItemOp::Replace { id: place.id, body }).await
    }

    /// A grant on one item does not reach to its next name.
    fn check_kept(&self, place: &ItemAddress, body: &ItemBody) -> Result<()> {
        let is_kept = self.allowed.item.is_none() || body.id() == place.id;
        if is_kept { Ok(()) } else { Err(Error::Forbidden) }
    }

    /// A failure of a body that shall take the place of an item. Wire: that there is none comes first.
    fn fail_present(&self, place: &ItemAddress, error: Error) -> Failed {
        let range = match self.route(&place.at) {
            Ok(range) => range,
            Err(error) => return self.fail(error),
        };
        match range.partition.read(&place.at, &place.id, None) {
            Ok(_) => self.fail_at(range, error),
            Err(missing) => self.fail_at(range, missing),
        }
    }

    pub(super) async fn patch(&self, id: &str, bytes: &Bytes) -> Result<Outcome, Failed> {
        let place = || self.place(id);
        let prepare =
            || Patch::parse(bytes).map_err(Error::from).and_then(|patch| Ok((place()?, patch)));
        // A condition is a query: one with a long text is planned and checked off the request threads.
        let is_long = bytes.len() > LONG_TEXT_BYTES;
        let prepared = if is_long { run_blocking(prepare) } else { prepare() };
        let (place, patch) = prepared.map_err(|error| self.fail(error))?;
        let applied = self.apply(&place.at, ItemOp::Patch { id: place.id, patch });
        if is_long { wait_blocking(applied).await } else { applied.await }
    }

    pub(super) async fn delete(&self, id: &str) -> Result<Outcome, Failed> {
        let place = self.place(id).map_err(|error| self.fail(error))?;
        if self.has_triggers() {
            let id = Some(place.id.as_str());
            let write = Write { operation: Operation::Delete, id, body: None };
            return self.apply_triggered(&place.at, write).await;
        }
        self.apply(&place.at, ItemOp::Delete { id: place.id }).await
    }

    async fn apply(&self, at: &Logical, op: ItemOp) -> Result<Outcome, Failed> {
        let range = self.route(at).map_err(|error| self.fail(error))?;
        let call = ItemCall {
            op,
            if_match: self.options.if_match.clone(),
            if_none_match: self.options.if_none_match.clone(),
            minimal: false,
            indexing: self.options.indexing,
            is_bare: self.options.omits_links,
        };
        match range.partition.apply(at, call).await {
            Ok(applied) => Ok(self.answer(range, applied.outcome, applied.lsn)),
            Err(error) => Err(self.fail_at(range, error)),
        }
    }

    pub(super) fn answer(&self, range: &Range, outcome: ItemOutcome, lsn: model::Lsn) -> Outcome {
        let mut facts = Facts {
            charge: outcome.charge,
            etag: outcome.etag,
            item_lsn: outcome.item_lsn,
            ..self.facts_of(range.id(), lsn)
        };
        // Wire: a write tells how many items there were before it.
        if let Some(usage) = &mut facts.range_usage {
            usage.n_items = match outcome.status {
                Status::CREATED => usage.n_items.saturating_sub(1),
                Status::NO_CONTENT => usage.n_items.saturating_add(1),
                _ => usage.n_items,
            };
        }
        let omits = self.options.omits_links && outcome.is_bare;
        let cut = |item: Bytes| model::without_links(&item).map_or(item, Bytes::from);
        let body = outcome.body.map(|item| if omits { cut(item) } else { item });
        let body = body.map_or(Body::Empty, Body::Resource);
        Outcome { status: outcome.status, body, facts }
    }

    /// The logical partition of a new item: from the header, which must agree with the body.
    ///
    /// Wire: since containers must have a key, so must a create. Clients of before may leave it to the body, and so may
    /// callers without a version, which are no clients.
    /// Wire: that the key header is missing comes before anything about the body.
    pub(super) fn check_key_sent(&self) -> Result<()> {
        if self.key.is_none() && self.options.is_since(KEY_REQUIRED_SINCE) {
            return Err(PartitionKeyError::TooFewComponents.into());
        }
        Ok(())
    }

    pub(super) fn logical_of_body(&self, body: &ItemBody) -> Result<Logical> {
        self.check_key_sent()?;
        let definition = &self.container.properties.definition;
        let extracted = body.partition_key(definition);
        if let Some(key) = &self.key {
            definition.check(key)?;
            if *key != extracted {
                return Err(Error::KeyMismatch);
            }
        }
        self.logical_of(extracted)
    }

    pub(super) fn check_body_key(&self, at: &Logical, body: &ItemBody) -> Result<()> {
        let extracted = body.partition_key(&self.container.properties.definition);
        if extracted == at.key { Ok(()) } else { Err(Error::KeyMismatch) }
    }

    /// Finds out where the item of the path is, by name and key or by rid.
    pub(super) fn place(&self, text: &str) -> Result<ItemAddress> {
        let place = if self.is_by_rid {
            self.place_by_rid(text)?
        } else if text.contains('/') {
            // Wire: such an item has no name that leads to it.
            return Err(Error::NotFound);
        } else {
            ItemAddress { at: self.logical()?, id: text.to_owned() }
        };
        self.check_granted(text, &place)?;
        Ok(place)
    }

    fn place_by_rid(&self, text: &str) -> Result<ItemAddress> {
        let (at, id) = self.find_by_rid(text)?.ok_or(Error::NotFound)?;
        // Wire: a wrong key on a read is a 404, not a mismatch.
        if let Some(key) = &self.key {
            self.container.properties.definition.check(key)?;
            if *key != at.key {
                return Err(Error::NotFound);
            }
        }
        self.allowed.check_key(Some(&at.key))?;
        Ok(ItemAddress { at, id })
    }

    /// Items keep their number when ranges split: look into every range.
    fn find_by_rid(&self, text: &str) -> Result<Option<(Logical, String)>> {
        let rid = Rid::parse(text).filter(|rid| {
            rid.kind() == RidKind::Item && rid.container_rid() == Some(self.container.record().rid)
        });
        let Some(number) = rid.and_then(|rid| rid.ordinal()) else { return Ok(None) };
        for range in self.container.ranges.iter() {
            if let Some(found) = range.partition.find_by_rid(number)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// A grant on one item covers that item only, however the item is named here and there.
    pub(super) fn check_granted(&self, text: &str, place: &ItemAddress) -> Result<()> {
        let Some(granted) = &self.allowed.item else { return Ok(()) };
        let is_same = match (granted.is_by_rid, self.is_by_rid) {
            (false, _) => granted.text == place.id,
            (true, true) => granted.text == text,
            (true, false) => match self.find_by_rid(&granted.text)? {
                Some((at, id)) => at.key == place.at.key && id == place.id,
                None => false,
            },
        };
        if is_same { Ok(()) } else { Err(Error::Forbidden) }
    }
}
