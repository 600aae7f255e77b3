//! The native functions under the prelude: the wall between a script and the server.
//!
//! Invariant: every function here may be called by the script itself, at any time, with anything. They check their
//! arguments, the clock and the host, and never panic.
//!
//! A call of the collection gives `false` when it was not accepted, `[0, value, …]` when it succeeded and
//! `[number, text]` when the host refused.

use std::rc::Rc;

use bytes::Bytes;
use model::{Status, Value as Json};
use rquickjs::function::{IntoJsFunc, Opt};
use rquickjs::{Array, Coerced, Ctx, FromJs as _, Function, IntoJs, Object, Result, Value};

use crate::bridge::{Access, Bridge};
use crate::data::data_of;
use crate::exception::thrown_of;
use crate::host::{
    FeedPage, Host, HostError, HostResult, ItemRef, NewItem, PageRequest, QueryPage,
};
use crate::link::Links;
use crate::text::text_of;

// Wire: protocol.md §13.5.
const OUTSIDE: &str = "Function is not allowed to operate on resources outside current collection. \
                       Make sure that the link provided belongs to current collection.";

// Limit: text of the parameters of a query. Parsed it takes many times the memory, which is not the engine's.
const PARAMETERS_BYTES_MAX: usize = 2 << 20;

/// Makes the object that the prelude is installed with.
pub(crate) fn install<'js>(ctx: &Ctx<'js>, bridge: &Rc<Bridge>) -> Result<Object<'js>> {
    let native = Object::new(ctx.clone())?;
    install_world(&native, bridge)?;
    install_items(&native, bridge)?;
    install_feeds(&native, bridge)?;
    Ok(native)
}

fn add<'js, P, F>(native: &Object<'js>, name: &str, function: F) -> Result<()>
where
    F: IntoJsFunc<'js, P> + 'js,
{
    native.set(name, Function::new(native.ctx().clone(), function)?)
}

/// Clock, randomness, log, and the facts of the container.
#[expect(clippy::cast_precision_loss, reason = "milliseconds and 53 random bits fit a double")]
fn install_world<'js>(native: &Object<'js>, bridge: &Rc<Bridge>) -> Result<()> {
    let it = Rc::clone(bridge);
    add(native, "now", move || it.clock.env.now_ms() as f64)?;
    let it = Rc::clone(bridge);
    add(native, "random", move || (it.clock.env.random_u64() >> 11) as f64 / (1_u64 << 53) as f64)?;
    let it = Rc::clone(bridge);
    add(native, "uuid", move || it.clock.env.uuid())?;
    let it = Rc::clone(bridge);
    add(native, "isLogging", move || it.log.borrow().is_on())?;
    let it = Rc::clone(bridge);
    add(native, "log", move |text: String| it.log.borrow_mut().push(&text))?;
    let it = Rc::clone(bridge);
    add(native, "bodyMax", move || it.response_chars_max as f64)?;
    let it = Rc::clone(bridge);
    add(native, "abort", move |described: Array<'js>| it.abort(thrown_of(&described)))?;
    let it = Rc::clone(bridge);
    add(native, "selfLink", move || it.look(|host| host.self_link().to_owned()))?;
    let it = Rc::clone(bridge);
    add(native, "altLink", move || it.look(|host| host.alt_link().to_owned()))?;
    let it = Rc::clone(bridge);
    add(native, "usage", move |ctx: Ctx<'js>| -> Result<Array<'js>> {
        let usage = it.look(|host| host.usage()).unwrap_or_default();
        let array = Array::new(ctx)?;
        array.set(0, usage.current_mb)?;
        array.set(1, usage.max_mb)?;
        array.set(2, usage.current_text)?;
        array.set(3, usage.max_text)?;
        Ok(array)
    })
}

fn install_items<'js>(native: &Object<'js>, bridge: &Rc<Bridge>) -> Result<()> {
    let it = Rc::clone(bridge);
    add(
        native,
        "read",
        move |ctx: Ctx<'js>,
              link: Coerced<String>,
              base: Object<'js>,
              is_seen: bool,
              etag: Opt<Option<String>>| {
            let outcome = it.operate(Access::Read, |host| {
                with_item(host, &link.0, |host, item| host.read(item, etag.0.flatten().as_deref()))
            });
            reply(&ctx, outcome, |array, item| match item {
                Some(item) if is_seen => array.set(1, parsed(&ctx, &item, &base)?),
                Some(_) => Ok(()),
                None => array.set(2, true),
            })
        },
    )?;
    add_write(native, bridge, "create", |host, link, write| {
        check_container(host, link)?;
        host.create(write.body, write.is_seen)
    })?;
    add_write(native, bridge, "upsert", |host, link, write| {
        check_container(host, link)?;
        host.upsert(write.body, write.etag, write.is_seen)
    })?;
    add_write(native, bridge, "replace", |host, link, write| {
        with_item(host, link, |host, item| {
            host.replace(item, write.body, write.etag, write.is_seen)
        })
    })?;
    let it = Rc::clone(bridge);
    add(native, "remove", move |ctx: Ctx<'js>, link: Coerced<String>, etag: Opt<Option<String>>| {
        let etag = etag.0.flatten();
        let outcome = it.operate(Access::Write, |host| {
            with_item(host, &link.0, |host, item| host.delete(item, etag.as_deref()))
        });
        reply(&ctx, outcome, |_, ()| Ok(()))
    })
}

