//! Continuations: places to resume, sealed, so that only our own come back.
//!
//! A continuation names its kind and its container (or owner) and holds a [`Walk`] or a number, never server
//! state: it survives restarts and splits. Anything else, forged, foreign or cut, is "Invalid Continuation
//! Token" (400).
//!
//! Wire: what continues in a range that the client named is the sealed text alone. Everything else is a JSON text around it that
//! names the range where it goes on, as the service's gateway writes it: an object after the first page, an array after
//! later ones. Each form is read everywhere.

use std::borrow::Cow;
use std::collections::VecDeque;

use model::{Epk, EpkRange, Rid, Value, fnv1a};

use crate::error::{Error, Result};
use crate::seal::{Purpose, Sealer};
use crate::walk::{Cursor, Walk};

/// What a continuation continues; part of its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Resources = 1,
    Ranges = 2,
    Items = 3,
    Changes = 4,
    Query = 5,
    Attachments = 6,
}

/// Limit: cursors in one token; a walk grows by one per range at most.
const CURSORS_MAX: usize = 4096;
/// Limit: bytes of one position (query operators keep small states).
const POSITION_BYTES_MAX: usize = 1 << 16;

/// What a position must be able to do to travel.
pub(crate) trait Position: Sized {
    fn encode(&self, out: &mut Vec<u8>);
    fn decode(reader: &mut Reader<'_>) -> Option<Self>;
}

/// After this item number or record number or lsn; `None` is the beginning.
impl Position for Option<u64> {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            None => out.push(0),
            Some(number) => {
                out.push(1);
                out.extend_from_slice(&number.to_be_bytes());
            }
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Option<Self> {
        match reader.byte()? {
            0 => Some(None),
            1 => Some(Some(reader.number()?)),
            _ => None,
        }
    }
}

/// A state that another layer understands.
impl Position for Option<String> {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            None => out.push(0),
            Some(text) => {
                out.push(1);
                put_bytes(out, text.as_bytes());
            }
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Option<Self> {
        match reader.byte()? {
            0 => Some(None),
            1 => Some(Some(String::from_utf8(reader.bytes()?.to_vec()).ok()?)),
            _ => None,
        }
    }
}

/// Writes and reads the continuations of one owner.
#[derive(Debug)]
pub(crate) struct Continuations<'a> {
    pub(crate) sealer: Sealer,
    pub(crate) kind: Kind,
    /// The container, or the owner of a metadata feed; `None` for the account.
    pub(crate) owner: Option<Rid>,
    /// What else must be the same when the token comes back: the partition key, the query.
    pub(crate) scope: Cow<'a, [u8]>,
    /// How many bytes at the start of the scope are the partition key.
    pub(crate) key_bytes: usize,
}

impl Continuations<'_> {
    pub(crate) fn write<P: Position>(&self, walk: &Walk<P>) -> String {
        let mut bytes = self.header();
        put_length(&mut bytes, walk.cursors.len());
        for cursor in &walk.cursors {
            put_bytes(&mut bytes, cursor.epks.min().as_bytes());
            put_bytes(&mut bytes, cursor.epks.max().as_bytes());
            cursor.position.encode(&mut bytes);
        }
        self.sealer.seal(Purpose::Continuation, &bytes)
    }

    /// Reads what was written for this scope, or for the same without a key: what is left of a span is left of its keys.
    pub(crate) fn read<P: Position>(&self, text: &str) -> Result<Walk<P>> {
        let token = sealed(text).ok_or(Error::ContinuationInvalid)?;
        let bytes = self.sealer.open(Purpose::Continuation, &token);
        let bytes = bytes.ok_or(Error::ContinuationInvalid)?;
        let walk = Self::walk_of(&bytes, &self.header()).or_else(|| {
            let key_bytes = Some(self.key_bytes).filter(|bytes| *bytes > 0)?;
            let scope = self.scope.get(key_bytes..)?.into();
            let unkeyed =
                Continuations { scope, sealer: self.sealer.clone(), key_bytes: 0, ..*self };
            Self::walk_of(&bytes, &unkeyed.header())
        });
        walk.ok_or(Error::ContinuationInvalid)
    }

    pub(crate) fn write_number(&self, number: u64) -> String {
        let mut bytes = self.header();
        bytes.extend_from_slice(&number.to_be_bytes());
        self.sealer.seal(Purpose::Continuation, &bytes)
    }

    pub(crate) fn read_number(&self, token: &str) -> Result<u64> {
        let bytes = self.sealer.open(Purpose::Continuation, token);
        let number = bytes.as_deref().and_then(|bytes| {
            let mut reader = Reader(bytes.strip_prefix(self.header().as_slice())?);
            let number = reader.number()?;
            reader.is_empty().then_some(number)
        });
        number.ok_or(Error::ContinuationInvalid)
    }

    fn walk_of<P: Position>(bytes: &[u8], header: &[u8]) -> Option<Walk<P>> {
        let mut reader = Reader(bytes.strip_prefix(header)?);
        let n_cursors = reader.length(CURSORS_MAX)?;
        let mut cursors = VecDeque::new();
        for _ in 0..n_cursors {
            let (min, max) = (reader.epk()?, reader.epk()?);
            let position = P::decode(&mut reader)?;
            cursors.push_back(Cursor { epks: EpkRange::new(min, max)?, position });
        }
        (reader.is_empty() && !cursors.is_empty()).then_some(Walk { cursors })
    }

    fn header(&self) -> Vec<u8> {
        let mut bytes = vec![1, self.kind as u8];
        put_bytes(&mut bytes, self.owner.as_ref().map_or(&[], |rid| rid.as_bytes()));
        // The scope may be as long as a query: its digest says enough.
        bytes.extend_from_slice(&fnv1a(&self.scope).to_be_bytes());
        bytes
    }
}

