//! Ranges that split, merge and move: what clients see of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use account::{
    AccountOptions, FeedStart, RelocationEnd, RelocationOptions, RelocationStatus, RelocationStep,
    ThroughputRequest,
};
use model::{Epk, EpkRange, RangeId, SessionToken, Value};

use crate::support::{Answer, Client, link};

const C: &str = "dbs/d/colls/c";

async fn end(client: &Client, id: u64) -> RelocationStatus {
    let status = client.account.wait_for_relocation(id).await.unwrap();
    assert_eq!(status.end, Some(RelocationEnd::Done), "{status:?}");
    status
}

async fn split(client: &Client, range: u32) -> RelocationStatus {
    let id = client.account.start_split(&link(C), RangeId(range), None).unwrap();
    end(client, id).await
}

async fn merge(client: &Client, a: u32, b: u32) -> RelocationStatus {
    let id = client.account.start_merge(&link(C), [RangeId(a), RangeId(b)]).unwrap();
    end(client, id).await
}

fn ranges(client: &Client) -> Vec<(u32, String, String, Vec<u32>)> {
    let describe = |range: account::RangeDescription| {
        let parents = range.parents.iter().map(|id| id.0).collect();
        (range.id.0, range.epks.min().to_string(), range.epks.max().to_string(), parents)
    };
    client.account.describe_ranges(&link(C)).unwrap().into_iter().map(describe).collect()
}

