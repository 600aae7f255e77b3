//! Reads a patch from the body of a request.
//!
//! Wire: `{"condition": …, "operations": […]}`, or the bare array of operations that older SDKs send.

use model::json::SYSTEM_PROPERTIES;
use model::{Object, Value};

use super::condition::Condition;
use super::operation::Operation;
use super::pointer::Pointer;
use super::{PATCH_OPERATIONS_MAX, Patch};
use crate::{Error, Result};

impl Patch {
    /// Parses and checks the body of a patch request.
    pub fn parse(body: &[u8]) -> Result<Patch> {
        let body = model::json::parse_mended(body).map_err(model::ItemError::from)?;
        Patch::from_value(body)
    }

    /// Checks a parsed body.
    pub fn from_value(body: Value) -> Result<Patch> {
        let (operations, condition) = match body {
            Value::Array(operations) => (operations, None),
            Value::Object(mut object) => {
                let Some(Value::Array(operations)) = object.remove("operations") else {
                    return Err(invalid("the property 'operations' must be an array."));
                };
                let condition = match object.remove("condition") {
                    None | Some(Value::Null) => None,
                    Some(Value::String(text)) => Some(Condition::parse(&text)?),
                    Some(_) => return Err(invalid("the property 'condition' must be a string.")),
                };
                if let Some((name, _)) = object.iter().next() {
                    return Err(invalid(&format!("unknown property '{}'.", cut(name))));
                }
                (operations, condition)
            }
            _ => return Err(invalid("the body must be an object or an array.")),
        };
        if operations.is_empty() {
            return Err(invalid("at least one patch operation is required."));
        }
        if operations.len() > PATCH_OPERATIONS_MAX {
            return Err(invalid(&format!(
                "the number of patch operations can't exceed '{PATCH_OPERATIONS_MAX}'."
            )));
        }
        let operations = operations.into_iter().map(operation).collect::<Result<_>>()?;
        Ok(Patch { operations, condition })
    }
}

fn operation(value: Value) -> Result<Operation> {
    let Value::Object(mut object) = value else {
        return Err(invalid("each patch operation must be an object."));
    };
    let Some(Value::String(name)) = object.remove("op") else {
        return Err(invalid("each patch operation must have a string 'op'."));
    };
    let path = pointer(&mut object, "path")?;
    Ok(match name.to_ascii_lowercase().as_str() {
        "add" => Operation::Add { path, value: value_of(&mut object)? },
        "set" => Operation::Set { path, value: value_of(&mut object)? },
        "replace" => Operation::Replace { path, value: value_of(&mut object)? },
        "remove" => Operation::Remove { path },
        "incr" => match value_of(&mut object)? {
            Value::Number(by) => Operation::Increment { path, by },
            _ => return Err(invalid("the value of an 'incr' operation must be a number.")),
        },
        "move" => {
            let from = pointer(&mut object, "from")?;
            if from.is_above(&path) {
                return Err(invalid("the 'path' of a move cannot be a child of its 'from'."));
            }
            Operation::Move { from, path }
        }
        _ => {
            return Err(invalid(&format!("patch operation '{}' is not supported.", cut(&name))));
        }
    })
}

fn value_of(object: &mut Object) -> Result<Value> {
    object.remove("value").ok_or_else(|| invalid("the patch operation needs a 'value'."))
}

fn pointer(object: &mut Object, name: &'static str) -> Result<Pointer> {
    let Some(Value::String(text)) = object.remove(name) else {
        return Err(invalid(&format!("the patch operation needs a string '{name}'.")));
    };
    let pointer = Pointer::parse(&text)
        .ok_or_else(|| invalid(&format!("the {name} '{}' is not a valid path.", cut(&text))))?;
    let first = pointer.segments().first().map_or("", String::as_str);
    if first == "id" || SYSTEM_PROPERTIES.contains(&first) {
        return Err(invalid(&format!("the property '{first}' cannot be patched.")));
    }
    Ok(pointer)
}

fn invalid(reason: &str) -> Error {
    Error::PatchInvalid(format!(
        "The request payload is invalid. Invalid patch request: {reason} \
         Learn more: https://aka.ms/cosmosdbpatchdocs"
    ))
}

// Limit: how much of a client's text an error repeats.
fn cut(text: &str) -> String {
    text.chars().take(128).collect()
}

#[cfg(test)]
mod tests {
    use model::Failure as _;

    use super::*;

    #[test]
    fn both_forms_are_read() {
        for body in [
            r#"[{"op":"add","path":"/a","value":null}]"#,
            r#"{"operations":[{"op":"Remove","path":"/a"}]}"#,
            r#"{"condition":null,"operations":[{"op":"move","from":"/a","path":"/b"}]}"#,
            r#"[{"op":"incr","path":"/n","value":-1.5},{"op":"set","path":"/a/0","value":{}}]"#,
        ] {
            Patch::parse(body.as_bytes()).unwrap_or_else(|error| panic!("{body}: {error}"));
        }
    }

    #[test]
    fn broken_patches_are_refused_with_400() {
        let eleven = format!("[{}]", [r#"{"op":"remove","path":"/a"}"#; 11].join(","));
        #[rustfmt::skip]
        let table = [
            ("",                                                   "valid request payload"),
            ("1",                                                  "object or an array"),
            ("[]",                                                 "at least one"),
            ("{}",                                                 "'operations'"),
            (r#"{"operations":[]}"#,                               "at least one"),
            (r#"{"operations":{}}"#,                               "'operations'"),
            (r#"{"operations":[{"op":"remove","path":"/a"}],"condition":1}"#, "'condition'"),
            (r#"{"operations":[{"op":"remove","path":"/a"}],"conditon":""}"#, "unknown property"),
            (eleven.as_str(),                                      "can't exceed '10'"),
            ("[1]",                                                "must be an object"),
            (r#"[{"path":"/a"}]"#,                                 "'op'"),
            (r#"[{"op":"jump","path":"/a"}]"#,                     "'jump'"),
            (r#"[{"op":"remove"}]"#,                               "'path'"),
            (r#"[{"op":"remove","path":"a"}]"#,                    "not a valid path"),
            (r#"[{"op":"add","path":"/a"}]"#,                      "'value'"),
            (r#"[{"op":"incr","path":"/a","value":"1"}]"#,         "must be a number"),
            (r#"[{"op":"move","path":"/a"}]"#,                     "'from'"),
            (r#"[{"op":"move","from":"/a","path":"/a/b"}]"#,       "child"),
            (r#"[{"op":"set","path":"/id","value":"x"}]"#,         "'id'"),
            (r#"[{"op":"move","from":"/_etag","path":"/b"}]"#,     "'_etag'"),
            (r#"[{"op":"set","path":"/_ts","value":1}]"#,          "'_ts'"),
        ];
        for (body, part) in table {
            let error = Patch::parse(body.as_bytes()).expect_err(body);
            assert_eq!(error.status().code, 400, "{body}");
            assert!(error.to_string().contains(part), "{body}: {error}");
        }
    }
}
