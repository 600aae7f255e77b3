//! What of a container a feed, a change feed or a query covers.
//!
//! Wire: A partition key, a range, a span of effective partition keys, or everything; they
//! may be combined, and then all of them hold.

use model::{EpkRange, PartitionKey, PartitionKeyDefinition};
use partition::{Logical, Scope};

use super::ItemRequest;
use crate::error::{Error, Result};
use crate::range_map::Range;

#[derive(Debug, Clone)]
pub(super) struct FeedScope {
    /// The span of the hash space to read.
    pub(super) epks: EpkRange,
    /// The one logical partition in it, if a complete key was given.
    pub(super) logical: Option<Logical>,
    /// Part of continuations: a token for one key does not continue another.
    pub(super) text: Vec<u8>,
    /// The key is not in the range, or not in the span, that was named with it.
    pub(super) is_empty: bool,
}

impl FeedScope {
    /// What a key covers, or everything without one.
    pub(super) fn of_key(
        definition: &PartitionKeyDefinition,
        key: Option<&PartitionKey>,
    ) -> Result<FeedScope> {
        let mut scope =
            FeedScope { epks: EpkRange::full(), logical: None, text: Vec::new(), is_empty: false };
        if let Some(key) = key {
            definition.check_prefix(key)?;
            scope.epks = definition.epk_range_of_prefix(key);
            scope.text = key.encode(definition);
            match definition.check(key) {
                Ok(()) => scope.logical = Some(Logical::new(definition, key.clone())),
                // A prefix of a hierarchical key covers its span; elsewhere it names nothing.
                Err(_) if !key.components().is_empty() && definition.paths.len() > 1 => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(scope)
    }

    /// The part of `range` that a cursor over `epks` covers.
    pub(super) fn within(&self, range: &Range, epks: &EpkRange) -> Scope {
        match &self.logical {
            Some(logical) => Scope::Logical(logical.clone()),
            None if *epks == range.entry.epks => Scope::All,
            None => Scope::Epks(epks.clone()),
        }
    }

    /// One key or one range: a single position describes progress.
    pub(super) fn is_single(&self, request: &ItemRequest<'_>) -> bool {
        self.logical.is_some() || request.range.is_some()
    }
}

impl ItemRequest<'_> {
    pub(super) fn scope(&self) -> Result<FeedScope> {
        self.allowed.check_key(self.key.as_ref())?;
        let definition = &self.container.properties.definition;
        let mut scope = FeedScope::of_key(definition, self.key.as_ref())?;
        if let Some(id) = self.range {
            let range = self.named_range(id)?;
            self.narrow(&mut scope, &range.entry.epks)?;
        }
        if let Some(epks) = &self.epks {
            self.narrow(&mut scope, epks)?;
        }
        Ok(scope)
    }

    /// Cuts the scope to a span.
    ///
    /// Wire: when the range of a key is gone, Java asks all ranges that took its place for the key. The bounds of a range
    /// never change, so one that exists and does not have the key has nothing of it: no reason to read the map again.
    fn narrow(&self, scope: &mut FeedScope, span: &EpkRange) -> Result<()> {
        match (scope.epks.intersect(span), self.range) {
            (Some(epks), _) => scope.epks = epks,
            (None, _) if self.key.is_some() => scope.is_empty = true,
            (None, Some(range)) => return Err(self.range_gone(range)),
            (None, None) => {
                return Err(Error::PropertyInvalid { property: "x-ms-start-epk".into() });
            }
        }
        Ok(())
    }
}
