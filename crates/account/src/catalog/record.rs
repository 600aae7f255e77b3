//! One metadata resource as the catalog keeps it, and its bytes in the store.
//!
//! Invariant: `number` is the resource's place in creation order and never used again; names may change,
//! numbers do not, so owners are named by number.

use model::json;
use model::{ETag, Object, Rid, Value};

use crate::body;
use crate::error::{Error, Result};
use crate::operation::ResourceKind;

/// The account itself: owner of databases and offers.
pub(crate) const ACCOUNT: u64 = 0;

/// The first byte of a record; a reader refuses others.
const VERSION: u8 = 1;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    pub(crate) number: u64,
    pub(crate) owner: u64,
    pub(crate) kind: ResourceKind,
    pub(crate) id: String,
    pub(crate) rid: Rid,
    pub(crate) etag: ETag,
    pub(crate) ts: u64,
    /// The user's properties, completed, without `id` and system properties.
    pub(crate) body: Object,
    /// What the account remembers and never shows as it is.
    pub(crate) state: Object,
}

impl Record {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let value = Value::Object(body::object([
            ("number", number_value(self.number)),
            ("owner", number_value(self.owner)),
            ("kind", kind_name(self.kind).into()),
            ("id", self.id.as_str().into()),
            ("rid", self.rid.to_string().into()),
            ("etag", self.etag.as_str().into()),
            ("ts", number_value(self.ts)),
            ("body", Value::Object(self.body.clone())),
            ("state", Value::Object(self.state.clone())),
        ]));
        let mut bytes = vec![VERSION];
        value.write_to(&mut bytes);
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Record> {
        let corrupt = |what: &str| Error::CatalogCorrupt(what.to_owned());
        let Some((&VERSION, text)) = bytes.split_first() else {
            return Err(corrupt("record of an unknown version"));
        };
        let value = json::parse(text).map_err(|error| corrupt(&error.to_string()))?;
        let text = |name| value.get(name).and_then(Value::as_str).ok_or_else(|| corrupt(name));
        let number = |name| value.get(name).and_then(read_number).ok_or_else(|| corrupt(name));
        let object = |name| value.get(name).and_then(Value::as_object).ok_or_else(|| corrupt(name));
        Ok(Record {
            number: number("number")?,
            owner: number("owner")?,
            kind: kind_from_name(text("kind")?).ok_or_else(|| corrupt("kind"))?,
            id: text("id")?.to_owned(),
            rid: Rid::parse(text("rid")?).ok_or_else(|| corrupt("rid"))?,
            etag: ETag::from_text(text("etag")?),
            ts: number("ts")?,
            body: object("body")?.clone(),
            state: object("state")?.clone(),
        })
    }
}

/// Counters and times as JSON. They stay far below 2^63.
pub(crate) fn number_value(number: u64) -> Value {
    Value::from(i64::try_from(number).unwrap_or(i64::MAX))
}

pub(crate) fn read_number(value: &Value) -> Option<u64> {
    body::whole(value).and_then(|number| u64::try_from(number).ok())
}

/// Wire: the path segment of a kind; also its name in the store.
pub(crate) fn kind_name(kind: ResourceKind) -> &'static str {
    match kind {
        ResourceKind::Database => "dbs",
        ResourceKind::Container => "colls",
        ResourceKind::Item => "docs",
        ResourceKind::Attachment => "attachments",
        ResourceKind::StoredProcedure => "sprocs",
        ResourceKind::Trigger => "triggers",
        ResourceKind::Udf => "udfs",
        ResourceKind::Conflict => "conflicts",
        ResourceKind::Range => "pkranges",
        ResourceKind::User => "users",
        ResourceKind::Permission => "permissions",
        ResourceKind::EncryptionKey => "clientencryptionkeys",
        ResourceKind::Offer => "offers",
    }
}

pub(crate) const KINDS: [ResourceKind; 13] = [
    ResourceKind::Database,
    ResourceKind::Container,
    ResourceKind::Item,
    ResourceKind::Attachment,
    ResourceKind::StoredProcedure,
    ResourceKind::Trigger,
    ResourceKind::Udf,
    ResourceKind::Conflict,
    ResourceKind::Range,
    ResourceKind::User,
    ResourceKind::Permission,
    ResourceKind::EncryptionKey,
    ResourceKind::Offer,
];

pub(crate) fn kind_from_name(name: &str) -> Option<ResourceKind> {
    KINDS.into_iter().find(|&kind| kind_name(kind) == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_survive_the_store() {
        let record = Record {
            number: 7,
            owner: 3,
            kind: ResourceKind::User,
            id: "Ünïcode \"quoted\"".into(),
            rid: Rid::user(3, 7),
            etag: ETag::from_text("\"x\""),
            ts: 1_700_000_000,
            body: body::object([("a", Value::from(1)), ("b", Value::Null)]),
            state: body::object([("n", number_value(1 << 40))]),
        };
        assert_eq!(Record::decode(&record.encode()).unwrap(), record);
    }

    #[test]
    fn damaged_records_are_refused() {
        for bytes in [&b""[..], b"\x02{}", b"\x01", b"\x01{}", b"\x01[1]", b"\x01{\"number\":-1}"] {
            assert!(matches!(Record::decode(bytes), Err(Error::CatalogCorrupt(_))), "{bytes:?}");
        }
    }

    #[test]
    fn every_kind_has_a_name_of_its_own() {
        for kind in KINDS {
            assert_eq!(kind_from_name(kind_name(kind)), Some(kind));
        }
    }

    proptest::proptest! {
        /// Whole records with damage, so that the reader gets past its first checks.
        #[test]
        fn damaged_records_are_refused_or_read_without_a_panic(
            at in 0_usize..160,
            other in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..12),
            piece in proptest::sample::select(vec![
                "", "null", "-1", "1e999", "9223372036854775807", "\"\\ud800\"", "{\"a\":[[]]}", "\"AQAAAA==\"", "\"dbs\"", "}",
            ]),
            length in 0_usize..12,
        ) {
            let text = br#"{"number":7,"owner":3,"kind":"users","id":"u","rid":"AwAAAAcAAAA=","etag":"x","ts":17,"body":{"a":1},"state":{"n":2}}"#;
            let mut bytes = vec![VERSION];
            bytes.extend(text);
            let at = at.min(bytes.len());
            let end = (at + length).min(bytes.len());
            bytes.splice(at..end, other.into_iter().chain(piece.bytes()));
            crate::fuzz::catalog_record(&bytes);
            crate::fuzz::catalog_record(&bytes[1..]);
        }
    }
}
