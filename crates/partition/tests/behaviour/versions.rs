//! All versions and deletes.

use model::{Lsn, Value};
use partition::{Error, Scope, Settings};

use crate::support::*;

fn summary(entry: &Value) -> (String, Option<i64>, Option<i64>) {
    let image =
        |name: &str| entry.get(name).and_then(|image| image.get("v")).and_then(Value::as_i64);
    (text(entry.get("metadata").unwrap(), "operationType"), image("current"), image("previous"))
}

#[tokio::test]
async fn every_version_appears_and_a_delete_with_the_image_before_it() {
    let world = World::with(with_versions());
    world.create(r#"{"id":"a","pk":1,"v":1}"#).await.unwrap();
    world.advance(1);
    world.upsert(r#"{"id":"a","pk":1,"v":2}"#).await.unwrap();
    world.patch("[1]", "a", r#"[{"op":"incr","path":"/v","value":1}]"#).await.unwrap();
    world.delete("[1]", "a").await.unwrap();
    let entries = world.versions(Lsn(0));
    let expected = [
        ("create", Some(1), None),
        ("replace", Some(2), None),
        ("replace", Some(3), None),
        ("delete", None, Some(3)),
    ];
    let found: Vec<_> = entries.iter().map(summary).collect();
    assert_eq!(found, expected.map(|(kind, now, before)| (kind.to_owned(), now, before)));
    let replaced = entries[1].get("metadata").unwrap();
    assert_eq!(
        replaced.to_text(),
        r#"{"operationType":"replace","lsn":12,"crts":1700000001,"previousImageLSN":11}"#
    );
    let deleted = entries[3].get("metadata").unwrap();
    assert_eq!(
        deleted.to_text(),
        r#"{"operationType":"delete","lsn":14,"crts":1700000001,"previousImageLSN":13,"id":"a","partitionKey":{"pk":1}}"#
    );
    let etag = |entry: &Value, image: &str| text(entry.get(image).unwrap(), "_etag");
    assert_eq!(etag(&entries[2], "current"), etag(&entries[3], "previous"));
    assert_eq!(entries[3].get("current").unwrap().to_text(), "{}");
}

#[tokio::test]
async fn a_batch_keeps_its_intermediate_versions() {
    let world = World::with(with_versions());
    let ops = vec![
        create(r#"{"id":"a","pk":1,"v":1}"#),
        upsert(r#"{"id":"a","pk":1,"v":2}"#),
        delete("a"),
    ];
    world.batch("[1]", ops).await.unwrap();
    let page = world.partition.versions(&Scope::All, Lsn(0), limits(1)).unwrap();
    let found: Vec<_> = page.items.iter().map(|entry| summary(&json(entry)).0).collect();
    assert_eq!(found, ["create", "replace", "delete"]);
    assert_eq!((page.lsn, page.has_more), (Lsn(11), false));
    assert_eq!(world.check().n_items, 0);
}

#[tokio::test]
async fn without_retention_there_is_no_such_feed() {
    let world = World::new();
    world.create(r#"{"id":"a","pk":1}"#).await.unwrap();
    let error = world.partition.versions(&Scope::All, Lsn(0), limits(1)).unwrap_err();
    assert!(matches!(error, Error::VersionsDisabled));
    assert!(error.to_string().contains("All Versions and Deletes"));
    assert!(error.to_string().contains("must be enabled"));
}

#[tokio::test]
async fn old_entries_are_trimmed_and_old_positions_refused() {
    let world = World::with(with_versions());
    for n in 0..5 {
        world.create(&format!(r#"{{"id":"{n}","pk":1}}"#)).await.unwrap();
        world.advance(200);
    }
    assert_eq!(world.partition.trim_versions().await.unwrap(), 2);
    assert_eq!(world.partition.trim_versions().await.unwrap(), 0);
    let from = |lsn: u64| world.partition.versions(&Scope::All, Lsn(lsn), limits(10));
    assert!(matches!(from(11), Err(Error::VersionsTrimmed)));
    assert_eq!(from(12).unwrap().items.len(), 3);
    assert_eq!(world.feed(Lsn(0)).len(), 5, "the latest-version feed is not trimmed");
    world.create(r#"{"id":"after","pk":1}"#).await.unwrap();
    assert_eq!(from(15).unwrap().items.len(), 1);
    world.check();
    let off = Settings { version_retention: None, ..settings() };
    world.partition.set_settings(off.into());
    world.advance(1);
    assert_eq!(world.partition.trim_versions().await.unwrap(), 4, "off drops the rest");
}

#[tokio::test]
async fn a_scope_narrows_the_versions_too() {
    let world = World::with(with_versions());
    for n in 0..6 {
        world.create(&format!(r#"{{"id":"{n}","pk":{}}}"#, n % 2)).await.unwrap();
    }
    let scope = Scope::Logical(world.at("[1]"));
    let page = world.partition.versions(&scope, Lsn(0), limits(10)).unwrap();
    assert_eq!((page.items.len(), page.lsn), (3, Lsn(16)));
}
