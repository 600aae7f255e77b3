//! From an outcome to a response: the only place that knows what success looks like on the wire.
//!
//! Hot path: names are statics, numbers are formatted without a detour, no copy of a resource body.

use std::{io::Write, time::Duration};

use account::{BatchResult, Body, Facts, Outcome};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use model::{Charge, Status};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::{
    batch_json,
    headers::response as names,
    hybrid_row,
    parse::{Action, BatchForm, Reply},
};

/// Headers of a typical answer; a larger map would grow in the middle.
const HEADERS_EXPECTED: usize = 40;

/// Turns what the account answered into a response.
///
/// The body is returned beside it, for those who want to compress it.
pub(crate) fn outcome(outcome: Outcome, reply: Reply) -> (Response<Full<Bytes>>, Bytes) {
    let Outcome { mut status, body, facts } = outcome;
    let mut n_items = facts.n_items;
    let body = match body {
        Body::Empty => Bytes::new(),
        Body::Resource(_) if reply.minimal => Bytes::new(),
        Body::Resource(text) => text,
        Body::Feed { owner_rid, envelope, rows } => {
            n_items = n_items.or(u64::try_from(rows.len()).ok());
            feed(&owner_rid, envelope, &rows)
        }
        Body::Batch(results) => {
            status = with_substatus(status, &results, reply.action);
            match reply.batch_form {
                BatchForm::Json => batch_json::encode(&results).into(),
                BatchForm::HybridRow => hybrid_row::encode_results(&results).into(),
            }
        }
    };
    let has_body = !matches!(status.code, 204 | 304);
    let body = if has_body { body } else { Bytes::new() };
    let mut response = Response::new(Full::new(body.clone()));
    *response.status_mut() = StatusCode::from_u16(status.code).unwrap_or(StatusCode::OK);
    let headers = response.headers_mut();
    headers.reserve(HEADERS_EXPECTED);
    self::facts(headers, status, &facts);
    if facts.n_items.is_none()
        && let Some(n_items) = n_items
    {
        headers.insert(&names::ITEM_COUNT, n_items.into());
    }
    if !has_body {
        headers.remove(header::CONTENT_TYPE);
    }
    (response, body)
}

/// Wire: a transaction that failed carries the sub-status of the operation that made it fail.
fn with_substatus(status: Status, results: &[BatchResult], action: Action) -> Status {
    if action != Action::Batch || status.sub != 0 {
        return status;
    }
    let is_cause = |result: &&BatchResult| result.status.code >= 400 && result.status.code != 424;
    let cause = results.iter().find(is_cause);
    Status { sub: cause.map_or(0, |result| result.status.sub), ..status }
}

fn feed(owner_rid: &str, envelope: &str, rows: &[Bytes]) -> Bytes {
    let n_bytes: usize = rows.iter().map(|row| row.len() + 1).sum();
    let mut out = Vec::with_capacity(n_bytes + owner_rid.len() + envelope.len() + 48);
    // Writing into memory does not fail; rids and envelopes need no escapes.
    let _ = write!(out, "{{\"_rid\":\"{owner_rid}\",\"{envelope}\":[");
    for (index, row) in rows.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(row);
    }
    let _ = write!(out, "],\"_count\":{}}}", rows.len());
    out.into()
}

/// Writes the headers that successes and failures share.
pub(crate) fn facts(headers: &mut HeaderMap, status: Status, facts: &Facts) {
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    charge(headers, facts.charge);
    if status.sub != 0 {
        headers.insert(&names::SUBSTATUS, status.sub.into());
    }
    if let Some(session) = &facts.session {
        headers.insert(&names::SESSION_TOKEN, display(session));
    }
    if let Some(lsn) = facts.lsn {
        lsns(headers, lsn.0);
    }
    if let Some(lsn) = facts.item_lsn {
        headers.insert(&names::ITEM_LSN, lsn.0.into());
        headers.insert(&names::ITEM_LOCAL_LSN, lsn.0.into());
    }
    if let Some(range) = facts.range {
        headers.insert(&names::RANGE_ID, range.0.into());
    }
    if let Some(n_items) = facts.n_items {
        headers.insert(&names::ITEM_COUNT, n_items.into());
    }
    texts(headers, facts);
    rare(headers, facts);
}

