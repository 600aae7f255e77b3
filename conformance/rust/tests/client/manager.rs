//! Managers in processes of their own, killed at every call, one by one.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use conformance_rust::partitioned::{
    check_stored, document, follower, item, make_ring, make_states, manager, rest, service, stored,
};
use conformance_rust::run;
use orrery_client::{
    Address, ContainerHost, ItemStore, ReadScope, Registry, Statement, load_state,
};

const N_ITEMS: u64 = 9;

/// Kills a manager at its call `n_calls`, uses the database, resumes. Returns whether it came that far.
async fn killed_at(n_calls: i64, by: i64) -> bool {
    let (sdk, name) = service().await;
    make_states(&sdk).await;
    let service = Arc::new(rest(&name));
    let states = document(service.clone(), None, "ring");
    make_ring(&sdk, 2, &*states).await;
    let database = follower(service.clone(), states.clone()).await;
    let mut expected = BTreeMap::new();
    for number in 0..N_ITEMS {
        let id = format!("i{number}");
        database.create(&item(&id, &id, 1)).await.unwrap();
        expected.insert(id, 1);
    }
    let jobs = document(service.clone(), None, "job");
    let manager = manager(service.clone(), states.clone(), jobs, Duration::ZERO);
    manager.begin(&manager.resized(by).await.unwrap()).await.unwrap();

    let status = Command::new(env!("CARGO_BIN_EXE_partition-process"))
        .args(["manager", &name, &n_calls.to_string()])
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    let was_killed = status.code().is_none();
    assert!(was_killed || status.success(), "{status}");

    // The manager is dead, and the application goes on.
    let database = follower(service.clone(), states.clone()).await;
    let query = database.query(Statement::new("SELECT * FROM c"), &ReadScope::All).await.unwrap();
    let mut seen: Vec<_> = query.collect().await.unwrap();
    seen.sort_by_key(|it| it["id"].to_string());
    assert_eq!(seen.len() as u64, N_ITEMS, "killed at call {n_calls}");
    for number in 0..N_ITEMS {
        let id = format!("i{number}");
        let at = Address::new(id.as_str(), id.as_str());
        match number % 3 {
            0 => {
                database.upsert(&item(&id, &id, 2)).await.unwrap();
                expected.insert(id, 2);
            }
            1 => {
                assert!(database.delete(&at, None).await.unwrap(), "killed at call {n_calls}");
                expected.remove(&id);
            }
            _ => assert!(database.read(&at).await.unwrap().is_some()),
        }
    }
    manager.run(&mut |_, _| {}).await.unwrap();
    let (state, _) = load_state(&*states).await.unwrap().unwrap();
    let mut names = service.list().await.unwrap();
    names.retain(|it| it.starts_with("ring."));
    assert_eq!(names.len() as i64, 2 + by);
    let resolver = state.build(&Registry::new()).unwrap();
    check_stored(&stored(&*service, &names).await, &*resolver, &expected);
    was_killed
}

async fn killed_at_every_call(by: i64) {
    let mut n_calls = 0;
    while killed_at(n_calls, by).await {
        n_calls += 1;
    }
    assert!(n_calls > 25, "{n_calls}");
}

#[test]
fn a_manager_that_grows_a_ring_is_killed_at_every_call() {
    run(killed_at_every_call(1));
}

#[test]
fn a_manager_that_shrinks_a_ring_is_killed_at_every_call() {
    run(killed_at_every_call(-1));
}

/// A copy as a killed manager leaves it when the application has deleted its source in the same moment.
#[test]
fn a_copy_that_a_killed_manager_left_is_not_seen_and_is_removed() {
    run(async {
        let (sdk, name) = service().await;
        make_states(&sdk).await;
        let service = Arc::new(rest(&name));
        let states = document(service.clone(), None, "ring");
        make_ring(&sdk, 2, &*states).await;
        let database = follower(service.clone(), states.clone()).await;
        database.create(&item("kept", "kept", 1)).await.unwrap();
        let jobs = document(service.clone(), None, "job");
        let manager = manager(service.clone(), states.clone(), jobs, Duration::ZERO);
        let next = manager.resized(1).await.unwrap();
        manager.begin(&next).await.unwrap();
        // It makes the container, publishes the transition, and dies.
        let status = Command::new(env!("CARGO_BIN_EXE_partition-process"))
            .args(["manager", &name, "6"])
            .stderr(std::process::Stdio::null())
            .status()
            .unwrap();
        assert_eq!(status.code(), None, "killed");
        let to = next.build(&Registry::new()).unwrap();
        let is_new =
            |it: &String| to.container_for_create(&it.as_str().into()).unwrap().name() == "ring.2";
        let id = (0..).map(|it| format!("i{it}")).find(is_new).unwrap();
        let mut copy = item(&id, &id, 1);
        copy["_orreryCopyOf"] = "ring.0".into();
        let link = "ring.2".into();
        ItemStore::create(&*service, &link, &id.as_str().into(), &copy).await.unwrap();

        let database = follower(service.clone(), states.clone()).await;
        let at = Address::new(id.as_str(), id.as_str());
        assert_eq!(database.read(&at).await.unwrap(), None);
        let statement = Statement::new("SELECT * FROM c");
        let query = database.query(statement, &ReadScope::All).await.unwrap();
        assert_eq!(query.collect().await.unwrap().len(), 1);
        manager.run(&mut |_, _| {}).await.unwrap();
        let names = ["ring.0", "ring.1", "ring.2"].map(str::to_owned);
        let expected = BTreeMap::from([("kept".to_owned(), 1)]);
        check_stored(&stored(&*service, &names).await, &*to, &expected);
    });
}
