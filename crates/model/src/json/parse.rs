//! Bytes → [`Value`].

use super::{Event, JsonError, Number, Object, Reader, Value, error::JsonFault};

/// Parses a JSON text strictly.
///
/// UTF-8 is checked, at most [`super::DEPTH_MAX`] levels are followed, two properties with one
/// name in one object are an error, and so are numbers that overflow a double (`1e400`; `1e-400`
/// is fine). A lone surrogate escape becomes U+FFFD.
pub fn parse(bytes: &[u8]) -> Result<Value, JsonError> {
    let mut reader = Reader::from_bytes(bytes)?;
    let value = read_value(&mut reader)?;
    match reader.next()? {
        None => Ok(value),
        Some(_) => Err(JsonError { fault: JsonFault::Trailing, offset: reader.event_start() }),
    }
}

/// An object or array whose end has not come yet.
enum Open {
    Array(Vec<Value>),
    Object(Object, String),
}

/// Reads one value. A stack of our own takes the place of recursion.
pub(super) fn read_value(reader: &mut Reader<'_>) -> Result<Value, JsonError> {
    let mut open: Vec<Open> = Vec::new();
    loop {
        let Some(event) = reader.next()? else {
            return Err(JsonError { fault: JsonFault::End, offset: reader.event_end() });
        };
        let done = match event {
            Event::BeginObject => {
                open.push(Open::Object(Object::new(), String::new()));
                continue;
            }
            Event::BeginArray => {
                open.push(Open::Array(Vec::new()));
                continue;
            }
            Event::Name(name) => {
                if let Some(Open::Object(_, pending)) = open.last_mut() {
                    *pending = name.decode().into_owned();
                }
                continue;
            }
            Event::EndObject | Event::EndArray => match open.pop() {
                Some(Open::Object(object, _)) => Value::Object(object),
                Some(Open::Array(elements)) => Value::Array(elements),
                None => {
                    return Err(JsonError {
                        fault: JsonFault::Unexpected,
                        offset: reader.event_start(),
                    });
                }
            },
            Event::String(text) => Value::String(text.decode().into_owned()),
            Event::Number(text) => Value::Number(Number::from_checked_text(text)),
            Event::Bool(bool) => Value::Bool(bool),
            Event::Null => Value::Null,
        };
        match open.last_mut() {
            // Invariant: the reader has refused duplicate names already.
            Some(Open::Object(object, name)) => object.push_new(std::mem::take(name), done),
            Some(Open::Array(elements)) => elements.push(done),
            None => return Ok(done),
        }
    }
}

/// Parses what stands at `segments` inside the value that `text` is; `None` if there is nothing.
pub(super) fn value_at(text: &str, segments: &[String]) -> Option<Value> {
    let mut reader = Reader::new(text);
    let mut segments = segments.iter();
    let Some(mut wanted) = segments.next() else { return read_value(&mut reader).ok() };
    let Some(Event::BeginObject) = reader.next().ok()? else { return None };
    // Invariant: inside the object whose property `wanted` we look for, between two properties.
    while let Some(Event::Name(name)) = reader.next().ok()? {
        if name.is(wanted) {
            let Some(next) = segments.next() else { return read_value(&mut reader).ok() };
            let Some(Event::BeginObject) = reader.next().ok()? else { return None };
            wanted = next;
        } else {
            let first = reader.next().ok()??;
            reader.skip(first).ok()?;
        }
    }
    None
}
