//! A ring with items, its manager, and clients that follow the published state.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use orrery_client::repartition::{Options, Phase, Repartitioner};
use orrery_client::{
    Address, ContainerTemplate, Env, HashPartitionResolver, KeySource, ManagedPartitionResolver,
    Naming, PartitionResolver as _, PartitionedDatabase, ReadScope, Registry, ResolverState,
    Scheme, SharedPartitionResolver, Statement, load_state, save_state,
};
use serde_json::{Value, json};

use crate::support::{Fake, run};

pub(crate) const N_ITEMS: usize = 16;

pub(crate) fn registry(env: &Env) -> Registry {
    Registry::new().with_env(env.clone())
}

pub(crate) fn repartitioner(fake: &Arc<Fake>) -> Repartitioner {
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
pub(crate) fn application(fake: &Arc<Fake>) -> PartitionedDatabase {
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

pub(crate) fn item(number: usize, text: &str) -> Value {
    json!({"id": format!("i{number}"), "pk": format!("k{number}"), "text": text})
}

pub(crate) fn address(number: usize) -> Address {
    Address::new(format!("i{number}"), format!("k{number}"))
}

/// A managed ring with items in it.
pub(crate) fn filled(n_containers: u64) -> Arc<Fake> {
    let fake = Fake::new(&[]);
    // Few points: clients of these tests build the ring again and again.
    let builder = HashPartitionResolver::builder(KeySource::path("/pk").unwrap()).virtual_nodes(4);
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

pub(crate) fn expected() -> BTreeMap<String, Value> {
    (0..N_ITEMS).map(|it| (format!("i{it}"), item(it, "first"))).collect()
}

/// Every item is exactly once in the database, in the container that the published scheme names.
#[track_caller]
pub(crate) fn check(fake: &Arc<Fake>, expected: &BTreeMap<String, Value>) {
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
pub(crate) fn seen(fake: &Arc<Fake>) -> BTreeMap<String, Value> {
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

/// Runs the manager until it enters a phase, and not a call further.
pub(crate) fn advance(fake: &Arc<Fake>, wanted: Phase) {
    for n_calls in 0.. {
        fake.kill_after(n_calls);
        let mut is_there = false;
        let _ = run(repartitioner(fake).run(&mut |it, _| is_there |= it == wanted));
        fake.revive();
        if is_there {
            return;
        }
    }
}

/// The number of an item that moves when a fourth container comes.
pub(crate) fn moving_number() -> usize {
    let fake = filled(3);
    let next = run(repartitioner(&fake).resized(1)).unwrap().build(&Registry::new()).unwrap();
    let moves = |it: &usize| {
        let key = next.key_of(&item(*it, "")).unwrap();
        next.container_for_create(&key).unwrap().as_str() == "ring.3"
    };
    (0..N_ITEMS).find(moves).expect("some item moves")
}
