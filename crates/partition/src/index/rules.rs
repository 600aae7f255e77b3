//! The policies in force, and the record that keeps them.

use std::sync::Arc;

use bytes::Bytes;
use query::index::{Declared, IndexPath, IndexPolicy};

use crate::Result;
use crate::record::IndexRecord;

// Limit: policies that can wait to be replaced at once. With more, the oldest are taken as "anything may be there".
const PREVIOUS_MAX: usize = 8;

/// The policy of the index, and those that it has not wholly replaced yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rules {
    pub(crate) policy: IndexPolicy,
    pub(crate) previous: Vec<IndexPolicy>,
}

impl Rules {
    pub(crate) fn settled(policy: IndexPolicy) -> Rules {
        Rules { policy, previous: Vec::new() }
    }

    /// Makes `policy` the one to reach.
    pub(crate) fn aim_at(&mut self, policy: IndexPolicy) {
        let old = std::mem::replace(&mut self.policy, policy);
        self.previous.push(old);
        if self.previous.len() > PREVIOUS_MAX {
            let all = IndexPolicy::all().with_declared_of(&self.previous);
            self.previous = vec![all, IndexPolicy::none()];
        }
    }

    /// Says whether every item has its terms at the path in the index.
    pub(crate) fn covers(&self, path: &IndexPath) -> bool {
        self.policy.includes(path) && self.previous.iter().all(|policy| policy.includes(path))
    }

    /// Returns the declared indexes that have the terms of every item.
    pub(crate) fn declared(&self) -> Vec<(&str, &Declared)> {
        let is_everywhere = |name: &str| self.previous.iter().all(|policy| policy.declares(name));
        self.policy.declared().filter(|(name, _)| is_everywhere(name)).collect()
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.previous.is_empty()
    }
}

/// What the store says about the index as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexState {
    pub(crate) rules: Arc<Rules>,
    /// Lists of absent items written under an older epoch are void.
    pub(crate) epoch: u32,
    pub(crate) n_paths: u16,
    /// The rebuild has done the items up to here.
    pub(crate) progress: u64,
}

impl IndexState {
    /// The index of a partition that never had an item.
    pub(crate) fn new(policy: &IndexPolicy) -> IndexState {
        IndexState {
            rules: Arc::new(Rules::settled(policy.clone())),
            epoch: 0,
            n_paths: 0,
            progress: 0,
        }
    }

    pub(crate) fn encode(&self) -> Bytes {
        let policies = std::iter::once(&self.rules.policy).chain(&self.rules.previous);
        let record = IndexRecord {
            epoch: self.epoch,
            n_paths: self.n_paths,
            progress: self.progress,
            policies: policies.map(|policy| policy.text().to_owned()).collect(),
        };
        record.encode()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<IndexState> {
        let IndexRecord { epoch, n_paths, progress, policies } = IndexRecord::decode(bytes)?;
        let mut policies = policies.iter().map(|text| IndexPolicy::from_text(text));
        let policy = policies.next().unwrap_or_else(IndexPolicy::none);
        let rules = Arc::new(Rules { policy, previous: policies.collect() });
        Ok(IndexState { rules, epoch, n_paths, progress })
    }
}
