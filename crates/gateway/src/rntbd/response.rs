//! From an HTTP response to the frame that means the same.
//!
//! Wire: clients decode a token by its id alone, so the types below are theirs. A session token without an LSN makes
//! .NET throw, an error without one makes it try again for 15 seconds: where no partition answered, the response has
//! LSN 1 and repeats the session token of its request.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, StatusCode};

use super::{frame, names::response as ids, request::Echo, token::TokenWriter};
use crate::headers::response as names;

/// Wire: what the account document says of the replicas of a partition (`crate::addresses`).
const REPLICA_SET_SIZE: u32 = 2;
const WRITE_QUORUM: u32 = 1;

/// Wire: metadata, and errors before a range is known, have no range; this is what .NET takes for it.
const ANY_RANGE: &str = "0";

#[derive(Debug, Clone, Copy)]
enum Form {
    SmallText,
    Text,
    Number,
    Long,
    Double,
    Switch,
}

/// Headers that are tokens as they stand.
#[rustfmt::skip]
static HEADERS: &[(&HeaderName, u16, Form)] = &[
    (&names::LAST_STATE_CHANGE, 0x0002, Form::SmallText),
    (&names::CONTINUATION, 0x0003, Form::Text),
    (&names::ETAG, 0x0004, Form::Text),
    (&names::RETRY_AFTER_MS, 0x000C, Form::Number),
    (&names::QUOTA, 0x000E, Form::Text),
    (&names::USAGE, 0x000F, Form::Text),
    (&names::SCHEMA_VERSION, 0x0010, Form::SmallText),
    (&names::ITEM_COUNT, 0x0014, Form::Number),
    (&names::REQUEST_CHARGE, 0x0015, Form::Double),
    (&names::OWNER_PATH, 0x0017, Form::Text),
    (&names::OWNER_RID, 0x0018, Form::Text),
    (&names::SUBSTATUS, 0x001C, Form::Number),
    (&names::INDEX_PROGRESS, 0x001D, Form::Number),
    (&names::RANGE_ID, ids::RANGE_ID, Form::Text),
    (&names::QUERY_METRICS, 0x0028, Form::Text),
    (&names::ITEM_LSN, 0x0032, Form::Long),
    (&names::ITEM_LOCAL_LSN, 0x003C, Form::Long),
    (&names::INDEX_UTILIZATION, 0x0044, Form::Text),
    (&names::QUERY_EXECUTION_INFO, 0x0045, Form::Text),
    (&names::DURATION_MS, 0x0051, Form::Double),
    (&names::PHYSICAL_PARTITION_ID, 0x0063, Form::Text),
    (&names::QUERY_REQUIRES_DISTRIBUTION, 0x0066, Form::Switch),
    (&names::QUERY_ADVICE, 0x0075, Form::Text),
];

/// Writes the response to `echo`.
pub(crate) fn write(
    out: &mut BytesMut,
    echo: &Echo,
    status: StatusCode,
    headers: &HeaderMap,
    body: &Bytes,
) {
    let code = u32::from(status.as_u16());
    frame::write_response(out, code, echo.activity, body, |out| {
        let mut tokens = TokenWriter::new(out);
        tokens.byte(ids::PAYLOAD_PRESENT, u8::from(!body.is_empty()));
        tokens.unsigned(ids::TRANSPORT_REQUEST_ID, echo.transport_id);
        for (name, id, form) in HEADERS {
            if let Some(value) = headers.get(*name) {
                put(&mut tokens, *id, *form, value.as_bytes());
            }
        }
        if let Some(log) = headers.get(&names::SCRIPT_LOG) {
            tokens.text(ids::SCRIPT_LOG, shortened(log.as_bytes()));
        }
        if let Some(correlated) = echo.correlated {
            tokens.guid(ids::CORRELATED_ACTIVITY, correlated);
        }
        positions(&mut tokens, echo, status, headers);
    });
}

