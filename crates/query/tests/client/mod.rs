//! A client in miniature: fetches the plan, asks each range, merges the answers as SDKs do.
#![allow(dead_code, unreachable_pub)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use model::{Object, Value, order};
use query::{Page, PageRequest, PrepareOptions, Result, Row, SourceItem, Statement, StoredItem};

/// Items in memory, by ascending number.
#[derive(Debug, Clone, Default)]
pub struct MemorySource {
    pub items: Vec<SourceItem>,
}

/// An item that is stored as text, as partitions have them.
pub fn stored(number: u64, text: &str) -> SourceItem {
    SourceItem::stored(number, StoredItem { text: text.to_owned().into(), system: None })
}

impl query::ItemSource for MemorySource {
    fn scan(
        &self,
        after: Option<u64>,
    ) -> Box<dyn Iterator<Item = Result<SourceItem, query::Error>> + '_> {
        let later = move |item: &&SourceItem| after.is_none_or(|after| item.number > after);
        Box::new(self.items.iter().filter(later).cloned().map(Ok))
    }

    fn index(&self) -> Option<&dyn query::ItemIndex> {
        None
    }

    fn shared(&self) -> Option<&(dyn query::ItemSource + Sync)> {
        None
    }

    fn parts(&self) -> Option<query::Parts<'_>> {
        None
    }
}

/// Runs a statement page by page.
pub fn run_all(
    statement: &Statement,
    source: &dyn query::ItemSource,
    items_max: usize,
) -> Result<Vec<Value>> {
    let mut rows = Vec::new();
    let mut continuation: Option<String> = None;
    for _ in 0..10_000 {
        let request = PageRequest {
            items_max,
            bytes_max: 4 << 20,
            deadline: None,
            may_wait: true,
            continuation: continuation.as_deref(),
        };
        let Page { rows: page, continuation: next, .. } = statement.run(source, &request)?;
        assert!(page.len() <= items_max, "a page holds no more than it may");
        rows.extend(page.into_iter().map(Row::into_value));
        match next {
            Some(next) => continuation = Some(next),
            None => return Ok(rows),
        }
    }
    panic!("a query ends after finitely many pages");
}

/// Runs a query over ranges by its plan.
pub fn run_plan(
    plan: &Value,
    text: &str,
    parameters: &[(String, Value)],
    options: &PrepareOptions,
    ranges: &[MemorySource],
) -> Result<Vec<Value>> {
    let mut rows = Vec::new();
    let statement = Statement::prepare(&text_for_ranges(plan, text, "true"), parameters, options)?;
    // The empty point is in the first range: any one can answer.
    let lowest = plan.get("queryRanges").and_then(Value::as_array).unwrap_or_default();
    let is_one = matches!(lowest, [range] if range.get("max").and_then(Value::as_str) == Some(""));
    for range in ranges.iter().take(if is_one { 1 } else { ranges.len() }) {
        rows.extend(run_all(&statement, range, 2)?);
    }
    Ok(merge_rows(plan, rows))
}

/// Returns the text to send to each range, with a filter for where an ORDER BY begins.
pub fn text_for_ranges(plan: &Value, text: &str, filter: &str) -> String {
    let info = plan.get("queryInfo").expect("not a ranked query");
    let rewritten = info.get("rewrittenQuery").and_then(Value::as_str).unwrap();
    let text = if rewritten.is_empty() { text } else { rewritten };
    text.replace("{documentdb-formattableorderbyquery-filter}", filter)
}

/// Makes the answer of what all ranges returned.
pub fn merge_rows(plan: &Value, mut rows: Vec<Value>) -> Vec<Value> {
    let info = plan.get("queryInfo").expect("not a ranked query");
    let strings = |name: &str| -> Vec<String> {
        let list = info.get(name).and_then(Value::as_array).unwrap();
        list.iter().map(|value| value.as_str().unwrap().to_string()).collect()
    };
    let aggregates = strings("aggregates");
    if !strings("groupByExpressions").is_empty()
        || info.get("groupByAliasToAggregateType").unwrap() != &Value::Object(Object::new())
    {
        rows = group(info, rows, aggregates.first().map(String::as_str));
    } else if let [aggregate] = aggregates.as_slice() {
        let parts = rows.iter().map(|row| row.as_array().unwrap()[0].clone());
        rows = merge(aggregate, &parts.collect::<Vec<_>>()).into_iter().collect();
    }
    let directions = strings("orderBy");
    if !directions.is_empty() {
        rows = merge_ordered(&directions, rows);
    }
    if info.get("distinctType").and_then(Value::as_str) != Some("None") {
        let mut seen: Vec<Value> = Vec::new();
        for row in rows {
            if !seen.contains(&row) {
                seen.push(row);
            }
        }
        rows = seen;
    }
    if let Some(alias) = info.get("dCountInfo").and_then(|info| info.get("dCountAlias")) {
        let count = Value::from(rows.len());
        let alias = alias.as_str().unwrap();
        rows = vec![if alias.is_empty() {
            count
        } else {
            model::object! { alias => count }
        }];
    }
    let count =
        |name: &str| info.get(name).and_then(Value::as_i64).map(|n| usize::try_from(n).unwrap());
    let rows = rows.into_iter().skip(count("offset").unwrap_or(0));
    let take = count("top").unwrap_or(usize::MAX).min(count("limit").unwrap_or(usize::MAX));
    rows.take(take).collect()
}

