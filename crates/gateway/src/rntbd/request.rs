//! From a frame to the HTTP request that means the same.
//!
//! Names arrive decoded and become percent-encoded segments of a path; tokens become headers by the table below;
//! what HTTP says with headers and the operation type says here (upsert, query, batch) is added.

#![deny(clippy::indexing_slicing)]

use std::{borrow::Cow, sync::LazyLock};

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, header};
use http_body_util::Full;
use model::Rid;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use uuid::Uuid;

use super::{
    frame::Frame,
    names::{operation, request as ids, resource},
    token::{TokenError, TokenValue, Tokens},
};
use crate::{
    error::Error,
    headers::{Name, response as names},
};

/// Everything but unreserved characters.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// How long rids are: of a database, what is in it, what is in that, and of attachments.
const RID_BYTES: [usize; 4] = [4, 8, 16, 20];

/// Limit: KiB of a continuation; a token of this protocol has a length of two bytes.
const CONTINUATION_KIB_MAX: u32 = 63;

/// A request of direct mode, ready to be answered.
#[derive(Debug)]
pub(crate) struct DirectRequest {
    pub(crate) echo: Echo,
    /// The same request over HTTP, or why there is none.
    pub(crate) http: Result<Request<Full<Bytes>>, Error>,
    /// A point read: it ends on its first poll, so it needs no task of its own.
    pub(crate) may_run_inline: bool,
}

/// What the response repeats of its request.
#[derive(Debug, Clone)]
pub(crate) struct Echo {
    pub(crate) activity: [u8; 16],
    pub(crate) transport_id: u32,
    /// The session token of the request.
    pub(crate) session: Option<String>,
    /// The request went to the address of the primary.
    pub(crate) is_primary: bool,
    pub(crate) correlated: Option<[u8; 16]>,
    /// The response has no body.
    pub(crate) is_head: bool,
}

impl Echo {
    pub(crate) fn activity_text(&self) -> String {
        Uuid::from_bytes_le(self.activity).to_string()
    }
}

/// What rides on the HTTP request beside its headers.
#[derive(Debug, Clone, Default)]
pub(crate) struct DirectFacts {
    /// The container that the client believes the name to have. Another one is 410/1000.
    pub(crate) container_rid: Option<String>,
}

/// How the value of a token is written in its header.
#[derive(Debug, Clone, Copy)]
enum Form {
    Text,
    Switch,
    Number,
    /// All bits set mean −1.
    PageSize,
    Choice(&'static [(u8, &'static str)]),
    Base64,
    Hex,
}

const CONSISTENCY_LEVELS: &[(u8, &str)] = &[
    (0, "Strong"),
    (1, "BoundedStaleness"),
    (2, "Session"),
    (3, "Eventual"),
    (4, "ConsistentPrefix"),
];

const CONSISTENCY_LEVEL: u16 = 0x0010;
const CONTINUATION_LIMIT: u16 = 0x0043;