/// Where the partition stands. Wire: both clients wait or fail when one of these is missing or out of step.
fn positions(tokens: &mut TokenWriter<'_>, echo: &Echo, status: StatusCode, headers: &HeaderMap) {
    let told = headers.get(&names::LSN).and_then(|it| number(it.as_bytes()));
    let session = headers.get(&names::SESSION_TOKEN).and_then(|it| it.to_str().ok());
    let session = session.filter(|_| told.is_some()).or(echo.session.as_deref());
    // The client puts the range before the token by itself.
    let (range, session) = match session.map(|it| it.split_once(':').unwrap_or((ANY_RANGE, it))) {
        Some((range, session)) => (range, Some(session)),
        None => (ANY_RANGE, None),
    };
    if let Some(session) = session {
        tokens.text(ids::SESSION_TOKEN, session.as_bytes());
    }
    if !headers.contains_key(&names::RANGE_ID) {
        tokens.text(ids::RANGE_ID, range.as_bytes());
    }
    // LSN 0, that of a partition without writes, counts as none.
    let lsn = told.unwrap_or_default().max(1);
    tokens.signed_long(ids::LSN, lsn);
    tokens.signed_long(ids::LOCAL_LSN, lsn);
    if echo.is_primary {
        tokens.signed_long(ids::QUORUM_ACKED_LSN, lsn);
        tokens.signed_long(ids::QUORUM_ACKED_LOCAL_LSN, lsn);
        tokens.unsigned(ids::CURRENT_WRITE_QUORUM, WRITE_QUORUM);
        tokens.unsigned(ids::CURRENT_REPLICA_SET_SIZE, REPLICA_SET_SIZE);
    }
    tokens.unsigned(ids::N_READ_REGIONS, 0);
    // Java asks no other replica then. A 410 must send it to one.
    if told.is_none() && status.as_u16() >= 400 && status != StatusCode::GONE {
        tokens.byte(ids::VALIDATION_FAILURE, 1);
    }
}

fn put(tokens: &mut TokenWriter<'_>, id: u16, form: Form, value: &[u8]) {
    match form {
        Form::SmallText => tokens.small_text(id, value),
        Form::Text => tokens.text(id, value),
        Form::Number => {
            if let Some(value) = number(value).and_then(|it| u32::try_from(it).ok()) {
                tokens.unsigned(id, value);
            }
        }
        Form::Long => {
            if let Some(value) = number(value) {
                tokens.signed_long(id, value);
            }
        }
        Form::Double => {
            let value = std::str::from_utf8(value).ok().and_then(|it| it.parse().ok());
            if let Some(value) = value {
                tokens.double(id, value);
            }
        }
        Form::Switch => tokens.byte(id, u8::from(value.eq_ignore_ascii_case(b"true"))),
    }
}