/// The JSON text around a token that goes on in a range.
pub(crate) fn in_range(token: &str, epks: &EpkRange, is_first: bool) -> String {
    // Neither a token nor a bound needs escapes.
    let range = format!(r#"{{"min":"{}","max":"{}"}}"#, epks.min(), epks.max());
    let object = format!(r#"{{"token":"{token}","range":{range}}}"#);
    if is_first { object } else { format!("[{object}]") }
}

/// The sealed text in a continuation of any form.
fn sealed(text: &str) -> Option<Cow<'_, str>> {
    if !text.starts_with(['{', '[']) {
        return Some(text.into());
    }
    let value = model::json::parse(text.as_bytes()).ok()?;
    let object = match &value {
        Value::Array(array) => array.first().filter(|_| array.len() == 1)?,
        other => other,
    };
    Some(object.get("token")?.as_str()?.to_owned().into())
}

fn put_length(out: &mut Vec<u8>, length: usize) {
    out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_length(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// Reads what the functions above wrote; every step checks its bounds.
#[derive(Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    fn number(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_be_bytes(*bytes))
    }

    fn length(&mut self, max: usize) -> Option<usize> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        usize::try_from(u32::from_be_bytes(*bytes)).ok().filter(|length| *length <= max)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.length(POSITION_BYTES_MAX)?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn epk(&mut self) -> Option<Epk> {
        Some(Epk::from_bytes(self.bytes()?))
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens<'a>(sealer: &Sealer, kind: Kind, scope: &'a [u8]) -> Continuations<'a> {
        let (sealer, owner) = (sealer.clone(), Some(Rid::container(1, 2)));
        Continuations { sealer, kind, owner, scope: scope.into(), key_bytes: 0 }
    }

    #[test]
    fn every_form_is_read_and_nothing_around_it() {
        let sealer = Sealer::new([3; 32]);
        let walk = Walk::start(EpkRange::full(), Some(77));
        let tokens = tokens(&sealer, Kind::Items, b"");
        let token = tokens.write(&walk);
        let first = in_range(&token, &EpkRange::full(), true);
        assert_eq!(first, format!(r#"{{"token":"{token}","range":{{"min":"","max":"FF"}}}}"#));
        let later = in_range(&token, &EpkRange::full(), false);
        assert_eq!(later, format!("[{first}]"));
        for text in [&token, &first, &later] {
            assert_eq!(tokens.read(text).unwrap(), walk);
        }
        for bad in ["[]", "{}", "[[]]", r#"{"token":null}"#, r#"{"token":1}"#, &first[1..], "[{"] {
            assert!(tokens.read::<Option<u64>>(bad).is_err(), "{bad}");
        }
        assert!(tokens.read::<Option<u64>>(&format!("[{first},{first}]")).is_err());
    }

    #[test]
    fn a_token_without_a_key_goes_on_with_one_and_not_the_other_way() {
        let sealer = Sealer::new([3; 32]);
        let walk = Walk::start(EpkRange::full(), Some(77));
        let with = |key: &str| {
            let scope = format!("{key}query").into_bytes();
            let (sealer, owner) = (sealer.clone(), Some(Rid::container(1, 2)));
            Continuations {
                sealer,
                kind: Kind::Query,
                owner,
                scope: scope.into(),
                key_bytes: key.len(),
            }
        };
        let token = with("").write(&walk);
        assert_eq!(with("a").read(&token).unwrap(), walk);
        let keyed = with("a").write(&walk);
        assert_eq!(with("a").read(&keyed).unwrap(), walk);
        assert!(with("b").read::<Option<u64>>(&keyed).is_err());
        assert!(with("").read::<Option<u64>>(&keyed).is_err());
    }

    #[test]
    fn a_walk_comes_back_only_where_it_was_written() {
        let sealer = Sealer::new([3; 32]);
        let walk = Walk::start(EpkRange::full(), Some(77));
        let token = tokens(&sealer, Kind::Items, b"key").write(&walk);
        assert_eq!(tokens(&sealer, Kind::Items, b"key").read(&token).unwrap(), walk);
        let is_refused = |reader: Continuations<'_>| reader.read::<Option<u64>>(&token).is_err();
        assert!(is_refused(tokens(&sealer, Kind::Changes, b"key")), "other kind");
        assert!(is_refused(tokens(&sealer, Kind::Items, b"other")), "other scope");
        assert!(is_refused(tokens(&Sealer::new([4; 32]), Kind::Items, b"key")), "other account");
        let other = Some(Rid::container(1, 3));
        assert!(is_refused(Continuations { owner: other, ..tokens(&sealer, Kind::Items, b"key") }));
        for bad in ["", "0", "null", "[]", &token[1..], &token[..token.len() - 1]] {
            assert!(
                tokens(&sealer, Kind::Items, b"key").read::<Option<u64>>(bad).is_err(),
                "{bad}"
            );
        }
    }

    #[test]
    fn tokens_are_short_ascii_without_quotes() {
        let sealer = Sealer::new([3; 32]);
        let walk = Walk::start(EpkRange::full(), Some(String::from("state \"quoted\" é")));
        let token = tokens(&sealer, Kind::Query, b"").write(&walk);
        assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
        assert_eq!(tokens(&sealer, Kind::Query, b"").read(&token).unwrap(), walk);
    }
}