/// What a script wants written.
struct Write<'a> {
    body: NewItem,
    etag: Option<&'a str>,
    /// Whether a callback sees the item.
    is_seen: bool,
}

/// A call that writes an item, given as an object or as its text. It gives `undefined` for an object whose text the
/// engine must make.
fn add_write<'js>(
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

fn install_feeds<'js>(native: &Object<'js>, bridge: &Rc<Bridge>) -> Result<()> {
    let it = Rc::clone(bridge);
    add(
        native,
        "feed",
        move |ctx: Ctx<'js>,
              link: Coerced<String>,
              size: f64,
              continuation: Opt<Option<String>>| {
            let outcome = it.operate(Access::Read, |host| {
                check_container(host, &link.0)?;
                let after = continuation.0.flatten().map(|text| position(&text)).transpose()?;
                host.page(after, items_max(size))
            });
            reply(&ctx, outcome, |array, page| {
                array.set(1, parsed_list(&ctx, page.items.iter().map(|(_, item)| item))?)?;
                match page.next {
                    Some(next) => array.set(2, next.to_string()),
                    None => Ok(()),
                }
            })
        },
    )?;
    let it = Rc::clone(bridge);
    add(native, "scan", move |ctx: Ctx<'js>, after: Option<String>, size: f64| {
        let outcome = it.operate(Access::Read, |host| {
            let after = after.map(|text| position(&text)).transpose()?;
            host.page(after, items_max(size))
        });
        reply(&ctx, outcome, |array, page| scanned(&ctx, array, &page))
    })?;
    let it = Rc::clone(bridge);
    add(
        native,
        "query",
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
                check_container(host, &link.0)?;
                let parameters = parameters.as_deref().map(parse_parameters).transpose()?;
                host.query(&text, &parameters.unwrap_or_default(), page)
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

fn links(host: &dyn Host) -> Links<'_> {
    Links { by_rid: host.self_link(), by_name: host.alt_link() }
}

fn check_container(host: &dyn Host, link: &str) -> HostResult<()> {
    let is_own = links(host).is_container(link);
    is_own.then_some(()).ok_or_else(|| HostError::new(Status::BAD_REQUEST, OUTSIDE))
}

fn with_item<T>(
    host: &mut dyn Host,
    link: &str,
    call: impl FnOnce(&mut dyn Host, ItemRef<'_>) -> HostResult<T>,
) -> HostResult<T> {
    match links(host).item(link) {
        Some(item) => call(host, item),
        None => Err(HostError::new(Status::BAD_REQUEST, OUTSIDE)),
    }
}

/// Wire: -1 lets the server decide.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and the host has a limit of its own"
)]
fn items_max(size: f64) -> Option<usize> {
    (size >= 1.0).then_some(size as usize)
}

fn position(text: &str) -> HostResult<u64> {
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

fn reply<'js, T>(
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
fn parsed_list<'js, 'b>(
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

fn scanned<'js>(ctx: &Ctx<'js>, array: &Array<'js>, page: &FeedPage) -> Result<()> {
    array.set(1, parsed_list(ctx, page.items.iter().map(|(_, item)| item))?)?;
    // Positions have more bits than a JavaScript number.
    let positions = Array::new(ctx.clone())?;
    for (index, (position, _)) in page.items.iter().enumerate() {
        positions.set(index, position.to_string())?;
    }
    array.set(2, positions)?;
    match page.next {
        Some(next) => array.set(3, next.to_string()),
        None => Ok(()),
    }
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
