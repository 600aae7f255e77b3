//! The transition resolver: two schemes at once, while items move from the current to the next.
//!
//! Invariant: the copy that counts is the one in the next container if there is one, else the one in the
//! current container. A copy that a move has marked does not count yet. Writes go to next; a delete removes the
//! current copy first, then the next one, so that nobody can copy it again in between.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{PartitionResolver, Placement, ReadScope, RowRule};
use crate::link::push_unique;
use crate::{BoxFuture, ContainerLink, Error, Key, ResolverState, Result};

/// Which containers are read during a transition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReadMode {
    /// Only those of the current scheme: items created since the start are not seen.
    ReadCurrent,
    /// Only those of the next scheme: items not yet moved are not seen.
    ReadNext,
    /// All of both; the one in next counts when they hold the same item.
    #[default]
    ReadBoth,
    /// None: reads fail with an error that can be retried.
    None,
}

/// Reads as its mode says, and creates in the next scheme.
#[derive(Clone, Debug)]
pub struct TransitionPartitionResolver {
    current: Arc<dyn PartitionResolver>,
    next: Arc<dyn PartitionResolver>,
    mode: ReadMode,
}

impl TransitionPartitionResolver {
    /// Makes a resolver for the time of a move.
    pub fn new(
        current: Arc<dyn PartitionResolver>,
        next: Arc<dyn PartitionResolver>,
        mode: ReadMode,
    ) -> TransitionPartitionResolver {
        TransitionPartitionResolver { current, next, mode }
    }

    /// Returns the mode.
    pub fn mode(&self) -> ReadMode {
        self.mode
    }

    /// Returns the scheme that items move away from.
    pub fn current(&self) -> &Arc<dyn PartitionResolver> {
        &self.current
    }

    /// Returns the scheme that items move to.
    pub fn next(&self) -> &Arc<dyn PartitionResolver> {
        &self.next
    }
}

impl PartitionResolver for TransitionPartitionResolver {
    fn key_of(&self, item: &Value) -> Result<Key> {
        self.next.key_of(item)
    }

    fn container_for_create(&self, key: &Key) -> Result<ContainerLink> {
        self.next.container_for_create(key)
    }

    fn containers_for_read(&self, scope: &ReadScope) -> Result<Vec<ContainerLink>> {
        match self.mode {
            ReadMode::ReadCurrent => self.current.containers_for_read(scope),
            ReadMode::ReadNext => self.next.containers_for_read(scope),
            ReadMode::ReadBoth => {
                let next = self.next.containers_for_read(scope)?;
                let mut links = self.current.containers_for_read(scope)?;
                // What goes is read before what stays, and what comes last: an item that moves while a query runs
                // is ahead of it then, not behind.
                links.sort_by_key(|it| next.contains(it));
                for link in &next {
                    push_unique(&mut links, link);
                }
                Ok(links)
            }
            ReadMode::None => Err(Error::Migrating),
        }
    }

    fn placement(&self, key: &Key) -> Result<Placement> {
        let mut placement = self.next.placement(key)?;
        let current = match self.current.placement(key) {
            Ok(it) => std::iter::once(it.owner).chain(it.others).collect(),
            // The current scheme does not know the key, so it holds no such item.
            Err(Error::NoContainer { .. }) => Vec::new(),
            Err(error) => return Err(error),
        };
        for link in current.iter().filter(|it| **it != placement.owner) {
            push_unique(&mut placement.others, link);
            placement.is_moving = true;
        }
        Ok(placement)
    }

    fn row_rule(&self, container: &ContainerLink, key: &Key) -> Result<RowRule> {
        if self.mode == ReadMode::ReadCurrent {
            // The current scheme is shown as it is; what was copied into its containers is not part of it.
            let read = self.current.containers_for_read(&ReadScope::Key(key.clone()))?;
            return Ok(if read.contains(container) { RowRule::Keep } else { RowRule::Drop });
        }
        let place = self.placement(key)?;
        let is_home = place.owner == *container;
        Ok(match self.mode {
            ReadMode::ReadBoth if !place.is_moving => RowRule::Keep,
            ReadMode::ReadBoth => RowRule::Moving { sources: place.others, owner: place.owner },
            ReadMode::ReadNext | ReadMode::None | ReadMode::ReadCurrent => {
                let next = self.next.placement(key)?;
                if is_home || (!next.is_moving && next.others.contains(container)) {
                    RowRule::Keep
                } else {
                    RowRule::Drop
                }
            }
        })
    }

    fn prepare(&self) -> Option<BoxFuture<'_, Result<()>>> {
        match (self.current.prepare(), self.next.prepare()) {
            (None, None) => None,
            (current, next) => Some(Box::pin(async move {
                for work in [current, next].into_iter().flatten() {
                    work.await?;
                }
                Ok(())
            })),
        }
    }

    fn state(&self) -> ResolverState {
        ResolverState::Transition {
            current: Box::new(self.current.state()),
            next: Box::new(self.next.state()),
            mode: self.mode,
        }
    }
}
