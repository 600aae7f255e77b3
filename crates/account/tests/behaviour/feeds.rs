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
    let first = client.with_options(|options| options.items_max = Some(10)).items().feed().await;
    let token = first.facts.continuation.unwrap();
    for n in 0..30 {
        client
            .items()
            .create(&format!(r#"{{"id":"new{n}","pk":"k{}"}}"#, n % 10))
            .await
            .expect(201);
    }
    let rest =
        client.with_options(|options| options.continuation = Some(token)).items().feed().await;
    let all: Vec<Value> = first.rows.into_iter().chain(rest.rows).collect();
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
    with(&token).items().key(r#"["k1"]"#).feed().await.expect(400);
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

#[tokio::test]
async fn several_ranges_give_a_compound_session_token() {
    let client = filled(3, 30).await;
    let page = client.items().feed().await.expect(200);
    assert_eq!(page.facts.session.unwrap().entries().len(), 3);
    assert_eq!(page.facts.range, None);
    let one = client.items().range(1).feed().await.expect(200);
    assert_eq!(one.facts.range, Some(model::RangeId(1)));
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
