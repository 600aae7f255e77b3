//! Continuations: a position in the rows of a query, as short ASCII text.
//!
//! A continuation holds no server state, so it survives restarts, splits and moves. It is checked for damage
//! and shape; a forged one can only name another position of the same query.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use model::Value;

use crate::error::{Error, Result};
use crate::paging::sort_bookmark::{Among, Passing, SortBookmark};
use crate::paging::sort_key::{RowPosition, SortKey};

/// Limit: longer tokens would not fit into headers; of longer keys a position has the beginning.
pub(crate) const KEYS_BYTES_MAX: usize = 2700;

/// Bytes of a token beside the keys.
const AROUND_KEYS: usize = 150;

/// Limit: longest token that is read.
const TOKEN_BYTES_MAX: usize = 8192;

/// The first characters of every token; the digit is the version of the form.
const PREFIX: &str = "O1.";

/// Where the next page starts.
///
/// A position names items and values, so that it means the same whatever ranges the items lie in and whatever was
/// written since: a row that is there all the time is returned once. Only [`Position::Near`] counts, among rows with
/// different keys that have a long beginning in common, and among those of several scores that are fused.
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
    Sorted { place: RowPosition, passed: u64 },
    /// After a row of a query that is ordered by one score.
    Ranked {
        place: RowPosition,
        /// What scores depend on beside the row, as the first page found it.
        statistics: Vec<f64>,
        passed: u64,
    },
    /// After some of the rows whose keys begin alike and are too long to be named.
    Near { among: Among, passed: u64 },
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

    /// Makes the position after a sorted row, given how many rows begin as it does.
    pub(crate) fn after_sorted(
        place: RowPosition,
        passed: u64,
        passing: &Passing,
        keys_bytes_max: usize,
    ) -> Position {
        match passing.among(&place, keys_bytes_max) {
            None => Position::Sorted { place, passed },
            Some(among) => Position::Near { among, passed },
        }
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
            Position::Ranked { place, statistics, passed } => {
                let number = |number: &f64| Value::from(*number);
                vec![
                    Value::from("r"),
                    Value::Array(place.keys.iter().map(SortKey::to_wire).collect()),
                    Value::from(place.number.to_string()),
                    Value::Array(statistics.iter().map(number).collect()),
                    Value::from(passed.to_string()),
                ]
            }
            Position::Near { among, passed } => {
                let Among { mark, digest, number, row, n_others, n_rows } = among;
                let mut values = vec![
                    Value::from("n"),
                    Value::Array(mark.keys.iter().map(SortKey::to_wire).collect()),
                    mark.beginning.as_deref().map_or(Value::Null, Value::from),
                ];
                let numbers = [digest, number, row, n_others, n_rows, passed];
                values.extend(numbers.map(|number| Value::from(number.to_string())));
                values
            }
        }
    }
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
            place: RowPosition { keys: keys(own)?, number: number(item)?, row: number(row)? },
            passed: number(passed)?,
        },
        ("r", [own, item, statistics, passed]) => Position::Ranked {
            place: RowPosition { keys: keys(own)?, number: number(item)?, row: 0 },
            statistics: statistics.as_array()?.iter().map(Value::as_f64).collect::<Option<_>>()?,
            passed: number(passed)?,
        },
        ("n", [own, beginning, digest, item, row, n_others, n_rows, passed]) => {
            let beginning = match beginning {
                Value::Null => None,
                text => Some(text.as_str()?.to_owned()),
            };
            Position::Near {
                among: Among {
                    mark: SortBookmark { keys: keys(own)?, beginning },
                    digest: number(digest)?,
                    number: number(item)?,
                    row: number(row)?,
                    n_others: number(n_others)?,
                    n_rows: number(n_rows)?,
                },
                passed: number(passed)?,
            }
        }
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
        assert!(token.is_ascii() && token.len() < 4096, "{token}");
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
        round_trip(&Position::Sorted { place: RowPosition { keys, number: 7, row: 1 }, passed: 2 });
        round_trip(&Position::Near { among: Among::default(), passed: 12 });
        let keys = vec![SortKey::new(Some(&Value::from(-0.1)))];
        let place = RowPosition { keys, number: 7, row: 0 };
        round_trip(&Position::Ranked { place, statistics: vec![3.0, 1e9, 0.0], passed: 2 });
    }

    #[test]
    fn of_long_keys_a_position_has_the_beginning() {
        let place = |text: String| {
            let keys =
                vec![SortKey::new(Some(&Value::from(2))), SortKey::new(Some(&Value::from(text)))];
            RowPosition { keys, number: 7, row: 1 }
        };
        let [short, longer, longest] = [200, 2000, 3000].map(|n| place("ä\u{1}".repeat(n / 2)));
        let mut passing = Passing::default();
        passing.pass(&short.keys, KEYS_BYTES_MAX);
        let position = Position::after_sorted(short.clone(), 4, &passing, KEYS_BYTES_MAX);
        assert_eq!(position, Position::Sorted { place: short, passed: 4 });
        for place in [&longer, &longest, &longest] {
            passing.pass(&place.keys, KEYS_BYTES_MAX);
        }
        let position = Position::after_sorted(longest, 5, &passing, KEYS_BYTES_MAX);
        round_trip(&position);
        let Position::Near { among, passed: 5 } = position else { panic!("{position:?}") };
        assert_eq!((among.number, among.row, among.n_others, among.n_rows), (7, 1, 1, 3));
        assert!(among.mark.beginning.is_some_and(|text| text.chars().count() > 400));
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
