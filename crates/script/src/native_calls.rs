//! The kinds of calls on items and attachments: what each takes from a script, and how it answers.

use std::rc::Rc;

use bytes::Bytes;
use model::{Status, Value as Json};
use rquickjs::function::Opt;
use rquickjs::{Array, Coerced, Ctx, FromJs as _, IntoJs as _, Object, Result, Value};

use crate::bridge::{Access, Bridge};
use crate::host::{FeedPage, Host, HostError, HostResult, NewItem, PageRequest, QueryPage};
use crate::json_to_value::data_of;
use crate::native::add;
use crate::value_to_json::text_of;

// Limit: text of the parameters of a query. Parsed it takes many times the memory, which is not the engine's.
const PARAMETERS_BYTES_MAX: usize = 2 << 20;

pub(crate) type Read = fn(&mut dyn Host, &str, Option<&str>) -> HostResult<Option<Bytes>>;

/// A call that reads one resource, unless its etag is the one that is given.
pub(crate) fn add_read<'js>(
    native: &Object<'js>,
    bridge: &Rc<Bridge>,
    name: &str,
    read: Read,
) -> Result<()> {
    let it = Rc::clone(bridge);
    add(
        native,
        name,
        move |ctx: Ctx<'js>,
              link: Coerced<String>,
              base: Object<'js>,
              is_seen: bool,
              etag: Opt<Option<String>>| {
            let etag = etag.0.flatten();
            let outcome = it.operate(Access::Read, |host| read(host, &link.0, etag.as_deref()));
            reply(&ctx, outcome, |array, item| match item {
                Some(item) if is_seen => array.set(1, parsed(&ctx, &item, &base)?),
                Some(_) => Ok(()),
                None => array.set(2, true),
            })
        },
    )
}

pub(crate) fn add_remove<'js>(
    native: &Object<'js>,
    bridge: &Rc<Bridge>,
    name: &str,
    remove: fn(&mut dyn Host, &str, Option<&str>) -> HostResult<()>,
) -> Result<()> {
    let it = Rc::clone(bridge);
    add(native, name, move |ctx: Ctx<'js>, link: Coerced<String>, etag: Opt<Option<String>>| {
        let etag = etag.0.flatten();
        let outcome = it.operate(Access::Write, |host| remove(host, &link.0, etag.as_deref()));
        reply(&ctx, outcome, |_, ()| Ok(()))
    })
}

/// What a script wants written.
pub(crate) struct Write<'a> {
    pub(crate) body: NewItem,
    pub(crate) etag: Option<&'a str>,
    /// Whether a callback sees the item.
    pub(crate) is_seen: bool,
}

/// A call that writes an item, given as an object or as its text. It gives `undefined` for an object whose text the
/// engine must make.
pub(crate) fn add_write<'js>(
    native: &Object<'js>,
    bridge: &Rc<Bridge>,
    name: &str,
    write: fn(&mut dyn Host, &str, Write<'_>) -> HostResult<Option<Bytes>>,
) -> Result<()> {
    let it = Rc::clone(bridge);
    add(
        native,
        name,
        move |ctx: Ctx<'js>,
              link: Coerced<String>,
              item: Value<'js>,
              base: Object<'js>,
              is_seen: bool,
              etag: Opt<Option<String>>| {
            let body = match item.as_object() {
                Some(object) => text_of(object, &base, &it.names)?,
                None => Some(NewItem::given(String::from_js(&ctx, item)?.into_bytes())),
            };
            let Some(body) = body else { return Ok(Value::new_undefined(ctx)) };
            let etag = etag.0.flatten();
            let outcome = it.operate(Access::Write, |host| {
                write(host, &link.0, Write { body, etag: etag.as_deref(), is_seen })
            });
            reply(&ctx, outcome, |array, item| match item {
                Some(item) => array.set(1, parsed(&ctx, &item, &base)?),
                None => Ok(()),
            })
        },
    )
}

pub(crate) type Feed = fn(&mut dyn Host, &str, Option<u64>, Option<usize>) -> HostResult<FeedPage>;

pub(crate) fn add_feed<'js>(
    native: &Object<'js>,
    bridge: &Rc<Bridge>,
    name: &str,
    feed: Feed,
) -> Result<()> {
    let it = Rc::clone(bridge);
    add(
        native,
        name,
        move |ctx: Ctx<'js>,
              link: Coerced<String>,
              size: f64,
              continuation: Opt<Option<String>>| {
            let outcome = it.operate(Access::Read, |host| {
                let after = continuation.0.flatten().map(|text| position(&text)).transpose()?;
                feed(host, &link.0, after, items_max(size))
            });
            reply(&ctx, outcome, |array, page| {
                array.set(1, parsed_list(&ctx, page.items.iter().map(|(_, item)| item))?)?;
                match page.next {
                    Some(next) => array.set(2, next.to_string()),
                    None => Ok(()),
                }
            })
        },
    )
}