/// Tokens that are headers. Ids that are missing here are internal to the service, or say what we do not need.
#[rustfmt::skip]
const HEADERS: &[(u16, &str, Form)] = &[
    (0x0001, "authorization", Form::Text),
    (0x0003, "x-ms-date", Form::Text),
    (0x0004, "x-ms-max-item-count", Form::PageSize),
    (0x0005, "x-ms-session-token", Form::Text),
    (0x0006, "x-ms-continuation", Form::Text),
    (0x0007, "x-ms-indexing-directive", Form::Choice(&[(0, "Default"), (1, "Include"), (2, "Exclude")])),
    (0x0009, "x-ms-documentdb-pre-trigger-include", Form::Text),
    (0x000A, "x-ms-documentdb-post-trigger-include", Form::Text),
    (CONSISTENCY_LEVEL, "x-ms-consistency-level", Form::Choice(CONSISTENCY_LEVELS)),
    (0x0014, "x-ms-documentdb-expiry-seconds", Form::Number),
    (0x001E, "x-ms-documentdb-query-enable-scan", Form::Switch),
    (0x002B, "x-ms-documentdb-partitionkey", Form::Text),
    (0x002C, "x-ms-documentdb-partitionkeyrangeid", Form::Text),
    (0x003E, "x-ms-documentdb-script-enable-logging", Form::Switch),
    (0x003F, "a-im", Form::Text),
    (0x0040, "x-ms-documentdb-populatequotainfo", Form::Switch),
    (0x0042, "x-ms-documentdb-populatequerymetrics", Form::Switch),
    (CONTINUATION_LIMIT, "x-ms-documentdb-responsecontinuationtokenlimitinkb", Form::Number),
    (0x0044, "x-ms-documentdb-populatepartitionstatistics", Form::Switch),
    (0x0047, "if-modified-since", Form::Text),
    (0x0057, "x-ms-exclude-system-properties", Form::Switch),
    (0x005E, "x-ms-enumeration-direction", Form::Choice(&[(2, "Reverse")])),
    (0x005F, "x-ms-start-id", Form::Base64),
    (0x0060, "x-ms-end-id", Form::Base64),
    (ids::EFFECTIVE_KEY, "x-ms-effective-partition-key", Form::Hex),
    (0x0065, "x-ms-documentdb-content-serialization-format", Form::Choice(&[(0, "JsonText"), (1, "CosmosBinary"), (2, "HybridRow")])),
    (0x0073, "x-ms-cosmos-batch-atomic", Form::Switch),
    (0x0074, "x-ms-cosmos-batch-continue-on-error", Form::Switch),
    (0x0075, "x-ms-cosmos-batch-ordered", Form::Switch),
    (0x009D, "x-ms-cosmos-intended-collection-rid", Form::Text),
    (0x00A2, "x-ms-cosmos-sdk-supportedcapabilities", Form::Number),
    (0x00A9, "x-ms-cosmos-populateindexmetrics", Form::Switch),
    (0x00B2, "x-ms-cosmos-changefeed-wire-format-version", Form::Text),
    (0x00BF, "x-ms-cosmos-priority-level", Form::Choice(&[(1, "High"), (2, "Low")])),
    (0x00C2, "x-ms-cosmos-populateindexmetrics-v2", Form::Switch),
    (0x00C8, "x-ms-cosmos-query-optimisticdirectexecute", Form::Switch),
    (0x00DA, "x-ms-cosmos-populatequeryadvice", Form::Switch),
    (0x00DB, "x-ms-cosmos-throughput-bucket", Form::Number),
    (0x00FE, "x-ms-cosmos-read-consistency-strategy", Form::Choice(&[(1, "Eventual"), (2, "Session"), (3, "LatestCommitted"), (4, "GlobalStrong")])),
];

/// The table by id.
static BY_ID: LazyLock<Vec<Option<(HeaderName, Form)>>> = LazyLock::new(|| {
    let last = HEADERS.iter().map(|(id, ..)| usize::from(*id)).max().unwrap_or_default();
    let mut by_id = vec![None; last + 1];
    for (id, name, form) in HEADERS {
        if let Some(slot) = by_id.get_mut(usize::from(*id)) {
            *slot = Some((HeaderName::from_static(name), *form));
        }
    }
    by_id
});

/// The tokens of one frame, found by id.
#[derive(Debug)]
struct RequestTokens<'a>(Vec<(u16, TokenValue<'a>)>);

impl<'a> RequestTokens<'a> {
    fn get(&self, id: u16) -> Option<TokenValue<'a>> {
        self.0.iter().find(|(other, _)| *other == id).map(|(_, value)| *value)
    }

    fn text(&self, id: u16) -> Option<&'a str> {
        if let Some(TokenValue::Text(text)) = self.get(id) { Some(text) } else { None }
    }

    fn byte(&self, id: u16) -> Option<u8> {
        if let Some(TokenValue::Byte(byte)) = self.get(id) { Some(byte) } else { None }
    }

    fn guid(&self, id: u16) -> Option<[u8; 16]> {
        if let Some(TokenValue::Guid(guid)) = self.get(id) { Some(guid) } else { None }
    }
}

