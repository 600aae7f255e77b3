//! What the asking client can do by itself.

use std::collections::BTreeSet;

use crate::error::{Error, Result};

/// The features a client announced.
///
/// Wire: header `x-ms-cosmos-supported-query-features`, names parted by commas and blanks.
#[derive(Clone, Debug, Default)]
pub struct Features {
    /// `None` stands for all.
    names: Option<BTreeSet<String>>,
}

impl Features {
    /// Returns a client that can do everything.
    pub fn all() -> Features {
        Features { names: None }
    }

    /// Reads the header; unknown names are kept and never asked for.
    pub fn parse(header: &str) -> Features {
        let names = header.split(',').map(str::trim).filter(|name| !name.is_empty());
        Features { names: Some(names.map(str::to_string).collect()) }
    }

    /// Returns the same client without one feature it announced by name.
    #[must_use]
    pub fn without(mut self, name: &str) -> Features {
        let names =
            self.names.get_or_insert_with(|| KNOWN.iter().map(ToString::to_string).collect());
        names.remove(name);
        self
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.names.as_ref().is_none_or(|names| names.contains(name))
    }

    /// Refuses when one of the needed features is missing.
    pub(super) fn require(&self, needed: &[&str]) -> Result<()> {
        let missing: Vec<String> =
            needed.iter().filter(|name| !self.has(name)).map(ToString::to_string).collect();
        if missing.is_empty() { Ok(()) } else { Err(Error::UnsupportedFeatures(missing)) }
    }
}

/// Every feature that a plan can need.
const KNOWN: [&str; 16] = [
    "Aggregate",
    "CountIf",
    "DCount",
    "Distinct",
    "GroupBy",
    "HybridSearch",
    "HybridSearchSkipOrderByRewrite",
    "ListAndSetAggregate",
    "MultipleAggregates",
    "MultipleOrderBy",
    "NonStreamingOrderBy",
    "NonValueAggregate",
    "OffsetAndLimit",
    "OrderBy",
    "Top",
    "WeightedRankFusion",
];
