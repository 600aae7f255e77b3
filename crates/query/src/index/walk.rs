//! The terms of an item, in one pass over its text.
//!
//! Hot path: runs over every item written. The path and the term are built in place; nothing is allocated per term.

use model::json::{Event, JsonError, Reader};

use super::path::{ELEMENT, push_name};
use super::policy::{Cursor, IndexPolicy};
use super::term::{Tag, push_bool, push_number_text, push_tag, push_text};
use super::{Declared, vectors};

/// Limit: bytes of a path; what stands at a longer one is not indexed, and no query looks for it there.
pub const PATH_BYTES_MAX: usize = 1024;

/// How many levels are open within a property of the item itself: the item and the property.
const PROPERTY_DEPTH: usize = 2;

/// What the service counts of a term when it charges for a write.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Counted {
    /// Its value, and once for all such terms their path: a scalar, an empty array or object.
    PathAndValue,
    /// One: an array or object with content that is a property of the item itself; an entry of a declared index.
    Once,
    /// Two: an array or object with content that stands deeper.
    Twice,
    /// Nothing: the entry of a composite index for an item that has none of its paths.
    Never,
}

/// What is open around the current value.
struct Level<'p> {
    path_bytes: usize,
    cursor: Cursor<'p>,
    is_array: bool,
    /// Its own term waits for what comes next, which says whether it is empty.
    is_due: bool,
}

impl Level<'_> {
    fn tag(&self) -> Tag {
        if self.is_array { Tag::Array } else { Tag::Object }
    }
}

/// Calls `emit` with path and term of every indexed value of an item, and with name and term of declared indexes.
///
/// An array with equal elements gives equal terms.
///
/// # Errors
/// The text is not JSON.
pub fn each_term(
    text: &str,
    policy: &IndexPolicy,
    mut emit: impl FnMut(&str, &[u8], Counted),
) -> Result<(), JsonError> {
    let mut reader = Reader::new(text);
    let mut path = String::with_capacity(64);
    let mut term = Vec::with_capacity(64);
    let mut levels: Vec<Level<'_>> = Vec::new();
    let mut cursor = policy.start();
    while let Some(event) = reader.next()? {
        let depth = levels.len();
        if let Some(level) = levels.last_mut().filter(|level| level.is_due) {
            level.is_due = false;
            let counted = match event {
                Event::EndObject | Event::EndArray => Counted::PathAndValue,
                _ if depth == PROPERTY_DEPTH => Counted::Once,
                _ => Counted::Twice,
            };
            term.clear();
            push_tag(level.tag(), &mut term);
            emit(path.get(..level.path_bytes).unwrap_or_default(), &term, counted);
        }
        match event {
            Event::EndObject | Event::EndArray => {
                levels.pop();
                continue;
            }
            Event::Name(name) => {
                if let Some(level) = levels.last() {
                    path.truncate(level.path_bytes);
                    cursor = level.cursor.name(&name.decode());
                    push_name(&mut path, &name.decode());
                }
                continue;
            }
            Event::BeginObject
            | Event::BeginArray
            | Event::String(_)
            | Event::Number(_)
            | Event::Bool(_)
            | Event::Null => {}
        }
        if let Some(level) = levels.last().filter(|level| level.is_array) {
            path.truncate(level.path_bytes);
            path.push_str(ELEMENT);
            cursor = level.cursor.element();
        }
        if !levels.is_empty() && (cursor.is_dead() || path.len() > PATH_BYTES_MAX) {
            reader.skip(event)?;
            continue;
        }
        let is_included = !levels.is_empty() && cursor.is_included();
        if matches!(event, Event::BeginObject | Event::BeginArray) {
            let is_array = matches!(event, Event::BeginArray);
            levels.push(Level { path_bytes: path.len(), cursor, is_array, is_due: is_included });
        } else if is_included {
            term.clear();
            push_scalar(event, &mut term);
            emit(&path, &term, Counted::PathAndValue);
        }
    }
    if policy.has_declared() {
        let item = model::json::parse(text.as_bytes())?;
        for (name, index) in policy.declared() {
            index.each_term(&item, &mut |term| emit(name, term, index.counted(term)));
        }
    }
    Ok(())
}

