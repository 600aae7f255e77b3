//! The range resolver: neighbouring keys live together, for example the months of a time series.

use serde_json::Value;

use super::{PartitionResolver, ReadScope, union};
use crate::link::push_unique;
use crate::state::RangeEntry;
use crate::{ContainerLink, Error, Key, KeySource, Range, RangeMap, ResolverState, Result};

/// Places items by the range that their key lies in. Texts are compared by code point; the resolver of .NET compared
/// them by culture, so a program that comes from there may need keys that sort alike (`docs/from-documentdb.md`).
#[derive(Clone, Debug)]
pub struct RangePartitionResolver {
    source: KeySource,
    map: RangeMap<Key, ContainerLink>,
}

impl RangePartitionResolver {
    /// Makes a resolver. Ranges that overlap are refused; several ranges may name one container.
    pub fn new<T: Into<Key> + Ord, L: Into<ContainerLink>>(
        source: KeySource,
        entries: impl IntoIterator<Item = (Range<T>, L)>,
    ) -> Result<RangePartitionResolver> {
        let entries = entries.into_iter().map(|(range, link)| Ok((key_range(range)?, link.into())));
        RangePartitionResolver::from_map(
            source,
            RangeMap::new(entries.collect::<Result<Vec<_>>>()?)?,
        )
    }

    /// Makes a resolver of a map, for example one that [`RangeMap::from_cuts`] made total.
    pub fn from_map(
        source: KeySource,
        map: RangeMap<Key, ContainerLink>,
    ) -> Result<RangePartitionResolver> {
        if map.is_empty() {
            return Err(Error::NoContainers);
        }
        Ok(RangePartitionResolver { source, map })
    }

    /// Returns the map.
    pub fn map(&self) -> &RangeMap<Key, ContainerLink> {
        &self.map
    }
}

fn key_range<T: Into<Key> + Ord>(range: Range<T>) -> Result<Range<Key>> {
    let (low, high) = range.into_bounds();
    Range::from_bounds(low.map(Into::into), high.map(Into::into))
}

impl PartitionResolver for RangePartitionResolver {
    fn key_of(&self, item: &Value) -> Result<Key> {
        self.source.key_of(item)
    }

    fn container_for_create(&self, key: &Key) -> Result<ContainerLink> {
        self.map.get(key).cloned().ok_or_else(|| Error::NoContainer { key: key.to_string() })
    }

    fn containers_for_read(&self, scope: &ReadScope) -> Result<Vec<ContainerLink>> {
        let mut links = Vec::new();
        match scope {
            ReadScope::Key(key) => links.extend(self.map.get(key).cloned()),
            ReadScope::Range(range) => {
                self.map.intersecting(range).for_each(|it| push_unique(&mut links, it));
            }
            ReadScope::Several(scopes) => {
                let wanted = union(scopes, |it| self.containers_for_read(it))?;
                // In the order of the map, whatever the order of the question.
                let found = self.map.iter().map(|(_, it)| it).filter(|it| wanted.contains(it));
                found.for_each(|it| push_unique(&mut links, it));
            }
            ReadScope::All => self.map.iter().for_each(|(_, it)| push_unique(&mut links, it)),
        }
        Ok(links)
    }

    fn state(&self) -> ResolverState {
        let entry = |(range, link): (&Range<Key>, &ContainerLink)| RangeEntry {
            range: range.clone(),
            container: link.clone(),
        };
        let entries = self.map.iter().map(entry).collect();
        ResolverState::Range { key: self.source.clone(), ranges: entries }
    }
}
