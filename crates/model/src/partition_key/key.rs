//! The partition key of one logical partition.
//!
//! Encoding inside store keys, byte by byte: each component is a tag (undefined 01, null 02, false
//! 03, true 04, number 05, string 06) and its value; 00 ends the key. A number is eight bytes, big-endian, with the
//! bits turned so that byte order is numeric order. A string is its UTF-8 with 00 written as
//! 00 FF, then 00. So no encoding is the beginning of another one, and byte order is key order.

#![deny(clippy::indexing_slicing)]

use std::{cmp::Ordering, fmt::Write as _, hash};

use super::{PartitionKeyDefinition, PartitionKeyError, encoding::truncated};
use crate::{Value, json};

/// Limit: bytes of all strings of one key together. (Old containers look at the first 100
/// characters only, but take longer strings.)
pub const KEY_BYTES_MAX: usize = 2048;

/// Limit: components that one header may have; a container has at most three.
const COMPONENTS_MAX: usize = 16;

const END: u8 = 0x00;
const UNDEFINED: u8 = 0x01;
const NULL: u8 = 0x02;
const FALSE: u8 = 0x03;
const TRUE: u8 = 0x04;
const NUMBER: u8 = 0x05;
const STRING: u8 = 0x06;
const STRING_END: u8 = 0x00;
const ESCAPED_ZERO: u8 = 0xFF;

/// The value at one path of the partition key.
///
/// Equality and order are those of logical partitions: by type as listed, then by value; zero and negative zero are
/// one. Strings are ordered by code point.
#[derive(Debug, Clone)]
pub enum Component {
    /// The property is missing.
    Undefined,
    /// `null`
    Null,
    /// `false` or `true`
    Bool(bool),
    /// A number; all are doubles here.
    Number(f64),
    /// A string.
    String(String),
}

impl Component {
    /// Returns the string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// Returns the value; `None` for `Undefined`.
    pub fn to_value(&self) -> Option<Value> {
        match self {
            Self::Undefined => None,
            Self::Null => Some(Value::Null),
            Self::Bool(bool) => Some(Value::Bool(*bool)),
            Self::Number(double) => Some(Value::from(*double)),
            Self::String(text) => Some(Value::String(text.clone())),
        }
    }

    fn from_value(value: &Value) -> Result<Component, PartitionKeyError> {
        match value {
            Value::Null => Ok(Self::Null),
            Value::Bool(bool) => Ok(Self::Bool(*bool)),
            Value::Number(number) => Ok(Self::Number(number.as_f64())),
            Value::String(text) => Ok(Self::String(text.clone())),
            Value::Object(object) if object.is_empty() => Ok(Self::Undefined),
            Value::Object(_) | Value::Array(_) => Err(PartitionKeyError::NotKey),
        }
    }

    fn tag(&self) -> u8 {
        match self {
            Self::Undefined => UNDEFINED,
            Self::Null => NULL,
            Self::Bool(false) => FALSE,
            Self::Bool(true) => TRUE,
            Self::Number(_) => NUMBER,
            Self::String(_) => STRING,
        }
    }
}

/// A double's bits, turned so that unsigned order is numeric order; both zeros are one.
fn ordered_bits(double: f64) -> u64 {
    let bits = (double + 0.0).to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

fn from_ordered_bits(bits: u64) -> f64 {
    f64::from_bits(if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits })
}

impl Ord for Component {
    fn cmp(&self, other: &Component) -> Ordering {
        match (self, other) {
            (Self::Number(one), Self::Number(two)) => ordered_bits(*one).cmp(&ordered_bits(*two)),
            (Self::String(one), Self::String(two)) => one.cmp(two),
            _ => self.tag().cmp(&other.tag()),
        }
    }
}

impl PartialOrd for Component {
    fn partial_cmp(&self, other: &Component) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Eq for Component {}

impl PartialEq for Component {
    fn eq(&self, other: &Component) -> bool {
        self.cmp(other).is_eq()
    }
}

impl hash::Hash for Component {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.tag().hash(state);
        match self {
            Self::Number(double) => ordered_bits(*double).hash(state),
            Self::String(text) => text.hash(state),
            Self::Undefined | Self::Null | Self::Bool(_) => {}
        }
    }
}

/// The partition key of an item: one component per path of the definition.
///
/// Empty is the key of items that have none, in containers made without a partition key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PartitionKey {
    components: Vec<Component>,
}

impl PartitionKey {
    /// Makes a key of its components; negative zero becomes zero.
    pub fn new(mut components: Vec<Component>) -> PartitionKey {
        for component in &mut components {
            if let Component::Number(double) = component {
                *double += 0.0;
            }
        }
        PartitionKey { components }
    }

