//! From JSON text to binary JSON, for clients that ask for it.
//!
//! Strings are written plain, as one of the well-known names, or as a GUID; references to earlier strings are never
//! written. Containers have the shortest length that fits: what they hold is written first and moved when its length is known.
//! A number keeps its value, not its text: integers beyond 64 bits and fractions become doubles, as they are to every client.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::PREAMBLE;
use super::strings::{LOWER_HEX, WELL_KNOWN};
use crate::json::{Event, JsonError, Reader};

/// A binary body in the making.
#[derive(Debug)]
pub struct Encoder {
    out: Vec<u8>,
}

/// Where a container began.
#[derive(Debug, Clone, Copy)]
pub struct Open {
    start: usize,
    n_members: usize,
    is_object: bool,
}

/// Room for the marker and the longest length of a container.
const HEADER_BYTES: usize = 5;

static PLACES: LazyLock<HashMap<&'static str, u8>> =
    LazyLock::new(|| WELL_KNOWN.into_iter().zip(0x20..).collect());

/// The longest well-known name: longer strings need no look.
const KNOWN_BYTES_MAX: usize = 18;

/// Rewrites a JSON text as a binary body.
///
/// # Errors
/// When the text is no JSON.
pub fn from_text(text: &[u8]) -> Result<Vec<u8>, JsonError> {
    let mut encoder = Encoder::with_capacity(text.len());
    encoder.text(text)?;
    Ok(encoder.finish())
}

impl Encoder {
    /// An empty body with room for about so many bytes.
    pub fn with_capacity(n_bytes: usize) -> Encoder {
        let mut out = Vec::with_capacity(n_bytes + HEADER_BYTES);
        out.push(PREAMBLE);
        Encoder { out }
    }

    /// Returns the body.
    pub fn finish(self) -> Vec<u8> {
        self.out
    }

    /// Adds one value, which is JSON text.
    ///
    /// # Errors
    /// When the text is no JSON; what was written of it stays.
    pub fn text(&mut self, text: &[u8]) -> Result<(), JsonError> {
        let mut reader = Reader::from_bytes(text)?;
        let mut open: Vec<Open> = Vec::new();
        while let Some(event) = reader.next()? {
            let is_value = !matches!(event, Event::Name(_) | Event::EndObject | Event::EndArray);
            if is_value && let Some(owner) = open.last_mut() {
                owner.n_members += 1;
            }
            match event {
                Event::BeginObject => open.push(self.begin(true)),
                Event::BeginArray => open.push(self.begin(false)),
                Event::EndObject | Event::EndArray => {
                    if let Some(done) = open.pop() {
                        self.end(done);
                    }
                }
                Event::Name(text) | Event::String(text) => self.string(&text.decode()),
                Event::Number(text) => self.number(text),
                Event::Bool(value) => self.out.push(if value { 0xD2 } else { 0xD1 }),
                Event::Null => self.out.push(0xD0),
            }
        }
        Ok(())
    }

    /// Begins an object or an array whose members follow.
    pub fn begin(&mut self, is_object: bool) -> Open {
        let start = self.out.len();
        self.out.extend_from_slice(&[0; HEADER_BYTES]);
        Open { start, n_members: 0, is_object }
    }

    /// Ends what began with `open` and got `n_members`.
    pub fn end_with(&mut self, open: Open, n_members: usize) {
        self.end(Open { n_members, ..open });
    }

    fn end(&mut self, open: Open) {
        let Open { start, n_members, is_object } = open;
        let marker = if is_object { 0xE8 } else { 0xE0 };
        let n_bytes = self.out.len() - start - HEADER_BYTES;
        let length = n_bytes.to_le_bytes();
        let (form, width) = match (n_members, n_bytes) {
            (0, _) => (0, 0),
            (1, _) => (1, 0),
            (_, 0..=0xFF) => (2, 1),
            (_, 0x100..=0xFFFF) => (3, 2),
            _ => (4, 4),
        };
        let mut header = [0; HEADER_BYTES];
        header[0] = marker + form;
        header[1..=width].copy_from_slice(&length[..width]);
        self.out.splice(start..start + HEADER_BYTES, header[..=width].iter().copied());
    }

    /// Adds a string, or the name of a member.
    pub fn string(&mut self, text: &str) {
        let bytes = text.as_bytes();
        if bytes.len() <= KNOWN_BYTES_MAX
            && let Some(place) = PLACES.get(text)
        {
            self.out.push(*place);
            return;
        }
        if let Some(guid) = guid(bytes) {
            self.out.push(0x75);
            self.out.extend_from_slice(&guid);
            return;
        }
        let length = bytes.len().to_le_bytes();
        let (marker, width) = match bytes.len() {
            short @ 0..=0x3F => (0x80 + u8::try_from(short).unwrap_or_default(), 0),
            0x40..=0xFF => (0xC0, 1),
            0x100..=0xFFFF => (0xC1, 2),
            _ => (0xC2, 4),
        };
        self.out.push(marker);
        self.out.extend_from_slice(&length[..width]);
        self.out.extend_from_slice(bytes);
    }

