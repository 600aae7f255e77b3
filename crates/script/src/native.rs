//! The native functions under the prelude: the wall between a script and the server.
//!
//! Invariant: every function here may be called by the script itself, at any time, with anything. They check their
//! arguments, the clock and the host, and never panic.
//!
//! A call of the collection gives `false` when it was not accepted, `[0, value, …]` when it succeeded and
//! `[number, text]` when the host refused.

use std::rc::Rc;

use model::Status;
use rquickjs::function::IntoJsFunc;
use rquickjs::{Array, Ctx, Exception, Function, Object, Result, Value};

use crate::bridge::{Access, Bridge};
use crate::exception::thrown_of;
use crate::host::{AttachmentRef, FeedPage, Host, HostError, HostResult, ItemRef};
use crate::link::Links;
use crate::native_calls::{
    add_feed, add_query, add_read, add_remove, add_write, items_max, parsed_list, position, reply,
};

// Wire: the names and arguments are those of the service's server-side API.
const OUTSIDE: &str = "Function is not allowed to operate on resources outside current collection. \
                       Make sure that the link provided belongs to current collection.";

/// Makes the object that the prelude is installed with.
pub(crate) fn install<'js>(ctx: &Ctx<'js>, bridge: &Rc<Bridge>) -> Result<Object<'js>> {
    let native = Object::new(ctx.clone())?;
    install_world(&native, bridge)?;
    install_items(&native, bridge)?;
    install_feeds(&native, bridge)?;
    install_attachments(&native, bridge)?;
    Ok(native)
}

pub(crate) fn add<'js, P, F>(native: &Object<'js>, name: &str, function: F) -> Result<()>
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
    add(native, "look", move |ctx: Ctx<'js>| -> Result<()> {
        if it.clock.must_stop() {
            return Err(Exception::throw_range(&ctx, "the time of the script is over"));
        }
        Ok(())
    })?;
    add(native, "isProxy", |value: Value<'js>| value.is_proxy())?;
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

fn install_items(native: &Object<'_>, bridge: &Rc<Bridge>) -> Result<()> {
    add_read(native, bridge, "read", |host, link, etag| {
        with_item(host, link, |host, item| host.read(item, etag))
    })?;
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
    add_remove(native, bridge, "remove", |host, link, etag| {
        with_item(host, link, |host, item| host.delete(item, etag))
    })
}

fn install_attachments(native: &Object<'_>, bridge: &Rc<Bridge>) -> Result<()> {
    add_read(native, bridge, "readAttachment", |host, link, etag| {
        with_attachment(host, link, |host, attachment| host.read_attachment(attachment, etag))
    })?;
    add_write(native, bridge, "createAttachment", |host, link, write| {
        with_item(host, link, |host, item| host.create_attachment(item, write.body))
    })?;
    add_write(native, bridge, "upsertAttachment", |host, link, write| {
        with_item(host, link, |host, item| host.upsert_attachment(item, write.body, write.etag))
    })?;
    add_write(native, bridge, "replaceAttachment", |host, link, write| {
        with_attachment(host, link, |host, attachment| {
            host.replace_attachment(attachment, write.body, write.etag)
        })
    })?;
    add_remove(native, bridge, "removeAttachment", |host, link, etag| {
        with_attachment(host, link, |host, attachment| host.delete_attachment(attachment, etag))
    })?;
    add_feed(native, bridge, "feedAttachments", |host, link, after, items_max| {
        with_item(host, link, |host, item| host.attachments(item, after, items_max))
    })?;
    add_query(native, bridge, "queryAttachments", |host, link, text, parameters, page| {
        with_item(host, link, |host, item| host.query_attachments(item, text, parameters, page))
    })
}

fn install_feeds<'js>(native: &Object<'js>, bridge: &Rc<Bridge>) -> Result<()> {
    add_feed(native, bridge, "feed", |host, link, after, items_max| {
        check_container(host, link)?;
        host.page(after, items_max)
    })?;
    let it = Rc::clone(bridge);
    add(native, "scan", move |ctx: Ctx<'js>, after: Option<String>, size: f64| {
        let outcome = it.operate(Access::Read, |host| {
            let after = after.map(|text| position(&text)).transpose()?;
            host.page(after, items_max(size))
        });
        reply(&ctx, outcome, |array, page| scanned(&ctx, array, &page))
    })?;
    add_query(native, bridge, "query", |host, link, text, parameters, page| {
        check_container(host, link)?;
        host.query(text, parameters, page)
    })
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

fn with_attachment<T>(
    host: &mut dyn Host,
    link: &str,
    call: impl FnOnce(&mut dyn Host, AttachmentRef<'_>) -> HostResult<T>,
) -> HostResult<T> {
    match links(host).attachment(link) {
        Some(attachment) => call(host, attachment),
        None => Err(HostError::new(Status::BAD_REQUEST, OUTSIDE)),
    }
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
