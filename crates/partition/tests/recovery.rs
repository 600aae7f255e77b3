//! The embedded store closed and opened again: everything is there, everything agrees, numbers go on.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may fail loudly")]

mod support;

use model::Lsn;
use partition::{Scope, Settings};

use support::*;

fn rich() -> Settings {
    Settings {
        default_ttl: Some(-1),
        version_retention: with_versions().version_retention,
        ..with_unique_keys(&[&["/u"]])
    }
}

#[tokio::test]
async fn a_reopened_partition_is_the_same_partition() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::on(embedded(folder.path()), rich());
    for n in 0..50 {
        world
            .create(&format!(r#"{{"id":"{n}","pk":{},"u":{n},"ttl":{}}}"#, n % 4, 10 + n))
            .await
            .unwrap();
    }
    for n in (0..50).step_by(3) {
        world.upsert(&format!(r#"{{"id":"{n}","pk":{},"u":{}}}"#, n % 4, n + 100)).await.unwrap();
    }
    world.delete("[1]", "1").await.unwrap();
    let before = (
        world.check(),
        world.partition.statistics(),
        world.ids(&Scope::All),
        world.feed(Lsn(0)),
        world.versions(Lsn(0)),
    );
    world.store.close().unwrap();
    let env = world.env.clone();
    drop(world);
    let world = World::open(embedded(folder.path()), rich(), env);
    let after = (
        world.check(),
        world.partition.statistics(),
        world.ids(&Scope::All),
        world.feed(Lsn(0)),
        world.versions(Lsn(0)),
    );
    assert_eq!(before, after);
    let created = world.create(r#"{"id":"new","pk":1,"u":"new"}"#).await.unwrap();
    assert_eq!(created.lsn, Lsn(before.1.lsn.0 + 1));
    let rid = text(&json(created.outcome.body.as_ref().unwrap()), "_rid");
    assert_eq!(model::Rid::parse(&rid).unwrap().ordinal(), Some((1 << 40) + 51), "numbers go on");
    assert_eq!(code(&world.create(r#"{"id":"x","pk":1,"u":"new"}"#).await), 409);
    world.advance(100);
    while world.partition.expire(7).await.unwrap() > 0 {}
    let report = world.check();
    assert_eq!(report.n_items, report.n_live);
}

#[tokio::test]
async fn a_purge_goes_on_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::on(embedded(folder.path()), settings());
    for start in (0..1_200).step_by(100) {
        let ops =
            (start..start + 100).map(|n| create(&format!(r#"{{"id":"{n}","pk":1}}"#))).collect();
        world.batch("[1]", ops).await.unwrap();
    }
    world.partition.delete_logical(&world.at("[1]")).await.unwrap();
    assert_eq!(world.check().n_items, 200);
    world.store.close().unwrap();
    let env = world.env.clone();
    drop(world);
    let world = World::open(embedded(folder.path()), settings(), env);
    assert_eq!(world.ids(&Scope::All), Vec::<String>::new());
    while world.partition.expire(50).await.unwrap() > 0 {}
    assert_eq!(world.check().n_items, 0);
}

#[tokio::test]
async fn a_partition_that_was_never_made_cannot_be_opened() {
    let opened = partition::Partition::open(
        store::open_memory(),
        99,
        model::RangeId(0),
        model::EpkRange::full(),
        settings().into(),
        model::Env::fixed(1, START_MS),
    );
    assert_eq!(failure(opened), (404, 1003));
}
