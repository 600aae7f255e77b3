//! Marks: how far an ordered query came, where its keys are too long to be named whole.

use std::cmp::Ordering;

use model::Value;

use crate::sort_key::{SortKey, SortOrder};

/// The beginning of some sort keys: whole ones, then perhaps the beginning of a text. Many rows may begin so.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Mark {
    pub(crate) keys: Vec<SortKey>,
    pub(crate) beginning: Option<String>,
}

impl Mark {
    /// Takes as much of the keys as so many bytes hold.
    pub(crate) fn of(keys: &[SortKey], bytes_max: usize) -> Mark {
        let mut mark = Mark::default();
        let mut room = bytes_max;
        for key in keys {
            let text = key.to_wire().to_text();
            if text.len() <= room {
                room -= text.len();
                mark.keys.push(key.clone());
                continue;
            }
            if let SortKey::Primitive(Value::String(text)) = key {
                mark.beginning = Some(beginning(text, room).to_owned());
            }
            break;
        }
        mark
    }

    /// Compares keys with the mark, in an order; those that begin as it says are equal to it.
    pub(crate) fn compare(&self, order: &SortOrder, keys: &[SortKey]) -> Ordering {
        let by_keys = order.compare_keys(keys, &self.keys);
        let next = self.keys.len();
        let (Some(beginning), Some(key), true) = (&self.beginning, keys.get(next), by_keys.is_eq())
        else {
            return by_keys;
        };
        match key {
            SortKey::Primitive(Value::String(text)) if text.starts_with(beginning.as_str()) => {
                Ordering::Equal
            }
            key => {
                let own = SortKey::Primitive(Value::from(beginning.as_str()));
                order.compare_key(next, key, &own)
            }
        }
    }
}

/// Cuts a text to what so many bytes of JSON surely hold.
fn beginning(text: &str, bytes_max: usize) -> &str {
    // Limit: a character of JSON text can take six bytes for each of its own.
    let end = bytes_max.saturating_sub(2) / 6;
    let end = (0..=end.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or_default()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> SortKey {
        SortKey::new(Some(&Value::from(text)))
    }

    #[test]
    fn a_mark_tells_rows_before_it_from_rows_after_it() {
        let long = format!("m{}", "ä".repeat(500));
        let mark = Mark::of(&[text("a"), text(&long), text("z")], 200);
        assert_eq!(mark.keys, [text("a")]);
        assert!(long.starts_with(mark.beginning.as_deref().unwrap()));
        for (descending, expected) in [
            (false, [Ordering::Less, Ordering::Less, Ordering::Equal, Ordering::Greater]),
            (true, [Ordering::Less, Ordering::Greater, Ordering::Equal, Ordering::Less]),
        ] {
            let order = SortOrder::of(&[false, descending, false]);
            let rows = [("0", "z"), ("a", "m"), ("a", long.as_str()), ("a", "n")];
            let found = rows.map(|(first, second)| {
                mark.compare(&order, &[text(first), text(second), text("y")])
            });
            assert_eq!(found, expected, "descending: {descending}");
        }
        let order = SortOrder::of(&[false, false, false]);
        let number = SortKey::new(Some(&Value::from(1)));
        assert_eq!(mark.compare(&order, &[text("a"), number, text("y")]), Ordering::Less);
        assert_eq!(mark.compare(&order, &[text("b"), text("a"), text("y")]), Ordering::Greater);
    }

    #[test]
    fn keys_that_fit_are_whole() {
        let keys = [SortKey::Undefined, text("x")];
        assert_eq!(Mark::of(&keys, 10), Mark { keys: keys.to_vec(), beginning: None });
        assert_eq!(Mark::of(&keys, 0), Mark::default());
    }
}
