//! From an outcome to a response: the only place that knows what success looks like on the wire.
//!
//! Hot path: names are statics, numbers are formatted without a detour, no copy of a resource body.

use std::time::Duration;

use account::{BatchResult, Body, Facts, MediaUsage, Outcome, Scan};
use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use model::{
    Charge, SessionEntry, Status,
    json::{
        JsonError,
        binary::{self, Encoder},
    },
};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::{
    answers::{self, Answer, Groups},
    batch_json,
    headers::{
        response as names,
        writer::{HeaderWriter, put_hundredths, put_number, put_signed},
    },
    hybrid_row,
    parse::{Action, BatchForm, Reply},
};

/// What a name in `Slug` has to be encoded for.
const SLUG: &AsciiSet = &CONTROLS.add(b'%');

/// Headers of a typical answer; a larger map would grow in the middle.
const HEADERS_EXPECTED: usize = 48;

/// Turns what the account answered into a response.
///
/// The body is returned beside it, for those who want to compress it, and so is the kind of answer that it became.
pub(crate) fn outcome(outcome: Outcome, reply: Reply) -> (Response<Full<Bytes>>, Bytes, Answer) {
    let Outcome { mut status, body, facts } = outcome;
    let mut n_items = facts.n_items;
    let mut media = None;
    let body = match body {
        Body::Empty => Bytes::new(),
        Body::Resource(_) if reply.minimal => Bytes::new(),
        Body::Resource(text) if reply.is_binary => binary(text),
        Body::Resource(text) => text,
        Body::Media { content_type, name, bytes } => {
            media = Some((content_type, name, None));
            bytes
        }
        Body::MediaHead { content_type, name, n_bytes } => {
            media = Some((content_type, name, Some(n_bytes)));
            Bytes::new()
        }
        Body::Feed { owner_rid, envelope, rows } => {
            n_items = n_items.or(u64::try_from(rows.len()).ok());
            match reply.is_binary.then(|| binary_feed(&owner_rid, envelope, &rows)) {
                Some(Ok(body)) => body,
                // Text suits every client: they look at the first byte.
                Some(Err(_)) | None => feed(&owner_rid, envelope, &rows),
            }
        }
        Body::Batch(results) => {
            status = with_substatus(status, &results, reply.action);
            match reply.batch_form {
                BatchForm::Json => batch_json::encode(&results, true).into(),
                BatchForm::JsonOf2018 => batch_json::encode(&results, false).into(),
                BatchForm::HybridRow => hybrid_row::encode_results(&results).into(),
            }
        }
    };
    let has_body = !matches!(status.code, 204 | 304);
    let body = if has_body { body } else { Bytes::new() };
    let mut response = Response::new(Full::new(body.clone()));
    *response.status_mut() = StatusCode::from_u16(status.code).unwrap_or(StatusCode::OK);
    let answer = reply.answer.with_status(response.status(), reply.action == Action::Batch);
    let headers = response.headers_mut();
    headers.reserve(HEADERS_EXPECTED);
    if let Some((content_type, name, n_bytes)) = media {
        media_headers(headers, &content_type, &name, n_bytes);
    }
    self::facts(headers, reply.groups(answer), status, &Facts { n_items, ..facts });
    (response, body, answer)
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

/// The same in binary JSON, if it can be.
fn binary(text: Bytes) -> Bytes {
    binary::from_text(&text).map_or(text, Bytes::from)
}

fn binary_feed(owner_rid: &str, envelope: &str, rows: &[Bytes]) -> Result<Bytes, JsonError> {
    let n_bytes: usize = rows.iter().map(Bytes::len).sum();
    let mut out = Encoder::with_capacity(n_bytes + owner_rid.len() + envelope.len() + 48);
    let whole = out.begin(true);
    out.string("_rid");
    out.string(owner_rid);
    out.string(envelope);
    let list = out.begin(false);
    for row in rows {
        out.text(row)?;
    }
    out.end_with(list, rows.len());
    out.string("_count");
    out.integer(i64::try_from(rows.len()).unwrap_or(i64::MAX));
    out.end_with(whole, 3);
    Ok(out.finish().into())
}

/// Writes what the facts say, as far as this kind of answer tells it.
pub(crate) fn facts(headers: &mut HeaderMap, groups: Groups, status: Status, facts: &Facts) {
    let mut out = HeaderWriter::new(headers);
    if groups.has(answers::CHARGE) {
        charge(&mut out, facts.charge);
    }
    if status.sub != 0 {
        out.number(&names::SUBSTATUS, status.sub.into());
    }
    if let Some(entry) = facts.session.as_ref().filter(|_| groups.has(answers::S)) {
        out.with(&names::SESSION_TOKEN, |out| session(out, entry));
    }
    if let Some(lsn) = facts.lsn {
        positions(&mut out, groups, facts, lsn.0);
    }
    if let Some(range) = facts.range.filter(|_| groups.has(answers::R)) {
        out.number(&names::RANGE_ID, range.0.into());
    }
    if let Some(number) = facts.partition {
        partition(&mut out, groups, number);
    }
    if let Some(n_items) = facts.n_items.filter(|_| groups.has(answers::COUNT)) {
        out.number(&names::ITEM_COUNT, n_items);
    }
    usage(&mut out, groups, facts);
    texts(&mut out, groups, facts);
    rare(&mut out, groups, facts);
}

/// Where the partition stands. Wire: when an item write is answered, its quorum has agreed on all before it.
fn positions(out: &mut HeaderWriter<'_>, groups: Groups, facts: &Facts, lsn: u64) {
    let is_item_write =
        groups.has(answers::W) && facts.range.is_some() && !groups.has(answers::PLACE);
    let agreed = if is_item_write { lsn.saturating_sub(1) } else { lsn };
    if groups.has(answers::P) {
        out.numbers(&[&names::LSN, &names::LOCAL_LSN], lsn);
    }
    match (groups.has(answers::P), groups.has(answers::W)) {
        (true, true) => out.numbers(
            &[
                &names::GLOBAL_COMMITTED_LSN,
                &names::QUORUM_ACKED_LSN,
                &names::QUORUM_ACKED_LOCAL_LSN,
            ],
            agreed,
        ),
        (true, false) => out.numbers(&[&names::GLOBAL_COMMITTED_LSN], agreed),
        (false, _) => {}
    }
    if groups.has(answers::REGIONS) {
        out.number(&names::REGIONS_COMMITTED_LSN, lsn);
    }
    if let Some(lsn) = facts.item_lsn.filter(|_| groups.has(answers::T)) {
        out.numbers(&[&names::ITEM_LSN, &names::ITEM_LOCAL_LSN], lsn.0);
    }
}

/// Which partition answered. Wire: two GUIDs; ours hold its number.
fn partition(out: &mut HeaderWriter<'_>, groups: Groups, number: u64) {
    if groups.has(answers::I) {
        out.with(&names::INTERNAL_PARTITION_ID, |out| put_partition(out, number));
    }
    if groups.has(answers::Y) {
        out.with(&names::PHYSICAL_PARTITION_ID, |out| put_partition(out, number));
    }
}

/// The number of a partition in the form of a GUID.
pub(crate) fn put_partition(out: &mut impl BufMut, number: u64) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.put_slice(b"00000000-0000-4000-8");
    for place in (0..15).rev() {
        let digit = number >> (4 * place) & 0xF;
        out.put_u8(HEX.get(usize::try_from(digit).unwrap_or_default()).copied().unwrap_or(b'0'));
        if place == 12 {
            out.put_u8(b'-');
        }
    }
}

