//! How a query would run, range by range, without running it.

use std::sync::Arc;

use model::{PartitionKey, RangeId};
use query::{IndexUsage, PrepareOptions, Statement};

use super::query::{Target, name_key, prepare_options};
use super::scope::FeedScope;
use super::udfs;
use crate::account::Account;
use crate::container::Container;
use crate::error::{Error, Result};
use crate::operation::{Link, QueryText, ResourceKind};
use crate::scripts::script_of;
use crate::threads::run_blocking;

/// How a query would run now.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The ranges that can hold results, in the order of the hash space.
    pub asked: Vec<RangePlan>,
    pub n_ranges: usize,
    /// Whether rows of several ranges have to be merged, by the client or by the server.
    pub needs_merge: bool,
    /// The same, however many ranges can hold results now.
    pub is_for_merging: bool,
    pub usage: IndexUsage,
}

/// How a query would run in one range: an operator per line, its input indented below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangePlan {
    pub range: RangeId,
    pub plan: String,
}

impl Account {
    /// Explains the text of a query over a container, or over what `key` covers of it.
    ///
    /// # Errors
    /// No such container, a key that does not fit it, an error in the text, or that of the store.
    pub fn explain(
        &self,
        container: &Link,
        query: &QueryText,
        key: Option<&PartitionKey>,
    ) -> Result<Explanation> {
        let (container, options) = self.to_explain(container, query)?;
        let statement = Statement::prepare(&query.text, &query.parameters, &options)?;
        let definition = &container.properties.definition;
        let target = Target::new(FeedScope::of_key(definition, key)?, &statement, definition);
        let epks = &target.scope.epks;
        let mut usage = IndexUsage::default();
        let mut asked = Vec::new();
        for range in container.ranges.overlapping(epks) {
            let part = epks.part_of(&range.entry.epks);
            let Some(source) = part.and_then(|part| target.source(range, &part)) else { continue };
            if asked.is_empty() {
                usage = statement.index_usage(&source);
            }
            let plan = run_blocking(|| statement.explain(&source))?;
            asked.push(RangePlan { range: range.id(), plan });
        }
        if target.scope.logical.is_some() {
            name_key(&container, &mut usage.utilized);
        }
        let is_for_merging = query::needs_gateway_refusal(&statement).is_some();
        let needs_merge = asked.len() > 1 && is_for_merging;
        let n_ranges = container.ranges.len();
        Ok(Explanation { asked, n_ranges, needs_merge, is_for_merging, usage })
    }

    fn to_explain(
        &self,
        link: &Link,
        query: &QueryText,
    ) -> Result<(Arc<Container>, PrepareOptions)> {
        let tables = self.inner.catalog.tables();
        let number = tables.find_owner(link)?.number();
        let container = tables.container(number).cloned().ok_or(Error::OwnerNotFound)?;
        let mut options = prepare_options(&self.inner, &container).clone();
        if udfs::may_call(&query.text) {
            let functions = tables.children(number, ResourceKind::Udf, 0).map(|it| script_of(it));
            options.udf_host = Some(udfs::host_of(&functions.collect::<Vec<_>>()));
        }
        Ok((container, options))
    }
}
