//! Questions to the planner and answers in one form, so that Orrery's and another planner's can be compared.
//!
//! A question is a JSON object: `query`, and if need be `parameters` (as in a request) and `paths` of the partition key. An
//! answer has `plan`, the query plan document with partition keys as ranges, or `errors`. A question with `expression` asks
//! for its `value`, as `ToString` prints it or `null` if it is undefined; its `query` filters a key by that text, so that the
//! ranges of a planner tell it.

use model::{Env, Object, PartitionKey, PartitionKeyDefinition, Value};
use query::{Features, PageRequest, PrepareOptions, Row, SourceItem, Statement};

/// Returns the answer of this build.
pub(crate) fn own(question: &Value) -> Value {
    let text = question.get("query").and_then(Value::as_str).unwrap_or_default();
    let parameters: Vec<(String, Value)> = list(question, "parameters")
        .iter()
        .filter_map(|parameter| {
            let name = parameter.get("name")?.as_str()?.to_string();
            Some((name, parameter.get("value")?.clone()))
        })
        .collect();
    let options = PrepareOptions::new(Env::fixed(1, 1));
    let answer = match definition(question) {
        Some(definition) => {
            let features = Features::all().without("HybridSearchSkipOrderByRewrite");
            query::query_plan(text, &parameters, &options, &definition, &features)
        }
        None => return Value::from("the partition key of the question is invalid"),
    };
    match answer {
        Ok(_) if question.get("expression").is_some() => member("value", value_of(question)),
        Ok(plan) => member("plan", plan_of(&plan)),
        Err(error) if error.diagnostics().is_empty() => {
            let message = error.to_service_message();
            let value =
                model::json::parse(message.as_bytes()).unwrap_or(Value::from(message.as_str()));
            member("errors", errors_of(&value, text))
        }
        Err(error) => {
            let list = error.diagnostics().iter().map(|diagnostic| {
                let code = diagnostic.code.to_string();
                let span = (code != "2206").then_some((diagnostic.span.start, diagnostic.span.end));
                error_text(&code, &diagnostic.message, span)
            });
            member("errors", Value::Array(list.collect()))
        }
    }
}

/// Computes the expression of a question.
fn value_of(question: &Value) -> Value {
    let expression = question.get("expression").and_then(Value::as_str).unwrap_or_default();
    let text = format!("SELECT VALUE ToString({expression})");
    let request = PageRequest {
        items_max: 1,
        bytes_max: 1 << 20,
        deadline: None,
        may_wait: true,
        continuation: None,
    };
    let page = Statement::prepare(&text, &[], &PrepareOptions::new(Env::fixed(1, 1)))
        .and_then(|statement| statement.run(&NoItems, &request));
    match page {
        Ok(page) => page.rows.into_iter().next().map_or(Value::Null, Row::into_value),
        Err(error) => member("fails", Value::from(error.to_service_message().as_str())),
    }
}

/// A container without items; constant expressions need none.
struct NoItems;

impl query::ItemSource for NoItems {
    fn scan(
        &self,
        _after: Option<u64>,
    ) -> Box<dyn Iterator<Item = query::Result<SourceItem>> + '_> {
        Box::new(std::iter::empty())
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

/// Says whether a planner did not compute the expression of a question beforehand, or failed over the question itself.
pub(crate) fn is_open(answer: &Value) -> bool {
    answer.get("value").is_some_and(|value| value.as_object().is_some())
        || answer.get("errors").is_some_and(|errors| matches!(errors, Value::Null))
}

/// Reads the value of an expression from the ranges that a filter by it asks.
fn told_value(plan: &Value) -> Value {
    let ranges = list(plan, "queryRanges");
    let end = |name| ranges.first().and_then(|range: &Value| range.get(name));
    match (end("min").and_then(Value::as_array), end("max").and_then(Value::as_array)) {
        (Some([key]), Some(_)) if ranges.len() == 1 => key.clone(),
        (Some([]), Some([])) => Value::Null,
        _ => member("open", Value::Bool(true)),
    }
}

/// Brings the answer of another planner into the same form.
pub(crate) fn normal(question: &Value, answer: &Value) -> Value {
    if let (Some(plan), Some(_)) = (answer.get("plan"), question.get("expression")) {
        return member("value", told_value(plan));
    }
    if let Some(plan) = answer.get("plan") {
        let mut plan = plan_of(plan);
        if let (Some(definition), Value::Object(plan)) = (definition(question), &mut plan) {
            let ranges = list_of(plan.get("queryRanges"));
            let mut ranges: Vec<Value> =
                ranges.iter().map(|range| wire_range(range, &definition)).collect();
            ranges.sort_by(|left, right| left.as_str().cmp(&right.as_str()));
            plan.insert("queryRanges", Value::Array(ranges));
        }
        return member("plan", plan);
    }
    let text = question.get("query").and_then(Value::as_str).unwrap_or_default();
    // A planner that fails by itself says nothing.
    let errors = answer.get("errors").filter(|errors| errors.as_str() != Some(""));
    member("errors", errors.map_or(Value::Null, |errors| errors_of(errors, text)))
}

/// Brings the mistakes in a text into one form. The other planner counts characters, the service UTF-16 units.
fn errors_of(errors: &Value, text: &str) -> Value {
    let units = |n_characters: u32| -> u32 {
        let before = text.chars().take(n_characters as usize);
        before.map(|c| u32::try_from(c.len_utf16()).unwrap_or_default()).sum()
    };
    if let Some(list) = errors.get("errors") {
        let list = list_of(Some(list)).into_iter().map(|error| {
            let place =
                |name| error.get("location")?.get(name)?.as_i64()?.try_into().ok().map(units);
            let code = match error.get("code") {
                Some(Value::String(code)) => code.clone(),
                Some(code) => code.to_text(),
                None => String::new(),
            };
            let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
            error_text(&code, message, place("start").zip(place("end")))
        });
        return Value::Array(list.collect());
    }
    errors.get("Errors").cloned().unwrap_or_else(|| errors.clone())
}

/// One line for a mistake: `SC1001 @7-9 the message`.
fn error_text(code: &str, message: &str, span: Option<(u32, u32)>) -> Value {
    let place = span.map_or_else(|| "-".to_string(), |(start, end)| format!("{start}-{end}"));
    Value::from(format!("{code} @{place} {message}").as_str())
}

/// Leaves out members that say nothing, and writes flags in one way.
fn plan_of(plan: &Value) -> Value {
    let mut normal = Object::new();
    for name in ["queryInfo", "hybridSearchQueryInfo"] {
        if let Some(info) = plan.get(name).filter(|info| **info != Value::Null) {
            normal.insert(name, info_of(info));
        }
    }
    let ranges = list_of(plan.get("queryRanges"));
    let is_wire = ranges.iter().any(|range| matches!(range.get("min"), Some(Value::String(_))));
    let ranges = if is_wire { ranges.iter().map(range_text).collect() } else { ranges };
    normal.insert("queryRanges", Value::Array(ranges));
    Value::Object(normal)
}

fn info_of(info: &Value) -> Value {
    match info {
        Value::Object(members) => {
            let mut normal = Object::new();
            for (name, value) in members.iter() {
                let value = match (name, value) {
                    ("groupByAliasToAggregateType", value) => value_kinds(value),
                    (_, Value::Null) | ("embeddingParameterMap", _) => continue,
                    (
                        "hasSelectValue"
                        | "hasNonStreamingOrderBy"
                        | "requiresExtendedQueryPlan"
                        | "requiresGlobalStatistics",
                        value,
                    ) => Value::Bool(value.as_i64() == Some(1) || *value == Value::Bool(true)),
                    (_, value) => info_of(value),
                };
                if !says_nothing(&value) {
                    normal.insert(name, value);
                }
            }
            let mut sorted: Vec<(&str, Value)> =
                normal.iter().map(|(name, value)| (name, value.clone())).collect();
            sorted.sort_by(|left, right| left.0.cmp(right.0));
            Value::Object(sorted.into_iter().collect())
        }
        Value::Array(list) => Value::Array(list.iter().map(info_of).collect()),
        value => value.clone(),
    }
}

/// What is empty may as well not be there.
fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::String(text) => text.is_empty() || text == "None",
        Value::Bool(value) => !value,
        _ => false,
    }
}