/// Wire: what a range may hold is told in every answer of its items.
const ITEMS_QUOTA: &str =
    "documentSize=10240;documentsSize=10485760;documentsCount=-1;collectionSize=10485760;";

fn usage(out: &mut HeaderWriter<'_>, groups: Groups, facts: &Facts) {
    let is_asked = groups.has(answers::Q) || groups.has(answers::PLACE);
    match (&facts.quota, &facts.usage, &facts.range_usage) {
        (Some(quota), Some(usage), _) if is_asked => {
            out.text(&names::QUOTA, quota);
            out.text(&names::USAGE, usage);
        }
        (_, _, Some(usage)) if groups.has(answers::Q) => {
            out.fixed(&names::QUOTA, const { HeaderValue::from_static(ITEMS_QUOTA) });
            let kb = usage.bytes.div_ceil(1024);
            out.with(&names::USAGE, |out| {
                out.put_slice(b"documentSize=0;documentsSize=");
                put_number(out, kb);
                out.put_slice(b";documentsCount=");
                put_number(out, usage.n_items);
                out.put_slice(b";collectionSize=");
                put_number(out, kb);
                out.put_slice(b";");
            });
        }
        _ => {}
    }
}

/// What the request cost.
fn charge(out: &mut HeaderWriter<'_>, charge: Charge) {
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

fn texts(out: &mut HeaderWriter<'_>, groups: Groups, facts: &Facts) {
    if let Some(etag) = facts.etag.as_ref().filter(|_| groups.has(answers::ETAG)) {
        out.text(&names::ETAG, etag.as_str());
    }
    let has_owner = groups.has(answers::N);
    let texts: [(&HeaderName, Option<&str>, bool); 7] = [
        (&names::OWNER_PATH, facts.owner_path.as_deref(), has_owner || groups.has(answers::ALT)),
        (&names::OWNER_RID, facts.owner_rid.as_deref(), has_owner),
        (&names::CONTINUATION, facts.continuation.as_deref(), true),
        (&names::QUERY_METRICS, facts.query_metrics.as_deref(), true),
        (&names::INDEX_UTILIZATION, facts.index_metrics.as_deref(), true),
        (&names::QUERY_ADVICE, facts.query_advice.as_deref(), true),
        (&names::SCRIPT_LOG, facts.script_log.as_deref(), true),
    ];
    for (name, value, is_told) in texts {
        if let Some(value) = value.filter(|_| is_told) {
            out.text(name, value);
        }
    }
}

/// Wire: clients that resume a sorted query skip ties by what this says of their order.
const FORWARD: &str = r#"{"reverseRidEnabled":false,"reverseIndexScan":false}"#;
const REVERSE: &str = r#"{"reverseRidEnabled":false,"reverseIndexScan":true}"#;

fn rare(out: &mut HeaderWriter<'_>, groups: Groups, facts: &Facts) {
    if let Some(percent) = facts.index_progress {
        out.with(&names::INDEX_PROGRESS, |out| put_signed(out, percent.into()));
    }
    if let Some(percent) = facts.lazy_index_progress {
        out.with(&names::LAZY_INDEX_PROGRESS, |out| put_signed(out, percent.into()));
    }
    if let Some(units) = facts.min_throughput {
        out.number(&names::MIN_THROUGHPUT, units);
    }
    if let Some(is_pending) = facts.offer_replace_pending {
        out.fixed(&names::OFFER_REPLACE_PENDING, truth(is_pending));
    }
    if let Some(usage) = facts.media.filter(|_| groups.has(answers::MEDIA)) {
        media_usage(out, usage);
    }
    if let Some(scan) = facts.scan {
        let info = match scan {
            Scan::Forward => const { HeaderValue::from_static(FORWARD) },
            Scan::Reverse => const { HeaderValue::from_static(REVERSE) },
        };
        out.fixed(&names::QUERY_EXECUTION_INFO, info);
    }
    if let Some(is_required) = facts.requires_distribution {
        let text = if is_required { "True" } else { "False" };
        out.fixed(&names::QUERY_REQUIRES_DISTRIBUTION, HeaderValue::from_static(text));
    }
    if groups.has(answers::PLACE) {
        let zero = const { HeaderValue::from_static("0") };
        out.fixed(&names::SERVICE_INDEX, zero.clone());
        out.fixed(&names::PARTITION_INDEX, zero);
        out.fixed(&names::SHARE_THROUGHPUT, truth(facts.shares_throughput.unwrap_or_default()));
        out.fixed(&names::MAX_CONTENT_LENGTH, const { HeaderValue::from_static("2097152") });
    }
}

fn truth(value: bool) -> HeaderValue {
    if value { HeaderValue::from_static("true") } else { HeaderValue::from_static("false") }
}

/// Of what kind media is, the name under which it came, and how long it is where it is not sent.
fn media_headers(headers: &mut HeaderMap, content_type: &str, name: &str, n_bytes: Option<u64>) {
    let unknown = const { HeaderValue::from_static("application/octet-stream") };
    let content_type = HeaderValue::from_str(content_type).unwrap_or(unknown);
    headers.insert(header::CONTENT_TYPE, content_type);
    // Wire: RFC 5023. SDKs show what they get, so that names are sent as they are where they can be.
    let slug = utf8_percent_encode(name, SLUG).to_string();
    if let Ok(slug) = HeaderValue::from_str(&slug) {
        headers.insert(&names::SLUG, slug);
    }
    if let Some(n_bytes) = n_bytes {
        headers.insert(header::CONTENT_LENGTH, n_bytes.into());
    }
}

/// How much media the account keeps, in MB.
pub(crate) fn media_usage(out: &mut HeaderWriter<'_>, usage: MediaUsage) {
    out.number(&names::MEDIA_USAGE, usage.bytes.div_ceil(1 << 20));
    out.number(&names::MEDIA_QUOTA, usage.bytes_max >> 20);
}

/// Tells the client when to come back.
pub(crate) fn retry_after(headers: &mut HeaderMap, wait_ms: u64) {
    headers.insert(&names::RETRY_AFTER_MS, wait_ms.into());
}

/// What the gateway itself knows about an answer.
#[derive(Debug)]
pub(crate) struct Around<'a> {
    pub(crate) activity: HeaderValue,
    pub(crate) started: &'a HeaderValue,
    pub(crate) request_number: u64,
    pub(crate) duration: Duration,
    /// The address that was asked, unless the answer does not repeat it.
    pub(crate) location: Option<Bytes>,
    /// Whether clients are to come back over TLS only.
    pub(crate) is_strict: bool,
}

