//! The index as queries see it: one snapshot, one scope.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use model::Lsn;
use parking_lot::Mutex;
use query::index::{Declared, IndexPath, PATH_BYTES_MAX, PathStep, TermSpan};
use query::{Direction, Entries, IndexEntry, ItemIndex, Numbers, SourceItem};
use store::Snapshot;

use super::rules::IndexState;
use super::times::TIME_PATH;
use crate::keys::{number_of_item, number_of_term, term_of};
use crate::reader::{Reader, ScopeFilter};
use crate::record::{Head, PathRecord};
use crate::source::PartitionSource;
use crate::{Error, Result};

// Limit: items of a partition up to which those without a path are found by elimination; eight bytes each.
const ELIMINATED_MAX: u64 = 4_000_000;

// Limit: numbers of paths that are remembered of a snapshot.
const NUMBERS_MAX: usize = 64;

/// What was read last: between two commits all queries see one snapshot, and the state changes more seldom still.
pub(crate) type IndexSnapshotCache = Mutex<Option<Arc<IndexSnapshot>>>;

/// What a snapshot says of the index.
#[derive(Debug)]
pub(crate) struct IndexSnapshot {
    /// Only to be compared: a snapshot that nobody reads is not kept.
    snapshot: Weak<dyn Snapshot>,
    /// The stored form, whose policies take longer to parse than to compare.
    bytes: Bytes,
    state: Arc<IndexState>,
    n_items: u64,
    /// The mean length of their texts.
    item_bytes: u64,
    /// Some entries may be of items that queries do not find.
    has_hidden: bool,
    /// The paths that queries asked for.
    numbers: Mutex<HashMap<String, Option<u16>>>,
}

impl IndexSnapshot {
    /// Looks at the index, unless `last` did at the same snapshot; `None` when the partition has none.
    fn take(
        reader: &Reader,
        last: Option<&Arc<IndexSnapshot>>,
    ) -> Result<Option<Arc<IndexSnapshot>>> {
        let is_same = |last: &&Arc<IndexSnapshot>| {
            std::ptr::addr_eq(Weak::as_ptr(&last.snapshot), Arc::as_ptr(&reader.snapshot))
        };
        if let Some(last) = last.filter(is_same) {
            return Ok(Some(Arc::clone(last)));
        }
        let Head { n_items, bytes: text_bytes, has_hidden, .. } = reader.head()?;
        let bytes = reader.snapshot.get(&reader.keys.index_state())?;
        let state = match (&bytes, last) {
            (Some(bytes), Some(last)) if last.bytes == *bytes => Arc::clone(&last.state),
            (Some(bytes), _) => Arc::new(IndexState::decode(bytes)?),
            // Before its first item a partition has what its first item will bring.
            (None, _) if n_items == 0 => Arc::new(IndexState::new(&reader.settings.index_policy)),
            (None, _) => return Ok(None),
        };
        Ok(Some(Arc::new(IndexSnapshot {
            snapshot: Arc::downgrade(&reader.snapshot),
            bytes: bytes.unwrap_or_default(),
            state,
            n_items,
            item_bytes: text_bytes.checked_div(n_items).unwrap_or(0),
            has_hidden,
            numbers: Mutex::default(),
        })))
    }

    /// Returns the number of a path or declared index; `None` when no item has a term there.
    fn number(&self, reader: &Reader, path: &str) -> Result<Option<u16>> {
        if let Some(number) = self.numbers.lock().get(path) {
            return Ok(*number);
        }
        let number = path_record(reader, path)?.map(|record| record.number);
        let mut numbers = self.numbers.lock();
        if numbers.len() < NUMBERS_MAX {
            numbers.insert(path.to_owned(), number);
        }
        Ok(number)
    }
}

/// The index in one snapshot, for one scope.
#[derive(Debug)]
pub(crate) struct IndexView {
    look: Arc<IndexSnapshot>,
    n_items: Option<u64>,
    is_exact: bool,
    counts_exactly: bool,
}