/// Reads a frame; `version` is the API version that the client named when it connected.
pub(crate) fn to_http(frame: &Frame, version: &str) -> Result<DirectRequest, TokenError> {
    let found = RequestTokens(Tokens::new(&frame.tokens).collect::<Result<_, _>>()?);
    let transport_id = match found.get(ids::TRANSPORT_REQUEST_ID) {
        Some(TokenValue::Unsigned(id)) => u32::try_from(id).unwrap_or_default(),
        _ => 0,
    };
    let session = found.text(ids::SESSION_TOKEN);
    let path = found.text(ids::REPLICA_PATH).unwrap_or_default();
    let echo = Echo {
        activity: frame.activity,
        transport_id,
        session: session.map(str::to_owned),
        is_primary: path.trim_end_matches('/').ends_with('p'),
        correlated: found.guid(ids::CORRELATED_ACTIVITY),
        is_head: matches!(frame.operation, operation::HEAD | operation::HEAD_FEED),
    };
    let may_run_inline = frame.resource == resource::ITEM && frame.operation == operation::READ;
    Ok(DirectRequest { echo, http: build(frame, version, &found), may_run_inline })
}

fn build(
    frame: &Frame,
    version: &str,
    found: &RequestTokens<'_>,
) -> Result<Request<Full<Bytes>>, Error> {
    let uri = Uri::try_from(path(frame, found)?).map_err(|_| Error::UrlInvalid)?;
    let mut request = Request::new(Full::new(frame.payload.clone()));
    *request.method_mut() = method(frame.operation)?;
    *request.uri_mut() = uri;
    let headers = request.headers_mut();
    let mut activity = [0; uuid::fmt::Hyphenated::LENGTH];
    let activity = Uuid::from_bytes_le(frame.activity).hyphenated().encode_lower(&mut activity);
    put(headers, &names::ACTIVITY_ID, activity.as_bytes())?;
    put(headers, &HeaderName::from_static(Name::Version.text()), version.as_bytes())?;
    let is_metadata = !matches!(
        frame.resource,
        resource::ITEM | resource::ATTACHMENT | resource::STORED_PROCEDURE
    );
    for (id, value) in &found.0 {
        // Wire: reads of metadata always say Strong, which is stronger than most accounts allow for items.
        if *id == CONSISTENCY_LEVEL && is_metadata {
            continue;
        }
        let Some(Some((name, form))) = BY_ID.get(usize::from(*id)) else { continue };
        if let Some(text) = text(*value, *form)? {
            put(headers, name, text.as_bytes())?;
        }
    }
    if found.get(CONTINUATION_LIMIT).is_none() {
        let name = HeaderName::from_static(Name::ContinuationLimit.text());
        headers.insert(name, HeaderValue::from(CONTINUATION_KIB_MAX));
    }
    special(headers, frame, found)?;
    let container_rid = found.text(ids::CONTAINER_RID).map(str::to_owned);
    request.extensions_mut().insert(DirectFacts { container_rid });
    Ok(request)
}