/// What the request cost.
pub(crate) fn charge(headers: &mut HeaderMap, charge: Charge) {
    headers.insert(&names::REQUEST_CHARGE, display(charge));
}

/// Wire: one copy of the data, so every kind of lsn is the same number.
fn lsns(headers: &mut HeaderMap, lsn: u64) {
    let value = HeaderValue::from(lsn);
    headers.insert(&names::LOCAL_LSN, value.clone());
    headers.insert(&names::QUORUM_ACKED_LSN, value.clone());
    headers.insert(&names::QUORUM_ACKED_LOCAL_LSN, value.clone());
    headers.insert(&names::GLOBAL_COMMITTED_LSN, value.clone());
    headers.insert(&names::LSN, value);
}

fn texts(headers: &mut HeaderMap, facts: &Facts) {
    let texts: [(&HeaderName, &Option<String>); 8] = [
        (&names::OWNER_PATH, &facts.owner_path),
        (&names::OWNER_RID, &facts.owner_rid),
        (&names::CONTINUATION, &facts.continuation),
        (&names::QUOTA, &facts.quota),
        (&names::USAGE, &facts.usage),
        (&names::QUERY_METRICS, &facts.query_metrics),
        (&names::INDEX_UTILIZATION, &facts.index_metrics),
        (&names::SCRIPT_LOG, &facts.script_log),
    ];
    if let Some(etag) = &facts.etag {
        headers.insert(&names::ETAG, text(etag.as_str()));
    }
    for (name, value) in texts {
        if let Some(value) = value {
            headers.insert(name, text(value));
        }
    }
}

fn rare(headers: &mut HeaderMap, facts: &Facts) {
    if let Some(percent) = facts.index_progress {
        headers.insert(&names::INDEX_PROGRESS, percent.into());
        headers.insert(&names::LAZY_INDEX_PROGRESS, HeaderValue::from_static("-1"));
    }
    if let Some(units) = facts.min_throughput {
        headers.insert(&names::MIN_THROUGHPUT, units.into());
    }
    if let Some(is_pending) = facts.offer_replace_pending {
        headers
            .insert(&names::OFFER_REPLACE_PENDING, HeaderValue::from_static(boolean(is_pending)));
    }
    if facts.query_execution_info {
        let info = r#"{"reverseRidEnabled":false,"reverseIndexScan":false}"#;
        headers.insert(&names::QUERY_EXECUTION_INFO, HeaderValue::from_static(info));
    }
}

fn boolean(flag: bool) -> &'static str {
    if flag { "true" } else { "false" }
}

/// Tells the client when to come back.
pub(crate) fn retry_after(headers: &mut HeaderMap, wait_ms: u64) {
    headers.insert(&names::RETRY_AFTER_MS, wait_ms.into());
}

