//! The kinds of patch operation, applied to a tree. An error is the service's sentence without its frame.

use model::{Number, Value};

use super::pointer::{Pointer, descend, index};

#[derive(Debug, Clone)]
pub(super) enum Operation {
    Add { path: Pointer, value: Value },
    Set { path: Pointer, value: Value },
    Replace { path: Pointer, value: Value },
    Remove { path: Pointer },
    Increment { path: Pointer, by: Number },
    Move { from: Pointer, path: Pointer },
}

type Outcome<T> = std::result::Result<T, String>;

impl Operation {
    /// Every path that the operation changes.
    pub(super) fn pointers(&self) -> impl Iterator<Item = &Pointer> {
        let (path, from) = match self {
            Self::Add { path, .. }
            | Self::Set { path, .. }
            | Self::Replace { path, .. }
            | Self::Remove { path }
            | Self::Increment { path, .. } => (path, None),
            Self::Move { from, path } => (path, Some(from)),
        };
        std::iter::once(path).chain(from)
    }

    pub(super) fn apply(&self, item: &mut Value) -> Outcome<()> {
        match self {
            Self::Add { path, value } => add(item, path, value.clone(), "Add"),
            Self::Set { path, value } => set(item, path, value.clone()),
            Self::Replace { path, value } => {
                *existing(item, path, "Replace")? = value.clone();
                Ok(())
            }
            Self::Remove { path } => take(item, path, "Remove").map(drop),
            Self::Increment { path, by } => increment(item, path, by),
            Self::Move { from, path } => {
                if from == path {
                    return existing(item, from, "Move").map(drop);
                }
                let value = take(item, from, "Move")?;
                add(item, path, value, "Move")
            }
        }
    }
}

/// Object: create or overwrite. Array: insert, shifting what follows.
fn add(item: &mut Value, path: &Pointer, value: Value, kind: &str) -> Outcome<()> {
    let (parent, last) = parent_of(item, path, kind)?;
    match parent {
        Value::Object(object) => {
            object.insert(last, value);
        }
        Value::Array(values) => {
            let at = slot(last, values.len(), kind)?;
            values.insert(at, value);
        }
        _ => return Err(no_path(kind, last)),
    }
    Ok(())
}

/// As add, but an element that exists is overwritten.
fn set(item: &mut Value, path: &Pointer, value: Value) -> Outcome<()> {
    let (parent, last) = parent_of(item, path, "Set")?;
    match parent {
        Value::Object(object) => {
            object.insert(last, value);
        }
        Value::Array(values) => {
            let at = slot(last, values.len(), "Set")?;
            match values.get_mut(at) {
                Some(element) => *element = value,
                None => values.push(value),
            }
        }
        _ => return Err(no_path("Set", last)),
    }
    Ok(())
}

fn increment(item: &mut Value, path: &Pointer, by: &Number) -> Outcome<()> {
    let (parent, last) = parent_of(item, path, "Increment")?;
    let target = match parent {
        Value::Object(object) => {
            if !object.contains(last) {
                object.insert(last, Value::Number(by.clone()));
                return Ok(());
            }
            object.get_mut(last)
        }
        Value::Array(values) => index(last).and_then(|at| values.get_mut(at)),
        _ => None,
    };
    match target {
        Some(Value::Number(number)) => {
            *number = sum(number, by)
                .ok_or("Increment Operation gives a number that is out of range.")?;
            Ok(())
        }
        Some(_) => Err(format!("Increment Operation can only be applied to a number: '{last}'.")),
        None => Err(missing("Increment", last)),
    }
}

/// Integers stay integers while they fit.
fn sum(number: &Number, by: &Number) -> Option<Number> {
    if let (Some(number), Some(by)) = (number.as_i64(), by.as_i64())
        && let Some(sum) = number.checked_add(by)
    {
        return Some(Number::from_i64(sum));
    }
    Number::from_f64(number.as_f64() + by.as_f64())
}