/// Headers that say what the operation type says here, and tokens that are more than their text.
fn special(headers: &mut HeaderMap, frame: &Frame, found: &RequestTokens<'_>) -> Result<(), Error> {
    let on = HeaderValue::from_static("True");
    let mut switch = |name: Name| {
        headers.insert(HeaderName::from_static(name.text()), on.clone());
    };
    match frame.operation {
        operation::UPSERT => switch(Name::IsUpsert),
        operation::BATCH => switch(Name::IsBatch),
        operation::QUERY | operation::SQL_QUERY => {
            switch(Name::IsQuery);
            switch(Name::CrossPartition);
            let is_text = frame.operation == operation::SQL_QUERY;
            let kind = if is_text { "application/sql" } else { "application/query+json" };
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        _ => {}
    }
    // Wire: one token for both; reads compare for a difference, writes for equality.
    if let Some(etag) = found.text(ids::MATCH) {
        let is_read = matches!(frame.operation, operation::READ | operation::READ_FEED);
        let name = if is_read { header::IF_NONE_MATCH } else { header::IF_MATCH };
        put(headers, &name, etag.as_bytes())?;
    }
    if found.byte(ids::RETURN_PREFERENCE) == Some(1) {
        let name = HeaderName::from_static(Name::Prefer.text());
        headers.insert(name, HeaderValue::from_static("return=minimal"));
    }
    if let Some(formats) = found.byte(ids::SUPPORTED_FORMATS) {
        let listed = ["JsonText", "CosmosBinary", "HybridRow"].iter().enumerate();
        let asked = listed.filter(|(bit, _)| formats >> bit & 1 == 1).map(|(_, name)| *name);
        let list = asked.collect::<Vec<_>>().join(",");
        put(headers, &HeaderName::from_static(Name::SupportedFormats.text()), list.as_bytes())?;
    }
    keys(headers, found)
}

/// Bounds of effective partition keys: text of hexadecimal digits for a range, raw bytes for one key.
fn keys(headers: &mut HeaderMap, found: &RequestTokens<'_>) -> Result<(), Error> {
    const RANGE: u8 = 3;
    let kind = found.byte(ids::READ_KEY_TYPE);
    for (id, name) in [(ids::START_EPK, Name::StartEpk), (ids::END_EPK, Name::EndEpk)] {
        let Some(TokenValue::Bytes(bytes)) = found.get(id) else { continue };
        let name = HeaderName::from_static(name.text());
        match kind {
            Some(RANGE) => put(headers, &name, bytes)?,
            _ => put(headers, &name, hex(bytes).as_bytes())?,
        }
    }
    if let Some(kind) = kind {
        let names = ["ResourceId", "EffectivePartitionKey", "EffectivePartitionKeyRange"];
        let text = usize::from(kind).checked_sub(1).and_then(|at| names.get(at));
        let text = text.ok_or(Error::FrameInvalid("the kind of key is unknown"))?;
        let name = HeaderName::from_static(Name::ReadKeyType.text());
        headers.insert(name, HeaderValue::from_static(text));
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        // Writing to a string cannot fail.
        let _ = write!(out, "{byte:02X}");
        out
    })
}

fn put(headers: &mut HeaderMap, name: &HeaderName, value: &[u8]) -> Result<(), Error> {
    let value = HeaderValue::from_bytes(value)
        .map_err(|_| Error::FrameInvalid("a token has control characters"))?;
    headers.append(name.clone(), value);
    Ok(())
}

