//! The checked text of one item.

use std::{borrow::Cow, ops::Range};

use super::{
    super::{
        Event, Number, Object, Reader, Text, Value,
        mend::{can_mend, mended},
        parse,
        parse::value_at,
    },
    ITEM_BYTES_MAX, ItemError, SYSTEM_PROPERTIES,
    splice::{Member, without_system_properties},
    surrogates::repaired,
};
use crate::{PartitionKey, PartitionKeyDefinition, PropertyPath, check_item_id};

/// An item's text, checked, with what a write needs to know about it.
#[derive(Debug, Clone)]
pub struct ItemBody {
    /// `{…}` without system properties and without space outside the braces.
    pub(super) text: String,
    pub(super) id: String,
    pub(super) ttl: Option<i32>,
    pub(super) members: Vec<Member>,
    pub(super) n_terms: usize,
    pub(super) n_added: usize,
}

impl ItemBody {
    /// Checks the bytes of an item as sent.
    pub fn parse(bytes: &[u8]) -> Result<ItemBody, ItemError> {
        if bytes.len() > ITEM_BYTES_MAX {
            return Err(ItemError::TooLarge { bytes: bytes.len() });
        }
        let mut body = match Scan::run(bytes) {
            Err(ItemError::Json(error)) if can_mend(error) => {
                let mended = mended(bytes).ok_or(error)?;
                if mended.len() > ITEM_BYTES_MAX {
                    return Err(ItemError::TooLarge { bytes: mended.len() });
                }
                Scan::run(mended.as_bytes())?.into_body()?
            }
            scan => scan?.into_body()?,
        };
        if let Cow::Owned(text) = repaired(&body.text) {
            body.text = text;
            // The number was that of another text.
            body.n_added = 0;
        }
        Ok(body)
    }

    /// Writes and checks a value, after a patch or a script has changed it.
    pub fn from_value(value: &Value) -> Result<ItemBody, ItemError> {
        let mut bytes = Vec::new();
        value.write_to(&mut bytes);
        ItemBody::parse(&bytes)
    }

    /// Returns the text to store: an object, `{` first and `}` last.
    pub fn text(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// Returns how many bytes before the brace are properties that the client had behind system properties, as
    /// [`super::ItemText`] has it.
    ///
    /// Wire: a client that reads an item, adds to it and writes it finds what it added behind them.
    pub fn n_added(&self) -> usize {
        self.n_added
    }

    /// Returns the text to store, without a copy.
    pub fn into_text(self) -> Vec<u8> {
        self.text.into_bytes()
    }

    /// Returns the id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the item's own time to live in seconds, −1 for "never expires".
    pub fn ttl(&self) -> Option<i32> {
        self.ttl
    }

    /// Returns the value at each path, `None` where there is nothing.
    pub fn values_at(&self, paths: &[PropertyPath]) -> Vec<Option<Value>> {
        paths.iter().map(|path| self.value_at(path)).collect()
    }

    /// Returns the value at one path. Nothing else of the item is decoded.
    pub fn value_at(&self, path: &PropertyPath) -> Option<Value> {
        let (first, rest) = path.segments().split_first()?;
        let member = self.members.iter().find(|member| self.name_of(member).is(first))?;
        value_at(self.slice(member.value), rest)
    }

    /// Returns the partition key of the item by a container's definition.
    pub fn partition_key(&self, definition: &PartitionKeyDefinition) -> PartitionKey {
        definition.extract_from(|path| self.value_at(path))
    }

    /// Returns the item as a tree, without system properties.
    pub fn to_value(&self) -> Value {
        // Invariant: the text was checked when the body was made.
        parse(self.text.as_bytes()).unwrap_or_else(|_| Value::Object(Object::new()))
    }

    /// Returns the number of top-level properties, system properties not counted.
    pub fn n_properties(&self) -> usize {
        self.members.len()
    }

    /// Returns the number of scalars at any depth: about what an index of everything would hold.
    pub fn n_terms(&self) -> usize {
        self.n_terms
    }

    fn name_of(&self, member: &Member) -> Text<'_> {
        let raw = self.slice(member.name);
        Text::new(raw, raw.contains('\\'))
    }

    fn slice(&self, (start, end): (u32, u32)) -> &str {
        &self.text[start as usize..end as usize]
    }
}

/// What the one pass has found so far.
struct Scan<'a> {
    text: &'a str,
    /// The object without the space around it.
    object: Range<usize>,
    found: KnownProperties<'a>,
    members: Vec<Member>,
    n_terms: usize,
}

