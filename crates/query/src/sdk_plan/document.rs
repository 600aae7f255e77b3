//! The document.

use model::{Object, PartitionKeyDefinition, Value};

use super::features::Features;
use super::hybrid;
use super::rewrite::{self, QueryInfo};
use super::target::{Span, Target, target};
use crate::error::Result;
use crate::statement::{PrepareOptions, Statement};

/// Makes the query plan document of a query.
///
/// # Errors
/// Everything [`Statement::prepare`] refuses, [`crate::Error::Unplannable`] for compositions of aggregates,
/// [`crate::Error::UnsupportedFeatures`] when the client lacks what the plan needs.
pub fn query_plan(
    text: &str,
    parameters: &[(String, Value)],
    options: &PrepareOptions,
    definition: &PartitionKeyDefinition,
    features: &Features,
) -> Result<Value> {
    let statement = Statement::prepare_for_plan(text, parameters, options)?;
    let target = target(statement.bound(), definition);
    let mut document = Object::with_capacity(4);
    document.insert("partitionedQueryExecutionInfoVersion", 2);
    if statement.bound().rank.is_some() {
        document.insert("hybridSearchQueryInfo", hybrid::info(&statement, features)?);
    } else {
        let info = rewrite::query_info(&statement, &target, features)?;
        document.insert("queryInfo", info.to_value());
    }
    document.insert("queryRanges", ranges(&target));
    if statement.bound().rank.is_none() {
        document.insert("hybridSearchQueryInfo", Value::Null);
    }
    Ok(Value::Object(document))
}

impl QueryInfo {
    /// Wire: every member is always present; SDKs read lengths without asking.
    pub(super) fn to_value(&self) -> Value {
        let mut info = Object::with_capacity(14);
        let count = |count: Option<u64>| count.map_or(Value::Null, Value::from);
        let texts = |list: &[String]| list.iter().map(String::as_str).collect::<Value>();
        let names = |list: &[&str]| list.iter().copied().collect::<Value>();
        info.insert("distinctType", self.distinct);
        info.insert("top", count(self.top));
        info.insert("offset", count(self.offset));
        info.insert("limit", count(self.limit));
        info.insert("orderBy", names(&self.order_by));
        info.insert("orderByExpressions", texts(&self.order_by_expressions));
        info.insert("groupByExpressions", texts(&self.group_by_expressions));
        info.insert("groupByAliases", texts(&self.group_by_aliases));
        info.insert("aggregates", names(&self.aggregates));
        let kinds = self
            .alias_aggregates
            .iter()
            .map(|(alias, kind)| (alias.as_str(), kind.map_or(Value::Null, Value::from)));
        info.insert("groupByAliasToAggregateType", Value::Object(kinds.collect()));
        info.insert("rewrittenQuery", self.rewritten_query.as_str());
        info.insert("hasSelectValue", self.has_select_value);
        let dcount = self.dcount_alias.as_ref().map_or(Value::Null, |alias| {
            let mut dcount = Object::new();
            dcount.insert("dCountAlias", alias.as_str());
            Value::Object(dcount)
        });
        info.insert("dCountInfo", dcount);
        info.insert("hasNonStreamingOrderBy", self.has_non_streaming_order_by);
        Value::Object(info)
    }
}

fn ranges(target: &Target) -> Value {
    let list = match target {
        // The empty point: the client asks the first range.
        Target::Nothing => vec![range("", "", true)],
        Target::Everything => vec![range("", "FF", false)],
        Target::Some(spans) => spans.iter().map(span).collect(),
    };
    Value::Array(list)
}

fn span(span: &Span) -> Value {
    let min = span.range.min().to_string();
    if span.is_point {
        return range(&min, &min, true);
    }
    range(&min, &span.range.max().to_string(), false)
}

fn range(min: &str, max: &str, is_max_inclusive: bool) -> Value {
    let mut range = Object::with_capacity(4);
    range.insert("min", min);
    range.insert("max", max);
    range.insert("isMinInclusive", true);
    range.insert("isMaxInclusive", is_max_inclusive);
    Value::Object(range)
}
