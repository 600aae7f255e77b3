//! Composite indexes: several values of an item as one term, in the order of an ORDER BY over them.
//!
//! A composite term is the terms of its parts one after another, with `01` for undefined; the bytes of a part that
//! descends are complemented. No term is the beginning of another one, so parts cannot run into each other.

use model::{PropertyPath, Value};

use super::term::{Tag, Term, part_length, successor};
use super::{IndexPath, PathStep, TermSpan};

/// Stands for a value that an item does not have.
const UNDEFINED: u8 = 1;

/// A composite index. Its first part ascends: read backwards it serves the other directions too.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Composite {
    parts: Vec<CompositePart>,
}

/// One path of a composite index.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CompositePart {
    /// The names of the properties from the outside in.
    pub names: Vec<String>,
    /// Whether larger values come first.
    pub descending: bool,
}

impl Composite {
    /// Makes an index of parts, turned so that the first one ascends.
    pub(super) fn new(mut parts: Vec<CompositePart>) -> Composite {
        if parts.first().is_some_and(|part| part.descending) {
            for part in &mut parts {
                part.descending = !part.descending;
            }
        }
        Composite { parts }
    }

    /// Reads one entry of `compositeIndexes`.
    pub(super) fn from_policy(index: &Value) -> Option<Composite> {
        let part = |entry: &Value| {
            let path = PropertyPath::parse(entry.get("path")?.as_str()?).ok()?;
            let descending = entry.get("order").and_then(Value::as_str) == Some("descending");
            Some(CompositePart { names: path.segments().to_vec(), descending })
        };
        let parts = index.as_array()?.iter().map(part).collect::<Option<Vec<_>>>()?;
        (!parts.is_empty()).then(|| Composite::new(parts))
    }

    /// Returns the parts in order.
    pub fn parts(&self) -> &[CompositePart] {
        &self.parts
    }

    /// Returns the term of an item.
    pub(super) fn term(&self, item: &Value) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(16 * self.parts.len());
        for part in &self.parts {
            let value = part.names.iter().try_fold(item, |value, name| value.get(name));
            push_part(value.map(Term::of).as_ref(), part.descending, &mut bytes);
        }
        bytes
    }

    /// Says whether a term is that of an item which has none of the paths.
    pub(super) fn is_undefined(&self, term: &[u8]) -> bool {
        term.len() == self.parts.len()
            && term.iter().all(|byte| *byte == UNDEFINED || *byte == !UNDEFINED)
    }

    /// Returns the length of the beginning of a term that ends with the first part which can stand for several
    /// values; `None` when each part stands for one.
    pub(crate) fn inexact_length(parts: &[bool], term: &[u8]) -> Option<usize> {
        let mut at = 0;
        for descending in parts {
            let (length, is_exact) = part_length(term.get(at..)?, *descending)?;
            at += length;
            if !is_exact {
                return Some(at);
            }
        }
        None
    }
}

impl CompositePart {
    /// Returns the path.
    pub fn path(&self) -> IndexPath {
        IndexPath::new(self.names.iter().cloned().map(PathStep::Name).collect())
    }

    /// Prints the part as the index metrics do.
    pub fn spec(&self) -> String {
        format!("{} {}", self.path(), if self.descending { "DESC" } else { "ASC" })
    }
}

/// Appends a part; `None` is undefined.
pub(crate) fn push_part(term: Option<&Term>, descending: bool, bytes: &mut Vec<u8>) {
    let undefined = [UNDEFINED];
    let part = term.map_or(undefined.as_slice(), Term::as_bytes);
    bytes.extend(part.iter().map(|byte| if descending { !byte } else { *byte }));
}

