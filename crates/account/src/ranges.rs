//! The feed of partition key ranges.
//!
//! Wire: Clients repeat the incremental read with our etag until they get a 304: without it
//! they loop for ever.

use bytes::Bytes;
use model::{Charge, ChildKind, ETag, Object, RangeId, Rid, Status, Value};

use crate::access::{self, Right, Want};
use crate::account::{Inner, Request};
use crate::body;
use crate::catalog::link::self_link;
use crate::catalog::record::number_value;
use crate::catalog::show::envelope;
use crate::container::Container;
use crate::continuation::{Continuations, Kind};
use crate::error::{Error, Result};
use crate::operation::{Link, ResourceKind};
use crate::outcome::{Body, Facts, Outcome};
use crate::range_map::Range;
use crate::resources::{check_intended, first_range_facts};

const CHARGE: Charge = Charge::from_hundredths(100);

pub(crate) fn feed(
    inner: &Inner,
    request: Request<'_>,
    link: &Link,
    since: Option<&str>,
    is_incremental: bool,
) -> Result<Outcome> {
    let container = {
        let tables = inner.catalog.tables();
        let found = tables.find_owner(link)?;
        let want = Want { chain: &found.chain, kind: ResourceKind::Range, right: Right::Read };
        access::check(&tables, request.principal, want)?;
        check_intended(request.options, &found)?;
        tables.container(found.number()).cloned().ok_or(Error::OwnerNotFound)?
    };
    let etag = position(&container);
    let mut facts = Facts {
        charge: CHARGE,
        // Wire: who does not read what is new needs no position.
        etag: is_incremental.then(|| etag.clone()),
        owner_path: Some(container.name_path.clone()),
        owner_rid: Some(container.rid_text.clone()),
        n_items: Some(0),
        ..first_range_facts(request.options, &container)
    };
    // `*` asks for changes from now on: there are none yet.
    if is_incremental && since.is_some_and(|since| etag.matches(since)) {
        return Ok(Outcome { status: Status::NOT_MODIFIED, body: Body::Empty, facts });
    }
    let since = since.filter(|_| is_incremental);
    let known = since.map(|since| known_to(&container, since)).unwrap_or_default();
    let is_news =
        |range: &&Range| !known.iter().any(|(first, last)| (first..=last).contains(&&range.id()));
    let mut rows: Vec<Bytes> =
        container.ranges.iter().filter(is_news).map(|range| row(&container, range)).collect();
    if rows.is_empty() {
        return Ok(Outcome { status: Status::NOT_MODIFIED, body: Body::Empty, facts });
    }
    if !is_incremental {
        facts.continuation = cut_page(inner, request, &container, &mut rows)?;
    }
    facts.n_items = u64::try_from(rows.len()).ok();
    let owner_rid = container.rid_text.clone();
    let body = Body::Feed { owner_rid, envelope: envelope(ResourceKind::Range), rows };
    Ok(Outcome { status: Status::OK, body, facts })
}

/// Limit: bytes of the list of ranges in an etag, which travels in a header. Clients with more hear everything again.
const KNOWN_BYTES_MAX: usize = 1024;

/// The etag of the feed: the topology, the container, and the ranges that a client knows who has read it. Ids do not
/// tell what is newer: relocations take theirs when they begin, and the last to begin may be the first to end.
fn position(container: &Container) -> ETag {
    let topology = container.ranges.etag.trim_matches('"');
    let mut ids: Vec<u32> = container.ranges.iter().map(|range| range.id().0).collect();
    ids.sort_unstable();
    let runs = ids.chunk_by(|a, b| a.checked_add(1) == Some(*b));
    let run = |run: &[u32]| match run {
        [only] => only.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    };
    let known = runs.map(run).collect::<Vec<_>>().join(",");
    let known = if known.len() > KNOWN_BYTES_MAX { "" } else { &known };
    ETag::from_text(&format!("{topology}.{}.{known}", container.rid_text))
}

/// The ranges that a client knows who got this etag, as spans of ids; none if it is not ours.
///
/// Wire: an incremental read tells what came since, never everything again. Some clients read until the 304 and put
/// all answers together: ranges that come twice, before and after a split, look to them like an overlap.
fn known_to(container: &Container, etag: &str) -> Vec<(RangeId, RangeId)> {
    let mut parts = etag.trim().trim_matches('"').rsplit('.');
    let (known, rid) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    if rid != &*container.rid_text || known.len() > KNOWN_BYTES_MAX {
        return Vec::new();
    }
    let span = |text: &str| {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        Some((RangeId::parse(first)?, RangeId::parse(last)?))
    };
    known.split(',').filter_map(span).collect()
}

/// Cuts the rows to the page that a plain read asks for. The continuation counts rows in the order of the
/// hash space and dies with the topology.
fn cut_page(
    inner: &Inner,
    request: Request<'_>,
    container: &Container,
    rows: &mut Vec<Bytes>,
) -> Result<Option<String>> {
    let sealer = inner.catalog.sealer();
    let scope = container.ranges.etag.as_bytes().into();
    let owner = Some(container.record().rid);
    let tokens = Continuations { sealer, kind: Kind::Ranges, owner, scope, key_bytes: 0 };
    let start = match &request.options.continuation {
        Some(token) => usize::try_from(tokens.read_number(token)?).unwrap_or(usize::MAX),
        None => 0,
    };
    let items_max = request.options.items_max.filter(|items| *items > 0);
    let items_max = items_max.and_then(|items| usize::try_from(items).ok()).unwrap_or(usize::MAX);
    let end = start.saturating_add(items_max).min(rows.len());
    let has_more = end < rows.len();
    *rows = rows.drain(start.min(end)..end).collect();
    Ok(has_more.then(|| tokens.write_number(u64::try_from(end).unwrap_or(u64::MAX))))
}

fn row(container: &Container, range: &Range) -> Bytes {
    let entry = &range.entry;
    let container_rid = container.record().rid;
    // Ordinal 1 is nobody's, as on the service: its first range has 2.
    let rid = Rid::child(&container_rid, ChildKind::Range, u64::from(entry.id.0) + 2);
    let lsn = range.partition.lsn().0;
    let parents = entry.parents.iter().map(|parent| Value::from(parent.to_string()));
    let row: Object = body::object([
        ("_rid", rid.to_string().into()),
        ("id", entry.id.to_string().into()),
        ("_etag", ETag::from_lsn(model::Lsn(u64::from(entry.id.0)), entry.ts).as_str().into()),
        ("minInclusive", entry.epks.min().to_string().into()),
        ("maxExclusive", entry.epks.max().to_string().into()),
        ("ridPrefix", i64::from(entry.rid_prefix).into()),
        ("_self", format!("{}pkranges/{rid}/", self_link(&container.chain)).into()),
        ("throughputFraction", range.share.into()),
        ("status", "online".into()),
        ("parents", Value::Array(parents.collect())),
        ("ownedArchivalPKRangeIds", Value::Array(Vec::new())),
        ("_ts", number_value(entry.ts)),
        ("lsn", number_value(lsn)),
    ]);
    let mut bytes = Vec::new();
    Value::Object(row).write_to(&mut bytes);
    bytes.into()
}
