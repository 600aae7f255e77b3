//! Repartitioning: killed at every call, and interrupted by the application at every call.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may")]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use orrery_client::repartition::{Options, Phase, Refusal, Repartitioner};
use orrery_client::{
    Address, ContainerTemplate, Env, Error, HashPartitionResolver, KeySource,
    ManagedPartitionResolver, Naming, PartitionResolver as _, PartitionedDatabase, RangeMap,
    RangePartitionResolver, ReadScope, Registry, ResolverState, Scheme, SharedPartitionResolver,
    Statement, load_state, save_state,
};
use serde_json::{Value, json};
use support::{Fake, run};

const N_ITEMS: usize = 24;

fn registry(env: &Env) -> Registry {
    Registry::new().with_env(env.clone())
}

fn repartitioner(fake: &Arc<Fake>) -> Repartitioner {
    let env = Env::fixed(1, 0);
    let options = Options { grace: Duration::ZERO, page_items: 5, partition: None };
    Repartitioner::new(
        fake.clone(),
        fake.clone(),
        fake.document("state"),
        fake.document("job"),
        registry(&env),
        options,
    )
}

/// A client that looks at the state before every call.
fn application(fake: &Arc<Fake>) -> PartitionedDatabase {
    let env = Env::fixed(1, 0);
    let open = SharedPartitionResolver::open(
        fake.document("state"),
        None,
        registry(&env),
        Duration::ZERO,
        env.clone(),
    );
    PartitionedDatabase::new(fake.clone(), Scheme::new(Arc::new(run(open).unwrap())))
}

fn item(number: usize, text: &str) -> Value {
    json!({"id": format!("i{number}"), "pk": format!("k{number}"), "text": text})
}

fn address(number: usize) -> Address {
    Address::new(format!("i{number}"), format!("k{number}"))
}

/// A managed ring with items in it.
fn filled(n_containers: u64) -> Arc<Fake> {
    let fake = Fake::new(&[]);
    let builder = HashPartitionResolver::builder(KeySource::path("/pk").unwrap());
    let template = ContainerTemplate::new(["/pk"]);
    let create = ManagedPartitionResolver::create(
        &*fake,
        builder,
        Naming::new("ring."),
        template,
        n_containers,
    );
    let state = run(create).unwrap().state();
    run(save_state(&*fake.document("state"), &state, None)).unwrap();
    let database = application(&fake);
    for number in 0..N_ITEMS {
        run(database.create(&item(number, "first"))).unwrap();
    }
    fake
}

fn expected() -> BTreeMap<String, Value> {
    (0..N_ITEMS).map(|it| (format!("i{it}"), item(it, "first"))).collect()
}

/// Every item is exactly once in the database, in the container that the published scheme names.
#[track_caller]
fn check(fake: &Arc<Fake>, expected: &BTreeMap<String, Value>) {
    let (state, _) = run(load_state(&*fake.document("state"))).unwrap().unwrap();
    assert!(!matches!(state, ResolverState::Transition { .. }), "the transition is over");
    let resolver = state.build(&Registry::new()).unwrap();
    let mut found = BTreeMap::new();
    for (container, item) in fake.dump() {
        let key = resolver.key_of(&item).unwrap();
        assert_eq!(resolver.container_for_create(&key).unwrap().name(), container, "{item}");
        let id = item["id"].as_str().unwrap().to_owned();
        assert!(found.insert(id, item).is_none(), "an item is doubled");
    }
    assert_eq!(found, *expected);
    let containers: Vec<_> = fake.containers.lock().keys().cloned().collect();
    let wanted = resolver.containers_for_read(&ReadScope::All).unwrap();
    assert_eq!(containers.len(), wanted.len());
}

/// What the application sees through a query over everything.
fn seen(fake: &Arc<Fake>) -> BTreeMap<String, Value> {
    let database = application(fake);
    let query = async {
        let statement = Statement::new("SELECT * FROM c");
        database.query(statement, &ReadScope::All).await?.parallelism(2).rows_max(7).collect().await
    };
    let mut all = BTreeMap::new();
    for mut row in run(query).unwrap() {
        row.as_object_mut().unwrap().retain(|name, _| !name.starts_with('_'));
        let id = row["id"].as_str().unwrap().to_owned();
        assert!(all.insert(id, row).is_none(), "a row is doubled");
    }
    all
}

#[test]
fn a_ring_grows_and_shrinks() {
    let fake = filled(3);
    let manager = repartitioner(&fake);
    let next = run(manager.resized(1)).unwrap();
    let plan = run(manager.begin(&next)).unwrap();
    assert_eq!(plan.added.len(), 1);
    assert!(plan.moves.keys().all(|(_, to)| to.as_str() == "ring.3"), "{plan:?}");
    assert_eq!(plan.n_moving() + plan.n_staying, N_ITEMS as u64);
    assert!(matches!(run(manager.begin(&next)), Err(Error::Repartition(Refusal::Unfinished))));
    let mut phases = Vec::new();
    let progress = run(manager.run(&mut |phase, _| phases.push(phase))).unwrap();
    assert_eq!((progress.n_copied, progress.n_deleted), (plan.n_moving(), plan.n_moving()));
    assert_eq!(phases.last(), Some(&Phase::Done));
    check(&fake, &expected());
    for _ in 0..3 {
        let next = run(manager.resized(-1)).unwrap();
        run(manager.begin(&next)).unwrap();
        run(manager.run(&mut |_, _| {})).unwrap();
        check(&fake, &expected());
    }
    assert!(matches!(run(manager.resized(-1)), Err(Error::NoContainers)), "the last one stays");
}