/// What the properties that the server looks at say.
#[derive(Default)]
pub(super) struct KnownProperties<'a> {
    pub(super) id: Option<Text<'a>>,
    pub(super) ttl: Option<i32>,
    /// What is wrong with a property. Told after the pass only, because broken JSON comes first,
    /// wherever it breaks.
    pub(super) fault: Option<ItemError>,
}

impl<'a> Scan<'a> {
    fn run(bytes: &'a [u8]) -> Result<Scan<'a>, ItemError> {
        const ROOM: usize = 16;
        let mut reader = Reader::from_bytes(bytes)?;
        let first = reader.next()?;
        let mut scan = Scan {
            text: reader.text(),
            object: reader.event_start()..reader.event_start(),
            found: KnownProperties::default(),
            members: Vec::with_capacity(ROOM),
            n_terms: 0,
        };
        let is_object = matches!(first, Some(Event::BeginObject));
        while let Some(event) = reader.next()? {
            match event {
                Event::Name(name) if is_object => scan.member(&mut reader, name)?,
                _ => scan.object.end = reader.event_end(),
            }
        }
        if is_object { Ok(scan) } else { Err(ItemError::NotObject) }
    }

    /// Reads the property whose name is the reader's last event.
    fn member(&mut self, reader: &mut Reader<'a>, name: Text<'a>) -> Result<(), ItemError> {
        let name_start = reader.event_start() + 1;
        let Some(first) = reader.next()? else { return Ok(()) };
        let value_start = reader.event_start();
        let n_inside = reader.skip(first)?;
        let value_end = reader.event_end();
        let is_system = is_system_property(name);
        if !is_system {
            self.n_terms += if first.is_scalar() { 1 } else { n_inside };
            self.found.note(name, first, &self.text[value_start..value_end]);
        }
        let place = |at: usize| u32::try_from(at - self.object.start).unwrap_or(u32::MAX);
        self.members.push(Member {
            name: (place(name_start), place(name_start + name.raw().len())),
            value: (place(value_start), place(value_end)),
            is_system,
        });
        Ok(())
    }

    fn into_body(mut self) -> Result<ItemBody, ItemError> {
        let KnownProperties { id, ttl, fault } = self.found;
        let id = checked_id(id, fault)?;
        let (text, n_added) = without_system_properties(&self.text[self.object], &mut self.members);
        let Scan { members, n_terms, .. } = self;
        Ok(ItemBody { text, id, ttl, members, n_terms, n_added })
    }
}

impl<'a> KnownProperties<'a> {
    /// Keeps the id and the time to live, or what is wrong with them.
    pub(super) fn note(&mut self, name: Text<'a>, first: Event<'a>, value: &str) {
        if name.is("id") {
            match first {
                Event::String(id) => self.id = Some(id),
                _ => self.fault = Some(ItemError::IdNotString),
            }
        } else if name.is("ttl") {
            self.ttl = parse_ttl(first);
            if self.ttl.is_none() {
                let ttl = value.chars().take(64).collect();
                self.fault.get_or_insert(ItemError::Ttl { ttl });
            }
        }
    }
}

/// The id of an item without a fault.
pub(super) fn checked_id(
    id: Option<Text<'_>>,
    fault: Option<ItemError>,
) -> Result<String, ItemError> {
    if let Some(fault) = fault {
        return Err(fault);
    }
    let id = id.ok_or(ItemError::IdMissing)?;
    // Ids that differ in half a character only would become the same.
    if matches!(repaired(id.raw()), Cow::Owned(_)) {
        return Err(ItemError::IdHalved);
    }
    let id = id.decode().into_owned();
    check_item_id(&id)?;
    Ok(id)
}

fn is_system_property(name: Text<'_>) -> bool {
    // An underscore, or an escape that may be one.
    let is_suspect = name.raw().starts_with(['_', '\\']);
    is_suspect && SYSTEM_PROPERTIES.iter().any(|system| name.is(system))
}

/// Wire: −1 or a positive 32-bit integer; `5.0` is the integer 5.
fn parse_ttl(value: Event<'_>) -> Option<i32> {
    let Event::Number(text) = value else { return None };
    let seconds = Number::from_checked_text(text).as_i64()?;
    let seconds = i32::try_from(seconds).ok()?;
    (seconds == -1 || seconds > 0).then_some(seconds)
}
