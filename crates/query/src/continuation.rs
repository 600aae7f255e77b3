//! Continuations: a position in the rows of a query, as short ASCII text.
//!
//! A continuation holds no server state, so it survives restarts, splits and moves. It is checked for damage
//! and shape; a forged one can only name another position of the same query.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use model::Value;

use crate::error::{Error, Result};
use crate::mark::Mark;
use crate::sort_key::{Place, SortKey};

/// Limit: longer tokens would not fit into headers; of longer keys a position has the beginning.
pub(crate) const KEYS_BYTES_MAX: usize = 900;

/// Bytes of a token beside the keys.
const AROUND_KEYS: usize = 150;

/// Limit: longest token that is read.
const TOKEN_BYTES_MAX: usize = 4096;

/// The first characters of every token; the digit is the version of the form.
const PREFIX: &str = "O1.";

/// Where the next page starts.
///
/// A position names items and values, so that it means the same whatever ranges the items lie in and whatever was
/// written since: a row that is there all the time is returned once. Only [`Position::Near`] counts, among rows whose
/// keys have a long beginning in common.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Position {
    /// After an item, or after some rows of it.
    Item {
        number: u64,
        /// Rows of the item that were returned or skipped; `None` when it is done.
        rows: Option<u64>,
        /// Rows returned or skipped by OFFSET so far.
        passed: u64,
    },
    /// After a row of an ordered query, or of one that has an order of its own because it returns each value once.
    Sorted { place: Place, passed: u64 },
    /// After some of the rows that begin as the mark says.
    Near { mark: Mark, skip: u64, passed: u64 },
}

impl Position {
    /// Writes the token.
    pub(crate) fn encode(&self) -> String {
        let text = Value::Array(self.to_values()).to_text();
        let check = checksum(text.as_bytes());
        format!("{PREFIX}{}.{check:08x}", URL_SAFE_NO_PAD.encode(text))
    }

    /// Reads a token.
    pub(crate) fn decode(token: &str) -> Result<Position> {
        decode(token).ok_or(Error::Continuation)
    }

    /// Makes the position after a sorted row. Where its keys are too long, `n_near` tells how many of the rows up to it
    /// begin as a mark says.
    pub(crate) fn after_sorted(
        place: Place,
        passed: u64,
        keys_bytes_max: usize,
        n_near: impl FnOnce(&Mark) -> u64,
    ) -> Position {
        if fits(&place.keys, keys_bytes_max) {
            return Position::Sorted { place, passed };
        }
        let mark = Mark::of(&place.keys, keys_bytes_max);
        Position::Near { skip: n_near(&mark), mark, passed }
    }

    fn to_values(&self) -> Vec<Value> {
        match self {
            Position::Item { number, rows, passed } => vec![
                Value::from("i"),
                Value::from(number.to_string()),
                rows.map_or(Value::Null, |rows| Value::from(rows.to_string())),
                Value::from(passed.to_string()),
            ],
            Position::Sorted { place, passed } => vec![
                Value::from("s"),
                Value::Array(place.keys.iter().map(SortKey::to_wire).collect()),
                Value::from(place.number.to_string()),
                Value::from(place.row.to_string()),
                Value::from(passed.to_string()),
            ],
            Position::Near { mark, skip, passed } => vec![
                Value::from("n"),
                Value::Array(mark.keys.iter().map(SortKey::to_wire).collect()),
                mark.beginning.as_deref().map_or(Value::Null, Value::from),
                Value::from(skip.to_string()),
                Value::from(passed.to_string()),
            ],
        }
    }
}

/// Returns whether a position can name keys whole.
pub(crate) fn fits(keys: &[SortKey], keys_bytes_max: usize) -> bool {
    // Keys are rarely long: most are told without making their text.
    keys.iter().map(SortKey::wire_bytes_max).sum::<usize>() <= keys_bytes_max
        || keys.iter().map(|key| key.to_wire().to_text().len()).sum::<usize>() <= keys_bytes_max
}