/// Takes the node out of the tree.
fn take(item: &mut Value, path: &Pointer, kind: &str) -> Outcome<Value> {
    let (parent, last) = path.split();
    let parent = descend(item, parent).map_err(|segment| missing(kind, segment))?;
    let taken = match parent {
        Value::Object(object) => object.remove(last),
        Value::Array(values) => {
            index(last).filter(|at| *at < values.len()).map(|at| values.remove(at))
        }
        _ => None,
    };
    taken.ok_or_else(|| missing(kind, last))
}

fn existing<'v>(item: &'v mut Value, path: &Pointer, kind: &str) -> Outcome<&'v mut Value> {
    descend(item, path.segments()).map_err(|segment| missing(kind, segment))
}

fn parent_of<'v, 'p>(
    item: &'v mut Value,
    path: &'p Pointer,
    kind: &str,
) -> Outcome<(&'v mut Value, &'p str)> {
    let (parent, last) = path.split();
    let parent = descend(item, parent).map_err(|segment| no_path(kind, segment))?;
    Ok((parent, last))
}

/// Where in an array of `length` elements an add or set goes.
fn slot(segment: &str, length: usize, kind: &str) -> Outcome<usize> {
    if segment == "-" {
        return Ok(length);
    }
    let at = index(segment).ok_or_else(|| {
        format!("{kind} Operation needs an array index or '-': '{}'.", cut(segment))
    })?;
    if at > length {
        let segment = cut(segment);
        return Err(format!(
            "{kind} Operation cannot use array index '{segment}': the array has {length} elements."
        ));
    }
    Ok(at)
}

// Wire: this sentence is the service's, SDK tests look for its end.
fn no_path(kind: &str, segment: &str) -> String {
    format!(
        "{kind} Operation can only create a child object of an existing node(array or object) and \
         cannot create path recursively, no path found beyond: '{}'.",
        cut(segment)
    )
}

fn missing(kind: &str, segment: &str) -> String {
    format!(
        "{kind} Operation can only be applied to an existing node, no path found beyond: '{}'.",
        cut(segment)
    )
}