/// Writes what is told whoever made the answer, as far as its kind has it.
pub(crate) fn around(headers: &mut HeaderMap, groups: Groups, around: Around<'_>) {
    // Wire: answers without a body have a type too.
    let json = const { HeaderValue::from_static("application/json") };
    headers.entry(header::CONTENT_TYPE).or_insert(json);
    headers.insert(header::SERVER, const { HeaderValue::from_static("orrery") });
    let mut out = HeaderWriter::new(headers);
    out.fixed(&names::GATEWAY_VERSION, const { HeaderValue::from_static("version=2.14.0") });
    if around.is_strict {
        let year = const { HeaderValue::from_static("max-age=31536000") };
        out.fixed(&header::STRICT_TRANSPORT_SECURITY, year);
    }
    if groups.has(answers::A) {
        out.fixed(&names::ACTIVITY_ID, around.activity);
    }
    if groups.has(answers::C) {
        out.unless_there(
            header::CACHE_CONTROL,
            const { HeaderValue::from_static("no-store, no-cache") },
        );
        out.fixed(&header::PRAGMA, const { HeaderValue::from_static("no-cache") });
    }
    if let Some(location) =
        around.location.and_then(|text| HeaderValue::from_maybe_shared(text).ok())
    {
        out.fixed(&header::CONTENT_LOCATION, location);
    }
    if groups.has(answers::P) || groups.has(answers::BRIEF) {
        out.number(&names::TRANSPORT_REQUEST_ID, around.request_number);
        out.with(&names::DURATION_MS, |out| milliseconds(out, around.duration));
        out.fixed(&names::SCHEMA_VERSION, const { HeaderValue::from_static("1.21") });
        out.fixed(&names::SERVICE_VERSION, const { HeaderValue::from_static("version=2.14.0.0") });
    }
    if groups.has(answers::P) {
        out.fixed(&names::LAST_STATE_CHANGE, around.started.clone());
        out.fixed(&names::N_READ_REGIONS, const { HeaderValue::from_static("0") });
        out.fixed(&names::XP_ROLE, const { HeaderValue::from_static("1") });
    }
    if groups.has(answers::W) {
        out.fixed(&names::WRITE_QUORUM, const { HeaderValue::from_static("3") });
        out.fixed(&names::REPLICA_SET_SIZE, const { HeaderValue::from_static("4") });
    }
    seldom(&mut out, groups);
}