/// Returns how long the keys of a position may be for a token of at most so many bytes.
pub(crate) fn keys_bytes_max(token_bytes_max: Option<usize>) -> usize {
    // The token is text, which has four bytes for three.
    let of_token = |bytes: usize| (bytes / 4 * 3).saturating_sub(AROUND_KEYS);
    token_bytes_max.map_or(KEYS_BYTES_MAX, of_token).min(KEYS_BYTES_MAX)
}

fn decode(token: &str) -> Option<Position> {
    if token.len() > TOKEN_BYTES_MAX {
        return None;
    }
    let (body, check) = token.strip_prefix(PREFIX)?.split_once('.')?;
    let text = URL_SAFE_NO_PAD.decode(body).ok()?;
    if u32::from_str_radix(check, 16).ok()? != checksum(&text) {
        return None;
    }
    let values = model::json::parse(&text).ok()?;
    let number = |value: &Value| value.as_str()?.parse::<u64>().ok();
    let keys = |value: &Value| -> Option<Vec<SortKey>> {
        value.as_array()?.iter().map(SortKey::from_wire).collect()
    };
    let [kind, rest @ ..] = values.as_array()? else { return None };
    Some(match (kind.as_str()?, rest) {
        ("i", [item, rows, passed]) => Position::Item {
            number: number(item)?,
            rows: if rows.is_null() { None } else { Some(number(rows)?) },
            passed: number(passed)?,
        },
        ("s", [own, item, row, passed]) => Position::Sorted {
            place: Place { keys: keys(own)?, number: number(item)?, row: number(row)? },
            passed: number(passed)?,
        },
        ("n", [own, beginning, skip, passed]) => Position::Near {
            mark: Mark {
                keys: keys(own)?,
                beginning: match beginning {
                    Value::Null => None,
                    text => Some(text.as_str()?.to_owned()),
                },
            },
            skip: number(skip)?,
            passed: number(passed)?,
        },
        _ => return None,
    })
}

/// FNV-1a: finds damage, keeps no secret.
fn checksum(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(position: &Position) {
        let token = position.encode();
        assert!(token.is_ascii() && token.len() < 1400, "{token}");
        assert_eq!(&Position::decode(&token).unwrap(), position);
    }

    #[test]
    fn positions_survive_the_wire() {
        round_trip(&Position::Item { number: u64::MAX, rows: Some(3), passed: 9 });
        round_trip(&Position::Item { number: 0, rows: None, passed: 0 });
        let keys = vec![
            SortKey::Undefined,
            SortKey::new(Some(&Value::from("ä\"x"))),
            SortKey::new(Some(&Value::Array(vec![Value::from(1)]))),
        ];
        round_trip(&Position::Sorted { place: Place { keys, number: 7, row: 1 }, passed: 2 });
        round_trip(&Position::Near { mark: Mark::default(), skip: 12, passed: 12 });
        let keys = vec![SortKey::new(Some(&Value::from(2)))];
        let mark = Mark { keys, beginning: Some("ä".repeat(75)) };
        round_trip(&Position::Near { mark, skip: 0, passed: 3 });
    }

    #[test]
    fn of_long_keys_a_position_has_the_beginning() {
        let keys = vec![SortKey::new(Some(&Value::from("x".repeat(2000))))];
        let place = Place { keys, number: 7, row: 1 };
        let position = Position::after_sorted(place, 5, KEYS_BYTES_MAX, |_| 2);
        round_trip(&position);
        let Position::Near { mark, skip: 2, passed: 5 } = position else { panic!("{position:?}") };
        assert!(mark.beginning.is_some_and(|text| text.len() > 100));
    }

    #[test]
    fn damaged_tokens_are_refused() {
        let token = Position::Item { number: 1, rows: None, passed: 12 }.encode();
        let mut damaged = token.clone();
        damaged.replace_range(4..5, "x");
        for text in ["", "O1.", "O1.aa.0", "+RID:~abc", &damaged, &"x".repeat(9000)] {
            assert!(Position::decode(text).is_err(), "{text}");
        }
    }
}