impl IndexView {
    /// Looks at the index; `None` when the partition has none.
    pub(crate) fn open(
        reader: &Reader,
        scope: &ScopeFilter,
        is_whole: bool,
        cache: &IndexSnapshotCache,
    ) -> Result<Option<IndexView>> {
        let last = cache.lock().clone();
        let Some(look) = IndexSnapshot::take(reader, last.as_ref())? else { return Ok(None) };
        if last.is_none_or(|last| !Arc::ptr_eq(&last, &look)) {
            *cache.lock() = Some(Arc::clone(&look));
        }
        if look.state.rules.policy.is_none() {
            return Ok(None);
        }
        let n_items = match scope {
            _ if is_whole => Some(look.n_items),
            ScopeFilter::All | ScopeFilter::Epks(_) => None,
            ScopeFilter::LogicalPrefix(place) => Some(reader.n_items_of(place)?),
            ScopeFilter::Places { n_items, .. } => Some(*n_items),
        };
        let nothing_dies =
            reader.liveness.default_ttl.is_none() && reader.liveness.purges.is_empty();
        let shows_all = nothing_dies && !look.has_hidden;
        let (is_exact, counts_exactly) = (is_whole && shows_all, n_items.is_some() && shows_all);
        Ok(Some(IndexView { look, n_items, is_exact, counts_exactly }))
    }
}

/// Reads the record of a path.
fn path_record(reader: &Reader, path: &str) -> Result<Option<PathRecord>> {
    let record = reader.snapshot.get(&reader.keys.path(path))?;
    record.map(|bytes| PathRecord::decode(&bytes)).transpose()
}

/// Says whether a path is [`TIME_PATH`].
fn is_time(path: &IndexPath) -> bool {
    let name = TIME_PATH.trim_start_matches('/');
    matches!(path.steps(), [PathStep::Name(own)] if own == name)
}

fn store_direction(direction: Direction) -> store::Direction {
    match direction {
        Direction::Forward => store::Direction::Forward,
        Direction::Backward => store::Direction::Backward,
    }
}

fn failed(error: &Error) -> query::Error {
    query::Error::source(error)
}

impl PartitionSource {
    fn entries(
        &self,
        path: u16,
        span: &TermSpan,
        after: Option<(&[u8], u64)>,
        direction: Direction,
    ) -> impl Iterator<Item = Result<IndexEntry>> + '_ {
        let keys = self.reader.keys;
        let mut range = keys.terms(path, &span.start, &span.end);
        if let Some((term, number)) = after {
            let key = keys.term(path, term, number);
            range = match direction {
                Direction::Forward => range.after(&key),
                Direction::Backward => range.before(&key),
            };
        }
        let entries = self.reader.snapshot.scan(range, store_direction(direction));
        entries.map(|entry| {
            let (key, _) = entry?;
            Ok(IndexEntry { term: key.slice_ref(term_of(&key)?), number: number_of_term(&key)? })
        })
    }

    /// Finds the items without a path by leaving out those that have it.
    fn eliminated(
        &self,
        path: Option<u16>,
        after: Option<u64>,
        direction: Direction,
    ) -> Result<impl Iterator<Item = Result<u64>> + '_> {
        let mut with = Vec::new();
        if let Some(path) = path {
            for entry in self.entries(path, &TermSpan::defined(), None, Direction::Forward) {
                with.push(entry?.number);
            }
            with.sort_unstable();
        }
        let keys = self.reader.keys;
        let range = match (after, direction) {
            (Some(number), Direction::Backward) => keys.items(None).before(&keys.item(number)),
            (after, Direction::Forward) => keys.items(after),
            (None, Direction::Backward) => keys.items(None),
        };
        let items = self.reader.snapshot.scan(range, store_direction(direction));
        Ok(items.filter_map(move |entry| {
            let number = entry.map_err(Error::from).and_then(|(key, _)| number_of_item(&key));
            match number {
                Ok(number) => with.binary_search(&number).is_err().then_some(Ok(number)),
                Err(error) => Some(Err(error)),
            }
        }))
    }
}

impl ItemIndex for PartitionSource {
    fn covers(&self, path: &IndexPath) -> bool {
        let Some(view) = &self.index else { return false };
        // Wire: the time of the last write is indexed whatever the policy says.
        if is_time(path) {
            return self.reader.head().is_ok_and(|head| head.merged == Lsn::ZERO);
        }
        if !view.look.state.rules.covers(path) {
            return false;
        }
        let has_room = view.look.state.n_paths < u16::MAX;
        if has_room && path.text_bytes_max() <= PATH_BYTES_MAX {
            return true;
        }
        // When the dictionary of paths is full, only those in it are indexed.
        let text = path.to_string();
        text.len() <= PATH_BYTES_MAX
            && (has_room || path_record(&self.reader, &text).is_ok_and(|record| record.is_some()))
    }

