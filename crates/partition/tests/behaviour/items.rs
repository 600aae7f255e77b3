//! Create, read, upsert, replace, delete and what they leave behind.

use model::{PartitionKeyDefinition, Rid, Value};
use partition::{Partition, Scope, Settings};

use crate::support::*;

#[tokio::test]
async fn a_created_item_reads_back_byte_for_byte_with_system_properties() {
    let world = World::new();
    let sent = r#"{ "id":"a", "pk":"p", "n":1.10, "big":9007199254740993, "s":"é\u0000" }"#;
    let created = world.create(sent).await.unwrap();
    assert_eq!((created.outcome.status.code, created.lsn.0), (201, 11));
    let outcome = world.partition.read(&world.at(r#"["p"]"#), "a", None).unwrap();
    let body = outcome.body.unwrap();
    assert_eq!(Some(&body), created.outcome.body.as_ref());
    let user_part = sent.trim_end_matches('}');
    assert!(body.starts_with(user_part.as_bytes()), "{body:?}");
    let item = json(&body);
    let rid = Rid::parse(&text(&item, "_rid")).unwrap();
    assert_eq!(rid.ordinal(), Some(1 << 40 | 1));
    assert_eq!(text(&item, "_etag"), outcome.etag.unwrap().as_str());
    let container = &world.partition.settings().container_link;
    assert_eq!(text(&item, "_self"), format!("{container}docs/{rid}/"));
    assert_eq!(item.get("_ts").unwrap().as_i64(), Some(1_700_000_000));
    world.check();
}

#[tokio::test]
async fn an_id_is_taken_within_its_logical_partition_only() {
    let world = World::new();
    world.create(r#"{"id":"a","pk":1}"#).await.unwrap();
    assert_eq!(failure(world.create(r#"{"id":"a","pk":1.0}"#).await), (409, 0));
    for body in [r#"{"id":"a","pk":"1"}"#, r#"{"id":"a","pk":null}"#, r#"{"id":"a"}"#] {
        assert_eq!(code(&world.create(body).await), 201, "{body}");
    }
    assert_eq!(failure(world.partition.read(&world.at("[2]"), "a", None)), (404, 0));
    assert_eq!(text(&world.read("[{}]", "a").unwrap(), "id"), "a");
    assert_eq!(world.check().n_logical, 4);
}

#[tokio::test]
async fn upsert_creates_and_then_replaces() {
    let world = World::new();
    assert_eq!(code(&world.upsert(r#"{"id":"a","pk":1,"v":1}"#).await), 201);
    let first = world.read("[1]", "a").unwrap();
    world.advance(5);
    assert_eq!(code(&world.upsert(r#"{"id":"a","pk":1,"v":2}"#).await), 200);
    let second = world.read("[1]", "a").unwrap();
    assert_eq!(first.get("_rid"), second.get("_rid"));
    assert_ne!(first.get("_etag"), second.get("_etag"));
    assert_eq!(second.get("_ts").and_then(Value::as_i64), Some(1_700_000_005));
    assert_eq!(world.check().n_items, 1);
}

#[tokio::test]
async fn replace_may_rename_within_the_logical_partition() {
    let world = World::new();
    world.create(r#"{"id":"a","pk":1}"#).await.unwrap();
    world.create(r#"{"id":"b","pk":1}"#).await.unwrap();
    let rid = text(&world.read("[1]", "a").unwrap(), "_rid");
    assert_eq!(failure(world.replace("a", r#"{"id":"b","pk":1}"#).await), (409, 0));
    assert_eq!(code(&world.replace("a", r#"{"id":"c","pk":1}"#).await), 200);
    assert_eq!(failure(world.read("[1]", "a")), (404, 0));
    assert_eq!(text(&world.read("[1]", "c").unwrap(), "_rid"), rid);
    assert_eq!(failure(world.replace("a", r#"{"id":"a","pk":1}"#).await), (404, 0));
    assert_eq!(code(&world.create(r#"{"id":"a","pk":1}"#).await), 201);
    world.check();
}

#[tokio::test]
async fn the_partition_key_of_an_item_never_changes() {
    let world = World::new();
    world.create(r#"{"id":"a","pk":1}"#).await.unwrap();
    let at = world.at("[1]");
    for op in [
        create(r#"{"id":"b","pk":2}"#),
        upsert(r#"{"id":"a","pk":2}"#),
        replace("a", r#"{"id":"a"}"#),
        replace("a", r#"{"id":"a","pk":"1"}"#),
    ] {
        assert_eq!(failure(world.apply(&at, op).await), (400, 1001));
    }
    assert_eq!(world.check().lsn.0, 11);
}

#[tokio::test]
async fn delete_leaves_nothing() {
    let world = World::new();
    world.create(r#"{"id":"a","pk":1}"#).await.unwrap();
    let deleted = world.delete("[1]", "a").await.unwrap();
    assert_eq!((deleted.outcome.status.code, deleted.outcome.body), (204, None));
    assert_eq!(failure(world.delete("[1]", "a").await), (404, 0));
    let report = world.check();
    assert_eq!((report.n_items, report.n_logical), (0, 0));
    let entries = world.store.snapshot();
    let n_left = entries.scan(store::KeyRange::all(), store::Direction::Forward).count();
    assert_eq!(n_left, 1 + 3, "only the head and the book of two index paths are left");
}

#[tokio::test]
async fn counters_follow_every_write() {
    let world = World::new();
    world.create(r#"{"id":"a","pk":1}"#).await.unwrap();
    world.create(r#"{"id":"b","pk":2}"#).await.unwrap();
    world.upsert(r#"{"id":"a","pk":1,"more":true}"#).await.unwrap();
    let statistics = world.partition.statistics();
    assert_eq!((statistics.n_items, statistics.n_logical, statistics.lsn.0), (2, 2, 13));
    assert_eq!(statistics.bytes, 29 + 17);
    let found = world.partition.logical_partitions(None, 10).unwrap();
    let mut counted: Vec<_> =
        found.iter().map(|one| (one.key.to_header(), one.n_items, one.bytes)).collect();
    counted.sort();
    assert_eq!(counted, [("[1]".into(), 1, 29), ("[2]".into(), 1, 17)]);
    let after = world.at(&found[0].key.to_header());
    assert_eq!(world.partition.logical_partitions(Some(&after), 10).unwrap(), found[1..]);
    world.check();
}

#[tokio::test]
async fn a_full_logical_partition_refuses_growth_and_allows_the_rest() {
    let world = World::with(Settings { logical_bytes_max: 60, ..settings() });
    world.create(r#"{"id":"a","pk":1,"fill":"0123456789"}"#).await.unwrap();
    assert_eq!(failure(world.create(r#"{"id":"b","pk":1,"fill":"01"}"#).await), (403, 1014));
    assert_eq!(code(&world.create(r#"{"id":"b","pk":2,"fill":"01"}"#).await), 201);
    assert_eq!(code(&world.create(r#"{"id":"b","pk":1}"#).await), 201);
    let longer = r#"{"id":"a","pk":1,"fill":"01234567890123456789"}"#;
    assert_eq!(failure(world.upsert(longer).await), (403, 1014));
    let smaller = Settings { logical_bytes_max: 10, ..settings() };
    world.partition.set_settings(smaller.into());
    assert_eq!(code(&world.upsert(r#"{"id":"a","pk":1}"#).await), 200, "shrinking is allowed");
    assert_eq!(code(&world.delete("[1]", "b").await), 204);
    world.check();
}

#[tokio::test]
async fn hierarchical_and_none_keys_have_their_own_partitions() {
    let definition = PartitionKeyDefinition::new(&["/t", "/u/v"]).unwrap();
    let world = World::with(Settings { definition, ..settings() });
    world.create(r#"{"id":"a","t":"x","u":{"v":1}}"#).await.unwrap();
    world.create(r#"{"id":"a","t":"x"}"#).await.unwrap();
    assert!(world.read(r#"["x",1]"#, "a").is_ok());
    assert!(world.read(r#"["x",{}]"#, "a").is_ok());
    assert!(world.read(r#"["x",null]"#, "a").is_err());
    world.check();
    let mut definition = PartitionKeyDefinition::new(&["/_partitionKey"]).unwrap();
    definition.system_key = true;
    let world = World::with(Settings { definition, ..settings() });
    let none = world.at("[]");
    world.apply(&none, create(r#"{"id":"a"}"#)).await.unwrap();
    assert!(world.partition.read(&none, "a", None).is_ok());
}

#[tokio::test]
async fn rids_lead_back_to_key_and_id() {
    let world = World::new();
    world
        .create(r#"{"id":"a\u0041","pk":["no"],"x":1}"#.replace("[\"no\"]", "\"p\"").as_str())
        .await
        .unwrap();
    let (at, id) = world.partition.find_by_rid(1 << 40 | 1).unwrap().unwrap();
    assert_eq!((at.key.to_header(), id), (r#"["p"]"#.to_owned(), "aA".to_owned()));
    assert!(world.partition.find_by_rid(1 << 40 | 2).unwrap().is_none());
    world.delete(r#"["p"]"#, "aA").await.unwrap();
    assert!(world.partition.find_by_rid(1 << 40 | 1).unwrap().is_none());
}

#[tokio::test]
async fn a_destroyed_partition_leaves_no_entry_and_takes_no_write() {
    let world = World::with(with_versions());
    for n in 0..20 {
        world.create(&format!(r#"{{"id":"{n}","pk":{n}}}"#)).await.unwrap();
    }
    let mut n_steps = 0;
    while Partition::destroy_step(&world.store, INCARNATION, 7).await.unwrap() {
        n_steps += 1;
        assert_eq!(failure(world.create(r#"{"id":"late","pk":1}"#).await), (404, 1003));
    }
    assert!(n_steps > 10);
    let snapshot = world.store.snapshot();
    assert_eq!(snapshot.scan(store::KeyRange::all(), store::Direction::Forward).count(), 0);
    assert!(world.partition.changes(&Scope::All, None, None, limits(1)).is_err());
}

#[tokio::test]
async fn what_a_client_adds_to_an_item_that_it_read_stays_behind_the_system_properties() {
    const ADDED: &str = r#"{"id":"a","pk":1,"_rid":"x","_self":"x","_etag":"x","_attachments":"x","new":[1],"_ts":1}"#;
    let world = World::new();
    world.create(r#"{"id":"a","pk":1}"#).await.unwrap();
    let replaced = world.replace("a", ADDED).await.unwrap().outcome.body.unwrap();
    let names = |text: &[u8]| {
        let value = json(text);
        let names: Vec<_> = value.as_object().unwrap().iter().map(|it| it.0.to_owned()).collect();
        names.join(" ")
    };
    let expected = "id pk _rid _self _etag _attachments new _ts";
    assert_eq!(names(&replaced), expected);
    let read = world.partition.read(&world.at("[1]"), "a", None).unwrap();
    assert_eq!(read.body.unwrap(), replaced);
    let written = world.upsert(std::str::from_utf8(&replaced).unwrap()).await.unwrap();
    assert_eq!(names(&written.outcome.body.unwrap()), expected, "and again");
    world.check();
}
