//! Computed properties: a name and a `SELECT VALUE` over the item.

use std::collections::HashSet;

use model::{Env, Object, Value};
use query::ast::Selection;
use query::{ComputedProperty, PrepareOptions, Statement};

use crate::body;
use crate::error::Result;
use crate::policy_error::PolicyError;

/// Limit: the service's number.
const PROPERTIES_MAX: usize = 20;
const RESERVED: [&str; 8] = ["id", "ttl", "_rid", "_self", "_etag", "_ts", "_attachments", "_lsn"];

pub(super) fn complete(container: &Object) -> Result<Vec<Value>> {
    let properties = body::object_list(container, "computedProperties")?;
    if properties.len() > PROPERTIES_MAX {
        let count = properties.len();
        let what = "computed properties";
        return Err(PolicyError::TooMany { what, count, max: PROPERTIES_MAX }.into());
    }
    let mut seen = HashSet::new();
    let mut completed = Vec::new();
    for (index, property) in properties.into_iter().enumerate() {
        let text = |name| match body::present(property, name) {
            Some(Value::String(text)) if text.is_empty() => {
                Err(PolicyError::ComputedEmpty { name })
            }
            Some(Value::String(text)) => Ok(text),
            Some(_) | None => Err(PolicyError::InputInvalid),
        };
        let (name, query) = (text("name")?, text("query")?);
        check_name(name, &mut seen)?;
        if has_spatial_index(container, name)? {
            return Err(PolicyError::ComputedSpatial { name: name.clone(), index }.into());
        }
        check_query(name, query, index)?;
        let one = body::object([("name", name.as_str().into()), ("query", query.as_str().into())]);
        completed.push(Value::Object(one));
    }
    Ok(completed)
}

fn check_name(name: &str, seen: &mut HashSet<String>) -> Result<(), PolicyError> {
    let name = name.to_owned();
    let reason = if RESERVED.contains(&&*name) {
        return Err(PolicyError::ComputedReserved { name });
    } else if name.contains(['/', '"', '\'', '[', ']', '*', '?']) {
        "it has a character that no path can name"
    } else if !seen.insert(name.clone()) {
        return Err(PolicyError::ComputedTwice { name });
    } else {
        return Ok(());
    };
    Err(PolicyError::ComputedName { name, reason })
}

/// Says whether the indexing policy that was sent has a spatial index on a property.
fn has_spatial_index(container: &Object, name: &str) -> Result<bool> {
    let Some(policy) = body::optional_object(container, "indexingPolicy")? else {
        return Ok(false);
    };
    let is_on = |index: &&Object| {
        let path = index.get("path").and_then(Value::as_str).unwrap_or_default();
        let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
        first.trim_matches('"') == name
    };
    Ok(body::object_list(policy, "spatialIndexes")?.iter().any(is_on))
}

/// The query must have no mistake and be one `SELECT VALUE … FROM alias` without further clauses.
fn check_query(name: &str, query: &str, index: usize) -> Result<(), PolicyError> {
    // Nothing is computed here, so no clock matters.
    let options = PrepareOptions::new(Env::fixed(0, 0));
    let statement = Statement::prepare(query, &[], &options).map_err(|error| {
        let details = details(&error);
        PolicyError::ComputedMalformed { index, query: query.to_owned(), details }
    })?;
    if !matches!(statement.ast().select.selection, Selection::Value(_)) {
        return Err(PolicyError::ComputedWithoutValue { index, query: query.to_owned() });
    }
    ComputedProperty::parse(name, query).map(drop).map_err(|error| PolicyError::ComputedQuery {
        name: name.to_owned(),
        reason: error.to_string(),
    })
}

/// Wire: mistakes as the service tells them here: no place, and codes that are numbers.
fn details(error: &query::Error) -> String {
    let message = error.to_service_message();
    let Ok(mut told) = model::json::parse(message.as_bytes()) else { return message };
    let mistakes = told.as_object_mut().and_then(|told| told.get_mut("errors")?.as_array_mut());
    for mistake in mistakes.into_iter().flatten().filter_map(Value::as_object_mut) {
        mistake.remove("location");
        let code = mistake.get("code").and_then(Value::as_str);
        let number = code.and_then(|code| code.strip_prefix("SC")?.parse::<i64>().ok());
        if let Some(number) = number {
            mistake.insert("code", number);
        }
    }
    told.to_text()
}

/// The computed properties of a completed body.
pub(super) fn properties(completed: &Object) -> Result<Vec<ComputedProperty>> {
    let properties = body::object_list(completed, "computedProperties")?.into_iter();
    let parse = |property: &Object| {
        let name = body::required_text(property, "name")?;
        Ok(ComputedProperty::parse(name, body::required_text(property, "query")?)?)
    };
    properties.map(parse).collect()
}