/// Calls `emit` with name, term and packed vector of every declared vector index that has a vector of the item.
///
/// # Errors
/// The text is not JSON.
pub fn each_vector(
    text: &str,
    policy: &IndexPolicy,
    mut emit: impl FnMut(&str, &[u8], Vec<u8>),
) -> Result<(), JsonError> {
    let mut item = None;
    for (name, index) in policy.declared() {
        let Declared::Vector(path) = index else { continue };
        let item = match &mut item {
            Some(item) => item,
            none => none.insert(model::json::parse(text.as_bytes())?),
        };
        let vector = path.iter().try_fold(&*item, |value, name| value.get(name));
        if let Some(packed) = vector.and_then(vectors::pack) {
            emit(name, &vectors::term(&packed), packed);
        }
    }
    Ok(())
}

fn push_scalar(event: Event<'_>, term: &mut Vec<u8>) {
    match event {
        Event::String(text) => push_text(&text.decode(), term),
        Event::Number(text) => push_number_text(text, term),
        Event::Bool(value) => push_bool(value, term),
        Event::Null => push_tag(Tag::Null, term),
        Event::BeginObject
        | Event::BeginArray
        | Event::EndObject
        | Event::EndArray
        | Event::Name(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use model::Value;

    use super::super::Term;
    use super::*;

    fn terms(text: &str, policy: &str) -> Vec<(String, Vec<u8>)> {
        let policy = IndexPolicy::from_policy(&model::json::parse(policy.as_bytes()).unwrap());
        let mut terms = Vec::new();
        each_term(text, &policy, |path, term, _| terms.push((path.to_string(), term.to_vec())))
            .unwrap();
        terms
    }

    #[test]
    fn arrays_and_objects_with_content_count_by_their_depth() {
        let text = r#"{"a":{"b":{"c":1}},"d":[],"e":{},"f":[[2]],"g":null}"#;
        let mut counts = Vec::new();
        each_term(text, &IndexPolicy::all(), |path, _, counted| {
            if counted != Counted::PathAndValue {
                counts.push((path.to_string(), counted));
            }
        })
        .unwrap();
        let expected = [
            ("/a", Counted::Once),
            ("/a/b", Counted::Twice),
            ("/f", Counted::Once),
            ("/f/[]", Counted::Twice),
        ];
        assert_eq!(counts, expected.map(|(path, counted)| (path.to_string(), counted)));
    }

    fn own(path: &str, value: &str) -> (String, Vec<u8>) {
        let value: Value = model::json::parse(value.as_bytes()).unwrap();
        (path.to_string(), Term::of(&value).as_bytes().to_vec())
    }

    #[test]
    fn every_value_has_a_term_at_its_path() {
        let text = r#"{"id":"1","a":{"b":[1,"\u0041",[true]],"c":null},"e":{},"x y":1.50}"#;
        let expected = [
            own("/id", "\"1\""),
            own("/a", "{}"),
            own("/a/b", "[]"),
            own("/a/b/[]", "1"),
            own("/a/b/[]", "\"A\""),
            own("/a/b/[]", "[]"),
            own("/a/b/[]/[]", "true"),
            own("/a/c", "null"),
            own("/e", "{}"),
            own("/\"x y\"", "1.5"),
        ];
        assert_eq!(terms(text, "{}"), expected);
    }

    #[test]
    fn excluded_paths_are_passed_over() {
        let policy = r#"{"includedPaths":[{"path":"/*"},{"path":"/a/b/[]/?"}],
            "excludedPaths":[{"path":"/a/*"}]}"#;
        let text = r#"{"id":"1","a":{"b":[1,[2]],"c":{"d":1}},"e":2,"_ts":5}"#;
        let expected =
            [own("/id", "\"1\""), own("/a/b/[]", "1"), own("/a/b/[]", "[]"), own("/e", "2")];
        assert_eq!(terms(text, policy), expected);
        assert!(terms(text, r#"{"indexingMode":"none"}"#).is_empty());
    }
}