fn number(value: &[u8]) -> Option<i64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// The start of a percent-encoded text that fits into a token.
fn shortened(text: &[u8]) -> &[u8] {
    let max = usize::from(u16::MAX);
    let Some(start) = text.get(..max) else { return text };
    // An octet must not be cut in the middle.
    match start.iter().rposition(|byte| *byte == b'%') {
        Some(at) if at + 3 > max => text.get(..at).unwrap_or_default(),
        _ => start,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use http::HeaderValue;

    use super::*;
    use crate::rntbd::token::{TokenValue, Tokens};

    fn echo(is_primary: bool) -> Echo {
        let session = Some("5:-1#9".to_owned());
        let (correlated, is_head) = (None, false);
        Echo { activity: [5; 16], transport_id: 3, session, is_primary, correlated, is_head }
    }

    /// The tokens of a response by id, and its payload.
    fn written(
        echo: &Echo,
        status: u16,
        headers: &[(&'static str, &'static str)],
        body: &'static [u8],
    ) -> (HashMap<u16, String>, Vec<u8>) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, HeaderValue::from_static(value));
        }
        let mut out = BytesMut::new();
        let status = StatusCode::from_u16(status).unwrap();
        write(&mut out, echo, status, &map, &Bytes::from_static(body));
        let length = usize::try_from(u32::from_le_bytes(out[..4].try_into().unwrap())).unwrap();
        assert_eq!(u32::from_le_bytes(out[4..8].try_into().unwrap()), u32::from(status.as_u16()));
        assert_eq!(out[8..24], [5; 16]);
        let mut tokens = HashMap::new();
        for token in Tokens::new(&out[24..length]) {
            let (id, value) = token.unwrap();
            let text = match value {
                TokenValue::Byte(it) => it.to_string(),
                TokenValue::Unsigned(it) => it.to_string(),
                TokenValue::Signed(it) => it.to_string(),
                TokenValue::Real(it) => it.to_string(),
                TokenValue::Text(it) => it.to_owned(),
                other => format!("{other:?}"),
            };
            assert!(tokens.insert(id, text).is_none(), "{id:#06x} stands twice");
        }
        (tokens, out[length..].to_vec())
    }

    #[test]
    fn an_answer_of_a_partition_tells_where_it_stands() {
        let headers = [
            ("lsn", "12"),
            ("x-ms-session-token", "4:-1#12"),
            ("x-ms-request-charge", "5.71"),
            ("x-ms-documentdb-partitionkeyrangeid", "4"),
            ("etag", "\"a\""),
        ];
        let (tokens, payload) = written(&echo(true), 201, &headers, b"{}");
        #[rustfmt::skip]
        let expected = [
            (0x00, "1"), (0x35, "3"), (0x13, "12"), (0x3A, "12"), (0x3E, "-1#12"), (0x1A, "12"), (0x3B, "12"),
            (0x1E, "1"), (0x1F, "2"), (0x30, "0"), (0x15, "5.71"), (0x21, "4"), (0x04, "\"a\""),
        ];
        for (id, value) in expected {
            assert_eq!(tokens.get(&id).map(String::as_str), Some(value), "{id:#06x}");
        }
        assert_eq!(tokens.len(), expected.len());
        assert_eq!(payload, [&[2, 0, 0, 0], &b"{}"[..]].concat());
    }

    #[test]
    fn a_secondary_says_nothing_of_a_quorum() {
        let (tokens, payload) = written(&echo(false), 304, &[("lsn", "2")], b"");
        for id in [0x1A, 0x3B, 0x1E, 0x1F] {
            assert!(!tokens.contains_key(&id), "{id:#06x}");
        }
        assert_eq!((tokens[&0x00].as_str(), payload.len()), ("0", 0));
    }

    #[test]
    fn an_error_without_a_partition_repeats_the_session() {
        let (tokens, _) = written(&echo(true), 401, &[], b"{}");
        assert_eq!(tokens[&0x13], "1");
        assert_eq!((tokens[&0x21].as_str(), tokens[&0x3E].as_str()), ("5", "-1#9"));
        assert_eq!(tokens[&0x1B], "1");
        let (tokens, _) = written(&echo(true), 410, &[("x-ms-substatus", "1002")], b"{}");
        assert!(!tokens.contains_key(&0x1B));
        assert_eq!(tokens[&0x1C], "1002");
    }

    #[test]
    fn every_answer_names_a_range() {
        let master = [("lsn", "3"), ("x-ms-session-token", "2:-1#3")];
        let (tokens, _) = written(&echo(true), 200, &master, b"{}");
        assert_eq!((tokens[&0x21].as_str(), tokens[&0x3E].as_str()), ("2", "-1#3"));
        let unknown = Echo { session: None, ..echo(true) };
        let (tokens, _) = written(&unknown, 400, &[], b"{}");
        assert_eq!((tokens[&0x21].as_str(), tokens.get(&0x3E)), ("0", None));
    }

    #[test]
    fn long_logs_are_cut_between_octets() {
        assert_eq!(shortened(b"%20a"), b"%20a");
        let long = "%20".repeat(30_000);
        assert_eq!(shortened(long.as_bytes()).len(), 65_535);
        let odd = format!("a{long}");
        assert_eq!(shortened(odd.as_bytes()).len(), 65_533);
    }
}
