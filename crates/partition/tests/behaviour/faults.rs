//! Commits that wait, fail or lose their caller: what readers and writers see meanwhile and afterwards.

use std::sync::Arc;

use model::Failure as _;
use partition::Error;

use crate::support::held::HeldStore;
use crate::support::*;

fn held() -> (Arc<HeldStore>, Arc<World>) {
    let store = HeldStore::new();
    let world = World::on(Arc::<HeldStore>::clone(&store), with_unique_keys(&[&["/u"]]));
    (store, Arc::new(world))
}

/// Starts a create in the background and waits until it is on its way.
async fn start(
    store: &HeldStore,
    world: &Arc<World>,
    body: &'static str,
) -> tokio::task::JoinHandle<partition::Result<partition::Applied>> {
    let n_before = store.n_waiting();
    let task = {
        let world = Arc::clone(world);
        tokio::spawn(async move { world.create(body).await })
    };
    while store.n_waiting() == n_before {
        assert!(!task.is_finished(), "answered without asking the store");
        tokio::task::yield_now().await;
    }
    task
}

#[tokio::test]
async fn a_write_is_invisible_to_readers_until_it_is_durable() {
    let (store, world) = held();
    store.hold();
    let task = start(&store, &world, r#"{"id":"a","pk":1,"u":1}"#).await;
    assert!(matches!(world.read("[1]", "a"), Err(Error::ItemMissing { .. })));
    assert_eq!(world.partition.lsn().0, 10);
    store.release();
    assert_eq!(task.await.unwrap().unwrap().lsn.0, 11);
    assert!(world.read("[1]", "a").is_ok());
    assert_eq!(world.partition.lsn().0, 11);
    world.check();
}

#[tokio::test]
async fn a_conflict_with_a_waiting_write_is_answered_when_that_write_is_durable() {
    let (store, world) = held();
    store.hold();
    let first = start(&store, &world, r#"{"id":"a","pk":1,"u":1}"#).await;
    // The loser asks the store to tell when everything before is answered.
    let same_id = start(&store, &world, r#"{"id":"a","pk":1,"u":2}"#).await;
    let same_value = start(&store, &world, r#"{"id":"b","pk":1,"u":1}"#).await;
    tokio::task::yield_now().await;
    assert!(!same_id.is_finished() && !same_value.is_finished());
    store.release();
    assert_eq!(code(&first.await.unwrap()), 201);
    assert_eq!(code(&same_id.await.unwrap()), 409);
    assert!(matches!(same_value.await.unwrap(), Err(Error::UniqueKeyTaken { .. })));
    world.check();
}

#[tokio::test]
async fn a_conflict_with_a_write_that_fails_is_no_conflict() {
    let (store, world) = held();
    store.hold();
    let first = start(&store, &world, r#"{"id":"a","pk":1,"u":1}"#).await;
    let second = start(&store, &world, r#"{"id":"a","pk":1,"u":1}"#).await;
    store.fail_one();
    assert_eq!(first.await.unwrap().unwrap_err().status().code, 503);
    store.release();
    assert_eq!(code(&second.await.unwrap()), 201);
    assert_eq!(world.check().n_items, 1);
}

#[tokio::test]
async fn what_was_built_on_a_failed_commit_is_done_again() {
    let (store, world) = held();
    world.create(r#"{"id":"old","pk":1,"u":0}"#).await.unwrap();
    store.hold();
    let first = start(&store, &world, r#"{"id":"a","pk":1,"u":1}"#).await;
    let second = start(&store, &world, r#"{"id":"b","pk":1,"u":2}"#).await;
    let third = start(&store, &world, r#"{"id":"c","pk":2,"u":3}"#).await;
    store.fail_one();
    assert_eq!(first.await.unwrap().unwrap_err().status().code, 503);
    store.release();
    assert_eq!(code(&second.await.unwrap()), 201);
    assert_eq!(code(&third.await.unwrap()), 201);
    assert_eq!(code(&world.create(r#"{"id":"a","pk":1,"u":1}"#).await), 201);
    let report = world.check();
    assert_eq!((report.n_items, report.lsn.0), (4, 14));
    assert_eq!(world.partition.statistics().n_items, 4);
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_nothing_behind() {
    let (store, world) = held();
    store.hold();
    let task = start(&store, &world, r#"{"id":"a","pk":1,"u":1}"#).await;
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    store.release();
    assert!(world.read("[1]", "a").is_ok(), "the write was on its way and arrived");
    assert_eq!(world.partition.lsn().0, 11, "whoever saw it knows its lsn");
    assert_eq!(code(&world.create(r#"{"id":"a","pk":1,"u":1}"#).await), 409);
    assert_eq!(code(&world.create(r#"{"id":"b","pk":1,"u":2}"#).await), 201);
    assert_eq!(world.partition.lsn().0, 12);
    world.check();
}

#[tokio::test]
async fn a_lost_commit_of_a_caller_that_went_away_heals() {
    let (store, world) = held();
    store.hold();
    let task = start(&store, &world, r#"{"id":"a","pk":1,"u":1}"#).await;
    task.abort();
    let _ = task.await;
    store.fail_one();
    store.release();
    assert_eq!(code(&world.create(r#"{"id":"a","pk":1,"u":1}"#).await), 201);
    assert_eq!(world.partition.lsn().0, 11);
    world.check();
}

#[tokio::test]
async fn another_owner_fences_this_one_off() {
    let (store, world) = held();
    world.create(r#"{"id":"a","pk":1,"u":1}"#).await.unwrap();
    let other = World::open(Arc::<HeldStore>::clone(&store), settings(), world.env.clone());
    other.create(r#"{"id":"b","pk":1,"u":2}"#).await.unwrap();
    // Same epoch: the loser reads the head again and goes on from there, nothing is lost.
    assert_eq!(code(&world.create(r#"{"id":"c","pk":1,"u":3}"#).await), 201);
    assert_eq!(code(&world.create(r#"{"id":"b","pk":1,"u":4}"#).await), 409);
    assert_eq!(world.partition.lsn().0, 13);
}