fn merge_ordered(directions: &[String], mut rows: Vec<Value>) -> Vec<Value> {
    rows.sort_by(|left, right| {
        for (index, direction) in directions.iter().enumerate() {
            let key = |row: &Value| {
                row.get("orderByItems").unwrap().as_array().unwrap()[index].get("item").cloned()
            };
            let by_key = order(key(left).as_ref(), key(right).as_ref());
            let by_key = if direction == "Descending" { by_key.reverse() } else { by_key };
            if by_key.is_ne() {
                return by_key;
            }
        }
        std::cmp::Ordering::Equal
    });
    for row in &rows {
        let rid = row.get("_rid").and_then(Value::as_str).expect("envelopes carry a rid");
        assert!(model::Rid::parse(rid).is_some(), "{rid}");
    }
    rows.into_iter().filter_map(|row| row.get("payload").cloned()).collect()
}

fn group(info: &Value, rows: Vec<Value>, value_aggregate: Option<&str>) -> Vec<Value> {
    let mut groups: Vec<(Option<Value>, Vec<Option<Value>>)> = Vec::new();
    for row in rows {
        let key = row.get("groupByItems").cloned();
        let payload = row.get("payload").cloned();
        match groups.iter_mut().find(|(own, _)| *own == key) {
            Some((_, payloads)) => payloads.push(payload),
            None => groups.push((key, vec![payload])),
        }
    }
    let kinds = info.get("groupByAliasToAggregateType").and_then(Value::as_object).unwrap();
    let merged = groups.into_iter().filter_map(|(_, payloads)| {
        if info.get("hasSelectValue") == Some(&Value::Bool(true)) {
            let Some(kind) = value_aggregate else { return payloads.into_iter().next().flatten() };
            let parts = payloads
                .iter()
                .map(|payload| payload.as_ref().unwrap().as_array().unwrap()[0].clone());
            return merge(kind, &parts.collect::<Vec<_>>());
        }
        let mut object = Object::new();
        for (alias, kind) in kinds.iter() {
            let members: Vec<Option<Value>> =
                payloads.iter().map(|payload| payload.as_ref()?.get(alias).cloned()).collect();
            let value = match kind.as_str() {
                None => members.into_iter().next().flatten(),
                Some(kind) => merge(kind, &members.into_iter().flatten().collect::<Vec<_>>()),
            };
            if let Some(value) = value {
                object.insert(alias, value);
            }
        }
        Some(Value::Object(object))
    });
    merged.collect()
}

/// Merges partial results `{"item": …}` of one aggregate.
fn merge(kind: &str, parts: &[Value]) -> Option<Value> {
    let items: Vec<Option<&Value>> = parts.iter().map(|part| part.get("item")).collect();
    let sum = |values: Vec<Option<f64>>| {
        values.into_iter().try_fold(0.0, |sum, value| Some(sum + value?))
    };
    match kind {
        "Count" | "CountIf" | "Sum" => {
            Some(Value::from(sum(items.iter().map(|item| item.and_then(Value::as_f64)).collect())?))
        }
        "Average" => {
            let member =
                |name: &str| items.iter().map(|item| (*item)?.get(name)?.as_f64()).collect();
            let (total, count) = (sum(member("sum"))?, sum(member("count"))?);
            (count > 0.0).then(|| Value::from(total / count))
        }
        "Min" | "Max" => {
            let member = kind.to_lowercase();
            let mut best: Option<Value> = None;
            for part in parts {
                let detail = part.get("item2").expect("MIN and MAX always carry item2");
                if detail.get("count").and_then(Value::as_i64).expect("a count") == 0 {
                    continue;
                }
                let value = detail.get(&member)?.clone();
                let is_better = best.as_ref().is_none_or(|best| {
                    let wanted = if kind == "Min" {
                        std::cmp::Ordering::Less
                    } else {
                        std::cmp::Ordering::Greater
                    };
                    order(Some(&value), Some(best)) == wanted
                });
                if is_better {
                    best = Some(value);
                }
            }
            best
        }
        "MakeList" | "MakeSet" => {
            let mut list: Vec<Value> = Vec::new();
            for value in items.iter().flat_map(|item| item.unwrap().as_array().unwrap()) {
                if kind == "MakeList" || !list.contains(value) {
                    list.push(value.clone());
                }
            }
            Some(Value::Array(list))
        }
        other => panic!("unknown aggregate {other}"),
    }
}