async fn fill(client: &Client, n_items: u32) {
    for n in 0..n_items {
        let (pk, body) = (n % 17, format!(r#"{{"id":"{n}","pk":"{}","n":{n}}}"#, n % 17));
        client.items().key(&format!(r#"["{pk}"]"#)).create(&body).await.expect(201);
    }
}

/// Follows a feed to its end: rows and the last position.
async fn follow(items: &crate::support::Items<'_>, after: Option<String>) -> (Vec<Value>, String) {
    follow_as(items, FeedStart { after, ..FeedStart::default() }).await
}

async fn follow_as(items: &crate::support::Items<'_>, start: FeedStart) -> (Vec<Value>, String) {
    let (mut rows, mut after) = (Vec::new(), start.after.clone());
    loop {
        let page = items.changes(FeedStart { after, ..start.clone() }).await;
        let etag = page.facts.etag.clone().unwrap().as_str().to_owned();
        if page.status.code == 304 {
            return (rows, etag);
        }
        rows.extend(page.expect(200).rows);
        after = Some(etag);
    }
}

fn ids(rows: &[Value]) -> BTreeSet<String> {
    rows.iter().map(|row| row.get("id").unwrap().as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_split_range_is_replaced_by_two_with_all_that_it_had() {
    let client = Client::with_container(1).await;
    fill(&client, 100).await;
    let before: BTreeMap<String, Value> = client
        .items()
        .feed_all(1000)
        .await
        .into_iter()
        .map(|row| (row.get("_rid").unwrap().as_str().unwrap().to_owned(), row))
        .collect();
    let old_map = client.ranges(C, None, true).await;
    let old_etag = old_map.facts.etag.unwrap().as_str().to_owned();
    let token = client.items().key(r#"["1"]"#).read("1").await.facts.session.unwrap();
    let token = SessionToken::from(token);
    let status = split(&client, 0).await;
    assert_eq!((status.sources, status.targets), (vec![RangeId(0)], vec![RangeId(1), RangeId(2)]));
    let middle = "1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF";
    assert_eq!(
        ranges(&client),
        [
            (1, String::new(), middle.to_owned(), vec![0]),
            (2, middle.to_owned(), "FF".to_owned(), vec![0])
        ]
    );
    let after: BTreeMap<String, Value> = client
        .items()
        .feed_all(7)
        .await
        .into_iter()
        .map(|row| (row.get("_rid").unwrap().as_str().unwrap().to_owned(), row))
        .collect();
    assert_eq!(before, after, "rid, etag, ts and text stay");
    // The map has a new etag and the old id is gone.
    let map = client.ranges(C, Some(&old_etag), true).await.expect(200);
    assert_eq!(map.ids(), ["1", "2"]);
    client.items().range(0).feed().await.expect_sub(410, 1002);
    client
        .items()
        .range(0)
        .key(r#"["1"]"#)
        .create(r#"{"id":"x","pk":"1"}"#)
        .await
        .expect_sub(410, 1002);
    // A session of before reads in both children; one of after is ahead of before.
    let old = client.with_options(|options| options.session = Some(token));
    for n in 0..17 {
        old.items().key(&format!(r#"["{n}"]"#)).read(&n.to_string()).await.expect(200);
    }
    let ahead = SessionToken::parse("0:-1#99999").unwrap();
    let ahead = client.with_options(|options| options.session = Some(ahead));
    ahead.items().key(r#"["1"]"#).read("1").await.expect_sub(404, 1002);
    // New items get numbers of their own.
    let created =
        client.items().key(r#"["1"]"#).create(r#"{"id":"new","pk":"1"}"#).await.expect(201);
    assert!(!before.contains_key(&created.text("_rid")));
    client.account.run_jobs_once().await.unwrap();
    assert_eq!(client.account.metrics().n_partitions_to_reclaim, 0);
}

#[tokio::test]
async fn positions_hold_across_splits_and_merges() {
    let client = Client::with_container(1).await;
    fill(&client, 60).await;
    // A page of items, of a query, and of changes, each to be continued.
    let small = client.with_options(|options| options.items_max = Some(10));
    let items = small.items().feed().await.expect(200);
    let query = "SELECT c.id FROM c WHERE c.n >= 0";
    let rows = small.items().query(query).await.expect(200);
    let changes = small.items().changes(FeedStart::default()).await.expect(200);
    let (_, whole) = follow(&client.items(), None).await;
    let (_, one) = follow(&client.items().range(0), None).await;
    split(&client, 0).await;
    split(&client, 2).await;
    merge(&client, 1, 3).await;
    split(&client, 5).await;
    let mut seen: Vec<String> = items.ids();
    let rest = client.items().feed_from(items.facts.continuation, 1000).await;
    assert_eq!(rest.len(), ids(&rest).len());
    seen.extend(ids(&rest));
    assert_eq!((seen.len(), seen.iter().collect::<BTreeSet<_>>().len()), (60, 60));
    let mut seen: Vec<String> = rows.ids();
    let rest = client.items().query_from(query, rows.facts.continuation).await;
    assert_eq!(rest.len(), ids(&rest).len());
    seen.extend(ids(&rest));
    assert_eq!((seen.len(), seen.iter().collect::<BTreeSet<_>>().len()), (60, 60));
    let mut seen = changes.ids();
    let etag = changes.facts.etag.unwrap().as_str().to_owned();
    let (rest, _) = follow(&client.items(), Some(etag)).await;
    seen.extend(ids(&rest));
    assert_eq!((seen.len(), seen.iter().collect::<BTreeSet<_>>().len()), (60, 60));
    // Nothing is new to those who had seen all.
    assert!(follow(&client.items(), Some(whole.clone())).await.0.is_empty());
    let now = client.account.describe_ranges(&link(C)).unwrap();
    for range in &now {
        let part = client.items().range(range.id.0);
        assert!(follow(&part, Some(one.clone())).await.0.is_empty(), "{range:?}");
    }
    client.items().key(r#"["3"]"#).upsert(r#"{"id":"3","pk":"3","n":-1}"#).await.expect(200);
    let (new, _) = follow(&client.items(), Some(whole)).await;
    assert_eq!(ids(&new), BTreeSet::from(["3".to_owned()]));
    let mut n_new = 0;
    for range in &now {
        n_new += follow(&client.items().range(range.id.0), Some(one.clone())).await.0.len();
    }
    assert_eq!(n_new, 1);
}

#[tokio::test]
async fn after_a_merge_a_reader_of_one_parent_goes_on_in_its_part() {
    let client = Client::with_container(2).await;
    fill(&client, 60).await;
    let parts: Vec<EpkRange> =
        client.account.describe_ranges(&link(C)).unwrap().into_iter().map(|it| it.epks).collect();
    let (low, low_at) = follow(&client.items().range(0), None).await;
    let (high, high_at) = follow(&client.items().range(1), None).await;
    assert_eq!(low.len() + high.len(), 60);
    let status = merge(&client, 1, 0).await;
    assert_eq!(status.targets, [RangeId(2)]);
    assert_eq!(ranges(&client), [(2, String::new(), "FF".to_owned(), vec![0, 1])]);
    for (part, at) in parts.iter().zip([&low_at, &high_at]) {
        let items = client.items().range(2).epks(part.clone());
        assert!(follow(&items, Some(at.clone())).await.0.is_empty());
    }
    for n in 0..17 {
        let body = format!(r#"{{"id":"{n}","pk":"{n}","again":true}}"#);
        client.items().key(&format!(r#"["{n}"]"#)).upsert(&body).await.expect(200);
    }
    let mut seen = BTreeSet::new();
    for (part, at) in parts.iter().zip([low_at, high_at]) {
        let items = client.items().range(2).epks(part.clone());
        let (rows, _) = follow(&items, Some(at)).await;
        assert!(rows.iter().all(|row| row.get("again").is_some()));
        seen.extend(ids(&rows));
    }
    assert_eq!(seen.len(), 17);
}

/// Wire: Go names a range and never a part of one, and goes on with the positions of both parents after a merge.
#[tokio::test]
async fn after_a_merge_a_reader_that_names_the_range_alone_sees_every_change_once() {
    let client = Client::with_container(4).await;
    fill(&client, 60).await;
    let go_on = |range: u32, after: Option<String>| {
        let items = client.items().range(range);
        async move {
            let start = FeedStart { after, follows_merges: true, ..FeedStart::default() };
            follow_as(&items, start).await
        }
    };
    let (mut positions, mut n_seen) = (Vec::new(), 0);
    for range in 0..4 {
        let (rows, at) = go_on(range, None).await;
        n_seen += rows.len();
        positions.push(at);
    }
    assert_eq!(n_seen, 60);
    merge(&client, 0, 1).await;
    merge(&client, 2, 3).await;
    // Both merged ranges are 4 and 5; every position is of one of them, and a second merge makes them one.
    for merged in [[4, 5, 0], [6, 6, 1]] {
        let [low, high, again] = merged;
        for (part, at) in positions.iter_mut().enumerate() {
            let (rows, now) = go_on(if part < 2 { low } else { high }, Some(at.clone())).await;
            assert!(rows.is_empty(), "{part} of {merged:?}: {rows:?}");
            *at = now;
        }
        for n in 0..17 {
            let body = format!(r#"{{"id":"{n}","pk":"{n}","again":{again}}}"#);
            client.items().key(&format!(r#"["{n}"]"#)).upsert(&body).await.expect(200);
        }
        let mut seen = Vec::new();
        for (part, at) in positions.iter_mut().enumerate() {
            let (rows, now) = go_on(if part < 2 { low } else { high }, Some(at.clone())).await;
            assert!(rows.iter().all(|row| row.get("again") == Some(&Value::from(again))));
            seen.extend(rows);
            *at = now;
        }
        assert_eq!((seen.len(), ids(&seen).len()), (17, 17), "{merged:?}");
        if again == 0 {
            merge(&client, 4, 5).await;
        }
    }
    // The span stays with the position whoever sends it, also where it is split again.
    split(&client, 6).await;
    let mut n_left = 0;
    client.items().key(r#"["3"]"#).upsert(r#"{"id":"3","pk":"3"}"#).await.expect(200);
    for range in client.account.describe_ranges(&link(C)).unwrap() {
        for at in &positions {
            let items = client.items().range(range.id.0);
            let page =
                items.changes(FeedStart { after: Some(at.clone()), ..FeedStart::default() }).await;
            n_left += page.rows.len();
        }
    }
    assert_eq!(n_left, 1);
}

#[tokio::test]
async fn positions_are_plain_numbers_where_no_span_is_needed() {
    let client = Client::with_container(2).await;
    fill(&client, 20).await;
    let part = client.account.describe_ranges(&link(C)).unwrap().remove(0).epks;
    let is_number = |etag: &str| etag.trim_matches('"').parse::<u64>().is_ok();
    let follows = FeedStart { follows_merges: true, ..FeedStart::default() };
    // Who does not follow merges, names the span by itself, or asks for one key, needs none.
    assert!(is_number(&follow(&client.items().range(0), None).await.1));
    assert!(is_number(&follow_as(&client.items().range(0).epks(part), follows.clone()).await.1));
    assert!(is_number(&follow_as(&client.items().key(r#"["3"]"#), follows.clone()).await.1));
    let (_, spanned) = follow_as(&client.items().range(0), follows.clone()).await;
    assert!(spanned.contains('@'), "{spanned}");
    // Numbers of before are as good.
    let old = FeedStart { after: Some("\"1\"".into()), ..follows.clone() };
    assert!(!follow_as(&client.items().range(0), old).await.0.is_empty());
    merge(&client, 0, 1).await;
    assert!(
        is_number(&follow_as(&client.items().range(2), follows).await.1),
        "nothing to merge with"
    );
}

#[tokio::test]
async fn what_cannot_be_relocated_is_refused_with_a_reason() {
    let client = Client::with_container(3).await;
    let account = &client.account;
    let c = link(C);
    let text = |result: account::Result<u64>| result.unwrap_err().to_string();
    assert!(text(account.start_split(&c, RangeId(9), None)).contains("'9'"));
    assert!(account.start_split(&link("dbs/d/colls/x"), RangeId(0), None).is_err());
    assert!(text(account.start_merge(&c, [RangeId(0), RangeId(2)])).contains("neighbours"));
    assert!(text(account.start_merge(&c, [RangeId(1), RangeId(1)])).contains("neighbours"));
    assert!(text(account.start_move(&c, RangeId(0), Some("moon"))).contains("moon"));
    let outside = Epk::parse("3F").unwrap();
    assert!(text(account.start_split(&c, RangeId(0), Some(outside))).contains("outside"));
    assert!(account.wait_for_relocation(77).await.is_err());
    client.items().key(r#"["a"]"#).create(r#"{"id":"1","pk":"a"}"#).await.expect(201);
    let range = client.items().key(r#"["a"]"#).read("1").await.facts.range.unwrap();
    assert!(text(account.start_split(&c, range, None)).contains("one logical partition"));
    // Two at once on one range.
    account.hold_relocations(&c, RelocationStep::Copy).unwrap();
    let first = account.start_move(&c, RangeId(0), None).unwrap();
    assert!(text(account.start_move(&c, RangeId(0), Some("default"))).contains("already"));
    account.cancel_relocation(first).unwrap();
    let ended = account.wait_for_relocation(first).await.unwrap();
    assert!(matches!(ended.end, Some(RelocationEnd::Failed(_))), "{ended:?}");
    account.release_relocations(&c, RelocationStep::Copy).unwrap();
    let again = account.start_move(&c, RangeId(0), None).unwrap();
    end(&client, again).await;
    assert_eq!(
        ranges(&client).iter().map(|it| it.0).collect::<Vec<_>>(),
        [0, 1, 2],
        "a move keeps the id"
    );
}

#[tokio::test(start_paused = true)]
async fn writes_wait_for_a_cut_over_and_not_for_ever() {
    let client = Client::with_container(1).await;
    fill(&client, 20).await;
    let (account, c) = (&client.account, link(C));
    account.hold_relocations(&c, RelocationStep::CutOver).unwrap();
    let id = account.start_split(&c, RangeId(0), None).unwrap();
    account.wait_for_hold(id, RelocationStep::CutOver).await.unwrap();
    client.items().key(r#"["1"]"#).read("1").await.expect(200);
    let late = client.items().key(r#"["1"]"#).upsert(r#"{"id":"late","pk":"1"}"#).await;
    late.expect_sub(410, 1007);
    let writer = client.clone();
    let write = tokio::spawn(async move {
        writer.items().key(r#"["1"]"#).upsert(r#"{"id":"soon","pk":"1"}"#).await
    });
    let bulk = client.clone();
    let bulk = tokio::spawn(async move {
        let calls =
            (0..17).map(|n| crate::support::upsert_call(&format!(r#"{{"id":"b","pk":"{n}"}}"#)));
        bulk.items().bulk(calls.collect()).await
    });
    let purge = client.clone();
    let purge = tokio::spawn(async move {
        purge.items().key(r#"["2"]"#).run(account::ItemAction::DeleteLogicalPartition).await
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!write.is_finished() && !bulk.is_finished() && !purge.is_finished());
    account.release_relocations(&c, RelocationStep::CutOver).unwrap();
    end(&client, id).await;
    let answer: Answer = write.await.unwrap().expect(201);
    assert!([1, 2].contains(&answer.facts.range.unwrap().0));
    let bulk = bulk.await.unwrap().expect(200);
    assert!(bulk.batch.iter().all(|result| result.status.code == 201), "{:?}", bulk.batch);
    purge.await.unwrap().expect(200);
    client.items().key(r#"["1"]"#).read("soon").await.expect(200);
}

#[tokio::test]
async fn a_container_can_go_while_it_is_being_split() {
    let client = Client::with_container(1).await;
    fill(&client, 20).await;
    let (account, c) = (&client.account, link(C));
    account.hold_relocations(&c, RelocationStep::Fence).unwrap();
    let id = account.start_split(&c, RangeId(0), None).unwrap();
    account.wait_for_hold(id, RelocationStep::Fence).await.unwrap();
    account.hold_relocations(&c, RelocationStep::CutOver).unwrap();
    account.release_relocations(&c, RelocationStep::Fence).unwrap();
    account.wait_for_hold(id, RelocationStep::CutOver).await.unwrap();
    client.delete(C).await.expect(204);
    account.cancel_relocation(id).unwrap();
    let status = account.wait_for_relocation(id).await.unwrap();
    assert!(matches!(status.end, Some(RelocationEnd::Failed(_))));
    account.run_jobs_once().await.unwrap();
    assert_eq!(account.metrics().n_partitions_to_reclaim, 0);
}

async fn offer_link(client: &Client) -> String {
    let found = client.query_resources("offers", "SELECT * FROM root").await.expect(200);
    found.rows[0].get("_self").unwrap().as_str().unwrap().to_owned()
}

async fn set_throughput(client: &Client, units: u64) -> Answer {
    let offer = offer_link(client).await;
    let body = client.read(&offer).await.expect(200).value.to_text();
    let current = client
        .read(&offer)
        .await
        .value
        .get("content")
        .unwrap()
        .get("offerThroughput")
        .unwrap()
        .to_text();
    let body = body.replace(
        &format!("\"offerThroughput\":{current}"),
        &format!("\"offerThroughput\":{units}"),
    );
    client.replace(&offer, &body).await
}

#[tokio::test]
async fn more_throughput_makes_more_ranges_and_less_makes_no_fewer() {
    let options = AccountOptions::default();
    let client = Client::with(store::open_memory(), options).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    let throughput = |units| {
        client.with_options(|options| options.throughput = Some(ThroughputRequest::Manual(units)))
    };
    throughput(18_000).create("dbs/d/colls", crate::support::CONTAINER).await.expect(201);
    assert_eq!(ranges(&client).len(), 3);
    fill(&client, 50).await;
    let raised = set_throughput(&client, 45_000).await.expect(200);
    assert_eq!(raised.facts.offer_replace_pending, Some(true));
    let pending = |answer: &Answer| {
        let content = answer.value.get("content").unwrap();
        content.get("isOfferReplacePending").map(Value::to_text)
    };
    assert_eq!(pending(&raised).as_deref(), Some("true"));
    set_throughput(&client, 46_000).await.expect_sub(400, 3205);
    client.account.run_jobs_once().await.unwrap();
    assert_eq!(ranges(&client).len(), 5, "two of three are split");
    let offer = client.read(&offer_link(&client).await).await;
    assert_eq!(offer.facts.offer_replace_pending, Some(false));
    assert_eq!(pending(&offer), None);
    let lowered = set_throughput(&client, 1000).await.expect(200);
    assert_eq!(lowered.facts.offer_replace_pending, Some(false));
    client.account.run_jobs_once().await.unwrap();
    assert_eq!(ranges(&client).len(), 5);
    assert_eq!(client.items().feed_all(1000).await.len(), 50);
    // Merging goes as far as the throughput allows.
    set_throughput(&client, 40_000).await.expect(200);
    let now = ranges(&client);
    merge(&client, now[0].0, now[1].0).await;
    let now = ranges(&client);
    let refused = client.account.start_merge(&link(C), [RangeId(now[0].0), RangeId(now[1].0)]);
    assert!(refused.unwrap_err().to_string().contains("lower the throughput"));
}

#[tokio::test]
async fn more_bytes_than_a_partition_holds_make_more_ranges() {
    let relocation = RelocationOptions { partition_bytes: 1, ..RelocationOptions::default() };
    let options = AccountOptions { relocation, ..AccountOptions::default() };
    let client = Client::with(store::open_memory(), options).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    client.create("dbs/d/colls", crate::support::CONTAINER).await.expect(201);
    let pad = "x".repeat(10_000);
    for n in 0..50 {
        let body = format!(r#"{{"id":"{n}","pk":"{n}","pad":"{pad}"}}"#);
        client.items().key(&format!(r#"["{n}"]"#)).create(&body).await.expect(201);
    }
    client.account.run_jobs_once().await.unwrap();
    let now = client.account.describe_ranges(&link(C)).unwrap();
    assert!(now.len() >= 5 && now.iter().all(|range| range.bytes <= 102_400), "{now:?}");
    assert_eq!(client.items().feed_all(1000).await.len(), 50);
    // One logical partition is never divided, whatever it holds.
    for n in 0..30 {
        let body = format!(r#"{{"id":"big{n}","pk":"0","pad":"{pad}"}}"#);
        client.items().key(r#"["0"]"#).create(&body).await.expect(201);
    }
    client.account.run_jobs_once().await.unwrap();
    client.account.run_jobs_once().await.unwrap();
    let now = client.account.describe_ranges(&link(C)).unwrap();
    let full: Vec<_> = now.iter().filter(|range| range.bytes > 102_400).collect();
    assert!(matches!(full.as_slice(), [only] if only.n_logical == 1), "{now:?}");
}

#[tokio::test]
async fn a_logical_partition_is_limited_and_warns_before() {
    let relocation =
        RelocationOptions { logical_partition_bytes: 10_000, ..RelocationOptions::default() };
    let options = AccountOptions { relocation, ..AccountOptions::default() };
    let store = store::open_memory();
    let client = Client::with(store.clone(), options.clone()).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    client.create("dbs/d/colls", crate::support::CONTAINER).await.expect(201);
    let n_crowded = |client: &Client| client.account.metrics().ranges[0].n_crowded;
    let pad = "x".repeat(1000);
    let items = client.items().key(r#"["a"]"#);
    for n in 0..7 {
        items.create(&format!(r#"{{"id":"{n}","pk":"a","pad":"{pad}"}}"#)).await.expect(201);
    }
    assert_eq!(n_crowded(&client), 0);
    for n in 7..9 {
        items.create(&format!(r#"{{"id":"{n}","pk":"a","pad":"{pad}"}}"#)).await.expect(201);
    }
    assert_eq!(n_crowded(&client), 1);
    let full = items.create(&format!(r#"{{"id":"9","pk":"a","pad":"{pad}"}}"#)).await;
    assert!(
        full.message.contains("Partition key reached maximum size of 10 KB"),
        "{}",
        full.message
    );
    full.expect_sub(403, 1014);
    items.delete("0").await.expect(204);
    client
        .items()
        .key(r#"["b"]"#)
        .create(&format!(r#"{{"id":"9","pk":"b","pad":"{pad}"}}"#))
        .await
        .expect(201);
    // A restart, and a split, still know.
    let client = Client::with(store, options).await;
    client.account.run_jobs_once().await.unwrap();
    assert_eq!(n_crowded(&client), 1);
    split(&client, 0).await;
    client.account.run_jobs_once().await.unwrap();
    assert_eq!(client.account.metrics().ranges.iter().map(|range| range.n_crowded).sum::<u64>(), 1);
    for n in 1..3 {
        client.items().key(r#"["a"]"#).delete(&n.to_string()).await.expect(204);
    }
    assert_eq!(client.account.metrics().ranges.iter().map(|range| range.n_crowded).sum::<u64>(), 0);
}

#[tokio::test]
async fn a_page_of_one_range_goes_on_in_its_children() {
    let client = Client::with_container(1).await;
    fill(&client, 60).await;
    let queries = ["SELECT c.id FROM c", "SELECT c.id FROM c ORDER BY c.n DESC"];
    let small = client.with_options(|options| options.items_max = Some(10));
    let mut started = Vec::new();
    for query in queries {
        let page = small.items().range(0).query(query).await.expect(200);
        started.push((query, page.ids(), page.facts.continuation));
    }
    split(&client, 0).await;
    for (query, mut seen, continuation) in started {
        let go_on = client.with_options(|options| options.continuation.clone_from(&continuation));
        go_on.items().range(0).query(query).await.expect_sub(410, 1002);
        // As SDKs do it: every child gets the position of its parent.
        for child in [1, 2] {
            seen.extend(go_on.items().range(child).query(query).await.expect(200).ids());
        }
        assert_eq!((seen.len(), seen.iter().collect::<BTreeSet<_>>().len()), (60, 60), "{query}");
    }
}

#[tokio::test]
async fn a_split_that_failed_is_not_tried_again_at_once() {
    let relocation = RelocationOptions { partition_bytes: 1, ..RelocationOptions::default() };
    let options = AccountOptions { relocation, ..AccountOptions::default() };
    let client = Client::with(store::open_memory(), options).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    client.create("dbs/d/colls", crate::support::CONTAINER).await.expect(201);
    let pad = "x".repeat(60_000);
    for n in 0..2 {
        let body = format!(r#"{{"id":"{n}","pk":"{n}","pad":"{pad}"}}"#);
        client.items().key(&format!(r#"["{n}"]"#)).create(&body).await.expect(201);
    }
    let (account, c) = (&client.account, link(C));
    account.hold_relocations(&c, RelocationStep::Copy).unwrap();
    let id = account.start_split(&c, RangeId(0), None).unwrap();
    account.wait_for_hold(id, RelocationStep::Copy).await.unwrap();
    account.cancel_relocation(id).unwrap();
    account.wait_for_relocation(id).await.unwrap();
    account.release_relocations(&c, RelocationStep::Copy).unwrap();
    account.run_jobs_once().await.unwrap();
    assert_eq!(ranges(&client).len(), 1);
    client.env.advance(Duration::from_secs(31));
    account.run_jobs_once().await.unwrap();
    assert_eq!(ranges(&client).len(), 2);
}

#[tokio::test]
async fn an_incremental_read_of_the_ranges_tells_only_what_came_since() {
    let client = Client::with_container(2).await;
    fill(&client, 60).await;
    let first = client.ranges(C, None, true).await.expect(200);
    assert_eq!(first.ids(), ["0", "1"]);
    let etag = first.facts.etag.unwrap();
    split(&client, 0).await;
    let second = client.ranges(C, Some(etag.as_str()), true).await.expect(200);
    assert_eq!(second.ids(), ["2", "3"]);
    let later = second.facts.etag.unwrap();
    client.ranges(C, Some(later.as_str()), true).await.expect(304);
    merge(&client, 3, 1).await;
    // Who slept through both hears what is there now, less what was there before.
    assert_eq!(client.ranges(C, Some(etag.as_str()), true).await.expect(200).ids(), ["2", "4"]);
    assert_eq!(client.ranges(C, Some(later.as_str()), true).await.expect(200).ids(), ["4"]);
    assert_eq!(client.ranges(C, None, true).await.expect(200).ids(), ["2", "4"]);
}

/// Counts warnings; knows no spans.
#[derive(Debug, Clone, Default)]
struct Warnings(std::sync::Arc<std::sync::atomic::AtomicUsize>);

impl tracing::Subscriber for Warnings {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() <= tracing::Level::WARN
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, _: &tracing::Event<'_>) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[tokio::test]
async fn a_container_deleted_during_its_split_is_nothing_to_warn_of() {
    let warnings = Warnings::default();
    let _guard = tracing::subscriber::set_default(warnings.clone());
    let n_warnings = || warnings.0.load(std::sync::atomic::Ordering::Relaxed);
    let client = Client::with_container(1).await;
    fill(&client, 20).await;
    let (account, c) = (&client.account, link(C));
    account.hold_relocations(&c, RelocationStep::CutOver).unwrap();
    let id = account.start_split(&c, RangeId(0), None).unwrap();
    account.wait_for_hold(id, RelocationStep::CutOver).await.unwrap();
    client.delete(C).await.expect(204);
    account.release_relocations(&c, RelocationStep::CutOver).unwrap_or_default();
    account.cancel_relocation(id).unwrap_or_default();
    let ended = account.wait_for_relocation(id).await.unwrap();
    let expected = RelocationEnd::Failed("the container was deleted meanwhile".into());
    assert_eq!((ended.end, n_warnings()), (Some(expected), 0));
    // The same fault with the container in place is one. Other tests may have met the place of the warning first, when
    // nobody listened, and tracing remembers that.
    tracing::callsite::rebuild_interest_cache();
    client.create("dbs/d/colls", crate::support::CONTAINER).await.expect(201);
    fill(&client, 20).await;
    account.hold_relocations(&c, RelocationStep::CutOver).unwrap();
    let id = account.start_split(&c, RangeId(0), None).unwrap();
    account.wait_for_hold(id, RelocationStep::CutOver).await.unwrap();
    account.cancel_relocation(id).unwrap();
    account.wait_for_relocation(id).await.unwrap();
    assert_eq!(n_warnings(), 1);
}
