//! How much memory values take: what a budget asks before it lets one be built.

use super::{Object, Value};

/// What an allocation costs beside its bytes, about.
pub const ALLOCATION_BYTES: usize = 16;

/// The memory of one element of an array, without what is below it.
pub const ELEMENT_BYTES: usize = size_of::<Value>();

/// The memory of one member of an object, without its name and what is below it.
pub const MEMBER_BYTES: usize = size_of::<(String, Value)>() + ALLOCATION_BYTES;

/// A list that grows by doubling is up to twice as long as its content, and stands beside its predecessor meanwhile.
const GROWTH: usize = 3;

impl Value {
    /// Returns the bytes on the heap that a copy of the value takes.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Value::Null | Value::Bool(_) => 0,
            Value::Number(number) => number.heap_bytes(),
            Value::String(text) => text.len() + ALLOCATION_BYTES,
            Value::Array(list) => slice_bytes(list),
            Value::Object(object) => object.heap_bytes(),
        }
    }
}

impl Object {
    fn heap_bytes(&self) -> usize {
        let member = |(name, value): (&str, &Value)| MEMBER_BYTES + name.len() + value.heap_bytes();
        ALLOCATION_BYTES + self.iter().map(member).sum::<usize>()
    }
}

/// Returns the bytes on the heap that a copy of a list of values takes.
pub fn slice_bytes(list: &[Value]) -> usize {
    let below: usize = list.iter().map(Value::heap_bytes).sum();
    ALLOCATION_BYTES + list.len() * ELEMENT_BYTES + below
}

/// Returns the bytes that reading a JSON text takes at most, for its tree and on the way there. Goes over the text once and
/// takes every comma for one between values.
pub fn tree_bytes_max(text: &[u8]) -> usize {
    let (mut n_values, mut n_members, mut n_lists, mut n_texts) =
        (1_usize, 0_usize, 0_usize, 0_usize);
    for byte in text {
        match byte {
            b',' => n_values += 1,
            b':' => n_members += 1,
            b'[' | b'{' => n_lists += 1,
            b'"' => n_texts += 1,
            _ => {}
        }
    }
    // The first value of a list has no comma in front; members count as such, and not as elements.
    let n_elements = n_values.saturating_sub(n_members).saturating_add(n_lists);
    let elements = n_elements.saturating_mul(ELEMENT_BYTES * GROWTH);
    let members = n_members.saturating_mul(MEMBER_BYTES * GROWTH);
    let allocations = (n_texts / 2 + n_lists).saturating_mul(ALLOCATION_BYTES);
    elements.saturating_add(members).saturating_add(allocations).saturating_add(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    #[test]
    fn the_bound_of_a_text_covers_its_tree() {
        for text in [
            "0",
            "[]",
            "[[],[],[[]]]",
            "[0,0,0,0]",
            r#"{"a":1,"b":[1,2,{"c":"d"}]}"#,
            r#"["a,b","c:d","[{"]"#,
            r#"{"a":{"a":{"a":{"a":1.50}}}}"#,
        ] {
            let value = parse(text.as_bytes()).unwrap();
            assert!(tree_bytes_max(text.as_bytes()) >= value.heap_bytes(), "{text}");
        }
    }

    #[test]
    fn a_long_spelling_counts() {
        let text = format!("1.{}", "0".repeat(1000));
        assert!(parse(text.as_bytes()).unwrap().heap_bytes() >= 1000);
    }
}