#[test]
fn a_run_killed_at_any_call_is_continued() {
    for by in [1, -1] {
        let mut n_calls = 0;
        loop {
            let fake = filled(3);
            let manager = repartitioner(&fake);
            run(manager.begin(&run(manager.resized(by)).unwrap())).unwrap();
            fake.kill_after(n_calls);
            let result = run(manager.run(&mut |_, _| {}));
            fake.revive();
            assert_eq!(seen(&fake), expected(), "after call {n_calls}");
            run(repartitioner(&fake).run(&mut |_, _| {})).unwrap();
            check(&fake, &expected());
            if result.is_ok() {
                break;
            }
            n_calls += 1;
        }
        assert!(n_calls > 50, "{n_calls}");
    }
}

#[test]
fn a_run_killed_again_and_again_ends() {
    let fake = filled(3);
    let manager = repartitioner(&fake);
    run(manager.begin(&run(manager.resized(1)).unwrap())).unwrap();
    for n_kills in 0.. {
        // A page of five items takes up to 21 calls; a run that does less makes no progress.
        fake.kill_after(28);
        if run(repartitioner(&fake).run(&mut |_, _| {})).is_ok() {
            assert!(n_kills > 1, "{n_kills}");
            break;
        }
        assert!(n_kills < 100);
    }
    fake.revive();
    check(&fake, &expected());
}

/// What an application may do to an item, and what must be there in the end.
#[derive(Clone, Copy, Debug)]
enum Act {
    Delete,
    Upsert,
    Replace,
    Create,
    DeleteThenCreate,
}

fn act(fake: &Arc<Fake>, act: Act, number: usize) {
    let database = application(fake);
    let at = address(number);
    let changed = item(number, "changed");
    match act {
        Act::Delete => assert!(run(database.delete(&at, None)).unwrap()),
        Act::Upsert => drop(run(database.upsert(&changed)).unwrap()),
        Act::Replace => drop(run(database.replace(&at, &changed, None)).unwrap()),
        Act::Create => {
            let again = run(database.create(&changed));
            assert!(again.is_err_and(|it| it.is_service(409)), "the id is taken");
            run(database.create(&item(N_ITEMS + number, "new"))).unwrap();
        }
        Act::DeleteThenCreate => {
            assert!(run(database.delete(&at, None)).unwrap());
            run(database.create(&changed)).unwrap();
        }
    }
    let found = run(database.read(&at)).unwrap().map(|it| it.item["text"].clone());
    match act {
        Act::Delete => assert_eq!(found, None),
        Act::Upsert | Act::Replace | Act::DeleteThenCreate => {
            assert_eq!(found, Some(json!("changed")));
        }
        Act::Create => assert_eq!(found, Some(json!("first"))),
    }
}

fn after(act: Act, number: usize) -> BTreeMap<String, Value> {
    let mut all = expected();
    match act {
        Act::Delete => drop(all.remove(&format!("i{number}"))),
        Act::Upsert | Act::Replace | Act::DeleteThenCreate => {
            all.insert(format!("i{number}"), item(number, "changed"));
        }
        Act::Create => {
            let new = N_ITEMS + number;
            all.insert(format!("i{new}"), item(new, "new"));
        }
    }
    all
}

#[test]
fn the_application_may_write_at_any_call() {
    // An item that moves when a fourth container comes.
    let fake = filled(3);
    let manager = repartitioner(&fake);
    let next = run(manager.resized(1)).unwrap().build(&Registry::new()).unwrap();
    let moves = |it: &usize| {
        let key = next.key_of(&item(*it, "")).unwrap();
        next.container_for_create(&key).unwrap().as_str() == "ring.3"
    };
    let number = (0..N_ITEMS).find(moves).expect("some item moves");
    for act_now in [Act::Delete, Act::Upsert, Act::Replace, Act::Create, Act::DeleteThenCreate] {
        for n_calls in 0.. {
            let fake = filled(3);
            let manager = repartitioner(&fake);
            run(manager.begin(&run(manager.resized(1)).unwrap())).unwrap();
            let inner = fake.clone();
            fake.interrupt_at(n_calls, move || {
                act(&inner, act_now, number);
                assert_eq!(
                    seen(&inner),
                    after(act_now, number),
                    "{act_now:?} before call {n_calls}"
                );
            });
            run(manager.run(&mut |_, _| {})).unwrap();
            if !fake.was_interrupted() {
                assert!(n_calls > 50, "{n_calls}");
                break;
            }
            check(&fake, &after(act_now, number));
        }
    }
}

