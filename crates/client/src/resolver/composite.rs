//! The composite resolver: the first part of a key chooses a branch, the rest is resolved there.
//!
//! For example a lookup by tenant, and for each large tenant a ring of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::{PartitionResolver, Placement, ReadScope, RowRule, union};
use crate::link::push_unique;
use crate::{BoxFuture, ContainerLink, Error, Key, KeySource, Range, ResolverState, Result};

/// Resolves keys of two or more components in two steps.
///
/// The containers that the outer resolver names are names of branches.
#[derive(Clone, Debug)]
pub struct CompositePartitionResolver {
    source: KeySource,
    outer: Arc<dyn PartitionResolver>,
    branches: BTreeMap<String, Arc<dyn PartitionResolver>>,
}

impl CompositePartitionResolver {
    /// Makes a resolver. `source` must give a list: the part for `outer`, then the part for the branch.
    pub fn new<N: Into<String>>(
        source: KeySource,
        outer: Arc<dyn PartitionResolver>,
        branches: impl IntoIterator<Item = (N, Arc<dyn PartitionResolver>)>,
    ) -> Result<CompositePartitionResolver> {
        let branches: BTreeMap<String, _> =
            branches.into_iter().map(|(name, it)| (name.into(), it)).collect();
        for name in outer.containers_for_read(&ReadScope::All)? {
            if !branches.contains_key(name.as_str()) {
                return Err(Error::NoBranch(name.to_string()));
            }
        }
        Ok(CompositePartitionResolver { source, outer, branches })
    }

    fn branch(&self, name: &ContainerLink) -> Result<&dyn PartitionResolver> {
        let branch = self.branches.get(name.as_str());
        branch.map(|it| &**it).ok_or_else(|| Error::NoBranch(name.to_string()))
    }

    /// Returns the branch of a complete key and the key within it.
    fn descend(&self, key: &Key) -> Result<(&dyn PartitionResolver, Key)> {
        let (outer, inner) = split(key);
        let inner = inner.ok_or_else(|| Error::NoContainer { key: key.to_string() })?;
        Ok((self.branch(&self.outer.container_for_create(outer)?)?, inner))
    }

    fn read(&self, outer: &ReadScope, inner: &ReadScope) -> Result<Vec<ContainerLink>> {
        let mut all = Vec::new();
        for name in self.outer.containers_for_read(outer)? {
            let links = self.branch(&name)?.containers_for_read(inner)?;
            for link in &links {
                push_unique(&mut all, link);
            }
        }
        Ok(all)
    }
}

/// Splits a key into its first component and the rest, if there is any.
fn split(key: &Key) -> (&Key, Option<Key>) {
    match key.components() {
        [] => (key, None),
        [first] => (first, None),
        [first, rest @ ..] => (first, Some(Key::from_components(rest.to_vec()))),
    }
}

/// The outer components of a range of keys: a prefix sorts with what it begins.
fn outer_range(range: &Range<Key>) -> Result<Range<Key>> {
    use std::ops::Bound;
    let outer = |bound: Bound<&Key>| match bound {
        Bound::Included(it) | Bound::Excluded(it) => Bound::Included(split(it).0.clone()),
        Bound::Unbounded => Bound::Unbounded,
    };
    Range::from_bounds(outer(range.low()), outer(range.high()))
}

impl PartitionResolver for CompositePartitionResolver {
    fn key_of(&self, item: &Value) -> Result<Key> {
        self.source.key_of(item)
    }

    fn container_for_create(&self, key: &Key) -> Result<ContainerLink> {
        let (branch, inner) = self.descend(key)?;
        branch.container_for_create(&inner)
    }

    fn containers_for_read(&self, scope: &ReadScope) -> Result<Vec<ContainerLink>> {
        match scope {
            ReadScope::Key(key) => {
                let (outer, inner) = split(key);
                let inner = inner.map_or(ReadScope::All, ReadScope::Key);
                self.read(&ReadScope::Key(outer.clone()), &inner)
            }
            ReadScope::Range(range) => {
                self.read(&ReadScope::Range(outer_range(range)?), &ReadScope::All)
            }
            ReadScope::Several(scopes) => union(scopes, |it| self.containers_for_read(it)),
            ReadScope::All => self.read(&ReadScope::All, &ReadScope::All),
        }
    }

    fn placement(&self, key: &Key) -> Result<Placement> {
        let (branch, inner) = self.descend(key)?;
        branch.placement(&inner)
    }

    fn row_rule(&self, container: &ContainerLink, key: &Key) -> Result<RowRule> {
        let (branch, inner) = self.descend(key)?;
        branch.row_rule(container, &inner)
    }

    fn prepare(&self) -> Option<BoxFuture<'_, Result<()>>> {
        let resolvers = std::iter::once(&self.outer).chain(self.branches.values());
        let work: Vec<_> = resolvers.filter_map(|it| it.prepare()).collect();
        if work.is_empty() {
            return None;
        }
        Some(Box::pin(async move {
            for it in work {
                it.await?;
            }
            Ok(())
        }))
    }

    fn state(&self) -> ResolverState {
        ResolverState::Composite {
            key: self.source.clone(),
            outer: Box::new(self.outer.state()),
            branches: self.branches.iter().map(|(name, it)| (name.clone(), it.state())).collect(),
        }
    }
}