/// Returns the span of the terms that begin with `prefix` and go on with a part in `span`.
pub(crate) fn span_below(prefix: &[u8], span: Option<&TermSpan>, descending: bool) -> TermSpan {
    let joined = |part: &[u8]| [prefix, part].concat();
    let Some(span) = span else {
        // What begins with the prefix; the first byte of a whole index is a tag.
        let end = if prefix.is_empty() { vec![Tag::Object as u8 + 1] } else { successor(prefix) };
        return TermSpan { start: prefix.to_vec(), end };
    };
    if !descending {
        return TermSpan { start: joined(&span.start), end: joined(&span.end) };
    }
    let complement = |bytes: &[u8]| bytes.iter().map(|byte| !byte).collect::<Vec<_>>();
    // What lies at or above a bound begins, complemented, with the complement of the bound or lies below it.
    let start = joined(&successor(&complement(&span.end)));
    let end = joined(&successor(&complement(&span.start)));
    TermSpan { start, end }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::*;

    fn json(text: &str) -> Value {
        model::json::parse(text.as_bytes()).unwrap()
    }

    fn composite(descending: &[bool]) -> Composite {
        let names = ["a", "b"];
        let parts = names.iter().zip(descending).map(|(name, descending)| CompositePart {
            names: vec![(*name).to_string()],
            descending: *descending,
        });
        Composite { parts: parts.collect() }
    }

    fn items() -> Vec<Value> {
        let long = format!("\"{}x\"", "q".repeat(96));
        let longer = format!("\"{}\"", "\\u0001".repeat(99));
        let mut values: Vec<Option<&str>> = [
            "null",
            "false",
            "true",
            "-300",
            "-1",
            "0",
            "0.5",
            "1",
            "7",
            "1e300",
            "9007199254740993",
        ]
        .map(Some)
        .to_vec();
        let texts = [r#""""#, r#""\u0000""#, r#""\u0001""#, r#""a""#, r#""a\u0000""#, r#""é""#];
        values.extend(texts.map(Some));
        values.extend([None, Some("[]"), Some("{}"), Some(&long), Some(&longer)]);
        let mut items = Vec::new();
        for a in &values {
            for b in &values {
                let member = |name: &str, value: Option<&str>| {
                    value.map(|value| format!("\"{name}\":{value}"))
                };
                let members: Vec<String> =
                    [member("a", *a), member("b", *b)].into_iter().flatten().collect();
                items.push(json(&format!("{{{}}}", members.join(","))));
            }
        }
        items
    }

    #[test]
    fn terms_sort_as_the_parts_do() {
        for directions in [[false, false], [false, true]] {
            let index = composite(&directions);
            let items = items();
            for left in &items {
                let one = index.term(left);
                for right in &items {
                    let expected = ["a", "b"].iter().zip(directions).fold(
                        Ordering::Equal,
                        |order, (name, descending)| {
                            let own = model::order(left.get(name), right.get(name));
                            order.then(if descending { own.reverse() } else { own })
                        },
                    );
                    let two = index.term(right);
                    assert_eq!(one.cmp(&two), expected, "{left} {right} {directions:?}");
                }
            }
        }
    }

    #[test]
    fn parts_are_found_again() {
        for directions in [[false, false], [false, true], [true, true]] {
            let index = composite(&directions);
            for item in items() {
                let term = index.term(&item);
                let mut at = 0;
                for (name, descending) in ["a", "b"].iter().zip(directions) {
                    let (length, is_exact) = part_length(&term[at..], descending).unwrap();
                    let mut own = Vec::new();
                    let expected = item.get(name).map(Term::of);
                    push_part(expected.as_ref(), descending, &mut own);
                    assert_eq!(&term[at..at + length], own, "{item}");
                    let exact = expected.is_none_or(|term| Term::is_exact(term.as_bytes()));
                    assert_eq!(is_exact, exact, "{item}");
                    at += length;
                }
                assert_eq!(at, term.len(), "{item}");
            }
        }
    }

    #[test]
    fn spans_below_a_prefix_hold_what_they_should() {
        let one = Term::of(&json("1"));
        let mut prefix = Vec::new();
        push_part(Some(&one), false, &mut prefix);
        let span = TermSpan { start: Term::of(&json("3")).as_bytes().to_vec(), end: vec![8] };
        for descending in [false, true] {
            let index = composite(&[false, descending]);
            let below = span_below(&prefix, Some(&span), descending);
            let all = span_below(&prefix, None, descending);
            for item in items() {
                let term = index.term(&item);
                let is_one = item.get("a") == Some(&json("1"));
                let is_number = item.get("b").and_then(Value::as_f64).is_some_and(|b| b >= 3.0);
                assert_eq!(all.contains(&term), is_one, "{item}");
                assert_eq!(below.contains(&term), is_one && is_number, "{item}");
                assert!(span_below(&[], None, false).contains(&term), "{item}");
            }
        }
    }
}
