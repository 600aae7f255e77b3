//! Computed properties: a name and a `SELECT VALUE` over the item.

use std::collections::HashSet;

use model::{Object, Value};
use query::ComputedProperty;

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
    for property in properties {
        let text = |name| match body::present(property, name) {
            Some(Value::String(text)) if text.is_empty() => {
                Err(PolicyError::ComputedEmpty { name })
            }
            Some(Value::String(text)) => Ok(text),
            Some(_) | None => Err(PolicyError::InputInvalid),
        };
        let (name, query) = (text("name")?, text("query")?);
        check_name(name, &mut seen)?;
        check_query(name, query)?;
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

/// The query must parse and be one `SELECT VALUE … FROM alias` without further clauses.
fn check_query(name: &str, query: &str) -> Result<(), PolicyError> {
    match ComputedProperty::parse(name, query) {
        Ok(_) => Ok(()),
        Err(error) => {
            Err(PolicyError::ComputedQuery { name: name.to_owned(), reason: error.to_string() })
        }
    }
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
