//! What a copy would be, before anything is made.

use std::collections::HashMap;

use super::{Refusal, Rekey};
use crate::items::{id_of, without_system_properties};
use crate::{Error, Key, Result};

// Limit: keys that are counted one by one; beyond them only the number of items is known.
const KEYS_MAX: usize = 1_000_000;

// Limit: ids that are shown of items without a key.
const SAMPLES_MAX: usize = 10;

/// What a copy would be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Items of the source.
    pub n_items: u64,
    /// Their size as JSON text.
    pub n_bytes: u64,
    /// Logical partitions of the target; at most a million are counted.
    pub n_keys: usize,
    /// The largest of them, and its items.
    pub largest: Option<(Key, u64)>,
    /// Items that would have no key; the copy stops at the first.
    pub n_without_key: u64,
    /// The ids of some of them.
    pub without_key: Vec<String>,
}

impl Rekey {
    /// Reads every item of the source once and says what the copy would be. Changes nothing.
    pub async fn plan(&self) -> Result<Plan> {
        let source = self.source_template().await?;
        let keyed = self.spec.keyed(&source.partition_key_paths)?;
        let mut plan = Plan::default();
        let mut counts: HashMap<Key, u64> = HashMap::new();
        let mut at = None;
        loop {
            let page = self.page(&self.spec.source, at.as_deref()).await?;
            for item in &page.rows {
                plan.n_items += 1;
                plan.n_bytes += without_system_properties(item).to_string().len() as u64;
                match keyed.copy(item) {
                    Ok(copy) if counts.len() < KEYS_MAX || counts.contains_key(&copy.partition) => {
                        *counts.entry(copy.partition).or_default() += 1;
                    }
                    Ok(_) => {}
                    Err(Error::Rekey(Refusal::NoKey { .. })) => {
                        plan.n_without_key += 1;
                        if plan.without_key.len() < SAMPLES_MAX {
                            plan.without_key.push(id_of(item)?.to_owned());
                        }
                    }
                    Err(error) => return Err(error),
                }
            }
            at = page.continuation;
            if at.is_none() {
                break;
            }
        }
        plan.n_keys = counts.len();
        plan.largest = counts.into_iter().max_by_key(|(_, n_items)| *n_items);
        Ok(plan)
    }
}