/// The text of a value; `None` if the value asks for nothing.
fn text(value: TokenValue<'_>, form: Form) -> Result<Option<Cow<'_, str>>, Error> {
    Ok(Some(match (form, value) {
        (Form::Text, TokenValue::Text(text)) => text.into(),
        (Form::Switch, TokenValue::Byte(0)) => "False".into(),
        (Form::Switch, TokenValue::Byte(_)) => "True".into(),
        (Form::PageSize, TokenValue::Unsigned(n)) if n == u64::from(u32::MAX) => "-1".into(),
        (Form::Number | Form::PageSize, TokenValue::Unsigned(n)) => n.to_string().into(),
        (Form::Number | Form::PageSize, TokenValue::Signed(n)) => n.to_string().into(),
        (Form::Number, TokenValue::Byte(n)) => n.to_string().into(),
        (Form::Choice(choices), TokenValue::Byte(byte)) => {
            let chosen = choices.iter().find(|(value, _)| *value == byte);
            return Ok(chosen.map(|(_, text)| (*text).into()));
        }
        (Form::Base64, TokenValue::Bytes(bytes)) => STANDARD.encode(bytes).into(),
        (Form::Hex, TokenValue::Bytes(bytes)) => hex(bytes).into(),
        _ => return Err(Error::FrameInvalid("a token has another type")),
    }))
}

fn method(operation: u16) -> Result<Method, Error> {
    Ok(match operation {
        operation::CREATE
        | operation::UPSERT
        | operation::QUERY
        | operation::SQL_QUERY
        | operation::BATCH
        | operation::EXECUTE => Method::POST,
        operation::READ | operation::READ_FEED => Method::GET,
        operation::REPLACE => Method::PUT,
        operation::DELETE => Method::DELETE,
        operation::PATCH => Method::PATCH,
        operation::HEAD | operation::HEAD_FEED => Method::HEAD,
        _ => return Err(Error::FrameInvalid("the operation type is unknown")),
    })
}

/// Whether an operation is about a feed: its last name, if any, does not count.
fn is_feed(operation: u16) -> bool {
    matches!(
        operation,
        operation::CREATE
            | operation::UPSERT
            | operation::QUERY
            | operation::SQL_QUERY
            | operation::BATCH
            | operation::READ_FEED
            | operation::HEAD_FEED
    )
}

/// The segments that lead to a kind of resource, and the tokens with their names.
fn chain(resource: u16) -> Result<&'static [(&'static str, u16)], Error> {
    const DATABASE: (&str, u16) = ("dbs", ids::DATABASE_NAME);
    const CONTAINER: (&str, u16) = ("colls", ids::CONTAINER_NAME);
    const ITEM: (&str, u16) = ("docs", ids::ITEM_NAME);
    const USER: (&str, u16) = ("users", ids::USER_NAME);
    Ok(match resource {
        resource::DATABASE => &[DATABASE],
        resource::CONTAINER => &[DATABASE, CONTAINER],
        resource::ITEM => &[DATABASE, CONTAINER, ITEM],
        resource::ATTACHMENT => &[DATABASE, CONTAINER, ITEM, ("attachments", ids::ATTACHMENT_NAME)],
        resource::USER => &[DATABASE, USER],
        resource::PERMISSION => &[DATABASE, USER, ("permissions", ids::PERMISSION_NAME)],
        resource::STORED_PROCEDURE => {
            &[DATABASE, CONTAINER, ("sprocs", ids::STORED_PROCEDURE_NAME)]
        }
        resource::CONFLICT => &[DATABASE, CONTAINER, ("conflicts", ids::CONFLICT_NAME)],
        _ => return Err(Error::FrameInvalid("the resource type is unknown")),
    })
}

