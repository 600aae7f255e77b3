//! Rules for the ids that users choose.
//!
//! An id stands in a URL path, so the characters that end or split a path segment are not allowed.
//! Items are laxer than other resources, because the service is.

use crate::{Failure, Status};

/// Limit: ids of databases, containers, users, scripts and so on, in UTF-16 units.
pub const RESOURCE_ID_UNITS_MAX: usize = 255;

/// Limit: ids of items, in UTF-8 bytes. They are part of a store key.
pub const ITEM_ID_BYTES_MAX: usize = 1023;

/// Why a text cannot be an id.
///
/// Wire: the sentences are those that SDK test suites look for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Empty, or too long.
    #[error(
        "The input name '{name}' is invalid. Ensure to provide a unique non-empty string less than \
         '{limit}' characters."
    )]
    Length {
        /// The id, cut to a length fit for a message.
        name: String,
        /// The number the message names: 255, or 1024 for items.
        limit: usize,
    },
    /// A character that cannot stand in a path segment.
    #[error("The input name presented contains invalid character.")]
    Character {
        /// The id, cut to a length fit for a message.
        name: String,
        /// The first illegal character.
        character: char,
    },
    /// A space at the end, which URL handling would lose.
    #[error("The input name '{name}' is invalid. Ensure that it does not end with a space.")]
    TrailingSpace {
        /// The id, cut to a length fit for a message.
        name: String,
    },
}

impl Failure for IdError {
    fn status(&self) -> Status {
        match self {
            Self::Length { .. } | Self::Character { .. } | Self::TrailingSpace { .. } => {
                Status::BAD_REQUEST
            }
        }
    }
}

/// Checks the id of a database, container, user, permission, script or encryption key.
pub fn check_resource_id(id: &str) -> Result<(), IdError> {
    let is_illegal = |c: char| matches!(c, '/' | '\\' | '?' | '#' | '\t' | '\r' | '\n');
    if id.is_empty() || is_longer_than(id, RESOURCE_ID_UNITS_MAX) {
        return Err(IdError::Length { name: shorten(id), limit: RESOURCE_ID_UNITS_MAX });
    }
    if let Some(character) = id.chars().find(|&c| is_illegal(c)) {
        return Err(IdError::Character { name: shorten(id), character });
    }
    if id.ends_with(' ') {
        return Err(IdError::TrailingSpace { name: shorten(id) });
    }
    Ok(())
}

/// Checks the id of an item.
///
/// Wire: every character is legal, although some SDKs cannot address such items, and one with a slash
/// cannot be addressed by name at all.
pub fn check_item_id(id: &str) -> Result<(), IdError> {
    if id.is_empty() || id.len() > ITEM_ID_BYTES_MAX {
        return Err(IdError::Length { name: shorten(id), limit: ITEM_ID_BYTES_MAX + 1 });
    }
    Ok(())
}

fn is_longer_than(id: &str, units_max: usize) -> bool {
    // A UTF-16 unit takes at most three bytes, so the count is bounded by a look at the length.
    id.len() > units_max && (id.len() > 3 * units_max || id.encode_utf16().count() > units_max)
}

/// An error message repeats the id, but not a megabyte of it.
fn shorten(id: &str) -> String {
    const CHARACTERS_MAX: usize = 64;
    match id.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &id[..end]),
        None => id.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_and_odd_but_legal_ids_pass() {
        for id in ["a", "!@$%^&*()-~`'_[]{}|;:,.<>", "日本語 text", " x", "a b"] {
            assert_eq!(check_resource_id(id), Ok(()), "{id:?}");
            assert_eq!(check_item_id(id), Ok(()), "{id:?}");
        }
    }

    #[test]
    fn path_characters_are_refused() {
        for id in ["a/b", "a\\b", "a?b", "a#b", "a\tb", "a\rb", "a\nb"] {
            let error = check_resource_id(id).unwrap_err();
            assert!(matches!(error, IdError::Character { .. }), "{id:?}: {error}");
        }
        assert_eq!(check_item_id("a?b#c/d\\e\t "), Ok(()));
        assert!(check_resource_id("a ").is_err());
    }

    #[test]
    fn length_limits_use_the_words_that_clients_look_for() {
        assert_eq!(check_resource_id(&"é".repeat(255)), Ok(()));
        assert_eq!(check_item_id(&"x".repeat(1023)), Ok(()));
        let long = check_resource_id(&"é".repeat(256)).unwrap_err().to_string();
        let words = "Ensure to provide a unique non-empty string less than '255' characters.";
        assert!(long.contains(words), "{long}");
        assert!(check_resource_id("").unwrap_err().to_string().contains(words));
        let item = check_item_id(&"x".repeat(1024)).unwrap_err().to_string();
        assert!(item.contains("less than '1024' characters."), "{item}");
        assert!(check_item_id("").is_err());
        assert!(check_resource_id(&"😀".repeat(128)).is_err(), "two units per character");
    }

    #[test]
    fn messages_stay_short() {
        let message = check_item_id(&"é".repeat(1_000_000)).unwrap_err().to_string();
        assert!(message.len() < 400);
    }
}
