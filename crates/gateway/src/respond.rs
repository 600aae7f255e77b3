//! From an outcome to a response: the only place that knows what success looks like on the wire.
//!
//! Hot path: names are statics, numbers are formatted without a detour, no copy of a resource body.

use std::time::Duration;

use account::{BatchResult, Body, Facts, Outcome};
use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use model::{Charge, SessionEntry, Status};

use crate::{
    batch_json,
    headers::{
        response as names,
        writer::{HeaderWriter, put_hundredths, put_number, put_signed},
    },
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
    // Rids and envelopes need no escapes.
    for part in ["{\"_rid\":\"", owner_rid, "\",\"", envelope, "\":["] {
        out.extend_from_slice(part.as_bytes());
    }
    for (index, row) in rows.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(row);
    }
    out.extend_from_slice(b"],\"_count\":");
    put_number(&mut out, u64::try_from(rows.len()).unwrap_or(u64::MAX));
    out.push(b'}');
    out.into()
}

/// Writes the headers that successes and failures share.
pub(crate) fn facts(headers: &mut HeaderMap, status: Status, facts: &Facts) {
    let json = const { HeaderValue::from_static("application/json") };
    headers.insert(header::CONTENT_TYPE, json);
    let mut out = HeaderWriter::new(headers);
    charge(&mut out, facts.charge);
    if status.sub != 0 {
        out.number(&names::SUBSTATUS, status.sub.into());
    }
    if let Some(entry) = &facts.session {
        out.with(&names::SESSION_TOKEN, |out| session(out, entry));
    }
    if let Some(lsn) = facts.lsn {
        // Wire: one copy of the data, so every kind of lsn is the same number.
        out.numbers(
            &[
                &names::LSN,
                &names::LOCAL_LSN,
                &names::QUORUM_ACKED_LSN,
                &names::QUORUM_ACKED_LOCAL_LSN,
                &names::GLOBAL_COMMITTED_LSN,
            ],
            lsn.0,
        );
    }
    if let Some(lsn) = facts.item_lsn {
        out.numbers(&[&names::ITEM_LSN, &names::ITEM_LOCAL_LSN], lsn.0);
    }
    if let Some(range) = facts.range {
        out.number(&names::RANGE_ID, range.0.into());
    }
    if let Some(n_items) = facts.n_items {
        out.number(&names::ITEM_COUNT, n_items);
    }
    texts(&mut out, facts);
    rare(&mut out, facts);
}

/// What the request cost.
pub(crate) fn charge(out: &mut HeaderWriter<'_>, charge: Charge) {
    out.with(&names::REQUEST_CHARGE, |out| put_hundredths(out, charge.hundredths()));
}

/// The text of [`SessionEntry`], without `fmt`.
fn session(out: &mut BytesMut, entry: &SessionEntry) {
    put_number(out, entry.range.0.into());
    out.put_u8(b':');
    if let Some(version) = entry.version {
        put_signed(out, version);
        out.put_u8(b'#');
    }
    put_number(out, entry.lsn.0);
}

fn texts(out: &mut HeaderWriter<'_>, facts: &Facts) {
    let texts: [(&HeaderName, Option<&str>); 9] = [
        (&names::OWNER_PATH, facts.owner_path.as_deref()),
        (&names::OWNER_RID, facts.owner_rid.as_deref()),
        (&names::CONTINUATION, facts.continuation.as_deref()),
        (&names::QUOTA, facts.quota.as_deref()),
        (&names::USAGE, facts.usage.as_deref()),
        (&names::QUERY_METRICS, facts.query_metrics.as_deref()),
        (&names::INDEX_UTILIZATION, facts.index_metrics.as_deref()),
        (&names::QUERY_ADVICE, facts.query_advice.as_deref()),
        (&names::SCRIPT_LOG, facts.script_log.as_deref()),
    ];
    if let Some(etag) = &facts.etag {
        out.text(&names::ETAG, etag.as_str());
    }
    for (name, value) in texts {
        if let Some(value) = value {
            out.text(name, value);
        }
    }
}

const INFO: &str = r#"{"reverseRidEnabled":false,"reverseIndexScan":false}"#;

fn rare(out: &mut HeaderWriter<'_>, facts: &Facts) {
    if let Some(percent) = facts.index_progress {
        out.with(&names::INDEX_PROGRESS, |out| put_signed(out, percent.into()));
    }
    if let Some(units) = facts.min_throughput {
        out.number(&names::MIN_THROUGHPUT, units);
    }
    if let Some(is_pending) = facts.offer_replace_pending {
        let text = if is_pending { "true" } else { "false" };
        out.fixed(&names::OFFER_REPLACE_PENDING, HeaderValue::from_static(text));
    }
    if facts.query_execution_info {
        out.fixed(&names::QUERY_EXECUTION_INFO, const { HeaderValue::from_static(INFO) });
    }
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
    let no_store = const { HeaderValue::from_static("no-store, no-cache") };
    headers.insert(header::CACHE_CONTROL, no_store);
    headers.insert(header::SERVER, const { HeaderValue::from_static("orrery") });
    let mut out = HeaderWriter::new(headers);
    out.number(&names::TRANSPORT_REQUEST_ID, request_number);
    out.with(&names::DURATION_MS, |out| milliseconds(out, duration));
    out.fixed(&names::N_READ_REGIONS, const { HeaderValue::from_static("0") });
    out.fixed(&names::SCHEMA_VERSION, const { HeaderValue::from_static("1.17") });
    out.fixed(&names::SERVICE_VERSION, const { HeaderValue::from_static("version=2.14.0.0") });
    out.fixed(&names::GATEWAY_VERSION, const { HeaderValue::from_static("version=2.14.0") });
}

/// Milliseconds with two digits behind the point.
fn milliseconds(out: &mut BytesMut, duration: Duration) {
    let hundredths = u64::try_from(duration.as_micros() / 10).unwrap_or(u64::MAX);
    put_hundredths(out, hundredths);
}

#[cfg(test)]
mod tests {
    use model::{ETag, Lsn, RangeId};

    use super::*;

    fn full() -> Facts {
        Facts {
            charge: Charge::from_hundredths(571),
            session: Some(SessionEntry { range: RangeId(3), version: Some(-1), lsn: Lsn(15) }),
            lsn: Some(Lsn(15)),
            item_lsn: Some(Lsn(14)),
            range: Some(RangeId(3)),
            etag: Some(ETag::from_lsn(Lsn(14), 1)),
            owner_path: Some("dbs/é b/colls/c".into()),
            owner_rid: Some("AQAAAJ0fgTc=".into()),
            continuation: Some("{\"a\":1}".to_owned()),
            n_items: Some(2),
            quota: Some("documentSize=1;".to_owned()),
            usage: Some("documentSize=0;".to_owned()),
            index_progress: Some(100),
            min_throughput: Some(400),
            offer_replace_pending: Some(false),
            query_metrics: Some("a=1".to_owned()),
            index_metrics: Some("e30=".to_owned()),
            query_advice: Some("%5B%5D".to_owned()),
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
            ("x-ms-alt-content-path", "dbs/%C3%A9 b/colls/c"), ("x-ms-request-duration-ms", "1.23"),
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
    fn sessions_are_written_as_the_model_shows_them() {
        for text in ["0:-1#15", "0:15", "42:3#18446744073709551615"] {
            let token = model::SessionToken::parse(text).unwrap();
            let mut out = BytesMut::new();
            session(&mut out, &token.entries()[0]);
            assert_eq!(out, text);
        }
    }
}