/// The path of the resource, by its names, or by its rid where the request has none.
fn path(frame: &Frame, found: &RequestTokens<'_>) -> Result<String, Error> {
    let chain = chain(frame.resource)?;
    let is_feed = is_feed(frame.operation);
    let by_rid = match found.get(ids::RESOURCE_ID) {
        Some(TokenValue::Bytes(rid)) if found.text(ids::DATABASE_NAME).is_none() => Some(rid),
        _ => None,
    };
    let missing = || Error::FrameInvalid("the request names no resource");
    let mut path = String::with_capacity(64);
    for (depth, (kind, id)) in chain.iter().enumerate() {
        path.push('/');
        path.push_str(kind);
        if is_feed && depth + 1 == chain.len() {
            break;
        }
        path.push('/');
        if let Some(rid) = by_rid {
            // A rid begins with the rids of its owners.
            let prefix = RID_BYTES.get(depth).and_then(|n_bytes| rid.get(..*n_bytes));
            let prefix = prefix.ok_or_else(missing)?;
            let rid = Rid::from_bytes(prefix).ok_or_else(missing)?.to_string();
            path.extend(utf8_percent_encode(&rid, ENCODED));
        } else {
            let name = found.text(*id).filter(|name| !name.is_empty()).ok_or_else(missing)?;
            path.extend(utf8_percent_encode(name, ENCODED));
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;

    use super::super::token::TokenWriter;
    use super::*;

    fn frame(resource: u16, operation: u16, write: impl FnOnce(&mut TokenWriter<'_>)) -> Frame {
        let mut out = BytesMut::new();
        write(&mut TokenWriter::new(&mut out));
        let payload = Bytes::from_static(b"{}");
        Frame { resource, operation, activity: [1; 16], tokens: out.freeze(), payload }
    }

    fn read(frame: &Frame) -> Result<Request<Full<Bytes>>, Error> {
        to_http(frame, "2020-07-15").unwrap().http
    }

    /// Resource, operation, names; method and path.
    type Row = (u16, u16, &'static [(u16, &'static str)], &'static str, &'static str);

    #[test]
    fn names_become_the_path_of_the_resource() {
        use operation as op;
        #[rustfmt::skip]
        let table: [Row; 13] = [
            (resource::DATABASE, op::READ_FEED, &[], "GET", "/dbs"),
            (resource::DATABASE, op::READ, &[(0x15, "d")], "GET", "/dbs/d"),
            (resource::DATABASE, op::HEAD_FEED, &[], "HEAD", "/dbs"),
            (resource::CONTAINER, op::QUERY, &[(0x15, "d")], "POST", "/dbs/d/colls"),
            (resource::CONTAINER, op::HEAD, &[(0x15, "d"), (0x16, "c")], "HEAD", "/dbs/d/colls/c"),
            (resource::ITEM, op::CREATE, &[(0x15, "d"), (0x16, "c")], "POST", "/dbs/d/colls/c/docs"),
            (resource::ITEM, op::READ, &[(0x15, "d"), (0x16, "c"), (0x17, "a b%é/?#")], "GET",
             "/dbs/d/colls/c/docs/a%20b%25%C3%A9%2F%3F%23"),
            (resource::ITEM, op::PATCH, &[(0x15, "d"), (0x16, "c"), (0x17, "i")], "PATCH", "/dbs/d/colls/c/docs/i"),
            (resource::ATTACHMENT, op::READ_FEED, &[(0x15, "d"), (0x16, "c"), (0x17, "i")], "GET", "/dbs/d/colls/c/docs/i/attachments"),
            (resource::ATTACHMENT, op::DELETE, &[(0x15, "d"), (0x16, "c"), (0x17, "i"), (0x18, "a b")], "DELETE",
             "/dbs/d/colls/c/docs/i/attachments/a%20b"),
            (resource::USER, op::REPLACE, &[(0x15, "d"), (0x19, "u")], "PUT", "/dbs/d/users/u"),
            (resource::PERMISSION, op::DELETE, &[(0x15, "d"), (0x19, "u"), (0x1A, "p")], "DELETE", "/dbs/d/users/u/permissions/p"),
            (resource::STORED_PROCEDURE, op::EXECUTE, &[(0x15, "d"), (0x16, "c"), (0x1B, "s")], "POST", "/dbs/d/colls/c/sprocs/s"),
        ];
        for (resource, operation, tokens, method, path) in table {
            let frame = frame(resource, operation, |out| {
                for (id, text) in tokens {
                    out.text(*id, text.as_bytes());
                }
            });
            let request = read(&frame).unwrap();
            assert_eq!((request.method().as_str(), request.uri().path()), (method, path));
        }
    }

    #[test]
    fn a_request_without_names_goes_by_rid() {
        let container = Rid::container(1, 7);
        let item = Rid::item(&container, 3);
        let frame = |resource, operation, rid: &Rid| {
            let rid = rid.as_bytes().to_vec();
            let mut tokens = vec![0, 0, 0x0B, u8::try_from(rid.len()).unwrap(), 0];
            tokens.extend(rid);
            let tokens = tokens.into();
            let payload = Bytes::new();
            Frame { resource, operation, activity: [0; 16], tokens, payload }
        };
        let path = |frame| read(&frame).map(|request| request.uri().path().to_owned()).ok();
        let owner = path(frame(resource::ITEM, operation::READ_FEED, &container)).unwrap();
        assert!(owner.ends_with("/docs") && owner.starts_with("/dbs/"), "{owner}");
        let one = path(frame(resource::ITEM, operation::READ, &item)).unwrap();
        assert!(one.starts_with(&format!("{owner}/")), "{one}");
        let is_item = path(frame(resource::ITEM, operation::READ, &container));
        assert_eq!(is_item, None, "a container is no item");
        let feed = path(frame(resource::ATTACHMENT, operation::CREATE, &item)).unwrap();
        assert_eq!(feed, format!("{one}/attachments"));
        let attachment = Rid::attachment(&item, 9);
        let own = path(frame(resource::ATTACHMENT, operation::REPLACE, &attachment)).unwrap();
        let encoded = utf8_percent_encode(&attachment.to_string(), ENCODED).to_string();
        assert_eq!(own, format!("{feed}/{encoded}"));
        let is_attachment = path(frame(resource::ATTACHMENT, operation::READ, &item));
        assert_eq!(is_attachment, None, "an item is no attachment");
    }

    #[test]
    fn tokens_become_headers() {
        let frame = frame(resource::ITEM, operation::QUERY, |out| {
            out.text(0x15, b"d");
            out.text(0x16, b"c");
            out.unsigned(0x04, u32::MAX);
            out.text(0x05, b"0:-1#4");
            out.byte(0x10, 2);
            out.byte(0xC4, 3);
            out.byte(0x42, 1);
            out.unsigned(0x4D, 77);
            out.text(0x13, b"/apps/a/services/s/partitions/p/replicas/1p");
            out.text(0x9999, b"unknown");
        });
        let asked = to_http(&frame, "2020-07-15").unwrap();
        assert_eq!((asked.echo.transport_id, asked.echo.is_primary), (77, true));
        assert_eq!(asked.echo.session.as_deref(), Some("0:-1#4"));
        let request = asked.http.unwrap();
        let header = |name: &str| request.headers().get(name).map(|it| it.to_str().unwrap());
        assert_eq!(header("x-ms-max-item-count"), Some("-1"));
        assert_eq!(header("x-ms-session-token"), Some("0:-1#4"));
        assert_eq!(header("x-ms-consistency-level"), Some("Session"));
        assert_eq!(
            header("x-ms-cosmos-supported-serialization-formats"),
            Some("JsonText,CosmosBinary")
        );
        assert_eq!(header("x-ms-documentdb-populatequerymetrics"), Some("True"));
        assert_eq!(header("content-type"), Some("application/query+json"));
        assert_eq!(header("x-ms-version"), Some("2020-07-15"));
        assert_eq!(header("x-ms-activity-id"), Some("01010101-0101-0101-0101-010101010101"));
    }

    #[test]
    fn what_cannot_be_a_request_is_refused() {
        let named = |out: &mut TokenWriter<'_>| {
            out.text(0x15, b"d");
            out.text(0x16, b"c");
        };
        assert!(read(&frame(0x0009, operation::READ, named)).is_err(), "resource");
        assert!(read(&frame(resource::ITEM, 0x0010, named)).is_err(), "operation");
        assert!(read(&frame(resource::ITEM, operation::READ, named)).is_err(), "no name");
        let empty = |out: &mut TokenWriter<'_>| {
            named(out);
            out.text(0x17, b"");
        };
        assert!(read(&frame(resource::ITEM, operation::READ, empty)).is_err(), "an empty name");
        let typed = |out: &mut TokenWriter<'_>| {
            named(out);
            out.text(0x04, b"10");
        };
        assert!(read(&frame(resource::ITEM, operation::READ_FEED, typed)).is_err(), "a type");
        let control = |out: &mut TokenWriter<'_>| {
            named(out);
            out.text(0x06, b"a\nb");
        };
        assert!(read(&frame(resource::ITEM, operation::READ_FEED, control)).is_err(), "control");
    }
}
