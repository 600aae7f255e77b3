//! An item whose text was written here: what a pass over it would find is noted on the way.

use std::ops::Range;

use super::{
    super::{Reader, Text},
    ITEM_BYTES_MAX, ItemBody, ItemError,
    body::{KnownProperties, checked_id},
    splice::Member,
};

/// What was noted of an item while its text was written.
#[derive(Debug)]
pub struct Outline {
    members: Vec<Member>,
    n_terms: usize,
}

impl Outline {
    /// Returns that of an item of which nothing is written yet.
    pub fn new() -> Outline {
        const ROOM: usize = 16;
        Outline { members: Vec::with_capacity(ROOM), n_terms: 0 }
    }

    /// Notes a property of the item itself: where its name, without quotes, and its value stand.
    pub fn member(&mut self, name: Range<usize>, value: Range<usize>) {
        // An item that is too long for this is refused.
        let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        self.members.push(Member {
            name: (place(name.start), place(name.end)),
            value: (place(value.start), place(value.end)),
            is_system: false,
        });
    }

    /// Notes a string, number, boolean or null, however deep it stands.
    pub fn scalar(&mut self) {
        self.n_terms += 1;
    }
}

impl Default for Outline {
    fn default() -> Outline {
        Outline::new()
    }
}

impl ItemBody {
    /// Checks an item whose text was written here, as [`ItemBody::parse`] would, without reading it again.
    ///
    /// Invariant: the text is an object without space, without system properties and without two properties of one name,
    /// and the outline is that of all of it.
    pub fn outlined(text: Vec<u8>, outline: Outline) -> Result<ItemBody, ItemError> {
        if text.len() > ITEM_BYTES_MAX {
            return Err(ItemError::TooLarge { bytes: text.len() });
        }
        let text = match String::from_utf8(text) {
            Ok(text) => text,
            Err(error) => return ItemBody::parse(error.as_bytes()),
        };
        let mut found = KnownProperties::default();
        for member in &outline.members {
            let slice = |(start, end): (u32, u32)| text.get(start as usize..end as usize);
            let (Some(name), Some(value)) = (slice(member.name), slice(member.value)) else {
                return ItemBody::parse(text.as_bytes());
            };
            let name = Text::new(name, name.contains('\\'));
            if (name.is("id") || name.is("ttl"))
                && let Some(first) = Reader::new(value).next()?
            {
                found.note(name, first, value);
            }
        }
        let KnownProperties { id, ttl, fault } = found;
        let id = checked_id(id, fault)?;
        let Outline { members, n_terms } = outline;
        let body = ItemBody { text, id, ttl, members, n_terms, n_added: 0 };
        debug_assert!(body.is_as_read(), "{body:?}");
        Ok(body)
    }

    /// Says whether a pass over the text finds the same.
    fn is_as_read(&self) -> bool {
        let read = ItemBody::parse(self.text());
        read.is_ok_and(|read| format!("{read:?}") == format!("{self:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes an item as a writer would, of the texts of its properties.
    fn outlined(members: &[(&str, &str)], n_terms: usize) -> Result<ItemBody, ItemError> {
        let (mut text, mut outline) = (vec![b'{'], Outline::new());
        for (name, value) in members {
            if text.len() > 1 {
                text.push(b',');
            }
            let start = text.len() + 1;
            text.extend_from_slice(format!("\"{name}\":").as_bytes());
            let value_start = text.len();
            text.extend_from_slice(value.as_bytes());
            outline.member(start..start + name.len(), value_start..text.len());
        }
        text.push(b'}');
        (0..n_terms).for_each(|_| outline.scalar());
        let read = ItemBody::parse(&text);
        let written = ItemBody::outlined(text, outline);
        assert_eq!(format!("{read:?}"), format!("{written:?}"));
        written
    }

    #[test]
    fn an_item_that_was_written_is_as_one_that_was_read() {
        let body = outlined(
            &[
                ("id", "\"a\\\"b\""),
                ("n", "1.50"),
                ("ttl", "60"),
                ("o", r#"{"id":7,"l":[1,null]}"#),
            ],
            6,
        );
        assert_eq!(body.unwrap().ttl(), Some(60));
        assert_eq!(outlined(&[(r"\u0069d", "\"x\"")], 1).unwrap().id(), "x");
        assert_eq!(outlined(&[("id", "7")], 1).unwrap_err(), ItemError::IdNotString);
        assert_eq!(outlined(&[("x", "\"id\"")], 1).unwrap_err(), ItemError::IdMissing);
        assert!(outlined(&[("id", "\"\"")], 1).is_err());
        assert!(outlined(&[("id", "\"a\""), ("ttl", "-7")], 2).is_err());
        let long = format!("\"{}\"", "x".repeat(ITEM_BYTES_MAX));
        assert!(matches!(outlined(&[("id", &long)], 1), Err(ItemError::TooLarge { .. })));
    }
}