/// No aggregate is `null` in one planner and an empty text in the other.
fn value_kinds(kinds: &Value) -> Value {
    let Value::Object(kinds) = kinds else { return kinds.clone() };
    let kind = |value: &Value| if value.as_str() == Some("") { Value::Null } else { value.clone() };
    Value::Object(kinds.iter().map(|(name, value)| (name, kind(value))).collect())
}

fn wire_range(range: &Value, definition: &PartitionKeyDefinition) -> Value {
    let end = |name: &str| match range.get(name) {
        Some(Value::Array(list)) if list.is_empty() => String::new(),
        Some(Value::Array(list)) => {
            let is_open = list.last().and_then(Value::as_str) == Some("Infinity");
            let known = list.len()
                - usize::from(is_open && list.len() <= definition.paths.len() && name == "max");
            let key = Value::Array(list.get(..known).unwrap_or_default().to_vec());
            let key = PartitionKey::from_value(&key).map(|key| definition.epk(&key).to_string());
            let key = key.unwrap_or_else(|_| format!("{list:?}"));
            if known < list.len() { format!("{key}FF") } else { key }
        }
        Some(Value::String(_)) => "FF".to_string(),
        _ => String::from("?"),
    };
    let flag = |name: &str| range.get(name) == Some(&Value::Bool(true));
    let n_known = range.get("min").and_then(Value::as_array).map_or(0, <[Value]>::len);
    // Part of a key stands for all keys that begin with it.
    if range.get("min") == range.get("max") && (1..definition.paths.len()).contains(&n_known) {
        return brackets(&end("min"), &format!("{}FF", end("max")), true, false);
    }
    brackets(&end("min"), &end("max"), flag("isMinInclusive"), flag("isMaxInclusive"))
}

fn range_text(range: &Value) -> Value {
    let end = |name: &str| range.get(name).and_then(Value::as_str).unwrap_or("?").to_string();
    let flag = |name: &str| range.get(name) == Some(&Value::Bool(true));
    brackets(&end("min"), &end("max"), flag("isMinInclusive"), flag("isMaxInclusive"))
}

/// A range as mathematicians write it: `[05C1,05C1]`.
fn brackets(min: &str, max: &str, with_min: bool, with_max: bool) -> Value {
    let open = if with_min { '[' } else { '(' };
    let close = if with_max { ']' } else { ')' };
    Value::from(format!("{open}{min},{max}{close}").as_str())
}

fn definition(question: &Value) -> Option<PartitionKeyDefinition> {
    let paths: Vec<&str> = list(question, "paths").iter().filter_map(Value::as_str).collect();
    PartitionKeyDefinition::new(if paths.is_empty() { &["/pk"] } else { paths.as_slice() }).ok()
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_array).unwrap_or_default()
}

fn list_of(value: Option<&Value>) -> Vec<Value> {
    value.and_then(Value::as_array).unwrap_or_default().to_vec()
}

fn member(name: &str, value: Value) -> Value {
    let mut object = Object::new();
    object.insert(name, value);
    Value::Object(object)
}
