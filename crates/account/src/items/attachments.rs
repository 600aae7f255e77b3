//! Operations on the attachments of an item, and on the media that we keep for them.
//!
//! An attachment is in the logical partition of its item, so it is routed as the item is: by the key header, or by the
//! item's rid. Media is named by a rid alone and looked for in every range.

use std::sync::Arc;

use bytes::Bytes;
use model::{Lsn, Rid, Status};
use partition::{
    AttachmentBody, AttachmentCall, AttachmentContent, AttachmentOp, AttachmentSource,
    FoundAttachment, FoundMedia, ItemOutcome, Logical, Media, MediaFacts, PageLimits,
};
use query::{PageRequest, PrepareOptions, ResumeFilter, Statement};

use super::ItemRequest;
use super::feed::PAGE_BYTES_MAX;
use super::point::ItemAddress;
use super::query::PAGE_TIME;
use crate::continuation::Kind;
use crate::error::{Error, Result};
use crate::operation::{AttachmentAction, AttachmentInput, MediaAction, QueryText};
use crate::outcome::{Body, Facts, Failed, Outcome, Scan};
use crate::range_map::Range;
use crate::threads::run_blocking;
use crate::walk::Walk;

/// Wire: the array in the answer of a feed.
const ENVELOPE: &str = "Attachments";