pub(crate) type Query =
    fn(&mut dyn Host, &str, &str, &[(String, Json)], PageRequest<'_>) -> HostResult<QueryPage>;

pub(crate) fn add_query<'js>(
    native: &Object<'js>,
    bridge: &Rc<Bridge>,
    name: &str,
    query: Query,
) -> Result<()> {
    let it = Rc::clone(bridge);
    add(
        native,
        name,
        move |ctx: Ctx<'js>,
              link: Coerced<String>,
              text: String,
              parameters: Option<String>,
              size: f64,
              continuation: Opt<Option<String>>| {
            let continuation = continuation.0.flatten();
            let page = PageRequest {
                items_max: items_max(size),
                continuation: continuation.as_deref(),
                deadline: it.clock.deadline(),
            };
            let outcome = it.operate(Access::Read, |host| {
                let parameters = parameters.as_deref().map(parse_parameters).transpose()?;
                query(host, &link.0, &text, &parameters.unwrap_or_default(), page)
            });
            reply(&ctx, outcome, |array, QueryPage { rows, continuation }| {
                array.set(1, parsed_list(&ctx, rows.iter())?)?;
                match continuation {
                    Some(continuation) => array.set(2, continuation),
                    None => Ok(()),
                }
            })
        },
    )
}

/// Wire: -1 lets the server decide.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and the host has a limit of its own"
)]
pub(crate) fn items_max(size: f64) -> Option<usize> {
    (size >= 1.0).then_some(size as usize)
}

pub(crate) fn position(text: &str) -> HostResult<u64> {
    text.parse().map_err(|_| HostError::new(Status::BAD_REQUEST, "Invalid Continuation Token"))
}

fn parse_parameters(json: &str) -> HostResult<Vec<(String, Json)>> {
    let invalid = || HostError::new(Status::BAD_REQUEST, "One of the input values is invalid.");
    if json.len() > PARAMETERS_BYTES_MAX {
        return Err(HostError::new(
            Status::TOO_LARGE,
            "The parameters of the query are too large.",
        ));
    }
    let list = model::json::parse(json.as_bytes()).map_err(|_| invalid())?;
    let entries = list.as_array().ok_or_else(invalid)?;
    entries
        .iter()
        .map(|entry| {
            let name = entry.get("name").and_then(Json::as_str).ok_or_else(invalid)?;
            // A value that JSON left out was undefined; the language has no such parameter.
            Ok((name.to_owned(), entry.get("value").cloned().unwrap_or(Json::Null)))
        })
        .collect()
}

pub(crate) fn reply<'js, T>(
    ctx: &Ctx<'js>,
    outcome: Option<HostResult<T>>,
    show: impl FnOnce(&Array<'js>, T) -> Result<()>,
) -> Result<Value<'js>> {
    let Some(outcome) = outcome else { return false.into_js(ctx) };
    let array = Array::new(ctx.clone())?;
    match outcome {
        Ok(value) => {
            array.set(0, 0)?;
            show(&array, value)?;
        }
        Err(error) => {
            array.set(0, error.status.code)?;
            array.set(1, error.message)?;
        }
    }
    array.into_js(ctx)
}

fn parsed<'js>(ctx: &Ctx<'js>, item: &Bytes, base: &Object<'js>) -> Result<Value<'js>> {
    if let Some(value) = data_of(ctx, item, base)? {
        return Ok(value);
    }
    // With room for the zero that the engine wants at the end.
    let mut text = Vec::with_capacity(item.len() + 1);
    text.extend_from_slice(item);
    ctx.json_parse(text)
}

/// Parses many texts in one go.
pub(crate) fn parsed_list<'js, 'b>(
    ctx: &Ctx<'js>,
    items: impl Iterator<Item = &'b Bytes>,
) -> Result<Value<'js>> {
    let mut text = vec![b'['];
    for (index, item) in items.enumerate() {
        if index > 0 {
            text.push(b',');
        }
        text.extend_from_slice(item);
    }
    text.push(b']');
    ctx.json_parse(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_names_with_values() {
        let parsed = parse_parameters(r#"[{"name":"@a","value":1},{"name":"@b"}]"#).unwrap();
        assert_eq!(parsed[0].0, "@a");
        assert_eq!(parsed[0].1.as_i64(), Some(1));
        assert!(parsed[1].1.is_null());
        for bad in ["", "{}", "[1]", r#"[{"value":1}]"#, r#"[{"name":1}]"#] {
            assert!(parse_parameters(bad).is_err(), "{bad}");
        }
        let long = format!(r#"[{{"name":"@a","value":"{}"}}]"#, "x".repeat(PARAMETERS_BYTES_MAX));
        assert_eq!(parse_parameters(&long).unwrap_err().status, Status::TOO_LARGE);
    }

    #[test]
    fn a_page_size_of_minus_one_or_nonsense_leaves_the_choice_to_the_host() {
        for (size, expected) in [(1.0, Some(1)), (100.0, Some(100)), (-1.0, None), (f64::NAN, None)]
        {
            assert_eq!(items_max(size), expected, "{size}");
        }
        assert_eq!(items_max(f64::INFINITY), Some(usize::MAX));
    }
}
