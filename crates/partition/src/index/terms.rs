//! The terms of one item, and what a write changes of them.
//!
//! Hot path: runs over every item written, before the writer lock. One buffer per item holds all terms.

use bytes::Bytes;
use query::index::{IndexPolicy, each_term, each_vector};
use store::Batch;

use super::book::{Book, BookView};
use super::rules::Rules;
use crate::keys::Keys;
use crate::{Error, Result};

/// A path as text, and a term at it.
pub(crate) type Unnumbered = (String, Vec<u8>);

/// Terms with the numbers of their paths, in order and each once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Terms {
    bytes: Vec<u8>,
    list: Vec<(u16, u32, u32)>,
}

impl Terms {
    /// Derives the terms of an item. Those at paths without a number go to `unnumbered`.
    pub(crate) fn of(
        text: &[u8],
        policy: &IndexPolicy,
        book: &BookView,
        unnumbered: &mut Vec<Unnumbered>,
    ) -> Result<Terms> {
        const NOT_JSON: Error = Error::Corrupt("a stored item is not JSON");
        let mut terms = Terms::default();
        if policy.is_none() {
            return Ok(terms);
        }
        let text = std::str::from_utf8(text).map_err(|_| NOT_JSON)?;
        each_term(text, policy, |path, term| match book.number(path) {
            Some(number) => terms.push(number, term),
            None if book.is_full() => {}
            None => unnumbered.push((path.to_owned(), term.to_vec())),
        })
        .map_err(|_| NOT_JSON)?;
        terms.sort();
        Ok(terms)
    }

    fn push(&mut self, path: u16, term: &[u8]) {
        // Invariant: an item has two MiB, so offsets fit.
        let start = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.bytes.extend_from_slice(term);
        let end = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.list.push((path, start, end));
    }

    fn sort(&mut self) {
        let Terms { bytes, list } = self;
        let term = |&(path, start, end): &(u16, u32, u32)| {
            (path, bytes.get(start as usize..end as usize).unwrap_or_default())
        };
        list.sort_unstable_by(|left, right| term(left).cmp(&term(right)));
        list.dedup_by(|left, right| term(left) == term(right));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u16, &[u8])> {
        self.list.iter().map(|&(path, start, end)| {
            (path, self.bytes.get(start as usize..end as usize).unwrap_or_default())
        })
    }

    /// The paths at which the item has a value, ascending.
    pub(crate) fn paths(&self) -> Vec<u16> {
        let mut paths: Vec<u16> = self.list.iter().map(|(path, _, _)| *path).collect();
        paths.dedup();
        paths
    }

    /// The terms for which `keep` holds, by whether `other` has them too.
    fn filtered(&self, other: &Terms, keep: impl Fn(bool) -> bool) -> Terms {
        let mut kept = Terms::default();
        let mut others = other.iter().peekable();
        for own in self.iter() {
            while others.next_if(|other| *other < own).is_some() {}
            let is_in_both = others.peek() == Some(&own);
            if keep(is_in_both) {
                kept.push(own.0, own.1);
            }
        }
        kept
    }

    pub(crate) fn without(&self, other: &Terms) -> Terms {
        self.filtered(other, |is_in_both| !is_in_both)
    }

    fn common(&self, other: &Terms) -> Terms {
        self.filtered(other, |is_in_both| is_in_both)
    }

    fn merged(mut self, other: &Terms) -> Terms {
        for (path, term) in other.iter() {
            self.push(path, term);
        }
        self.sort();
        self
    }
}

/// What the index may and must hold of a stored item.
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) surely: Terms,
    pub(crate) perhaps: Terms,
}

impl Held {
    pub(crate) fn of(
        text: &[u8],
        rules: &Rules,
        book: &BookView,
        unnumbered: &mut Vec<Unnumbered>,
    ) -> Result<Held> {
        let terms = Terms::of(text, &rules.policy, book, unnumbered)?;
        let mut held = Held { perhaps: terms.clone(), surely: terms };
        for policy in &rules.previous {
            let terms = Terms::of(text, policy, book, unnumbered)?;
            held.surely = held.surely.common(&terms);
            held.perhaps = held.perhaps.merged(&terms);
        }
        Ok(held)
    }
}

/// What one write changes in the index.
#[derive(Debug, Default)]
pub(crate) struct TermChange {
    deletes: Terms,
    puts: Terms,
    /// The paths of the item as written; `None` when it is deleted.
    paths: Option<Vec<u16>>,
    /// Terms at paths that get their numbers when the change is sealed.
    unnumbered: Vec<Unnumbered>,
    /// Name, term and packed form of the vectors that the item is written with.
    vectors: Vec<(String, Vec<u8>, Vec<u8>)>,
}

impl TermChange {
    /// Compares an item as stored with the item as it will be.
    pub(crate) fn new(
        old: Option<&[u8]>,
        new: Option<&[u8]>,
        rules: &Rules,
        book: &BookView,
    ) -> Result<TermChange> {
        let mut change = TermChange::default();
        // A path of the old text without a number is one that the index never had.
        let mut unknown = Vec::new();
        let held = match old {
            Some(text) => Held::of(text, rules, book, &mut unknown)?,
            None => Held::default(),
        };
        let wanted = match new {
            Some(text) => Terms::of(text, &rules.policy, book, &mut change.unnumbered)?,
            None => Terms::default(),
        };
        let has_declared = rules.policy.declared().next().is_some();
        let text = new.filter(|_| has_declared).and_then(|text| std::str::from_utf8(text).ok());
        if let Some(text) = text {
            each_vector(text, &rules.policy, |name, term, packed| {
                change.vectors.push((name.to_owned(), term.to_vec(), packed));
            })
            .map_err(|_| Error::Corrupt("a stored item is not JSON"))?;
        }
        change.deletes = held.perhaps.without(&wanted);
        change.paths = new.is_some().then(|| wanted.paths());
        change.puts = if old.is_some() { wanted.without(&held.surely) } else { wanted };
        Ok(change)
    }

    /// Adds the change of an item to a batch and to the book, under the writer lock.
    pub(crate) fn seal(mut self, keys: Keys, number: u64, book: &mut Book, batch: &mut Batch) {
        for (path, term) in std::mem::take(&mut self.unnumbered) {
            let Some(path) = book.number_of(&path) else { continue };
            self.puts.push(path, &term);
            if let Some(paths) = &mut self.paths
                && let Err(at) = paths.binary_search(&path)
            {
                paths.insert(at, path);
            }
        }
        book.note(number, self.paths.as_deref());
        for (path, term) in self.deletes.iter() {
            batch.delete(keys.term(path, term, number));
        }
        let vectors = std::mem::take(&mut self.vectors).into_iter();
        let numbered = |(name, term, packed): (String, Vec<u8>, Vec<u8>)| {
            Some((book.number_of(&name)?, term, Bytes::from(packed)))
        };
        let vectors: Vec<(u16, Vec<u8>, Bytes)> = vectors.filter_map(numbered).collect();
        for (path, term) in self.puts.iter() {
            let vector = vectors.iter().find(|(own, digest, _)| (*own, &**digest) == (path, term));
            let value = vector.map_or_else(Bytes::new, |(_, _, packed)| packed.clone());
            batch.put(keys.term(path, term, number), value);
        }
    }
}
