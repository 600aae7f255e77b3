//! Latest-version feed: each live item once, at the place of its last write.

use std::io::Write as _;

use bytes::Bytes;
use model::Lsn;

use crate::keys::{CommitPosition, Keys, moment_of};
use crate::partition::Partition;
use crate::reader::{Reader, ScopeFilter};
use crate::record::{Change, Head};
use crate::scan::SCANNED_MAX;
use crate::{ChangePage, Error, PageLimits, Result, Scope, charge};

impl Partition {
    /// Returns the items of the scope written after commit `after`; without one, at a later second than the one given,
    /// or all.
    ///
    /// Wire: a position wins over a time. In the part that was merged from several feeds, which is in no order of time,
    /// the time holds beside it: what a feed that began there has to pass over stands between the changes that it tells.
    pub fn changes(
        &self,
        scope: &Scope,
        after: Option<Lsn>,
        later_than_seconds: Option<u64>,
        limits: PageLimits,
    ) -> Result<ChangePage> {
        self.latest(scope, after, later_than_seconds, limits, |item, _, _| item)
    }

    /// The same, each item in the envelope that it has in the feed of all versions: `{"current":…,"metadata":…}`.
    pub fn changes_in_envelopes(
        &self,
        scope: &Scope,
        after: Option<Lsn>,
        later_than_seconds: Option<u64>,
        limits: PageLimits,
    ) -> Result<ChangePage> {
        self.latest(scope, after, later_than_seconds, limits, |item, lsn, ts| {
            envelope(&item, lsn, ts)
        })
    }

    fn latest(
        &self,
        scope: &Scope,
        after: Option<Lsn>,
        later_than_seconds: Option<u64>,
        limits: PageLimits,
        form: impl Fn(Bytes, Lsn, u32) -> Bytes,
    ) -> Result<ChangePage> {
        let reader = self.reader();
        let head = reader.head()?;
        let end = head.lsn;
        self.has_seen(end);
        let scope = ScopeFilter::new(scope, &reader.settings);
        let after = match (after, later_than_seconds) {
            (Some(after), _) => after,
            (None, Some(seconds)) => reader.last_not_later_than(seconds, &head)?,
            (None, None) => Lsn::ZERO,
        };
        let mut page = Page::new(after, limits);
        let mut is_cut = false;
        for entry in reader.scan(reader.keys.changes(after)) {
            let (key, value) = entry?;
            let lsn = moment_of(&key)?.lsn;
            if !page.goes_on_with(lsn) {
                is_cut = true;
                break;
            }
            let Change { number, ts } = Change::decode(&value)?;
            if lsn <= head.merged && later_than_seconds.is_some_and(|start| u64::from(ts) <= start)
            {
                continue;
            }
            let record = reader.item(number)?.ok_or(Error::Corrupt("a feed entry is no item"))?;
            if reader.shows(&scope, &record)? {
                let item = reader.render(number, &record, Some(lsn));
                page.add(form(item, lsn, ts), record.text().len());
            }
        }
        Ok(page.finish(if is_cut { None } else { Some(end) }))
    }

    /// The position of a feed that begins after a second: every change behind it came later, but for those in the part that
    /// was merged from several feeds.
    pub fn position_at(&self, seconds: u64) -> Result<Lsn> {
        let reader = self.reader();
        reader.last_not_later_than(seconds, &reader.head()?)
    }
}

/// Wire: what happened to the item is not told here, only when.
fn envelope(item: &[u8], lsn: Lsn, ts: u32) -> Bytes {
    let mut entry = Vec::with_capacity(item.len() + 64);
    entry.extend_from_slice(b"{\"current\":");
    entry.extend_from_slice(item);
    // Writing to a vector cannot fail. Wire: zero is no time.
    let _ = write!(entry, ",\"metadata\":{{\"lsn\":{lsn},\"crts\":{}}}}}", ts.max(1));
    entry.into()
}

/// A page that grows commit by commit.
pub(super) struct Page {
    items: Vec<Bytes>,
    sizes: Vec<usize>,
    n_bytes: usize,
    n_scanned: usize,
    /// The last commit that is in the page whole.
    done: Lsn,
    /// The commit being read, and what is known of it so far.
    lsn: Lsn,
    group: Vec<(Bytes, usize)>,
    limits: PageLimits,
}

impl Page {
    pub(super) fn new(after: Lsn, limits: PageLimits) -> Page {
        Page {
            items: Vec::new(),
            sizes: Vec::new(),
            n_bytes: 0,
            n_scanned: 0,
            done: after,
            lsn: after,
            group: Vec::new(),
            limits,
        }
    }

    /// Says whether an entry of commit `lsn` still belongs to the page. Always true inside a commit.
    pub(super) fn goes_on_with(&mut self, lsn: Lsn) -> bool {
        if lsn != self.lsn {
            let is_full = !self.close_commit()
                || self.items.len() >= self.limits.items_max.max(1)
                || self.n_scanned >= SCANNED_MAX;
            if is_full {
                return false;
            }
            self.lsn = lsn;
        }
        self.n_scanned += 1;
        true
    }

    pub(super) fn add(&mut self, item: Bytes, size: usize) {
        self.group.push((item, size));
    }

    /// Takes the commit into the page, if there is room for the whole of it.
    fn close_commit(&mut self) -> bool {
        let n_bytes: usize = self.group.iter().map(|(item, _)| item.len()).sum();
        if !self.items.is_empty() && self.n_bytes + n_bytes > self.limits.bytes_max {
            return false;
        }
        self.n_bytes += n_bytes;
        for (item, size) in self.group.drain(..) {
            self.items.push(item);
            self.sizes.push(size);
        }
        self.done = self.lsn;
        true
    }

    /// `end` is where the feed ends now, if everything up to there was added.
    pub(super) fn finish(mut self, end: Option<Lsn>) -> ChangePage {
        let end = end.filter(|_| self.close_commit());
        ChangePage {
            charge: charge::page(self.sizes),
            items: self.items,
            lsn: end.map_or(self.done, |end| end.max(self.done)),
            has_more: end.is_none(),
        }
    }
}

impl Reader {
    /// The last commit at or below `seconds`.
    ///
    /// Time never runs backwards along the feed, so a binary search over LSNs finds it with a few seeks. The part that
    /// was merged from several feeds is no such order: if the time lies there, all of it is read and filtered.
    pub(crate) fn last_not_later_than(&self, seconds: u64, head: &Head) -> Result<Lsn> {
        if head.merged > Lsn::ZERO {
            let first = self.first_change_after(head.merged)?;
            if first.is_none_or(|(_, ts)| u64::from(ts) > seconds) {
                return Ok(Lsn::ZERO);
            }
        }
        let (mut low, mut high) = (head.merged.0, head.lsn.max(head.merged).0);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.first_change_after(Lsn(middle))? {
                Some((moment, ts)) if u64::from(ts) <= seconds => low = moment.lsn.0.min(high),
                Some(_) | None => high = middle,
            }
        }
        Ok(Lsn(low))
    }

    fn first_change_after(&self, lsn: Lsn) -> Result<Option<(CommitPosition, u32)>> {
        let keys: Keys = self.keys;
        let Some(entry) = self.scan(keys.changes(lsn)).next() else { return Ok(None) };
        let (key, value) = entry?;
        Ok(Some((moment_of(&key)?, Change::decode(&value)?.ts)))
    }
}