fn seldom(out: &mut HeaderWriter<'_>, groups: Groups) {
    if groups.has(answers::KEY_DELETE) {
        out.fixed(&names::KEY_DELETE_PENDING, const { HeaderValue::from_static("false") });
    }
    if groups.has(answers::VALIDATION) {
        out.fixed(&names::VALIDATION_FAILURE, const { HeaderValue::from_static("1") });
    }
    if groups.has(answers::MEGABYTES) {
        for name in [&names::CONSUMED, &names::RESERVED, &names::PROVISIONED] {
            out.fixed(name, const { HeaderValue::from_static("0") });
        }
    }
}

/// Milliseconds with two digits behind the point.
fn milliseconds(out: &mut BytesMut, duration: Duration) {
    let hundredths = u64::try_from(duration.as_micros() / 10).unwrap_or(u64::MAX);
    put_hundredths(out, hundredths);
}

#[cfg(test)]
mod tests {
    use account::RangeUsage;
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
            partition: Some(0xabcd),
            range_usage: None,
            shares_throughput: Some(true),
            quota: Some("documentSize=1;".to_owned()),
            usage: Some("documentSize=0;".to_owned()),
            index_progress: Some(100),
            lazy_index_progress: Some(100),
            min_throughput: Some(400),
            offer_replace_pending: Some(false),
            query_metrics: Some("a=1".to_owned()),
            index_metrics: Some("e30=".to_owned()),
            query_advice: Some("%5B%5D".to_owned()),
            analysis: None,
            scan: Some(Scan::Forward),
            requires_distribution: Some(true),
            script_log: Some("x%20y".to_owned()),
            media: Some(MediaUsage { bytes: 1, bytes_max: 2 << 30 }),
        }
    }

    /// Every group at once, as no answer has it.
    fn all() -> Groups {
        Answer::Query
            .groups()
            .and(Answer::ContainerReplace.groups())
            .and(Answer::TooLarge.groups())
            .and(Answer::Throttled.groups())
            .and(Answer::Account.groups())
            .and(Answer::Offer.groups())
            .and(answers::T)
    }

    #[test]
    fn every_fact_has_its_header() {
        let mut headers = HeaderMap::new();
        facts(&mut headers, all(), Status::RANGE_GONE, &full());
        let started = HeaderValue::from_static("d");
        let known = Around {
            activity: HeaderValue::from_static("a"),
            started: &started,
            request_number: 7,
            duration: Duration::from_micros(1230),
            location: Some(Bytes::from_static(b"http://h/dbs")),
            is_strict: true,
        };
        around(&mut headers, all(), known);
        retry_after(&mut headers, 5);
        media_headers(&mut headers, "text/plain", "50% é", None);
        for name in names::ALL {
            assert!(headers.contains_key(*name), "{name}");
            assert!(headers[*name].to_str().is_ok(), "{name}");
        }
        #[rustfmt::skip]
        let table = [
            ("x-ms-request-charge", "5.71"), ("x-ms-session-token", "3:-1#15"), ("lsn", "15"), ("x-ms-item-lsn", "14"),
            ("x-ms-documentdb-partitionkeyrangeid", "3"), ("x-ms-substatus", "1002"), ("x-ms-item-count", "2"),
            ("x-ms-alt-content-path", "dbs/%C3%A9 b/colls/c"), ("x-ms-request-duration-ms", "1.23"),
            ("x-ms-media-storage-usage-mb", "1"), ("x-ms-max-media-storage-usage-mb", "2048"),
            ("x-ms-offer-replace-pending", "false"), ("x-ms-continuation", "{\"a\":1}"), ("x-ms-share-throughput", "true"),
            ("x-ms-cosmos-internal-partition-id", "00000000-0000-4000-8000-00000000abcd"), ("content-location", "http://h/dbs"),
            ("strict-transport-security", "max-age=31536000"), ("slug", "50%25 %C3%A9"),
        ];
        for (name, value) in table {
            assert_eq!(headers[name], value, "{name}");
        }
    }

    #[test]
    fn absent_facts_give_no_header() {
        let mut headers = HeaderMap::new();
        facts(&mut headers, Answer::ItemRead.groups(), Status::OK, &Facts::default());
        let names: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        assert_eq!(names, ["x-ms-request-charge"]);
    }

    #[test]
    fn what_a_kind_of_answer_lacks_is_not_told() {
        let mut headers = HeaderMap::new();
        facts(
            &mut headers,
            Answer::QueryPlan.groups(),
            Status::OK,
            &Facts { continuation: None, ..full() },
        );
        for name in [
            "lsn",
            "x-ms-request-charge",
            "x-ms-session-token",
            "etag",
            "x-ms-content-path",
            "x-ms-item-count",
        ] {
            assert!(!headers.contains_key(name), "{name}");
        }
    }

    #[test]
    fn the_quorum_of_an_item_write_is_one_behind() {
        let write = Facts { item_lsn: Some(Lsn(15)), ..full() };
        for (answer, facts, agreed) in
            [(Answer::ItemCreate, &write, "14"), (Answer::ContainerCreate, &full(), "15")]
        {
            let mut headers = HeaderMap::new();
            self::facts(&mut headers, answer.groups(), Status::CREATED, facts);
            assert_eq!(headers["x-ms-quorum-acked-lsn"], agreed);
            assert_eq!(headers["x-ms-global-committed-lsn"], agreed);
        }
    }

    #[test]
    fn a_range_tells_what_it_holds() {
        let mut headers = HeaderMap::new();
        let held = Facts {
            quota: None,
            usage: None,
            range_usage: Some(RangeUsage { n_items: 3, bytes: 1025 }),
            ..full()
        };
        facts(&mut headers, Answer::ItemRead.groups(), Status::OK, &held);
        assert_eq!(
            headers["x-ms-resource-usage"],
            "documentSize=0;documentsSize=2;documentsCount=3;collectionSize=2;"
        );
        assert_eq!(headers["x-ms-resource-quota"], ITEMS_QUOTA);
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
    fn binary_feeds_say_what_text_feeds_say() {
        for rows in [
            vec![],
            vec![Bytes::from_static(b"{\"id\":\"1\"}")],
            vec![Bytes::from_static(b"2"); 300],
        ] {
            let body = binary_feed("AQAAAJ0fgTc=", "Documents", &rows).unwrap();
            assert_eq!(binary::to_text(&body).unwrap(), feed("AQAAAJ0fgTc=", "Documents", &rows));
        }
        assert!(binary_feed("", "Documents", &[Bytes::from_static(b"{")]).is_err());
        assert_eq!(binary(Bytes::from_static(b"{\"id\":1}")), &b"\x80\xE9\x2C\x01"[..]);
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
