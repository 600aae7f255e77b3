//! Delete by partition key.

use model::Lsn;
use partition::Scope;

use crate::support::*;

#[tokio::test]
async fn everything_of_the_key_goes_and_nothing_else() {
    let world = World::with(with_versions());
    for n in 0..10 {
        world.create(&format!(r#"{{"id":"{n}","pk":{}}}"#, n % 2)).await.unwrap();
    }
    world.partition.delete_logical(&world.at("[0]")).await.unwrap();
    assert_eq!(world.ids(&Scope::Logical(world.at("[0]"))), Vec::<String>::new());
    assert_eq!(world.ids(&Scope::All).len(), 5);
    assert_eq!(world.feed(Lsn(0)).len(), 5);
    let report = world.check();
    assert_eq!((report.n_items, report.n_logical), (5, 1));
    let deletes = world.versions(Lsn(20));
    assert_eq!(deletes.len(), 5);
    assert_eq!(code(&world.create(r#"{"id":"0","pk":0}"#).await), 201);
    assert_eq!(world.partition.expire(10).await.unwrap(), 0, "no purge is left");
    assert_eq!(world.ids(&Scope::Logical(world.at("[0]"))), ["0"]);
}

#[tokio::test]
async fn a_large_partition_is_dead_at_once_and_removed_in_steps() {
    let world = World::new();
    for start in (0..1_500).step_by(100) {
        let ops = (start..start + 100).map(|n| create(&format!(r#"{{"id":"{n:04}","pk":1}}"#)));
        world.batch("[1]", ops.collect()).await.unwrap();
    }
    world.partition.delete_logical(&world.at("[1]")).await.unwrap();
    assert_eq!(world.ids(&Scope::All), Vec::<String>::new());
    assert_eq!(failure(world.read("[1]", "1499")), (404, 0));
    let report = world.check();
    assert_eq!((report.n_items, report.n_live), (500, 0));
    // Written afterwards: survives, whether it is new or takes the id of a dead item.
    assert_eq!(code(&world.create(r#"{"id":"1400","pk":1}"#).await), 201);
    assert_eq!(code(&world.upsert(r#"{"id":"new","pk":1}"#).await), 201);
    assert_eq!(code(&world.delete("[1]", "1499").await), 404);
    // A restart in the middle goes on.
    let world = World::open(world.store, settings(), world.env);
    assert_eq!(world.ids(&Scope::All), ["1400", "new"]);
    let mut n_steps = 0;
    while world.partition.expire(100).await.unwrap() > 0 {
        n_steps += 1;
        world.check();
    }
    assert!(n_steps >= 5, "{n_steps}");
    let report = world.check();
    assert_eq!((report.n_items, report.n_live), (2, 2));
    assert_eq!(world.ids(&Scope::Logical(world.at("[1]"))), ["1400", "new"]);
}

#[tokio::test]
async fn an_empty_partition_may_be_deleted() {
    let world = World::new();
    world.partition.delete_logical(&world.at("[1]")).await.unwrap();
    world.partition.delete_logical(&world.at("[1]")).await.unwrap();
    world.check();
}