impl ItemRequest<'_> {
    pub(super) async fn attachment(
        &self,
        item: &str,
        action: AttachmentAction,
    ) -> Result<Outcome, Failed> {
        let owner = self.place(item).map_err(|error| self.fail(error))?;
        match action {
            AttachmentAction::Create { content, is_upsert } => {
                self.check_all_granted().map_err(|error| self.fail(error))?;
                let content = content_of(content, None).map_err(|error| self.fail(error))?;
                let op = if is_upsert {
                    AttachmentOp::Upsert(content)
                } else {
                    AttachmentOp::Create(content)
                };
                self.apply_attachment(owner, op).await
            }
            AttachmentAction::Read { id } => {
                let id = self.attachment_id(&owner, &id).map_err(|error| self.fail(error))?;
                self.read_attachment(&owner, &id)
            }
            AttachmentAction::Replace { id, content } => {
                let id = self.attachment_id(&owner, &id).map_err(|error| self.fail(error))?;
                let content = content_of(content, Some(&id)).map_err(|error| self.fail(error))?;
                self.apply_attachment(owner, AttachmentOp::Replace { id, content }).await
            }
            AttachmentAction::Delete { id } => {
                let id = self.attachment_id(&owner, &id).map_err(|error| self.fail(error))?;
                self.apply_attachment(owner, AttachmentOp::Delete { id }).await
            }
            AttachmentAction::List => {
                self.check_all_granted().map_err(|error| self.fail(error))?;
                self.list_attachments(&owner)
            }
            AttachmentAction::Query { query } => {
                self.check_all_granted().map_err(|error| self.fail(error))?;
                self.query_attachments(&owner, &query)
            }
        }
    }

    pub(super) async fn media(&self, rid: Rid, action: MediaAction) -> Result<Outcome, Failed> {
        let found = self.find_attachment(&rid).and_then(|found| found.ok_or(Error::NotFound));
        let found = found.map_err(|error| self.fail(error))?;
        let FoundAttachment { at, item, id } = found;
        let owner = ItemAddress { at, id: item };
        self.allowed.check_key(Some(&owner.at.key)).map_err(|error| self.fail(error))?;
        let item_rid = rid.split_attachment().map(|(item, _)| item.to_string()).unwrap_or_default();
        self.check_granted(&item_rid, &owner)
            .and_then(|()| self.check_granted_attachment(&owner, &id))
            .map_err(|error| self.fail(error))?;
        match action {
            MediaAction::Read => self.see_media(&owner, id, true),
            MediaAction::Head => self.see_media(&owner, id, false),
            MediaAction::Replace { content_type, bytes } => {
                let media = Media { content_type, bytes };
                self.apply_attachment(owner, AttachmentOp::ReplaceMedia { id, media }).await.map(
                    |outcome| Outcome {
                        // Wire: media answers with media or nothing; its attachment is another resource.
                        body: Body::Empty,
                        ..outcome
                    },
                )
            }
        }
    }

    fn read_attachment(&self, owner: &ItemAddress, id: &str) -> Result<Outcome, Failed> {
        let range = self.route(&owner.at).map_err(|error| self.fail(error))?;
        self.check_session(range).map_err(|error| self.fail_at(range, error))?;
        let lsn = range.partition.lsn();
        let if_none_match = self.options.if_none_match.as_deref();
        let outcome = range
            .partition
            .read_attachment(&owner.at, &owner.id, id, if_none_match)
            .map_err(|error| self.fail_at(range, error))?;
        Ok(self.attachment_answer(owner, range, outcome, lsn))
    }

    /// Media, or what is known of it without its bytes.
    fn see_media(
        &self,
        owner: &ItemAddress,
        name: String,
        wants_bytes: bool,
    ) -> Result<Outcome, Failed> {
        let range = self.route(&owner.at).map_err(|error| self.fail(error))?;
        self.check_session(range).map_err(|error| self.fail_at(range, error))?;
        let lsn = range.partition.lsn();
        let fail = |error| self.fail_at(range, error);
        let told = range.partition.media_facts(&owner.at, &owner.id, &name).map_err(fail)?;
        let MediaFacts { content_type, n_bytes, etag, charge } = told;
        let known = self.options.if_none_match.as_deref();
        let (status, charge, etag, body) = if known.is_some_and(|header| etag.matches(header)) {
            (Status::NOT_MODIFIED, partition::charge::nothing(), etag, Body::Empty)
        } else if wants_bytes {
            let media = range.partition.read_media(&owner.at, &owner.id, &name).map_err(fail)?;
            let FoundMedia { content_type, bytes, etag, charge } = media;
            (Status::OK, charge, etag, Body::Media { content_type, name, bytes })
        } else {
            (Status::OK, charge, etag, Body::MediaHead { content_type, name, n_bytes })
        };
        let (etag, media) = (Some(etag), Some(self.inner.media_usage()));
        let facts = Facts { charge, etag, media, ..self.facts_of(range.id(), lsn) };
        Ok(self.below_item(owner, Outcome { status, body, facts }))
    }

    async fn apply_attachment(
        &self,
        owner: ItemAddress,
        op: AttachmentOp,
    ) -> Result<Outcome, Failed> {
        let range = self.route(&owner.at).map_err(|error| self.fail(error))?;
        // Held until the commit is counted.
        let _room =
            self.media_room(range, &owner, &op).map_err(|error| self.fail_at(range, error))?;
        let is_media = media_of(&op).is_some();
        let call = AttachmentCall {
            item: owner.id.clone(),
            op,
            if_match: self.options.if_match.clone(),
            if_none_match: self.options.if_none_match.clone(),
        };
        let applied = range.partition.apply_attachment(&owner.at, call).await;
        let applied = applied.map_err(|error| self.fail_at(range, error))?;
        let mut outcome = self.attachment_answer(&owner, range, applied.outcome, applied.lsn);
        outcome.facts.media = is_media.then(|| self.inner.media_usage());
        Ok(outcome)
    }

    /// Room in the account for the media that an operation brings; `None` for one that brings none.
    fn media_room(
        &self,
        range: &Range,
        owner: &ItemAddress,
        op: &AttachmentOp,
    ) -> Result<Option<crate::media::Room>> {
        let Some((id, media)) = media_of(op) else { return Ok(None) };
        let n_bytes = media.bytes.len() as u64;
        let old_bytes = range.partition.media_bytes(&owner.at, &owner.id, id)?;
        self.inner.reserve_media(n_bytes, old_bytes).map(Some)
    }

    fn list_attachments(&self, owner: &ItemAddress) -> Result<Outcome, Failed> {
        let range = self.route(&owner.at).map_err(|error| self.fail(error))?;
        self.check_session(range).map_err(|error| self.fail_at(range, error))?;
        let lsn = range.partition.lsn();
        let tokens = self.continuations(Kind::Attachments, scope(owner, ""), 0);
        let after = self.options.continuation.as_deref().map(|token| {
            let number = tokens.read_number(token)?;
            u32::try_from(number).map_err(|_| Error::ContinuationInvalid)
        });
        let after = after.transpose().map_err(|error| self.fail(error))?;
        let limits = PageLimits { items_max: self.items_max(), bytes_max: PAGE_BYTES_MAX };
        let page = range
            .partition
            .attachments(&owner.at, &owner.id, after, limits)
            .map_err(|error| self.fail_at(range, error))?;
        let facts = Facts {
            charge: page.charge,
            n_items: u64::try_from(page.attachments.len()).ok(),
            continuation: page.next.map(|next| tokens.write_number(next.into())),
            ..self.facts_of(range.id(), lsn)
        };
        let owner_rid: Arc<str> = page.item.to_string().into();
        let body = Body::Feed { owner_rid, envelope: ENVELOPE, rows: page.attachments };
        Ok(self.below_item(owner, Outcome { status: Status::OK, body, facts }))
    }

    fn query_attachments(&self, owner: &ItemAddress, query: &QueryText) -> Result<Outcome, Failed> {
        let range = self.route(&owner.at).map_err(|error| self.fail(error))?;
        self.check_session(range).map_err(|error| self.fail_at(range, error))?;
        let lsn = range.partition.lsn();
        let source = range
            .partition
            .attachment_source(&owner.at, &owner.id)
            .map_err(|error| self.fail_at(range, error))?;
        let (page, continuation) = self
            .run_attachment_query(&source, owner, query)
            .map_err(|error| self.fail_at(range, error))?;
        let rows: Vec<Bytes> =
            page.rows.into_iter().map(|row| row.into_value().to_text().into()).collect();
        let asked = partition::charge::Asked { has_key: true, calls_functions: false };
        let facts = Facts {
            charge: partition::charge::query(&page.metrics, asked),
            n_items: u64::try_from(rows.len()).ok(),
            continuation,
            scan: Some(Scan::Forward),
            ..self.facts_of(range.id(), lsn)
        };
        let owner_rid: Arc<str> = source.item().to_string().into();
        let body = Body::Feed { owner_rid, envelope: ENVELOPE, rows };
        Ok(self.below_item(owner, Outcome { status: Status::OK, body, facts }))
    }

    fn run_attachment_query(
        &self,
        source: &AttachmentSource,
        owner: &ItemAddress,
        query: &QueryText,
    ) -> Result<(query::Page, Option<String>)> {
        let mut options = PrepareOptions::new(self.inner.env().clone());
        options.memory = Some(Arc::clone(&self.inner.query_memory));
        options.resume_filter =
            query.resume_filter.as_ref().map(ResumeFilter::from_wire).transpose()?;
        let statement = Statement::prepare(&query.text, &query.parameters, &options)?;
        let tokens = || self.continuations(Kind::Attachments, scope(owner, &query.text), 0);
        let position = match &self.options.continuation {
            Some(token) => {
                let walk: Walk<Option<String>> = tokens().read(token)?;
                walk.cursors.into_iter().next().and_then(|cursor| cursor.position)
            }
            None => None,
        };
        let request = PageRequest {
            items_max: self.items_max(),
            bytes_max: PAGE_BYTES_MAX,
            deadline: Some(self.inner.env().monotonic() + PAGE_TIME),
            may_wait: true,
            continuation: position.as_deref(),
        };
        let mut page = run_blocking(|| statement.run(source, &request))?;
        let walk = match page.continuation.take() {
            Some(position) => Walk::start(model::EpkRange::full(), Some(position)),
            None => Walk::done(),
        };
        let continuation = self.write_continuation(tokens, &walk)?;
        Ok((page, continuation))
    }

    /// The id of the attachment of a path, which is a rid where the item's is one.
    fn attachment_id(&self, owner: &ItemAddress, text: &str) -> Result<String> {
        let id = if self.is_by_rid {
            let found = Rid::parse(text).map(|rid| self.find_attachment(&rid)).transpose()?;
            let found = found.flatten().filter(|found| is_at(found, owner));
            found.ok_or(Error::NotFound)?.id
        } else {
            text.to_owned()
        };
        self.check_granted_attachment(owner, &id)?;
        Ok(id)
    }

    /// Items keep their number, and attachments theirs, when ranges split: look into every range.
    fn find_attachment(&self, rid: &Rid) -> Result<Option<FoundAttachment>> {
        let is_here = rid.container_rid() == Some(self.container.record().rid);
        let Some((item, number)) = rid.split_attachment().filter(|_| is_here) else {
            return Ok(None);
        };
        let Some(item) = item.ordinal() else { return Ok(None) };
        for range in self.container.ranges.iter() {
            if let Some(found) = range.partition.find_attachment(item, number)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// A grant on one attachment covers that attachment only, however it is named here and there.
    fn check_granted_attachment(&self, owner: &ItemAddress, id: &str) -> Result<()> {
        let granted = self.allowed.item.as_ref();
        let Some(granted) = granted.filter(|granted| granted.attachment.is_some()) else {
            return Ok(());
        };
        let text = granted.attachment.as_deref().unwrap_or_default();
        let is_same = if granted.is_by_rid {
            let found = Rid::parse(text).map(|rid| self.find_attachment(&rid)).transpose()?;
            found.flatten().is_some_and(|found| is_at(&found, owner) && found.id == id)
        } else {
            text == id
        };
        if is_same { Ok(()) } else { Err(Error::Forbidden) }
    }

    /// Refuses feeds and creates to a grant on one attachment.
    fn check_all_granted(&self) -> Result<()> {
        match &self.allowed.item {
            Some(granted) if granted.attachment.is_some() => Err(Error::Forbidden),
            Some(_) | None => Ok(()),
        }
    }

    fn attachment_answer(
        &self,
        owner: &ItemAddress,
        range: &Range,
        outcome: ItemOutcome,
        lsn: Lsn,
    ) -> Outcome {
        let facts = Facts {
            charge: outcome.charge,
            etag: outcome.etag,
            item_lsn: outcome.item_lsn,
            ..self.facts_of(range.id(), lsn)
        };
        let body = outcome.body.map_or(Body::Empty, Body::Resource);
        self.below_item(owner, Outcome { status: outcome.status, body, facts })
    }

    /// Names the item as the owner of what was answered.
    fn below_item(&self, owner: &ItemAddress, mut outcome: Outcome) -> Outcome {
        outcome.facts.owner_path =
            Some(format!("{}/docs/{}", self.container.name_path, owner.id).into());
        outcome
    }
}

fn is_at(found: &FoundAttachment, owner: &ItemAddress) -> bool {
    found.item == owner.id && found.at.key == owner.at.key
}

/// What a continuation is for, beside its container.
fn scope(owner: &ItemAddress, query: &str) -> Vec<u8> {
    let Logical { epk, .. } = &owner.at;
    [epk.as_bytes(), b"\0", owner.id.as_bytes(), b"\0", query.as_bytes()].concat()
}

/// The media that an operation brings, and the attachment it is for.
fn media_of(op: &AttachmentOp) -> Option<(&str, &Media)> {
    match op {
        AttachmentOp::Create(AttachmentContent::Media { id, media })
        | AttachmentOp::Upsert(AttachmentContent::Media { id, media })
        | AttachmentOp::Replace { content: AttachmentContent::Media { id, media }, .. }
        | AttachmentOp::ReplaceMedia { id, media } => Some((id, media)),
        _ => None,
    }
}

/// Checks what a client sent. Media without a name of its own takes that of what it replaces.
fn content_of(input: AttachmentInput, id: Option<&str>) -> Result<AttachmentContent> {
    Ok(match input {
        AttachmentInput::Json(bytes) => AttachmentContent::Json(AttachmentBody::parse(&bytes)?),
        AttachmentInput::Media { slug, content_type, bytes } => {
            let named = slug.or_else(|| id.map(str::to_owned));
            let id = named.ok_or(Error::PropertyMissing { property: "slug" })?;
            AttachmentContent::media(id, Media { content_type, bytes })?
        }
    })
}
