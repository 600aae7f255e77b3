//! Read feed: items in creation order, range after range.
//!
//! Wire: a page has rows of one range, which its headers name. Ranges that have none are passed over on the way to it.

use std::borrow::Cow;

use bytes::Bytes;
use model::{Charge, Lsn, RangeId, Status};
use partition::PageLimits;

use super::ItemRequest;
use super::scope::FeedScope;
use crate::continuation::{self, Continuations, Kind, Position};
use crate::error::{Error, Result};
use crate::outcome::{Body, Facts, Failed, Outcome};
use crate::range_map::Range;
use crate::walk::{Cursor, Walk};

/// Wire: items of a page if the client does not say.
pub(super) const PAGE_ITEMS_DEFAULT: usize = 1000;
/// Limit: bytes of a page, the service's 4 MB.
pub(super) const PAGE_BYTES_MAX: usize = 4 << 20;

/// A page in the making: rows and where they came from.
#[derive(Debug)]
pub(super) struct Page<'r> {
    pub(super) rows: Vec<Bytes>,
    pub(super) charge: Charge,
    /// The range that the rows are of, or the last that had none.
    pub(super) served: Option<(RangeId, Lsn)>,
    /// What each range charged.
    charges: Vec<(&'r Range, Charge)>,
    items_max: usize,
}

impl<'r> Page<'r> {
    pub(super) fn new(items_max: usize) -> Page<'r> {
        Page {
            rows: Vec::new(),
            charge: Charge::ZERO,
            served: None,
            charges: Vec::new(),
            items_max,
        }
    }

    pub(super) fn limits(&self) -> PageLimits {
        PageLimits { items_max: self.items_max, bytes_max: PAGE_BYTES_MAX }
    }

    pub(super) fn add(&mut self, range: &'r Range, rows: Vec<Bytes>, charge: Charge) {
        self.rows = rows;
        self.charge += charge;
        self.charges.push((range, charge));
    }

    pub(super) fn serve(&mut self, range: &Range) {
        self.served = Some((range.id(), range.partition.lsn()));
    }
}

impl ItemRequest<'_> {
    pub(super) fn read_feed(&self) -> Result<Outcome, Failed> {
        let scope = self.scope().map_err(|error| self.fail(error))?;
        let tokens = || self.continuations(Kind::Items, &scope.text, scope.text.len());
        let mut walk: Walk<Option<u64>> =
            self.resume(tokens, &scope).map_err(|error| self.fail(error))?;
        let mut page = self.new_page(&scope);
        while let Some((cursor, range)) = walk.next(&self.container.ranges) {
            self.check_session(range).map_err(|error| self.fail_at(range, error))?;
            if self.is_throttled(range, &page)? {
                walk.cursors.push_front(cursor);
                break;
            }
            page.serve(range);
            let part = scope.within(range, &cursor.epks);
            let items = range
                .partition
                .page(&part, cursor.position, page.limits())
                .map_err(|error| self.fail_at(range, error))?;
            page.add(range, items.items, items.charge);
            if let Some(next) = items.next {
                walk.cursors.push_front(Cursor { epks: cursor.epks, position: Some(next) });
                break;
            }
            if !page.rows.is_empty() {
                break;
            }
        }
        let continuation =
            self.write_continuation(tokens, &walk).map_err(|error| self.fail(error))?;
        Ok(self.feed_answer(page, continuation))
    }

    /// The walk of a continuation, as far as it lies in the scope; a new one without it.
    ///
    /// Most requests neither bring a continuation nor get one: what reads and writes them is made when it is needed.
    pub(super) fn resume<'t, P: Position + Clone + Default>(
        &self,
        tokens: impl Fn() -> Continuations<'t>,
        scope: &FeedScope,
    ) -> Result<Walk<P>> {
        let walk = match &self.options.continuation {
            None => Walk::start(scope.epks.clone(), P::default()),
            // Nothing may be left here: a range that split after it had been merged of one that was read already.
            Some(token) => tokens().read(token)?.within(&scope.epks).unwrap_or_else(Walk::done),
        };
        Ok(if scope.is_empty { Walk::done() } else { walk })
    }

    /// A page without rows. A named range has served it even if it has nothing of the scope.
    pub(super) fn new_page(&self, scope: &FeedScope) -> Page<'_> {
        let mut page = Page::new(self.items_max());
        let named = self.range.and_then(|id| self.container.ranges.by_id(id));
        if let Some(range) = named.filter(|_| scope.is_empty) {
            page.serve(range);
        }
        page
    }

    pub(super) fn write_continuation<'t, P: Position + Clone>(
        &self,
        tokens: impl Fn() -> Continuations<'t>,
        walk: &Walk<P>,
    ) -> Result<Option<String>> {
        let Some(next) = walk.cursors.front() else { return Ok(None) };
        let mut token = tokens().write(walk);
        if self.range.is_none() {
            let range = self.container.ranges.route(next.epks.min());
            let is_first = self.options.continuation.is_none();
            token = continuation::in_range(&token, &range.entry.epks, is_first);
        }
        let kib_max = self.options.continuation_kib_max.filter(|kib| *kib > 0);
        match kib_max.and_then(|kib| usize::try_from(kib).ok()) {
            Some(kib) if token.len() > kib.saturating_mul(1024) => Err(Error::ContinuationTooLong),
            Some(_) | None => Ok(Some(token)),
        }
    }

    pub(super) fn continuations<'s>(
        &self,
        kind: Kind,
        scope: impl Into<Cow<'s, [u8]>>,
        key_bytes: usize,
    ) -> Continuations<'s> {
        let (sealer, owner) = (self.inner.catalog.sealer(), Some(self.container.record().rid));
        Continuations { sealer, kind, owner, scope: scope.into(), key_bytes }
    }

    pub(super) fn items_max(&self) -> usize {
        let items_max = self.options.items_max.filter(|items| *items > 0);
        items_max.map_or(PAGE_ITEMS_DEFAULT, |items| usize::try_from(items).unwrap_or(usize::MAX))
    }

    /// Says whether a page must end before `range` because its throughput is used up. A page that has nothing yet
    /// is refused.
    pub(super) fn is_throttled(&self, range: &Range, page: &Page<'_>) -> Result<bool, Failed> {
        match self.admit(range) {
            Ok(()) => Ok(false),
            Err(Error::Throttled { .. }) if page.served.is_some() => Ok(true),
            Err(error) => Err(self.fail_at(range, error)),
        }
    }

    pub(super) fn feed_answer(&self, page: Page<'_>, continuation: Option<String>) -> Outcome {
        let now = self.inner.env().monotonic();
        let at = self.key.as_ref().and_then(|_| self.logical().ok());
        let n_replicas = self.n_replicas_read();
        for (range, charge) in &page.charges {
            self.record(now, range, at.as_ref(), *charge * n_replicas);
        }
        let facts = match page.served {
            Some((range, lsn)) => self.facts_of(range, lsn),
            None => self.facts(),
        };
        let facts = Facts {
            charge: page.charge,
            n_items: u64::try_from(page.rows.len()).ok(),
            continuation,
            ..facts
        };
        let owner_rid = self.container.rid_text.clone();
        let body = Body::Feed { owner_rid, envelope: "Documents", rows: page.rows };
        Outcome { status: Status::OK, body, facts }
    }
}
