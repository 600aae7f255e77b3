//! The terms of one item, and what a write changes of them.
//!
//! Hot path: runs over every item written, before the writer lock. One buffer per item holds all terms.

use bytes::Bytes;
use query::index::{Counted, IndexPolicy, each_term, each_vector};
use store::Batch;

use super::path_dictionary::{PathDictionary, PathDictionaryView};
use super::rules::Rules;
use crate::keys::Keys;
use crate::{Error, Result};

/// A path as text, a term at it, and what of it is counted.
pub(crate) type Unnumbered = (String, Vec<u8>, Counted);

/// Terms with the numbers of their paths, in order and each once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Terms {
    bytes: Vec<u8>,
    list: Vec<TermEntry>,
}

/// The number of a path and where the term stands.
#[derive(Debug, Clone, Copy)]
struct TermEntry {
    path: u16,
    counted: Counted,
    start: u32,
    end: u32,
}

impl TermEntry {
    fn term(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

impl Terms {
    /// Derives the terms of an item. Those at paths without a number go to `unnumbered`.
    pub(crate) fn of(
        text: &[u8],
        policy: &IndexPolicy,
        dictionary: &PathDictionaryView,
        unnumbered: &mut Vec<Unnumbered>,
    ) -> Result<Terms> {
        const NOT_JSON: Error = Error::Corrupt("a stored item is not JSON");
        let mut terms = Terms::default();
        if policy.is_none() {
            return Ok(terms);
        }
        let text = std::str::from_utf8(text).map_err(|_| NOT_JSON)?;
        each_term(text, policy, |path, term, counted| match dictionary.number(path) {
            Some(number) => terms.push(number, term, counted),
            None if dictionary.is_full() => {}
            None => unnumbered.push((path.to_owned(), term.to_vec(), counted)),
        })
        .map_err(|_| NOT_JSON)?;
        terms.sort();
        Ok(terms)
    }

    fn push(&mut self, path: u16, term: &[u8], counted: Counted) {
        // Invariant: an item has two MiB, so offsets fit.
        let start = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.bytes.extend_from_slice(term);
        let end = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.list.push(TermEntry { path, counted, start, end });
    }

    fn sort(&mut self) {
        let Terms { bytes, list } = self;
        let key = |entry: &TermEntry| (entry.path, entry.term(bytes));
        list.sort_unstable_by(|left, right| key(left).cmp(&key(right)));
        list.dedup_by(|left, right| key(left) == key(right));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u16, &[u8])> {
        self.list.iter().map(|entry| (entry.path, entry.term(&self.bytes)))
    }

    /// The same with what is counted of each.
    pub(super) fn counted(&self) -> impl Iterator<Item = (u16, &[u8], Counted)> {
        self.list.iter().map(|entry| (entry.path, entry.term(&self.bytes), entry.counted))
    }

    /// The paths at which the item has a value, ascending.
    pub(crate) fn paths(&self) -> Vec<u16> {
        let mut paths: Vec<u16> = self.list.iter().map(|entry| entry.path).collect();
        paths.dedup();
        paths
    }

    /// The terms for which `keep` holds, by whether `other` has them too.
    fn filtered(&self, other: &Terms, keep: impl Fn(bool) -> bool) -> Terms {
        let mut kept = Terms::default();
        let mut others = other.iter().peekable();
        for (path, term, counted) in self.counted() {
            while others.next_if(|other| *other < (path, term)).is_some() {}
            let is_in_both = others.peek() == Some(&(path, term));
            if keep(is_in_both) {
                kept.push(path, term, counted);
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
        for (path, term, counted) in other.counted() {
            self.push(path, term, counted);
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
        dictionary: &PathDictionaryView,
        unnumbered: &mut Vec<Unnumbered>,
    ) -> Result<Held> {
        let terms = Terms::of(text, &rules.policy, dictionary, unnumbered)?;
        let mut held = Held { perhaps: terms.clone(), surely: terms };
        for policy in &rules.previous {
            let terms = Terms::of(text, policy, dictionary, unnumbered)?;
            held.surely = held.surely.common(&terms);
            held.perhaps = held.perhaps.merged(&terms);
        }
        Ok(held)
    }

    /// Derives what the index holds of a stored item, whose paths without a number it never had.
    pub(crate) fn stored(text: &[u8], dictionary: &PathDictionaryView) -> Result<Held> {
        Held::of(text, &dictionary.rules, dictionary, &mut Vec::new())
    }
}

/// The terms of a version that is to be written, derived once: its charge counts them, its commit writes them.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    pub(super) terms: Terms,
    /// Terms at paths that get their numbers when the change is sealed.
    pub(super) unnumbered: Vec<Unnumbered>,
}

impl Wanted {
    pub(crate) fn of(text: &[u8], dictionary: &PathDictionaryView) -> Result<Wanted> {
        let mut unnumbered = Vec::new();
        let terms = Terms::of(text, &dictionary.rules.policy, dictionary, &mut unnumbered)?;
        Ok(Wanted { terms, unnumbered })
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
        dictionary: &PathDictionaryView,
    ) -> Result<TermChange> {
        let held = old.map(|text| Held::stored(text, dictionary)).transpose()?;
        let wanted = new.map(|text| Wanted::of(text, dictionary)).transpose()?;
        TermChange::between(held, wanted.zip(new), &dictionary.rules)
    }

    /// Compares what the index holds of an item with the terms that it will have, and its text.
    pub(crate) fn between(
        held: Option<Held>,
        new: Option<(Wanted, &[u8])>,
        rules: &Rules,
    ) -> Result<TermChange> {
        let mut change = TermChange::default();
        let has_declared = rules.policy.declared().next().is_some();
        let text = new.as_ref().map(|(_, text)| *text).filter(|_| has_declared);
        if let Some(text) = text.and_then(|text| std::str::from_utf8(text).ok()) {
            each_vector(text, &rules.policy, |name, term, packed| {
                change.vectors.push((name.to_owned(), term.to_vec(), packed));
            })
            .map_err(|_| Error::Corrupt("a stored item is not JSON"))?;
        }
        change.paths = new.as_ref().map(|(wanted, _)| wanted.terms.paths());
        let wanted = new.map(|(wanted, _)| wanted).unwrap_or_default();
        change.unnumbered = wanted.unnumbered;
        match held {
            Some(held) => {
                change.deletes = held.perhaps.without(&wanted.terms);
                change.puts = wanted.terms.without(&held.surely);
            }
            None => change.puts = wanted.terms,
        }
        Ok(change)
    }

    /// Adds the change of an item to a batch and to the dictionary, under the writer lock.
    pub(crate) fn seal(
        mut self,
        keys: Keys,
        number: u64,
        dictionary: &mut PathDictionary,
        batch: &mut Batch,
    ) {
        for (path, term, counted) in std::mem::take(&mut self.unnumbered) {
            let Some(path) = dictionary.number_of(&path) else { continue };
            self.puts.push(path, &term, counted);
            if let Some(paths) = &mut self.paths
                && let Err(at) = paths.binary_search(&path)
            {
                paths.insert(at, path);
            }
        }
        dictionary.note(number, self.paths.as_deref());
        for (path, term) in self.deletes.iter() {
            batch.delete(keys.term(path, term, number));
        }
        let vectors = std::mem::take(&mut self.vectors).into_iter();
        let numbered = |(name, term, packed): (String, Vec<u8>, Vec<u8>)| {
            Some((dictionary.number_of(&name)?, term, Bytes::from(packed)))
        };
        let vectors: Vec<(u16, Vec<u8>, Bytes)> = vectors.filter_map(numbered).collect();
        for (path, term) in self.puts.iter() {
            let vector = vectors.iter().find(|(own, digest, _)| (*own, &**digest) == (path, term));
            let value = vector.map_or_else(Bytes::new, |(_, _, packed)| packed.clone());
            batch.put(keys.term(path, term, number), value);
        }
    }
}
