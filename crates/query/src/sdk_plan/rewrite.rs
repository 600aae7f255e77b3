//! What each range is asked, and what the client does with the answers.

use super::features::Features;
use super::target::Target;
use crate::ast::{
    Collection, Count, CountKind, Direction, Expr, ExprKind, Query, SelectItem, Selection,
};
use crate::bind::query::has_aggregate;
use crate::bind::tree;
use crate::error::{Error, Result};
use crate::functions::{self, AggregateKind, Role};
use crate::statement::Statement;
use crate::syntax::format;

/// Wire: the client puts `true` or a resume filter here.
pub const FILTER_PLACEHOLDER: &str = "{documentdb-formattableorderbyquery-filter}";

/// Wire: clients read counts as 32 bits.
pub(super) const COUNT_MAX: u64 = u32::MAX as u64;

/// The members of `queryInfo`.
#[derive(Debug, Default)]
pub(super) struct QueryInfo {
    pub(super) distinct: &'static str,
    pub(super) top: Option<u64>,
    pub(super) offset: Option<u64>,
    pub(super) limit: Option<u64>,
    pub(super) order_by: Vec<&'static str>,
    pub(super) order_by_expressions: Vec<String>,
    pub(super) group_by_expressions: Vec<String>,
    pub(super) group_by_aliases: Vec<String>,
    pub(super) aggregates: Vec<&'static str>,
    pub(super) alias_aggregates: Vec<(String, Option<&'static str>)>,
    pub(super) rewritten_query: String,
    pub(super) has_select_value: bool,
    pub(super) dcount_alias: Option<String>,
    pub(super) has_non_streaming_order_by: bool,
}

/// Makes the plan of a query that is not ranked.
pub(super) fn query_info(
    statement: &Statement,
    target: &Target,
    features: &Features,
) -> Result<QueryInfo> {
    let query = statement.ast();
    let bound = statement.bound();
    let mut info = QueryInfo {
        distinct: if query.select.distinct { "Unordered" } else { "None" },
        has_select_value: matches!(query.select.selection, Selection::Value(_)),
        ..QueryInfo::default()
    };
    if query.from.is_empty() {
        info.distinct = "None";
        return Ok(info);
    }
    // Any one range knows the answer.
    if *target == Target::Nothing && !query.select.distinct {
        return Ok(info);
    }
    check_compositions(query)?;
    window(statement, &mut info);
    if let Some(alias) = distinct_count(query).filter(|_| features.has("DCount")) {
        return count_distinct(query, info, alias);
    }
    let mut needed = needed_features(query, &info);
    let is_one_key = target.is_one_key();
    if is_one_key {
        // One logical partition does the whole job, and there is nothing to merge.
        info.offset = None;
        info.limit = None;
        if is_plain(query) {
            return Ok(info);
        }
    }
    if bound.grouping.is_some() {
        grouped(query, &mut info);
    } else if !bound.order.is_empty() {
        ordered(query, bound, &mut info, &mut needed)?;
    } else if query.select.distinct {
        if info.top.is_some() || info.limit.is_some() {
            info.rewritten_query = format::query(&without_window(query));
        }
    } else if let (Some(offset), Some(limit)) = (info.offset, info.limit) {
        info.rewritten_query = format!(
            "{}\nOFFSET 0 LIMIT {}",
            format::query(&without_offset(query)),
            offset.saturating_add(limit).min(COUNT_MAX)
        );
    }
    features.require(&needed)?;
    Ok(info)
}

/// Returns whether a query only filters, projects and cuts.
fn is_plain(query: &Query) -> bool {
    query.group_by.is_empty()
        && query.order_by.is_none()
        && !query.select.distinct
        && !selects_aggregate(query)
}

fn selects_aggregate(query: &Query) -> bool {
    select_exprs(query).any(has_aggregate)
}

fn select_exprs(query: &Query) -> impl Iterator<Item = &Expr> {
    let (value, list): (Option<&Expr>, &[SelectItem]) = match &query.select.selection {
        Selection::All(_) => (None, &[]),
        Selection::Value(expr) => (Some(expr), &[]),
        Selection::List(list) => (None, list),
    };
    value.into_iter().chain(list.iter().map(|item| &item.expr))
}

/// Wire: the planner merges aggregates only when they stand alone.
fn check_compositions(query: &Query) -> Result<()> {
    for expr in select_exprs(query) {
        if has_aggregate(expr) && aggregate(expr).is_none() {
            let message = "Compositions of aggregates and other expressions are not allowed.";
            return Err(Error::Unplannable(message.to_string()));
        }
    }
    Ok(())
}

/// Reads TOP, OFFSET and LIMIT with parameters filled in.
fn window(statement: &Statement, info: &mut QueryInfo) {
    let count = |count: &Count| match &count.kind {
        CountKind::Literal(number) => number.map(u64::from),
        CountKind::Parameter(name) => {
            let parameter = statement.parameters().iter().find(|(own, _)| own == name)?;
            u64::try_from(parameter.1.as_i64()?).ok()
        }
    };
    let query = statement.ast();
    info.top = query.select.top.as_ref().and_then(|top| count(&top.count));
    if let Some(window) = &query.offset_limit {
        info.offset = count(&window.offset);
        info.limit = count(&window.limit);
    }
}

fn needed_features(query: &Query, info: &QueryInfo) -> Vec<&'static str> {
    let mut needed = Vec::new();
    let kinds: Vec<AggregateKind> =
        select_exprs(query).filter_map(aggregate).map(|(kind, ..)| kind).collect();
    if !kinds.is_empty() {
        needed.push(if info.has_select_value { "Aggregate" } else { "NonValueAggregate" });
    }
    if kinds.len() > 1 {
        needed.push("MultipleAggregates");
    }
    if kinds.contains(&AggregateKind::CountIf) {
        needed.push("CountIf");
    }
    if kinds.iter().any(|kind| matches!(kind, AggregateKind::MakeList | AggregateKind::MakeSet)) {
        needed.push("ListAndSetAggregate");
    }
    if query.select.distinct {
        needed.push("Distinct");
    }
    if !query.group_by.is_empty() {
        needed.push("GroupBy");
    }
    if info.top.is_some() {
        needed.push("Top");
    }
    if info.limit.is_some() {
        needed.push("OffsetAndLimit");
    }
    needed
}

