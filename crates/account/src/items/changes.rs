//! Change feed: what changed since a position, in LSN order within a range.
//!
//! Wire: The position of one range or one key is its LSN in quotes, which children of a
//! split inherit; of a range it may have the span beside it that it holds in ([`SpanPosition`]). The position of a
//! whole container is a sealed walk with one LSN per range, in quotes too.

use model::{ETag, EpkRange, Lsn, Status};

use super::ItemRequest;
use super::feed::Page;
use super::scope::FeedScope;
use super::span_position::SpanPosition;
use crate::continuation::Kind;
use crate::error::{Error, Result};
use crate::operation::{FeedMode, FeedStart};
use crate::outcome::{Body, Facts, Failed, Outcome};
use crate::walk::{Cursor, Walk};

impl ItemRequest<'_> {
    pub(super) fn change_feed(&self, mode: FeedMode, start: &FeedStart) -> Result<Outcome, Failed> {
        self.check_mode(mode, start).map_err(|error| self.fail(error))?;
        let scope = self.scope().map_err(|error| self.fail(error))?;
        let walk = self.positions(&scope, start).map_err(|error| self.fail(error))?;
        let (page, walk) = self.collect(mode, start, &scope, walk)?;
        let etag = self.position_etag(&scope, start, &walk);
        let is_empty = page.rows.is_empty();
        let mut outcome = self.feed_answer(page, None);
        outcome.facts = Facts { etag: Some(etag), ..outcome.facts };
        if is_empty && !walk.has_more {
            outcome.status = Status::NOT_MODIFIED;
            outcome.body = Body::Empty;
        }
        Ok(outcome)
    }

    fn check_mode(&self, mode: FeedMode, start: &FeedStart) -> Result<()> {
        if mode == FeedMode::LatestVersion {
            return Ok(());
        }
        let retention = self.container.properties.version_retention;
        if retention.or(self.inner.options().version_retention).is_none() {
            return Err(Error::VersionsDisabled);
        }
        let has_position = start.after.is_some() || start.is_now;
        if has_position && start.later_than_seconds.is_none() {
            Ok(())
        } else {
            Err(Error::VersionsStart)
        }
    }

    /// Where to start in every range of the scope.
    fn positions(&self, scope: &FeedScope, start: &FeedStart) -> Result<Walk<Option<u64>>> {
        let walk = match &start.after {
            Some(etag) => self.read_position(scope, etag)?,
            None => Walk::start(scope.epks.clone(), None),
        };
        let walk = if scope.is_empty { Walk::done() } else { walk };
        let mut walk = walk.by_range(&self.container.ranges);
        if start.after.is_some() {
            return Ok(walk);
        }
        let is_several = walk.cursors.len() > 1;
        for cursor in &mut walk.cursors {
            let partition = &self.container.ranges.route(cursor.epks.min()).partition;
            cursor.position = match start.later_than_seconds {
                _ if start.is_now => Some(partition.lsn().0),
                // A range that is not reached by this page begins at the same time in a later one, which has only
                // positions to go by.
                Some(seconds) if is_several => Some(partition.position_at(seconds)?.0),
                Some(_) | None => None,
            };
        }
        Ok(walk)
    }

    fn read_position(&self, scope: &FeedScope, etag: &str) -> Result<Walk<Option<u64>>> {
        let text = etag.trim().trim_matches('"');
        if let Ok(lsn) = text.parse::<u64>() {
            return Ok(Walk::start(scope.epks.clone(), Some(lsn)));
        }
        let invalid = || Error::FeedPositionInvalid(etag.chars().take(64).collect());
        if let Some(SpanPosition { lsn, epks }) = SpanPosition::parse(text) {
            let walk = Walk::start(epks, Some(lsn));
            return walk.within(&scope.epks).ok_or_else(invalid);
        }
        let tokens = self.continuations(Kind::Changes, &[][..], 0);
        let walk: Walk<Option<u64>> = tokens.read(text).map_err(|_| invalid())?;
        walk.within(&scope.epks).ok_or_else(invalid)
    }

    fn collect(
        &self,
        mode: FeedMode,
        start: &FeedStart,
        scope: &FeedScope,
        mut walk: Walk<Option<u64>>,
    ) -> Result<(Page<'_>, Positions), Failed> {
        let mut page = self.new_page(scope);
        let mut done = Vec::new();
        let mut has_more = false;
        while let Some((cursor, range)) = walk.next(&self.container.ranges) {
            self.check_session(range).map_err(|error| self.fail_at(range, error))?;
            if self.is_throttled(range, &page)? {
                walk.cursors.push_front(cursor);
                break;
            }
            page.serve(range);
            let part = scope.within(range, &cursor.epks);
            let after = cursor.position.map(Lsn);
            let (partition, room) = (&range.partition, page.limits());
            let later_than = start.later_than_seconds;
            let changes = match mode {
                FeedMode::LatestVersion if start.in_envelopes => {
                    partition.changes_in_envelopes(&part, after, later_than, room)
                }
                FeedMode::LatestVersion => partition.changes(&part, after, later_than, room),
                FeedMode::AllVersionsAndDeletes => {
                    partition.versions(&part, after.unwrap_or(Lsn::ZERO), room)
                }
            };
            let changes = changes.map_err(|error| self.fail_at(range, error))?;
            has_more |= changes.has_more;
            let position = Some(changes.lsn.0);
            page.add(range, changes.items, changes.charge);
            done.push(Cursor { epks: cursor.epks, position });
            if !page.rows.is_empty() {
                break;
            }
        }
        // Ranges not reached come first next time, so that a busy one does not keep the others waiting.
        has_more |= !walk.cursors.is_empty();
        walk.cursors.extend(done);
        Ok((page, Positions { walk, has_more }))
    }

    fn position_etag(&self, scope: &FeedScope, start: &FeedStart, positions: &Positions) -> ETag {
        // What the range does not have, it never will: any position is as good.
        if scope.is_empty {
            return ETag::from_text("0");
        }
        let cursors = &positions.walk.cursors;
        // Wire: as long as there is one range, the whole container has a number like it; Python reads nothing else.
        let is_one_range = self.container.ranges.len() == 1 && self.epks.is_none();
        match (is_one_range || scope.is_single(self), cursors.front()) {
            (true, Some(cursor)) if cursors.len() == 1 => {
                let lsn = cursor.position.unwrap_or(0);
                if self.needs_span(scope, start, &cursor.epks) {
                    let position = SpanPosition { lsn, epks: cursor.epks.clone() };
                    return ETag::from_text(&position.to_string());
                }
                ETag::from_text(&lsn.to_string())
            }
            _ => {
                let tokens = self.continuations(Kind::Changes, &[][..], 0);
                ETag::from_text(&tokens.write(&positions.walk))
            }
        }
    }

    /// Says whether a position has to name its span.
    ///
    /// Wire: a client that follows merges goes on with the position of each parent. Most then name the part of the merged
    /// range that the position is for; Go names the range alone, and each position would read all of it. Who does not
    /// follow merges may put one position in the place of two, and must not be held to a part.
    fn needs_span(&self, scope: &FeedScope, start: &FeedStart, epks: &EpkRange) -> bool {
        let names_range_only = scope.logical.is_none() && self.epks.is_none();
        let came_with_span = *epks != scope.epks;
        let can_grow = scope.epks != EpkRange::full();
        names_range_only && (came_with_span || start.follows_merges && can_grow)
    }
}

/// Where every range of a feed stands.
#[derive(Debug)]
struct Positions {
    walk: Walk<Option<u64>>,
    has_more: bool,
}
