//! One item as a source hands it out: its text, of which a query reads what it needs, or a value that exists anyway.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use model::json::{ItemText, Picks, Raw, pick, raw_properties};
use model::{ETag, JsonError, Lsn, Rid, Status, Value};

use crate::error::{Error, Result};
use crate::paging::row::Row;

/// The system properties that an item of a query has.
const SYSTEM_PROPERTIES: [&str; 5] = ["_rid", "_self", "_etag", "_attachments", "_ts"];

/// One item as a source hands it out.
#[derive(Clone, Debug)]
pub struct SourceItem {
    /// The item number; grows along a scan and never changes.
    pub number: u64,
    /// The stored length, for metrics and charges.
    pub bytes: usize,
    content: ItemContent,
}

#[derive(Clone, Debug)]
enum ItemContent {
    Value(Value),
    Stored(StoredItem),
}

impl SourceItem {
    /// Makes an item of a whole value, system properties included.
    pub fn new(number: u64, value: Value, bytes: usize) -> SourceItem {
        SourceItem { number, bytes, content: ItemContent::Value(value) }
    }

    /// Makes an item of its stored text.
    pub fn stored(number: u64, item: StoredItem) -> SourceItem {
        SourceItem { number, bytes: item.text.len(), content: ItemContent::Stored(item) }
    }

    /// Returns the whole item, system properties included.
    ///
    /// # Errors
    /// A stored text that is no JSON.
    pub fn to_value(&self) -> Result<Cow<'_, Value>> {
        self.read(&Picks::Whole)
    }

    /// Returns at least the parts of the item that are picked.
    pub(crate) fn read(&self, picks: &Picks) -> Result<Cow<'_, Value>> {
        match &self.content {
            ItemContent::Value(value) => Ok(Cow::Borrowed(value)),
            ItemContent::Stored(item) => item.read(picks).map(Cow::Owned).map_err(|_| corrupt()),
        }
    }

    /// Finds properties of the item as they stand in its text, where each name has its place in `found`; returns whether
    /// there is a text. Those of the system stand in none.
    pub(crate) fn find_raw<'s, 'n>(
        &'s self,
        names: &(impl Iterator<Item = &'n str> + Clone),
        found: &mut [Option<Raw<'s>>],
    ) -> Result<bool> {
        match &self.content {
            ItemContent::Value(_) => Ok(false),
            ItemContent::Stored(item) => {
                raw_properties(&item.text, names, found).map_err(|_| corrupt())?;
                Ok(true)
            }
        }
    }

    /// Returns the item as a row.
    pub(crate) fn to_row(&self) -> Row {
        match &self.content {
            ItemContent::Value(value) => Row::Value(value.clone()),
            ItemContent::Stored(item) => Row::Text(item.to_text()),
        }
    }
}

pub(crate) fn corrupt() -> Error {
    let message = "a stored item is not JSON".to_owned();
    Error::Source { status: Status::INTERNAL, message }
}

/// An item as a store keeps it.
#[derive(Clone, Debug)]
pub struct StoredItem {
    /// What the client sent, checked by `ItemBody`.
    pub text: Bytes,
    /// What the system properties are made of; without it the item has none.
    pub system: Option<System>,
}

/// What the system properties of an item are made of. They are written only when somebody asks.
#[derive(Clone, Debug)]
pub struct System {
    /// The item's own id.
    pub rid: Rid,
    /// The start of `_self`.
    pub container_link: Arc<str>,
    /// The last write.
    pub lsn: Lsn,
    /// Its time, in seconds.
    pub ts: u32,
    /// How many bytes of the text were added ([`model::json::ItemText`]).
    pub n_added: usize,
}

impl StoredItem {
    fn read(&self, picks: &Picks) -> Result<Value, JsonError> {
        let Some(system) = &self.system else { return pick(&self.text, picks, 0) };
        if picks.is_whole() {
            return model::json::parse(&self.to_text());
        }
        // Invariant: a stored text has no system properties, so there is no need to look for them.
        let is_system = |name: &str| name.starts_with('_') && SYSTEM_PROPERTIES.contains(&name);
        let wanted = || picks.members().iter().filter(|(name, _)| is_system(name));
        let mut value = pick(&self.text, picks, wanted().count())?;
        if let Some(object) = value.as_object_mut() {
            for (name, _) in wanted() {
                object.insert(name.as_str(), system.property(name));
            }
        }
        Ok(value)
    }

    /// Returns the item as a client reads it.
    fn to_text(&self) -> Bytes {
        let Some(system) = &self.system else { return Bytes::copy_from_slice(&self.text) };
        let (rid, link, etag) = (&system.rid, &system.container_link, system.etag());
        let ts = u64::from(system.ts);
        let text = ItemText { bytes: &self.text, n_added: system.n_added };
        model::with_system_properties(text, rid, link, &etag, ts, None).into()
    }
}

impl System {
    fn link(&self) -> String {
        format!("{}docs/{}/", self.container_link, self.rid)
    }

    fn etag(&self) -> ETag {
        ETag::from_lsn(self.lsn, u64::from(self.ts))
    }

    fn property(&self, name: &str) -> Value {
        match name {
            "_rid" => Value::from(self.rid.to_string()),
            "_self" => Value::from(self.link()),
            "_etag" => Value::from(self.etag().as_str()),
            "_attachments" => Value::from("attachments/"),
            _ => Value::from(i64::from(self.ts)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(text: &'static str) -> SourceItem {
        let system = System {
            rid: Rid::item(&Rid::container(1, 1), 7),
            container_link: "dbs/a/colls/b/".into(),
            lsn: Lsn(3),
            ts: 9,
            n_added: 0,
        };
        let text = Bytes::from_static(text.as_bytes());
        SourceItem::stored(7, StoredItem { text, system: Some(system) })
    }

    #[test]
    fn each_property_is_the_same_alone_and_in_the_whole() {
        let item = item(r#"{"id":"a","n":{"x":1.0}}"#);
        let whole = item.to_value().unwrap().into_owned();
        assert_eq!(whole.as_object().unwrap().len(), 7);
        for (name, value) in whole.as_object().unwrap().iter() {
            let mut picks = Picks::NOTHING;
            picks.add([name]);
            let read = item.read(&picks).unwrap();
            assert_eq!(read.as_object().unwrap().len(), 1, "{name}");
            assert_eq!(read.get(name).unwrap().to_text(), value.to_text(), "{name}");
        }
        assert_eq!(Row::texts(&[item.to_row()]), [whole.to_text()]);
    }

    #[test]
    fn a_path_below_a_system_property_leads_nowhere() {
        let mut picks = Picks::NOTHING;
        picks.add(["_ts", "x"]);
        assert_eq!(item("{}").read(&picks).unwrap().get("_ts").unwrap().get("x"), None);
    }

    #[test]
    fn broken_text_is_our_fault() {
        use model::Failure as _;
        assert!(item(r#"{"a":"#).to_value().unwrap_err().is_our_fault());
    }
}
