//! The feed of partition key ranges.

use model::Value;

use crate::support::Client;

fn text<'a>(row: &'a Value, name: &str) -> &'a str {
    row.get(name).and_then(Value::as_str).unwrap()
}

#[tokio::test]
async fn ranges_tile_the_hash_space() {
    let client = Client::with_container(4).await;
    let answer = client.ranges("dbs/d/colls/c", None, true).await.expect(200);
    let bounds: Vec<_> = answer
        .rows
        .iter()
        .map(|row| (text(row, "minInclusive"), text(row, "maxExclusive")))
        .collect();
    assert_eq!((bounds[0].0, bounds[3].1), ("", "FF"));
    assert_eq!(bounds[0].1, "0FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF");
    assert!(bounds.windows(2).all(|pair| pair[0].1 == pair[1].0));
    for (index, row) in answer.rows.iter().enumerate() {
        assert_eq!(text(row, "id"), index.to_string());
        assert_eq!(text(row, "status"), "online");
        assert_eq!(row.get("throughputFraction").and_then(Value::as_f64), Some(0.25));
        assert_eq!(row.get("parents"), Some(&Value::Array(Vec::new())));
        assert!(row.get("lsn").and_then(Value::as_i64).is_some());
        assert!(text(row, "_self").ends_with(&format!("/pkranges/{}/", text(row, "_rid"))));
    }
}

#[tokio::test]
async fn an_unchanged_topology_answers_304() {
    let client = Client::with_container(2).await;
    let first = client.ranges("dbs/d/colls/c", None, true).await.expect(200);
    let etag = first.facts.etag.unwrap();
    client.items().create(r#"{"id":"1","pk":"a"}"#).await.expect(201);
    client.replace("dbs/d/colls/c", crate::support::CONTAINER).await.expect(200);
    let again = client.ranges("dbs/d/colls/c", Some(etag.as_str()), true).await.expect(304);
    assert_eq!(again.facts.etag.as_ref(), Some(&etag));
    client.ranges("dbs/d/colls/c", Some("\"other\""), true).await.expect(200);
    let link = client.read("dbs/d/colls/c").await.text("_self");
    client.ranges(&link, Some(etag.as_str()), true).await.expect(304);
    client.delete("dbs/d/colls/c").await.expect(204);
    client.create("dbs/d/colls", crate::support::CONTAINER).await.expect(201);
    client.ranges("dbs/d/colls/c", Some(etag.as_str()), true).await.expect(200);
}

#[tokio::test]
async fn plain_reads_are_paged() {
    let client = Client::with_container(3).await;
    let pages = client.with_options(|options| options.items_max = Some(2));
    let first = pages.ranges("dbs/d/colls/c", None, false).await.expect(200);
    assert_eq!(first.ids(), ["0", "1"]);
    let token = first.facts.continuation.unwrap();
    let rest = pages.with_options(|options| options.continuation = Some(token));
    let second = rest.ranges("dbs/d/colls/c", None, false).await.expect(200);
    assert_eq!((second.ids(), second.facts.continuation), (vec!["2".to_owned()], None));
    assert_eq!(client.ranges("dbs/d/colls/c", None, false).await.rows.len(), 3);
}

#[tokio::test]
async fn unknown_ranges_are_gone() {
    let client = Client::with_container(2).await;
    let gone = client.items().range(7).feed().await.expect_sub(410, 1002);
    assert!(gone.message.contains("doesn't exist"));
    client.items().range(7).query("SELECT * FROM c").await.expect_sub(410, 1002);
    client.items().range(7).changes(account::FeedStart::default()).await.expect_sub(410, 1002);
    client.items().range(7).bulk(vec![crate::support::read_call("1")]).await.expect_sub(410, 1002);
}
