//! Unique keys within the logical partition.
//!
//! Wire: a missing property counts as null, and each combination may occur once (`facts` §6.4). A digest stands for
//! the values, because values can be as long as an item and store keys cannot.

use bytes::Bytes;
use model::{ItemBody, Value};
use sha2::{Digest as _, Sha256};

use super::step::TransactionContext;

/// Returns the store keys that an item claims, one per unique key of the container.
pub(crate) fn claims(context: &TransactionContext, body: &ItemBody) -> Vec<Bytes> {
    // Limit: the service allows ten unique keys per container, so the index fits a byte.
    let numbered = (0..u8::MAX).zip(&context.settings.unique_keys);
    numbered
        .map(|(index, paths)| {
            let mut digest = Sha256::new();
            for path in paths {
                feed(&mut digest, body.value_at(path).as_ref());
            }
            context.keys.unique(&context.place, index, &digest.finalize()).into()
        })
        .collect()
}

/// Feeds one value in a form that is equal exactly for equal values: numbers by value, not by text.
fn feed(digest: &mut Sha256, value: Option<&Value>) {
    match value {
        None | Some(Value::Null) => digest.update([0]),
        Some(Value::Bool(flag)) => digest.update([1, u8::from(*flag)]),
        Some(Value::Number(number)) => {
            digest.update([2]);
            // Adding zero turns −0 into 0.
            digest.update((number.as_f64() + 0.0).to_bits().to_be_bytes());
        }
        Some(Value::String(text)) => {
            digest.update([3]);
            feed_text(digest, text);
        }
        Some(Value::Array(values)) => {
            digest.update([4]);
            digest.update((values.len() as u64).to_be_bytes());
            for value in values {
                feed(digest, Some(value));
            }
        }
        Some(Value::Object(object)) => {
            digest.update([5]);
            digest.update((object.len() as u64).to_be_bytes());
            let mut members: Vec<_> = object.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            for (name, value) in members {
                feed_text(digest, name);
                feed(digest, Some(value));
            }
        }
    }
}

fn feed_text(digest: &mut Sha256, text: &str) {
    digest.update((text.len() as u64).to_be_bytes());
    digest.update(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(values: &[&str]) -> Vec<u8> {
        let mut digest = Sha256::new();
        for value in values {
            let parsed = model::json::parse(value.as_bytes()).ok();
            feed(&mut digest, parsed.as_ref());
        }
        digest.finalize().to_vec()
    }

    #[test]
    fn equal_values_have_one_digest_and_others_do_not() {
        #[rustfmt::skip]
        let table: [(&[&str], &[&str], bool); 10] = [
            (&["1"],              &["1.0"],           true),
            (&["0"],              &["-0.0"],          true),
            (&["null"],           &["missing!"],      true),   // not JSON: stands for undefined
            (&["1"],              &["\"1\""],         false),
            (&["true"],           &["1"],             false),
            (&["\"a\"", "\"b\""], &["\"ab\"", "\"\""], false),
            (&["null", "1"],      &["1", "null"],     false),
            (&[r#"{"a":1,"b":2}"#], &[r#"{"b":2,"a":1}"#], true),
            (&["[1,2]"],          &["[2,1]"],         false),
            (&["[[1],2]"],        &["[[1,2]]"],       false),
        ];
        for (left, right, equal) in table {
            assert_eq!(digest(left) == digest(right), equal, "{left:?} {right:?}");
        }
    }
}