    fn number(&mut self, text: &str) {
        if let Ok(integer) = text.parse::<i64>() {
            // Wire: there is no negative zero among integers.
            if integer != 0 || !text.starts_with('-') {
                return self.integer(integer);
            }
        }
        if let Ok(integer) = text.parse::<u64>() {
            self.out.push(0xC7);
            self.out.extend_from_slice(&integer.to_le_bytes());
            return;
        }
        self.out.push(0xCC);
        self.out.extend_from_slice(&text.parse::<f64>().unwrap_or_default().to_le_bytes());
    }

    /// Adds a whole number.
    pub fn integer(&mut self, integer: i64) {
        if let Ok(byte) = u8::try_from(integer) {
            if byte >= 0x20 {
                self.out.push(0xC8);
            }
            self.out.push(byte);
        } else if let Ok(short) = i16::try_from(integer) {
            self.out.push(0xC9);
            self.out.extend_from_slice(&short.to_le_bytes());
        } else if let Ok(int) = i32::try_from(integer) {
            self.out.push(0xCA);
            self.out.extend_from_slice(&int.to_le_bytes());
        } else {
            self.out.push(0xCB);
            self.out.extend_from_slice(&integer.to_le_bytes());
        }
    }
}

/// The 16 bytes of a GUID in lower case: two digits a byte, the first in the lower half.
fn guid(text: &[u8]) -> Option<[u8; 16]> {
    if text.len() != 36 {
        return None;
    }
    let mut digits = [0; 32];
    let mut n_digits = 0;
    for (index, byte) in text.iter().enumerate() {
        if matches!(index, 8 | 13 | 18 | 23) {
            if *byte != b'-' {
                return None;
            }
            continue;
        }
        let digit = LOWER_HEX.iter().position(|known| known == byte)?;
        *digits.get_mut(n_digits)? = u8::try_from(digit).ok()?;
        n_digits += 1;
    }
    let mut bytes = [0; 16];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = pair[0] | pair[1] << 4;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::json::Value;
    use crate::json::binary::to_text;
    use crate::json::parse;

    #[track_caller]
    fn check(text: &str, hex: &str) {
        let bytes: Vec<u8> =
            hex.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
        assert_eq!(from_text(text.as_bytes()).unwrap(), bytes, "{text}");
    }

    #[test]
    fn values_take_their_shortest_form() {
        check("null", "80 D0");
        check("[true,false]", "80 E2 02 D2 D1");
        check("31", "80 1F");
        check("200", "80 C8 C8");
        check("-1000", "80 C9 18 FC");
        check("70000", "80 CA 70 11 01 00");
        check("-5000000000", "80 CB 00 0E FA D5 FE FF FF FF");
        check("18446744073709551614", "80 C7 FE FF FF FF FF FF FF FF");
        check("3.50", "80 CC 00 00 00 00 00 00 0C 40");
        check("{}", "80 E8");
        check("[]", "80 E0");
        check(r#"{"id":"x"}"#, "80 E9 2C 81 78");
        check("[[1]]", "80 E1 E1 01");
        check(r#"{"id":"x","pk":"a"}"#, "80 EA 08 2C 81 78 82 70 6B 81 61");
    }

    #[test]
    fn guids_are_sixteen_bytes() {
        let text = r#""0123abcd-4567-89ef-0123-456789abcdef""#;
        let bytes = from_text(text.as_bytes()).unwrap();
        assert_eq!(bytes.len(), 18);
        assert_eq!(to_text(&bytes).unwrap(), text.as_bytes());
        for other in [
            r#""0123ABCD-4567-89ef-0123-456789abcdef""#,
            r#""0123abcd.4567-89ef-0123-456789abcdef""#,
        ] {
            assert_eq!(to_text(&from_text(other.as_bytes()).unwrap()).unwrap(), other.as_bytes());
        }
    }

    #[test]
    fn lengths_of_every_width_read_back() {
        for n in [0, 1, 2, 62, 63, 64, 254, 255, 256, 257, 65_535, 65_536, 70_000] {
            let text = format!(r#"{{"a":"{}","b":[{}1]}}"#, "é".repeat(n / 2), "1,".repeat(n));
            let back = to_text(&from_text(text.as_bytes()).unwrap()).unwrap();
            assert_eq!(String::from_utf8(back).unwrap(), text, "{n}");
        }
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in ["", "{", "[1,]", "nul", "\"\\x\"", "1 2"] {
            assert!(from_text(text.as_bytes()).is_err(), "{text}");
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e300..1e300).prop_map(Value::from),
            ".{0,80}".prop_map(Value::from),
            proptest::sample::select(&WELL_KNOWN[..]).prop_map(Value::from),
        ];
        scalar.prop_recursive(5, 200, 12, |inner| {
            let object = proptest::collection::btree_map(".{0,20}", inner.clone(), 0..12);
            prop_oneof![
                proptest::collection::vec(inner, 0..12).prop_map(Value::Array),
                object.prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_value_reads_back(value in any_json()) {
            let text = value.to_text();
            let back = to_text(&from_text(text.as_bytes()).unwrap()).unwrap();
            prop_assert_eq!(parse(&back).unwrap(), parse(text.as_bytes()).unwrap());
        }
    }
}