/// Returns kind, name and argument of an expression that is one aggregate call.
fn aggregate(expr: &Expr) -> Option<(AggregateKind, &str, &Expr)> {
    let ExprKind::Call { name, udf: false, arguments } = &expr.kind else { return None };
    let Role::Aggregate(kind) = functions::find(name)?.role else { return None };
    Some((kind, name, arguments.first()?))
}

fn aggregate_name(kind: AggregateKind) -> &'static str {
    match kind {
        AggregateKind::Count => "Count",
        AggregateKind::CountIf => "CountIf",
        AggregateKind::Sum => "Sum",
        AggregateKind::Average => "Average",
        AggregateKind::Min => "Min",
        AggregateKind::Max => "Max",
        AggregateKind::MakeList => "MakeList",
        AggregateKind::MakeSet => "MakeSet",
    }
}

/// Returns what a range answers for one aggregate, so that answers can be merged.
fn partial(kind: AggregateKind, name: &str, argument: &Expr) -> String {
    let x = format::expression(argument);
    match kind {
        AggregateKind::Average => {
            format!(r#"{{"item": {{"sum": SUM({x}), "count": COUNT({x})}}}}"#)
        }
        AggregateKind::Min | AggregateKind::Max => {
            let member = if kind == AggregateKind::Min { "min" } else { "max" };
            format!(
                r#"{{"item": {name}({x}), "item2": {{"{member}": {name}({x}), "count": COUNT({x})}}}}"#
            )
        }
        AggregateKind::Count
        | AggregateKind::CountIf
        | AggregateKind::Sum
        | AggregateKind::MakeList
        | AggregateKind::MakeSet => format!(r#"{{"item": {name}({x})}}"#),
    }
}

/// Aggregates and GROUP BY: ranges answer partial groups, the client merges them.
fn grouped(query: &Query, info: &mut QueryInfo) {
    info.group_by_expressions = query.group_by.iter().map(format::expression).collect();
    let payload = match &query.select.selection {
        Selection::All(_) => String::from("*"),
        Selection::Value(expr) => match aggregate(expr) {
            Some((kind, name, argument)) => {
                info.aggregates.push(aggregate_name(kind));
                format!("[{}]", partial(kind, name, argument))
            }
            None => format::expression(expr),
        },
        Selection::List(list) => {
            let mut members = Vec::new();
            for (item, alias) in list.iter().zip(Query::output_names(list)) {
                let found = aggregate(&item.expr);
                let text = found.map_or_else(
                    || format::expression(&item.expr),
                    |(kind, name, argument)| partial(kind, name, argument),
                );
                members.push(format!("{}: {text}", format::quoted(&alias)));
                let kind = found.map(|(kind, ..)| aggregate_name(kind));
                info.alias_aggregates.push((alias.clone(), kind));
                info.group_by_aliases.push(alias);
            }
            format!("{{{}}}", members.join(", "))
        }
    };
    let is_value = info.has_select_value;
    let distinct = if query.select.distinct { "DISTINCT " } else { "" };
    let select = if query.group_by.is_empty() {
        let top = if query.select.distinct { String::new() } else { top_text(query) };
        if is_value {
            format!("SELECT {distinct}VALUE {payload}")
        } else {
            format!("SELECT {distinct}{top}{payload} AS payload")
        }
    } else {
        let items = item_list(&info.group_by_expressions);
        format!("SELECT {distinct}{items} AS groupByItems, {payload} AS payload")
    };
    info.rewritten_query = clauses(&select, query, query.filter.as_ref().map(format::expression));
}

/// Returns `[{"item": a}, {"item": b}]`.
fn item_list(expressions: &[String]) -> String {
    let items: Vec<String> =
        expressions.iter().map(|text| format!(r#"{{"item": {text}}}"#)).collect();
    format!("[{}]", items.join(", "))
}

/// Puts the clauses of a query, except OFFSET and LIMIT, after a SELECT.
fn clauses(select: &str, query: &Query, filter: Option<String>) -> String {
    let mut text = format!("{select}\n{}", format::from(&query.from));
    if let Some(filter) = filter {
        text.push_str("\nWHERE ");
        text.push_str(&filter);
    }
    if !query.group_by.is_empty() {
        let keys: Vec<String> = query.group_by.iter().map(format::expression).collect();
        text.push_str("\nGROUP BY ");
        text.push_str(&keys.join(", "));
    }
    if let Some(order) = &query.order_by {
        text.push('\n');
        text.push_str(&format::order_by(order));
    }
    text
}

/// ORDER BY: ranges answer envelopes with keys, the client merges by them.
fn ordered(
    query: &Query,
    bound: &tree::Query,
    info: &mut QueryInfo,
    needed: &mut Vec<&'static str>,
) -> Result<()> {
    let Some(order) = &query.order_by else { return Ok(()) };
    info.order_by_expressions =
        order.items.iter().map(|item| format::expression(&item.expr)).collect();
    for (item, key) in order.items.iter().zip(&bound.order) {
        info.order_by.push(direction_name(item.direction, key.descending));
        info.has_non_streaming_order_by |= key.undefined_last && !is_text_score(&item.expr);
    }
    needed.push(if order.items.len() > 1 { "MultipleOrderBy" } else { "OrderBy" });
    if info.has_non_streaming_order_by {
        needed.push("NonStreamingOrderBy");
    }
    let mut filter = placeholder_filter(query);
    if let Selection::Value(expr) = &query.select.selection {
        filter = format!("({filter} AND IS_DEFINED({}))", format::expression(expr));
    }
    let mut keeps_window = true;
    if query.select.distinct {
        keeps_window = false;
        if let (Selection::Value(expr), [item]) = (&query.select.selection, order.items.as_slice())
            && format::identity(expr) == format::identity(&item.expr)
        {
            info.distinct = "Ordered";
        }
    }
    let select = format!(
        "SELECT {}{}._rid, {} AS orderByItems, {} AS payload",
        if keeps_window { top_text(query) } else { String::new() },
        root_alias(query)?,
        item_list(&info.order_by_expressions),
        payload(query)?,
    );
    info.rewritten_query = clauses(&select, query, Some(filter));
    if let (None, Some(window), true) = (info.limit, &query.offset_limit, keeps_window) {
        let window = format::offset_limit(window);
        info.rewritten_query = format!("{}\n{window}", info.rewritten_query);
    }
    if let (Some(offset), Some(limit), true) = (info.offset, info.limit, keeps_window) {
        let sum = offset.saturating_add(limit).min(COUNT_MAX);
        info.rewritten_query = format!("{}\nOFFSET 0 LIMIT {sum}", info.rewritten_query);
    }
    Ok(())
}

/// Wire: clients merge the scores of texts as they come.
fn is_text_score(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Call { name, udf: false, .. }
        if name.eq_ignore_ascii_case("_FullTextScore"))
}

fn direction_name(written: Option<Direction>, descending: bool) -> &'static str {
    match written {
        Some(Direction::Ascending) => "Ascending",
        Some(Direction::Descending) => "Descending",
        None => ["Ascending", "Descending"][usize::from(descending)],
    }
}

/// Returns the filter with the place for a resume filter.
pub(super) fn placeholder_filter(query: &Query) -> String {
    match &query.filter {
        None => format!("({FILTER_PLACEHOLDER})"),
        Some(filter) => format!("({} AND ({FILTER_PLACEHOLDER}))", format::expression(filter)),
    }
}

fn top_text(query: &Query) -> String {
    match query.select.top.as_ref().map(|top| &top.count.kind) {
        Some(CountKind::Literal(Some(top))) => format!("TOP {top} "),
        Some(CountKind::Parameter(name)) => format!("TOP {name} "),
        Some(CountKind::Literal(None)) | None => String::new(),
    }
}

/// Returns the name of the item, whose `_rid` the envelopes carry.
pub(super) fn root_alias(query: &Query) -> Result<&str> {
    let source = query.from.first();
    let alias = source.and_then(|source| match &source.collection {
        Collection::Path { name, .. } if source.iterates => Some(name),
        Collection::Path { name, .. } => Some(source.alias.as_ref().unwrap_or(name)),
        Collection::Subquery(_) => source.alias.as_ref(),
    });
    alias.map(|alias| alias.text.as_str()).ok_or_else(|| {
        let message = "ORDER BY is only supported when the first input set has a name.";
        Error::Unplannable(message.to_string())
    })
}

/// Returns the row of the user's query as one expression.
pub(super) fn payload(query: &Query) -> Result<String> {
    Ok(match &query.select.selection {
        Selection::All(_) => root_alias(query)?.to_string(),
        Selection::Value(expr) => format::expression(expr),
        Selection::List(list) => {
            let members: Vec<String> = list
                .iter()
                .zip(Query::output_names(list))
                .map(|(item, name)| {
                    format!("{}: {}", format::quoted(&name), format::expression(&item.expr))
                })
                .collect();
            format!("{{{}}}", members.join(", "))
        }
    })
}

fn without_offset(query: &Query) -> Query {
    Query { offset_limit: None, ..query.clone() }
}

fn without_window(query: &Query) -> Query {
    let mut query = without_offset(query);
    query.select.top = None;
    query
}

/// Returns the output name of `SELECT [VALUE] COUNT(1) FROM (SELECT DISTINCT …)`; empty with VALUE.
fn distinct_count(query: &Query) -> Option<String> {
    let (expr, alias) = match &query.select.selection {
        Selection::All(_) => return None,
        Selection::Value(expr) => (expr, String::new()),
        Selection::List(list) => match list.as_slice() {
            [item] => (&item.expr, Query::output_names(list).pop()?),
            _ => return None,
        },
    };
    let (AggregateKind::Count, _, argument) = aggregate(expr)? else { return None };
    let [source] = query.from.as_slice() else { return None };
    let Collection::Subquery(inner) = &source.collection else { return None };
    let counts_rows = match &argument.kind {
        ExprKind::Literal(_) => true,
        ExprKind::Identifier(name) => {
            source.alias.as_ref().is_some_and(|alias| alias.text == *name)
        }
        _ => false,
    };
    let is_bare = query.filter.is_none()
        && query.group_by.is_empty()
        && query.order_by.is_none()
        && !query.select.distinct;
    let is_distinct = inner.select.distinct && inner.group_by.is_empty() && !source.iterates;
    (counts_rows && is_bare && is_distinct).then_some(alias)
}

fn count_distinct(query: &Query, mut info: QueryInfo, alias: String) -> Result<QueryInfo> {
    let inner = query.from.first().and_then(|source| match &source.collection {
        Collection::Subquery(inner) => Some(inner),
        Collection::Path { .. } => None,
    });
    let Some(inner) = inner else { return Err(Error::Unplannable(String::new())) };
    check_compositions(inner)?;
    info.distinct = "Unordered";
    info.dcount_alias = Some(alias);
    info.rewritten_query = format::query(inner);
    Ok(info)
}
