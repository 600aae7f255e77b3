//! Stored procedures, triggers and user-defined functions: kept as they were sent.
//!
//! Running them is the business of the script engine; until it exists, execution is refused.

use model::{Object, Value};

use crate::body;
use crate::error::Result;
use crate::policy_error::PolicyError;

const TRIGGER_TYPES: [&str; 2] = ["Pre", "Post"];
const TRIGGER_OPERATIONS: [&str; 6] = ["All", "Create", "Replace", "Delete", "Update", "Upsert"];

pub(crate) fn complete_procedure(script: &Object) -> Result<Object> {
    let text = body::required_text(script, "body")?;
    Ok(body::object([("body", text.into())]))
}

pub(crate) fn complete_trigger(script: &Object) -> Result<Object> {
    let text = body::required_text(script, "body")?;
    let kind = one_of(script, "triggerType", &TRIGGER_TYPES)?;
    let operation = one_of(script, "triggerOperation", &TRIGGER_OPERATIONS)?;
    Ok(body::object([
        ("body", text.into()),
        ("triggerOperation", operation),
        ("triggerType", kind),
    ]))
}

/// Wire: trigger enums are compared without regard to case, and shown as they were written.
fn one_of(script: &Object, property: &'static str, known: &[&'static str]) -> Result<Value> {
    let text = body::required_text(script, property)?;
    let unknown = || PolicyError::UnknownValue { property, value: text.to_owned() };
    body::spelled(text, known).ok_or_else(unknown)?;
    Ok(text.into())
}

/// The type and operation of a trigger, in our spelling.
pub(crate) fn trigger_facts(trigger: &Object) -> Option<(&'static str, &'static str)> {
    let text = |property| trigger.get(property).and_then(Value::as_str);
    let kind = body::spelled(text("triggerType")?, &TRIGGER_TYPES)?;
    Some((kind, body::spelled(text("triggerOperation")?, &TRIGGER_OPERATIONS)?))
}
