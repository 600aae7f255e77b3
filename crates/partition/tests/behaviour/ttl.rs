//! Expiry: items vanish on the second, whatever the sweeper does, and leave nothing when it has run.

use model::Lsn;
use partition::{Scope, Settings};

use crate::support::*;

#[tokio::test]
async fn an_expired_item_is_gone_for_every_reader_at_once() {
    let world = World::with(with_ttl(10));
    world.create(r#"{"id":"default","pk":1}"#).await.unwrap();
    world.create(r#"{"id":"own","pk":1,"ttl":20}"#).await.unwrap();
    world.create(r#"{"id":"never","pk":1,"ttl":-1}"#).await.unwrap();
    world.advance(9);
    assert_eq!(world.ids(&Scope::All), ["default", "own", "never"]);
    world.advance(1);
    assert_eq!(failure(world.read("[1]", "default")), (404, 0));
    assert_eq!(world.ids(&Scope::Logical(world.at("[1]"))), ["own", "never"]);
    assert_eq!(world.feed(Lsn(0)).len(), 2);
    assert!(world.partition.find_by_rid(1 << 40 | 1).unwrap().is_none());
    for op in [delete("default"), read("default"), replace("default", r#"{"id":"default","pk":1}"#)]
    {
        assert_eq!(code(&world.apply(&world.at("[1]"), op).await), 404);
    }
    world.advance(10);
    assert_eq!(world.ids(&Scope::All), ["never"]);
    assert_eq!(world.check().n_live, 1);
}

#[tokio::test]
async fn the_time_of_an_item_may_count_from_a_time_in_it() {
    let path = model::PropertyPath::parse("/made/at").unwrap();
    let world = World::with(Settings { ttl_path: Some(path.into()), ..with_ttl(10) });
    let now = world.env.now_ms() / 1000;
    let item = |id: &str, at: u64, rest: &str| {
        format!(r#"{{"id":"{id}","pk":1,"made":{{"at":{at}}}{rest}}}"#)
    };
    world.create(&item("old", now - 10, "")).await.unwrap();
    world.create(&item("older", now - 7, "")).await.unwrap();
    world.create(&item("later", now + 20, "")).await.unwrap();
    world.create(&item("own", now - 7, r#","ttl":8"#)).await.unwrap();
    world.create(r#"{"id":"none","pk":1,"made":"then"}"#).await.unwrap();
    assert_eq!(world.ids(&Scope::All), ["older", "later", "own", "none"]);
    assert_eq!(failure(world.read("[1]", "old")), (404, 0));
    world.advance(1);
    assert_eq!(world.ids(&Scope::All), ["older", "later", "none"]);
    world.advance(2);
    assert_eq!(world.ids(&Scope::All), ["later", "none"]);
    world.advance(7);
    assert_eq!(world.ids(&Scope::All), ["later"]);
    while world.partition.expire(2).await.unwrap() > 0 {}
    assert_eq!(world.check().n_items, 1, "what lives on is not removed");
    world.advance(20);
    assert!(world.ids(&Scope::All).is_empty());
    while world.partition.expire(2).await.unwrap() > 0 {}
    assert_eq!(world.check().n_items, 0);
}

#[tokio::test]
async fn a_write_over_an_expired_item_makes_a_new_one() {
    let world = World::with(Settings { default_ttl: Some(10), ..with_versions() });
    let old = world.create(r#"{"id":"a","pk":1,"v":1}"#).await.unwrap();
    world.create(r#"{"id":"b","pk":1,"ttl":5}"#).await.unwrap();
    world.advance(10);
    let new = world.create(r#"{"id":"a","pk":1,"v":2}"#).await.unwrap();
    assert_eq!(new.outcome.status.code, 201);
    let rid =
        |applied: &partition::Applied| text(&json(applied.outcome.body.as_ref().unwrap()), "_rid");
    assert_ne!(rid(&old), rid(&new));
    assert_eq!(code(&world.upsert(r#"{"id":"b","pk":1}"#).await), 201, "an upsert creates");
    let feed = world.feed(Lsn(0));
    assert_eq!(feed, [("a".to_owned(), 13), ("b".to_owned(), 14)]);
    let report = world.check();
    assert_eq!((report.n_items, report.n_live), (2, 2));
    let kinds: Vec<_> = world.versions(Lsn(12)).iter().map(operation).collect();
    assert_eq!(kinds, ["delete expired", "create", "delete expired", "create"]);
}

fn operation(entry: &model::Value) -> String {
    let metadata = entry.get("metadata").unwrap();
    let expired = metadata.get("timeToLiveExpired").is_some();
    format!("{}{}", text(metadata, "operationType"), if expired { " expired" } else { "" })
}

#[tokio::test]
async fn the_sweeper_removes_what_is_due_in_steps() {
    let world = World::with(with_ttl(100));
    for n in 0..10 {
        world.create(&format!(r#"{{"id":"d{n}","pk":{n}}}"#)).await.unwrap();
        world.create(&format!(r#"{{"id":"o{n}","pk":{n},"ttl":50}}"#)).await.unwrap();
        world.create(&format!(r#"{{"id":"n{n}","pk":{n},"ttl":-1}}"#)).await.unwrap();
    }
    assert_eq!(world.partition.expire(100).await.unwrap(), 0);
    world.advance(50);
    assert_eq!(world.partition.expire(4).await.unwrap(), 4);
    assert_eq!(world.partition.expire(100).await.unwrap(), 6);
    world.advance(49);
    world.create(r#"{"id":"late","pk":1}"#).await.unwrap();
    assert_eq!(world.partition.expire(100).await.unwrap(), 0);
    world.advance(1);
    assert_eq!(world.partition.expire(3).await.unwrap(), 3);
    assert_eq!(world.partition.expire(100).await.unwrap(), 7);
    assert_eq!(world.partition.expire(100).await.unwrap(), 0);
    let report = world.check();
    assert_eq!((report.n_items, report.n_live), (11, 11));
}

#[tokio::test]
async fn a_rewritten_item_lives_again_from_its_new_time() {
    let world = World::with(with_ttl(10));
    world.create(r#"{"id":"a","pk":1,"ttl":5}"#).await.unwrap();
    world.advance(4);
    world.upsert(r#"{"id":"a","pk":1,"ttl":5}"#).await.unwrap();
    world.advance(4);
    assert_eq!(world.partition.expire(10).await.unwrap(), 0);
    assert!(world.read("[1]", "a").is_ok());
    world.upsert(r#"{"id":"a","pk":1}"#).await.unwrap();
    world.advance(9);
    assert!(world.read("[1]", "a").is_ok());
    world.advance(1);
    assert!(world.read("[1]", "a").is_err());
    assert_eq!(world.partition.expire(10).await.unwrap(), 1);
    assert_eq!(world.check().n_items, 0);
}

#[tokio::test]
async fn expiry_follows_the_settings_of_the_moment() {
    let world = World::new();
    world.create(r#"{"id":"own","pk":1,"ttl":5}"#).await.unwrap();
    world.create(r#"{"id":"none","pk":1}"#).await.unwrap();
    world.advance(100);
    assert_eq!(world.ids(&Scope::All), ["own", "none"], "without a default nothing expires");
    assert_eq!(world.partition.expire(10).await.unwrap(), 0);
    world.partition.set_settings(with_ttl(-1).into());
    assert_eq!(world.ids(&Scope::All), ["none"]);
    world.partition.set_settings(with_ttl(1000).into());
    assert_eq!(world.partition.expire(10).await.unwrap(), 1);
    world.partition.set_settings(with_ttl(50).into());
    assert_eq!(world.partition.expire(10).await.unwrap(), 1, "a shorter default walks again");
    assert_eq!(world.check().n_items, 0);
}

#[tokio::test]
async fn time_never_runs_backwards_inside_a_partition() {
    let world = World::with(with_ttl(-1));
    world.advance(100);
    world.create(r#"{"id":"a","pk":1}"#).await.unwrap();
    let env = model::Env::fixed(2, START_MS);
    let world = World::open(world.store, with_ttl(-1), env);
    world.create(r#"{"id":"b","pk":1}"#).await.unwrap();
    let ts = |id: &str| world.read("[1]", id).unwrap().get("_ts").unwrap().as_i64();
    assert_eq!(ts("a"), ts("b"));
    world.check();
}