// Limit: how much of a client's text an error repeats.
fn cut(text: &str) -> String {
    text.chars().take(128).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Patch;
    use crate::Error;

    const ITEM: &str =
        r#"{"id":"1","n":1,"f":1.5,"s":"x","o":{"k":1},"a":[1,2,3],"big":9223372036854775807}"#;

    #[track_caller]
    fn check(operation: &str, expected: &str) {
        let patch = Patch::parse(format!("[{operation}]").as_bytes()).unwrap();
        let result = patch.apply(model::json::parse(ITEM.as_bytes()).unwrap());
        match result {
            Ok(value) => assert_eq!(value.to_text(), expected, "{operation}"),
            Err(Error::PatchUnfit { operation: 1, reason }) => {
                assert!(reason.contains(expected), "{operation}: {reason}");
            }
            Err(error) => panic!("{operation}: {error}"),
        }
    }

    /// The item with one piece of its text exchanged.
    fn with(from: &str, to: &str) -> String {
        assert!(ITEM.contains(from), "{from}");
        ITEM.replacen(from, to, 1)
    }

    #[test]
    fn add_creates_overwrites_and_inserts() {
        check(
            r#"{"op":"add","path":"/new","value":{"x":[]}}"#,
            &with("7}", r#"7,"new":{"x":[]}}"#),
        );
        check(r#"{"op":"add","path":"/s","value":2}"#, &with(r#""x""#, "2"));
        check(r#"{"op":"add","path":"/o/j","value":2}"#, &with(r#""k":1"#, r#""k":1,"j":2"#));
        check(r#"{"op":"add","path":"/a/0","value":9}"#, &with("[1,2,3]", "[9,1,2,3]"));
        check(r#"{"op":"add","path":"/a/3","value":9}"#, &with("[1,2,3]", "[1,2,3,9]"));
        check(r#"{"op":"add","path":"/a/-","value":9}"#, &with("[1,2,3]", "[1,2,3,9]"));
        check(r#"{"op":"add","path":"/a/4","value":9}"#, "the array has 3 elements");
        check(r#"{"op":"add","path":"/a/x","value":9}"#, "array index");
        check(r#"{"op":"add","path":"/no/x","value":9}"#, "no path found beyond: 'no'.");
        check(r#"{"op":"add","path":"/s/x","value":9}"#, "no path found beyond: 'x'.");
    }

    #[test]
    fn set_overwrites_elements_and_appends() {
        check(r#"{"op":"set","path":"/a/1","value":9}"#, &with("[1,2,3]", "[1,9,3]"));
        check(r#"{"op":"set","path":"/a/3","value":9}"#, &with("[1,2,3]", "[1,2,3,9]"));
        check(r#"{"op":"set","path":"/a/-","value":9}"#, &with("[1,2,3]", "[1,2,3,9]"));
        check(r#"{"op":"set","path":"/a/4","value":9}"#, "the array has 3 elements");
        check(r#"{"op":"set","path":"/no/x","value":9}"#, "no path found beyond: 'no'.");
        check(r#"{"op":"set","path":"/y","value":null}"#, &with("7}", r#"7,"y":null}"#));
    }

    #[test]
    fn replace_and_remove_need_a_target() {
        check(r#"{"op":"replace","path":"/n","value":"y"}"#, &with(r#""n":1"#, r#""n":"y""#));
        check(r#"{"op":"replace","path":"/a/2","value":"y"}"#, &with("2,3]", r#"2,"y"]"#));
        check(r#"{"op":"replace","path":"/a/3","value":1}"#, "'3'");
        check(r#"{"op":"replace","path":"/y","value":1}"#, "existing node");
        check(r#"{"op":"remove","path":"/s"}"#, &with(r#""s":"x","#, ""));
        check(r#"{"op":"remove","path":"/a/0"}"#, &with("[1,2,3]", "[2,3]"));
        check(r#"{"op":"remove","path":"/a/3"}"#, "existing node");
        check(r#"{"op":"remove","path":"/a/-"}"#, "existing node");
        check(r#"{"op":"remove","path":"/o/y"}"#, "'y'");
    }

    #[test]
    fn increment_keeps_integers_and_creates_what_is_missing() {
        check(r#"{"op":"incr","path":"/n","value":7}"#, &with(r#""n":1"#, r#""n":8"#));
        check(r#"{"op":"incr","path":"/n","value":-2.5}"#, &with(r#""n":1"#, r#""n":-1.5"#));
        check(r#"{"op":"incr","path":"/f","value":1}"#, &with("1.5", "2.5"));
        check(r#"{"op":"incr","path":"/new","value":3}"#, &with("7}", r#"7,"new":3}"#));
        check(r#"{"op":"incr","path":"/a/1","value":3}"#, &with("[1,2,3]", "[1,5,3]"));
        check(r#"{"op":"incr","path":"/a/3","value":3}"#, "existing node");
        check(r#"{"op":"incr","path":"/s","value":3}"#, "applied to a number");
        let larger = with("9223372036854775807", "9223372036854775808");
        let patch = Patch::parse(br#"[{"op":"incr","path":"/big","value":1}]"#).unwrap();
        let value = patch.apply(model::json::parse(ITEM.as_bytes()).unwrap()).unwrap();
        let expected = model::json::parse(larger.as_bytes()).unwrap();
        assert_eq!(value.get("big").unwrap().as_f64(), expected.get("big").unwrap().as_f64());
    }

    #[test]
    fn move_takes_and_puts() {
        check(
            r#"{"op":"move","from":"/s","path":"/n"}"#,
            r#"{"id":"1","n":"x","f":1.5,"o":{"k":1},"a":[1,2,3],"big":9223372036854775807}"#,
        );
        check(
            r#"{"op":"move","from":"/o/k","path":"/a/0"}"#,
            &with(r#"{"k":1},"a":["#, r#"{},"a":[1,"#),
        );
        check(r#"{"op":"move","from":"/a/0","path":"/a/2"}"#, &with("[1,2,3]", "[2,3,1]"));
        check(r#"{"op":"move","from":"/n","path":"/n"}"#, ITEM);
        check(r#"{"op":"move","from":"/y","path":"/n"}"#, "existing node");
        check(r#"{"op":"move","from":"/n","path":"/y/z"}"#, "no path found beyond: 'y'.");
    }
}
