//! Read feed: pages, scopes, continuations.

use std::collections::BTreeSet;

use account::FeedStart;
use model::{Epk, EpkRange, Value};

use crate::support::Client;

async fn filled(n_ranges: u32, n_items: usize) -> Client {
    let client = Client::with_container(n_ranges).await;
    for n in 0..n_items {
        let body = format!(r#"{{"id":"{n}","pk":"k{}"}}"#, n % 10);
        client.items().create(&body).await.expect(201);
    }
    client
}

fn ids(rows: &[Value]) -> BTreeSet<String> {
    rows.iter().map(|row| row.get("id").unwrap().as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn pages_add_up_to_everything_exactly_once() {
    for n_ranges in [1, 4, 7] {
        let client = filled(n_ranges, 60).await;
        for items_max in [1, 7, 60, 100] {
            let rows = client.items().feed_all(items_max).await;
            assert_eq!(rows.len(), 60, "{n_ranges} ranges, {items_max} per page");
            assert_eq!(ids(&rows).len(), 60);
        }
    }
}

#[tokio::test]
async fn ranges_and_spans_part_the_items() {
    let client = filled(4, 60).await;
    let mut seen = BTreeSet::new();
    let mut n_rows = 0;
    for range in 0..4 {
        let rows = client.items().range(range).feed_all(5).await;
        n_rows += rows.len();
        seen.extend(ids(&rows));
    }
    assert_eq!((n_rows, seen.len()), (60, 60));
    let middle = Epk::parse("1234567890ABCDEF").unwrap();
    let [low, high] = EpkRange::full().split_at(&middle).unwrap();
    let low = client.items().epks(low).feed_all(7).await;
    let high = client.items().epks(high).feed_all(7).await;
    assert_eq!(low.len() + high.len(), 60);
    assert!(ids(&low).is_disjoint(&ids(&high)));
    let rows = client.items().key(r#"["k3"]"#).feed_all(2).await;
    assert_eq!(ids(&rows), BTreeSet::from(["3", "13", "23", "33", "43", "53"].map(String::from)));
}

#[tokio::test]
async fn a_range_with_a_span_outside_it_is_gone() {
    let client = filled(2, 1).await;
    let [low, _] = EpkRange::full().split_at(&Epk::parse("10").unwrap()).unwrap();
    client.items().range(1).epks(low.clone()).feed().await.expect_sub(410, 1002);
    client.items().range(0).epks(low).feed().await.expect(200);
}

#[tokio::test]
async fn items_written_meanwhile_do_not_disturb() {
    let client = filled(3, 30).await;
    let first = client.with_options(|options| options.items_max = Some(5)).items().feed().await;
    let token = first.facts.continuation.unwrap();
    for n in 0..30 {
        client
            .items()
            .create(&format!(r#"{{"id":"new{n}","pk":"k{}"}}"#, n % 10))
            .await
            .expect(201);
    }
    let rest = client.items().feed_from(Some(token), 1000).await;
    let all: Vec<Value> = first.rows.into_iter().chain(rest).collect();
    let distinct = ids(&all);
    assert_eq!(all.len(), distinct.len(), "nothing twice");
    assert!((0..30).all(|n| distinct.contains(&n.to_string())), "nothing old is missed");
}

#[tokio::test]
async fn forged_and_foreign_continuations_are_refused() {
    let client = filled(3, 30).await;
    client
        .create("dbs/d/colls", &crate::support::CONTAINER.replace("\"c\"", "\"other\""))
        .await
        .expect(201);
    let small = client.with_options(|options| options.items_max = Some(2));
    let token = small.items().feed().await.facts.continuation.unwrap();
    let keyed = small.items().key(r#"["k1"]"#).feed().await.facts.continuation.unwrap();
    let with = |text: &str| {
        let text = text.to_owned();
        client.with_options(|options| options.continuation = Some(text))
    };
    for text in [
        "",
        "x",
        "{}",
        "{\"token\":\"\"}",
        &token[1..],
        &token.replace('A', "B"),
        &format!("{token}A"),
    ] {
        let refused = with(text).items().feed().await;
        assert_eq!(refused.status.code, 400, "{text}");
        assert!(refused.message.contains("Invalid Continuation Token"));
    }
    with(&token).items().feed().await.expect(200);
    with(&token).items_of("dbs/d/colls/other").feed().await.expect(400);
    with(&token).items().key(r#"["k1"]"#).feed().await.expect(200);
    with(&keyed).items().key(r#"["k1"]"#).feed().await.expect(200);
    with(&keyed).items().key(r#"["k2"]"#).feed().await.expect(400);
    with(&token).list("dbs").await.expect(400);
    with(&token).items().query("SELECT * FROM c").await.expect(400);
}

#[tokio::test]
async fn large_items_end_pages_early() {
    let client = Client::with_container(2).await;
    let text = "x".repeat(1 << 20);
    for n in 0..9 {
        let body = format!(r#"{{"id":"{n}","pk":"{n}","x":"{text}"}}"#);
        client.items().create(&body).await.expect(201);
    }
    let page = client.items().feed().await.expect(200);
    assert!(page.rows.len() < 6 && page.facts.continuation.is_some());
    assert_eq!(client.items().feed_all(1000).await.len(), 9);
}

/// The ids of what each range has.
async fn homes(client: &Client, n_ranges: u32) -> Vec<BTreeSet<String>> {
    let mut homes = Vec::new();
    for range in 0..n_ranges {
        homes.push(ids(&client.items().range(range).feed_all(1000).await));
    }
    homes
}

#[tokio::test]
async fn each_page_has_the_rows_of_one_range_and_names_it() {
    let n_ranges = 5;
    let client = filled(n_ranges, 60).await;
    let homes = homes(&client, n_ranges).await;
    for items_max in [3, 1000] {
        let (mut feed, mut rows, mut changes) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let (mut feed_token, mut query_token, mut start) = (None, None, FeedStart::default());
        for _ in 0..100 {
            let with = |token: &Option<String>| {
                client.with_options(|options| {
                    options.items_max = Some(items_max);
                    options.continuation.clone_from(token);
                })
            };
            let query = "SELECT * FROM c WHERE c.id != '7'";
            let pages = [
                (with(&feed_token).items().feed().await.expect(200), &mut feed),
                (with(&query_token).items().query(query).await.expect(200), &mut rows),
                (with(&None).items().changes(start).await, &mut changes),
            ];
            let [(feed_page, _), (query_page, _), (changes_page, _)] = &pages;
            feed_token.clone_from(&feed_page.facts.continuation);
            query_token.clone_from(&query_page.facts.continuation);
            let after = changes_page.facts.etag.as_ref().unwrap().as_str().to_owned();
            start = FeedStart { after: Some(after), ..FeedStart::default() };
            for (page, seen) in pages {
                let range = page.facts.range.expect("each page names its range");
                let session = page.facts.session.unwrap().to_string();
                assert_eq!(session, format!("{range}:-1#{}", page.facts.lsn.unwrap()));
                let ids = ids(&page.rows);
                let home = &homes[usize::try_from(range.0).unwrap()];
                assert!(ids.is_subset(home), "{ids:?} of range {range}");
                seen.extend(ids);
            }
            if feed_token.is_none() && query_token.is_none() && changes.len() == 60 {
                break;
            }
        }
        assert_eq!((feed.len(), rows.len(), changes.len()), (60, 59, 60));
    }
}

#[tokio::test]
async fn ranges_without_rows_are_passed_over() {
    let client = filled(5, 10).await;
    let homes = homes(&client, 5).await;
    let home = homes.iter().rposition(|ids| ids.contains("3")).unwrap();
    let page = client.items().query("SELECT * FROM c WHERE c.id = '3'").await.expect(200);
    assert_eq!(page.rows.len(), 1);
    assert_eq!(page.facts.range, Some(model::RangeId(u32::try_from(home).unwrap())));
    let none = client.items().query("SELECT * FROM c WHERE c.id = 'none'").await.expect(200);
    assert!(none.rows.is_empty() && none.facts.continuation.is_none());
    assert_eq!(none.facts.range, Some(model::RangeId(4)), "the last range that was asked");
    assert!(none.facts.charge.hundredths() > page.facts.charge.hundredths() / 5);
    // What the filter says of the key ends the walk: no page is empty for the sake of ranges that can have nothing.
    let keyed = client.items().query("SELECT * FROM c WHERE c.pk = 'k3'").await.expect(200);
    assert!(keyed.rows.len() == 1 && keyed.facts.continuation.is_none());
}

#[tokio::test]
async fn a_range_without_the_key_has_nothing_of_it_and_is_not_gone() {
    let client = filled(4, 60).await;
    let key = r#"["k1"]"#;
    let home = client.items().key(key).read("1").await.expect(200).facts.range.unwrap().0;
    for id in 0..4 {
        let items = client.items().key(key).range(id);
        let feed = items.feed().await.expect(200);
        let rows = items.query("SELECT c.id FROM c ORDER BY c.id").await.expect(200);
        assert_eq!(feed.facts.range.map(|it| it.0), Some(id));
        assert!(feed.facts.session.is_some() && rows.facts.session.is_some());
        let changes = items.changes(FeedStart::default()).await;
        if id == home {
            assert_eq!((feed.rows.len(), rows.rows.len(), changes.rows.len()), (6, 6, 6));
            continue;
        }
        assert!(feed.rows.is_empty() && rows.rows.is_empty(), "range {id}");
        assert!(feed.facts.continuation.is_none() && rows.facts.continuation.is_none());
        let after = changes.expect(304).facts.etag.unwrap().as_str().to_owned();
        let start = FeedStart { after: Some(after), ..FeedStart::default() };
        items.changes(start).await.expect(304);
    }
    client.items().key(key).range(9).feed().await.expect_sub(410, 1002);
}

/// Wire: the service's gateway names the range in which it goes on; who names the range itself gets the token alone.
#[tokio::test]
async fn continuations_name_their_range_unless_the_client_did() {
    let client = filled(3, 30).await;
    let small = client.with_options(|options| options.items_max = Some(2));
    let bounds = client.account.describe_ranges(&crate::support::link("dbs/d/colls/c")).unwrap();
    let first = small.items().feed().await.expect(200).facts.continuation.unwrap();
    let value = model::json::parse(first.as_bytes()).unwrap();
    assert!(value.get("token").unwrap().as_str().is_some());
    let range = value.get("range").unwrap();
    assert_eq!(range.get("min").unwrap().as_str(), Some(""));
    assert_eq!(range.get("max").unwrap().as_str().unwrap(), bounds[0].epks.max().to_string());
    let next = small.with_options(|options| options.continuation = Some(first.clone()));
    let later = next.items().feed().await.expect(200).facts.continuation.unwrap();
    assert!(later.starts_with("[{") && later.ends_with("}]"), "{later}");
    let bare = small.items().range(0).feed().await.expect(200).facts.continuation.unwrap();
    assert!(bare.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
    // What was given out before is what stands inside.
    let token = value.get("token").unwrap().as_str().unwrap().to_owned();
    let rest = client.items().feed_from(Some(token), 1000).await;
    assert_eq!(rest.len(), 28);
}

#[tokio::test]
async fn a_feed_range_goes_on_with_a_key_in_it() {
    let client = filled(3, 60).await;
    let key = r#"["k1"]"#;
    let home = client.items().key(key).read("1").await.expect(200).facts.range.unwrap().0;
    let small = client.with_options(|options| options.items_max = Some(1));
    let query = "SELECT * FROM c";
    let first = small.items().range(home).feed().await.expect(200);
    let rest = client.items().key(key).feed_from(first.facts.continuation, 1000).await;
    let seen = first.rows.iter().filter(|row| row.get("pk").unwrap().as_str() == Some("k1"));
    assert_eq!(seen.count() + rest.len(), 6);
    let first = small.items().range(home).query(query).await.expect(200);
    let rest = client.items().key(key).query_from(query, first.facts.continuation).await;
    let seen = first.rows.iter().filter(|row| row.get("pk").unwrap().as_str() == Some("k1"));
    assert_eq!(seen.count() + rest.len(), 6);
    let keyed = small.items().key(key).query(query).await.expect(200).facts.continuation;
    let other = client.with_options(|options| options.continuation = keyed);
    other.items().key(r#"["k2"]"#).query(query).await.expect(400);
}