    /// The key of items in a container without a partition key.
    pub const fn none() -> PartitionKey {
        PartitionKey { components: Vec::new() }
    }

    /// Reads the header form, such as `["a",1,{}]`; `{}` is undefined, `[]` the empty key.
    ///
    /// Wire: `x-ms-documentdb-partitionkey`.
    pub fn from_header(header: &str) -> Result<PartitionKey, PartitionKeyError> {
        PartitionKey::from_value(&json::parse(header.as_bytes())?)
    }

    /// Reads the array that the header form is.
    pub fn from_value(value: &Value) -> Result<PartitionKey, PartitionKeyError> {
        let elements = value.as_array().ok_or(PartitionKeyError::NotKey)?;
        if elements.len() > COMPONENTS_MAX {
            return Err(PartitionKeyError::TooManyComponents);
        }
        let components: Result<_, _> = elements.iter().map(Component::from_value).collect();
        components.map(PartitionKey::new)
    }

    /// Returns the header form, in ASCII.
    pub fn to_header(&self) -> String {
        let text = self.to_value().to_text();
        let mut header = String::with_capacity(text.len());
        for character in text.chars() {
            // Wire: headers are ASCII; everything else is escaped by its UTF-16 units.
            if character.is_ascii() && character != '\x7F' {
                header.push(character);
            } else {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    // A string never refuses text.
                    let _ = write!(header, "\\u{unit:04x}");
                }
            }
        }
        header
    }

    /// Returns the array that the header form is.
    pub fn to_value(&self) -> Value {
        let undefined = || Value::Object(json::Object::new());
        self.components.iter().map(|one| one.to_value().unwrap_or_else(undefined)).collect()
    }

    /// Returns the components in the order of the paths.
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// Returns the bytes that stand for the key inside store keys.
    ///
    /// In old containers strings are cut to 100 UTF-16 units first: longer ones that begin alike are
    /// one logical partition there.
    pub fn encode(&self, definition: &PartitionKeyDefinition) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(32);
        for component in &self.components {
            bytes.push(component.tag());
            match component {
                Component::Number(double) => {
                    bytes.extend_from_slice(&ordered_bits(*double).to_be_bytes());
                }
                Component::String(text) if definition.is_old() => {
                    encode_string(&truncated(text), &mut bytes);
                }
                Component::String(text) => encode_string(text, &mut bytes),
                Component::Undefined | Component::Null | Component::Bool(_) => {}
            }
        }
        bytes.push(END);
        bytes
    }

    /// Reads an encoded key at the start of `bytes`; also returns the bytes it took.
    pub fn decode(bytes: &[u8]) -> Option<(PartitionKey, usize)> {
        let mut components = Vec::new();
        let mut rest = bytes;
        loop {
            let (&tag, after_tag) = rest.split_first()?;
            rest = after_tag;
            let component = match tag {
                END => break,
                UNDEFINED => Component::Undefined,
                NULL => Component::Null,
                FALSE => Component::Bool(false),
                TRUE => Component::Bool(true),
                NUMBER => {
                    let (bits, after) = rest.split_first_chunk()?;
                    rest = after;
                    Component::Number(from_ordered_bits(u64::from_be_bytes(*bits)))
                }
                STRING => {
                    let (text, after) = decode_string(rest)?;
                    rest = after;
                    Component::String(text)
                }
                _ => return None,
            };
            components.push(component);
        }
        Some((PartitionKey { components }, bytes.len() - rest.len()))
    }
}

fn encode_string(text: &str, bytes: &mut Vec<u8>) {
    for &byte in text.as_bytes() {
        bytes.push(byte);
        if byte == STRING_END {
            bytes.push(ESCAPED_ZERO);
        }
    }
    bytes.push(STRING_END);
}

/// Reads a string and returns what follows. After its end comes a tag or the end of the key, none
/// of which looks like an escaped zero.
fn decode_string(bytes: &[u8]) -> Option<(String, &[u8])> {
    let mut text = Vec::new();
    let mut rest = bytes;
    loop {
        let zero = rest.iter().position(|&byte| byte == STRING_END)?;
        text.extend_from_slice(rest.get(..zero)?);
        rest = rest.get(zero + 1..)?;
        match rest.split_first() {
            Some((&ESCAPED_ZERO, after)) => {
                text.push(0);
                rest = after;
            }
            Some(_) | None => return Some((String::from_utf8(text).ok()?, rest)),
        }
    }
}