#[test]
fn range_maps_can_be_changed_and_homeless_items_are_refused() {
    let fake = Fake::new(&["low", "high", "top"]);
    let state = |cuts: &[&str], names: &[&str]| {
        let names = names.iter().map(|it| (*it).into()).collect();
        let map = RangeMap::from_cuts(cuts.iter().map(|it| (*it).into()), names).unwrap();
        RangePartitionResolver::from_map(KeySource::path("/pk").unwrap(), map).unwrap().state()
    };
    let first = state(&["k15"], &["low", "high"]);
    run(save_state(&*fake.document("state"), &first, None)).unwrap();
    let database = application(&fake);
    for number in 0..N_ITEMS {
        run(database.create(&item(number, "first"))).unwrap();
    }
    let manager = repartitioner(&fake);
    let entries = [(orrery_client::Range::new("k0".to_owned(), "k1".to_owned()).unwrap(), "low")];
    let narrow =
        RangePartitionResolver::new(KeySource::path("/pk").unwrap(), entries).unwrap().state();
    assert!(matches!(run(manager.begin(&narrow)), Err(Error::Repartition(Refusal::Homeless(22)))));
    run(manager.begin(&state(&["k12", "k20"], &["low", "high", "top"]))).unwrap();
    run(manager.run(&mut |_, _| {})).unwrap();
    check(&fake, &expected());
    let unknown = state(&["k12", "k20"], &["low", "high", "nowhere"]);
    run(manager.begin(&unknown)).unwrap();
    let refused = run(manager.run(&mut |_, _| {}));
    assert!(matches!(refused, Err(Error::Repartition(Refusal::ContainerMissing(_)))));
    assert_eq!(seen(&fake), expected(), "nothing was changed");
}

/// A query that is under way while items are copied: each item comes once, whatever container is read first.
#[test]
fn a_query_shows_each_item_once_while_items_are_copied() {
    for by in [1, -1] {
        for n_pages in [0, 3] {
            for n_calls in 0.. {
                let fake = filled(3);
                let manager = repartitioner(&fake);
                run(manager.begin(&run(manager.resized(by)).unwrap())).unwrap();
                // The transition is published, and nothing is copied yet.
                let mut is_copying = false;
                for n_first in 0.. {
                    fake.kill_after(n_first);
                    let killed = run(manager.run(&mut |it, _| is_copying = it == Phase::Copying));
                    assert!(killed.is_err());
                    if is_copying {
                        break;
                    }
                }
                fake.revive();
                let database = application(&fake);
                let statement = Statement::new("SELECT * FROM c");
                let mut query =
                    run(database.query(statement, &ReadScope::All)).unwrap().rows_max(3);
                let mut rows = Vec::new();
                for _ in 0..n_pages {
                    rows.extend(
                        run(query.next_page()).unwrap().map(|it| it.rows).unwrap_or_default(),
                    );
                }
                // Sources are deleted after the time of grace, which a query must not outlive.
                let mut is_deleting = false;
                fake.kill_after(n_calls);
                let _ = run(manager.run(&mut |it, _| is_deleting |= it == Phase::Deleting));
                fake.revive();
                if is_deleting {
                    assert!(n_calls > 5, "{n_calls}");
                    break;
                }
                rows.extend(run(query.collect()).unwrap());
                let mut ids: Vec<&str> = rows.iter().map(|it| it["id"].as_str().unwrap()).collect();
                ids.sort_unstable();
                let mut wanted: Vec<String> = expected().into_keys().collect();
                wanted.sort_unstable();
                assert_eq!(ids, wanted, "{by}: {n_calls} calls after {n_pages} pages");
            }
        }
    }
}

#[test]
fn the_current_scheme_is_read_as_it_was_while_items_are_copied() {
    let fake = filled(3);
    let manager = repartitioner(&fake);
    let (current, _) = run(load_state(&*fake.document("state"))).unwrap().unwrap();
    let next = run(manager.resized(-1)).unwrap();
    run(manager.begin(&next)).unwrap();
    for n_calls in 0.. {
        fake.kill_after(n_calls);
        let mut is_deleting = false;
        let _ = run(manager.run(&mut |it, _| is_deleting |= it == Phase::Deleting));
        fake.revive();
        if is_deleting {
            break;
        }
        let registry = Registry::new();
        let resolver = orrery_client::TransitionPartitionResolver::new(
            current.build(&registry).unwrap(),
            next.build(&registry).unwrap(),
            orrery_client::ReadMode::ReadCurrent,
        );
        let database = PartitionedDatabase::new(fake.clone(), Scheme::new(Arc::new(resolver)));
        let statement = Statement::new("SELECT * FROM c");
        let rows = run(async { database.query(statement, &ReadScope::All).await?.collect().await });
        assert_eq!(rows.unwrap().len(), N_ITEMS, "after {n_calls} calls");
    }
}