    fn declared(&self) -> Vec<(&str, &Declared)> {
        let Some(view) = &self.index else { return Vec::new() };
        let mut declared = view.look.state.rules.declared();
        // When the dictionary of names is full, only those in it are indexed.
        if view.look.state.n_paths == u16::MAX {
            let is_known = |name| path_record(&self.reader, name).is_ok_and(|own| own.is_some());
            declared.retain(|(name, _)| is_known(name));
        }
        declared
    }

    fn seek_in(
        &self,
        name: &str,
        span: &TermSpan,
        after: Option<(&[u8], u64)>,
        direction: Direction,
    ) -> Entries<'_> {
        if name == TIME_PATH {
            return match self.reader.times(span, after, direction) {
                Ok(entries) => Box::new(entries.map(|entry| entry.map_err(|error| failed(&error)))),
                Err(error) => Box::new(std::iter::once(Err(failed(&error)))),
            };
        }
        let Some(view) = &self.index else { return Box::new(std::iter::empty()) };
        match view.look.number(&self.reader, name) {
            Ok(None) => Box::new(std::iter::empty()),
            Ok(Some(number)) => {
                let entries = self.entries(number, span, after, direction);
                Box::new(entries.map(|entry| entry.map_err(|error| failed(&error))))
            }
            Err(error) => Box::new(std::iter::once(Err(failed(&error)))),
        }
    }

    fn fetch(&self, number: u64) -> query::Result<Option<SourceItem>> {
        self.find(number).map_err(|error| failed(&error))
    }

    fn prefetch(&self, numbers: &[u64]) {
        let keys: Vec<_> = numbers.iter().map(|it| self.reader.keys.item_array(*it)).collect();
        self.reader.snapshot.prefetch(&keys.iter().map(AsRef::as_ref).collect::<Vec<_>>());
    }

    fn without(
        &self,
        path: &IndexPath,
        after: Option<u64>,
        direction: Direction,
    ) -> Option<Numbers<'_>> {
        let view = self.index.as_ref()?;
        let text = path.to_string();
        if text == TIME_PATH {
            return Some(Box::new(std::iter::empty()));
        }
        let record = path_record(&self.reader, &text).ok()?;
        let number = record.as_ref().map(|record| record.number);
        let list = record.filter(|record| record.epoch == view.look.state.epoch);
        if let Some(mut absent) = list.and_then(|record| record.absent) {
            let is_later = |number: &u64| match direction {
                Direction::Forward => after.is_none_or(|after| *number > after),
                Direction::Backward => after.is_none_or(|after| *number < after),
            };
            absent.retain(is_later);
            if direction == Direction::Backward {
                absent.reverse();
            }
            return Some(Box::new(absent.into_iter().map(Ok)));
        }
        if self.reader.head().ok()?.n_items > ELIMINATED_MAX {
            return None;
        }
        // Made only when the first number is asked for: an order that descends rarely gets that far.
        let made = std::iter::once_with(move || self.eliminated(number, after, direction));
        Some(Box::new(made.flat_map(|numbers| -> Numbers<'_> {
            match numbers {
                Ok(numbers) => Box::new(numbers.map(|n| n.map_err(|error| failed(&error)))),
                Err(error) => Box::new(std::iter::once(Err(failed(&error)))),
            }
        })))
    }

    fn each_packed(
        &self,
        name: &str,
        visit: &mut dyn FnMut(u64, &[u8]) -> bool,
    ) -> query::Result<()> {
        let mut walk = || -> Result<()> {
            let Some(record) = path_record(&self.reader, name)? else { return Ok(()) };
            let range = self.reader.keys.terms_of(record.number);
            for entry in self.reader.scan(range) {
                let (key, packed) = entry?;
                if !visit(number_of_term(&key)?, &packed) {
                    break;
                }
            }
            Ok(())
        };
        walk().map_err(|error| failed(&error))
    }

    fn n_items(&self) -> Option<u64> {
        self.index.as_ref()?.n_items
    }

    fn n_indexed(&self) -> Option<u64> {
        Some(self.index.as_ref()?.look.n_items)
    }

    fn item_bytes(&self) -> u64 {
        self.index.as_ref().map_or(0, |view| view.look.item_bytes)
    }

    fn is_exact(&self) -> bool {
        self.index.as_ref().is_some_and(|view| view.is_exact)
    }

    fn counts_exactly(&self) -> bool {
        self.index.as_ref().is_some_and(|view| view.counts_exactly)
    }
}