/// Writes what every response has, whoever made it.
pub(crate) fn every(
    headers: &mut HeaderMap,
    activity: HeaderValue,
    started: &HeaderValue,
    request_number: u64,
    duration: Duration,
) {
    headers.insert(&names::ACTIVITY_ID, activity);
    headers.insert(&names::LAST_STATE_CHANGE, started.clone());
    headers.insert(&names::TRANSPORT_REQUEST_ID, request_number.into());
    headers.insert(&names::DURATION_MS, milliseconds(duration));
    headers.insert(&names::N_READ_REGIONS, HeaderValue::from_static("0"));
    headers.insert(&names::SCHEMA_VERSION, HeaderValue::from_static("1.17"));
    headers.insert(&names::SERVICE_VERSION, HeaderValue::from_static("version=2.14.0.0"));
    headers.insert(&names::GATEWAY_VERSION, HeaderValue::from_static("version=2.14.0"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store, no-cache"));
    headers.insert(header::PRAGMA, HeaderValue::from_static("no-cache"));
    headers.insert(header::SERVER, HeaderValue::from_static("orrery"));
}

fn milliseconds(duration: Duration) -> HeaderValue {
    let micros = duration.as_micros();
    display(format_args!("{}.{:03}", micros / 1000, micros % 1000))
}

/// A value whose printed form is ASCII.
fn display(value: impl std::fmt::Display) -> HeaderValue {
    let mut out = Vec::with_capacity(24);
    let _ = write!(out, "{value}");
    HeaderValue::from_maybe_shared(Bytes::from(out))
        .unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// A text as header value. Wire: values are ASCII; anything else is percent-encoded.
fn text(value: &str) -> HeaderValue {
    const NOT_ASCII: &AsciiSet = CONTROLS;
    if value.is_ascii()
        && let Ok(value) = HeaderValue::from_str(value)
    {
        return value;
    }
    display(utf8_percent_encode(value, NOT_ASCII))
}

#[cfg(test)]
mod tests {
    use model::{ETag, Lsn, RangeId, SessionToken};

    use super::*;

    fn full() -> Facts {
        Facts {
            charge: Charge::from_hundredths(571),
            session: Some(SessionToken::single(RangeId(3), -1, Lsn(15))),
            lsn: Some(Lsn(15)),
            item_lsn: Some(Lsn(14)),
            range: Some(RangeId(3)),
            etag: Some(ETag::from_lsn(Lsn(14), 1)),
            owner_path: Some("dbs/é b/colls/c".to_owned()),
            owner_rid: Some("AQAAAJ0fgTc=".to_owned()),
            continuation: Some("{\"a\":1}".to_owned()),
            n_items: Some(2),
            quota: Some("documentSize=1;".to_owned()),
            usage: Some("documentSize=0;".to_owned()),
            index_progress: Some(100),
            min_throughput: Some(400),
            offer_replace_pending: Some(false),
            query_metrics: Some("a=1".to_owned()),
            index_metrics: Some("e30=".to_owned()),
            query_execution_info: true,
            script_log: Some("x%20y".to_owned()),
        }
    }

    #[test]
    fn every_fact_has_its_header() {
        let mut headers = HeaderMap::new();
        facts(&mut headers, Status::RANGE_GONE, &full());
        every(
            &mut headers,
            HeaderValue::from_static("a"),
            &HeaderValue::from_static("d"),
            7,
            Duration::from_micros(1230),
        );
        retry_after(&mut headers, 5);
        for name in names::ALL {
            assert!(headers.contains_key(*name), "{name}");
            assert!(headers[*name].to_str().is_ok(), "{name}");
        }
        #[rustfmt::skip]
        let table = [
            ("x-ms-request-charge", "5.71"), ("x-ms-session-token", "3:-1#15"), ("lsn", "15"), ("x-ms-item-lsn", "14"),
            ("x-ms-documentdb-partitionkeyrangeid", "3"), ("x-ms-substatus", "1002"), ("x-ms-item-count", "2"),
            ("x-ms-alt-content-path", "dbs/%C3%A9 b/colls/c"), ("x-ms-request-duration-ms", "1.230"),
            ("x-ms-offer-replace-pending", "false"), ("x-ms-continuation", "{\"a\":1}"),
        ];
        for (name, value) in table {
            assert_eq!(headers[name], value, "{name}");
        }
    }

    #[test]
    fn absent_facts_give_no_header() {
        let mut headers = HeaderMap::new();
        facts(&mut headers, Status::OK, &Facts::default());
        let names: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        assert_eq!(names, ["content-type", "x-ms-request-charge"]);
    }

    #[test]
    fn feeds_have_an_envelope_and_a_count() {
        let rows = [Bytes::from_static(b"{\"id\":\"1\"}"), Bytes::from_static(b"2")];
        assert_eq!(
            &feed("r", "Documents", &rows)[..],
            br#"{"_rid":"r","Documents":[{"id":"1"},2],"_count":2}"#
        );
        assert_eq!(&feed("", "Offers", &[])[..], br#"{"_rid":"","Offers":[],"_count":0}"#);
    }

    #[test]
    fn a_failed_transaction_shows_why() {
        let result = |status| BatchResult {
            status,
            charge: Charge::ZERO,
            etag: None,
            body: None,
            retry_after_ms: None,
        };
        let results = [result(Status::FAILED_DEPENDENCY), result(Status::PK_MISMATCH)];
        assert_eq!(with_substatus(Status::MULTI_STATUS, &results, Action::Batch).sub, 1001);
        assert_eq!(with_substatus(Status::MULTI_STATUS, &results, Action::Bulk).sub, 0);
    }

    #[test]
    fn texts_that_are_no_header_values_are_encoded() {
        assert_eq!(text("plain"), "plain");
        assert_eq!(text("a\nb"), "a%0Ab");
        assert_eq!(text("日"), "%E6%97%A5");
    }
}
