//! A database through a resolver: items by key and id, queries as one sequence of pages.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may")]

mod support;

use std::sync::Arc;

use orrery_client::{
    Address, Backfill, Concat, ContainerTemplate, Continuation, Env, Error, HashPartitionResolver,
    ItemStore, KeySource, PartitionedDatabase, RandomSuffix, ReadScope, Scheme, Schemes,
    SpilloverOptions, SpilloverPartitionResolver, Statement, SyntheticKey as _, backfill,
};
use serde_json::{Value, json};
use support::{Fake, run};

const CONTAINERS: [&str; 3] = ["c0", "c1", "c2"];

fn scheme() -> Scheme {
    let builder = HashPartitionResolver::builder(KeySource::path("/pk").unwrap());
    Scheme::new(Arc::new(builder.containers(CONTAINERS).build().unwrap()))
}

fn filled() -> PartitionedDatabase {
    let database = PartitionedDatabase::new(Fake::new(&CONTAINERS), scheme());
    for number in 0..30 {
        let item = json!({"id": format!("{number}"), "pk": format!("k{}", number % 10)});
        run(database.create(&item)).unwrap();
    }
    database
}

fn all() -> Statement {
    Statement::new("SELECT * FROM c")
}

fn ids(rows: &[Value]) -> Vec<usize> {
    let mut ids: Vec<usize> =
        rows.iter().map(|it| it["id"].as_str().unwrap().parse().unwrap()).collect();
    ids.sort_unstable();
    ids
}

#[test]
fn items_are_read_replaced_and_deleted_by_id_and_key() {
    let database = filled();
    let at = Address::new("7", "k7");
    let found = run(database.read(&at)).unwrap().unwrap();
    let etag =
        run(database.replace(&at, &json!({"id": "7", "pk": "k7", "n": 1}), Some(&found.etag)));
    let stale = run(database.replace(&at, &json!({"id": "7", "pk": "k7"}), Some(&found.etag)));
    assert!(stale.is_err_and(|it| it.is_service(412)));
    let moved = run(database.replace(&at, &json!({"id": "7", "pk": "k8"}), None));
    assert!(matches!(moved, Err(Error::KeyChanged { .. })));
    let other = run(database.replace(&at, &json!({"id": "8", "pk": "k7"}), None));
    assert!(matches!(other, Err(Error::ItemInvalid)));
    let again = run(database.create(&json!({"id": "7", "pk": "k7"})));
    assert!(again.is_err_and(|it| it.is_service(409)));
    assert!(run(database.delete(&at, Some(&etag.unwrap()))).unwrap());
    assert!(!run(database.delete(&at, None)).unwrap());
    let gone = run(database.replace(&at, &json!({"id": "7", "pk": "k7"}), None));
    assert!(gone.is_err_and(|it| it.is_service(404)));
    assert!(matches!(run(database.create(&json!({"id": "x"}))), Err(Error::KeyMissing { .. })));
}

#[test]
fn a_query_by_key_reads_one_container_and_one_partition() {
    let database = filled();
    let rows = run(async { database.query(all(), &ReadScope::key("k3")).await?.collect().await });
    assert_eq!(ids(&rows.unwrap()), [3, 13, 23]);
}

#[test]
fn parallel_and_serial_queries_give_the_same_rows() {
    let database = filled();
    for parallelism in [1, 2, 3, 100] {
        let rows = run(async {
            let query = database.query(all(), &ReadScope::All).await?;
            query.parallelism(parallelism).rows_max(4).collect().await
        });
        assert_eq!(ids(&rows.unwrap()), (0..30).collect::<Vec<_>>(), "{parallelism}");
    }
}

#[test]
fn a_query_goes_on_from_every_continuation() {
    let database = filled();
    let first = |continuation: Option<&Continuation>| {
        run(async {
            let query = match continuation {
                None => database.query(all(), &ReadScope::All).await?,
                Some(at) => database.resume(all(), &ReadScope::All, at).await?,
            };
            query.parallelism(2).rows_max(3).next_page().await
        })
        .unwrap()
        .unwrap()
    };
    let mut page = first(None);
    let mut rows = page.rows;
    let mut n_pages = 1;
    while let Some(continuation) = page.continuation {
        page = first(Some(&Continuation::new(continuation.as_str())));
        rows.extend(page.rows);
        n_pages += 1;
    }
    assert!(n_pages > 3);
    assert_eq!(ids(&rows), (0..30).collect::<Vec<_>>());
    let other = Statement::new("SELECT * FROM d");
    for bad in ["", "{}", "nonsense"] {
        let result = run(database.resume(all(), &ReadScope::All, &Continuation::new(bad)));
        assert!(matches!(result, Err(Error::ContinuationInvalid)));
    }
    let continuation = first(None).continuation.unwrap();
    let result = run(database.resume(other, &ReadScope::All, &continuation));
    assert!(matches!(result, Err(Error::ContinuationInvalid)));
}

#[test]
fn a_failed_page_can_be_asked_for_again() {
    let fake = Fake::new(&CONTAINERS);
    let database = PartitionedDatabase::new(fake.clone(), scheme());
    run(database.create(&json!({"id": "1", "pk": "a"}))).unwrap();
    let mut query = run(database.query(all(), &ReadScope::All)).unwrap();
    fake.kill_after(0);
    assert!(run(query.next_page()).is_err());
    fake.revive();
    assert_eq!(run(query.collect()).unwrap().len(), 1);
}

#[test]
fn spilled_items_are_found_wherever_they_are() {
    let (fake, env) = (Fake::new(&[]), Env::fixed(1, 0));
    let options = SpilloverOptions::new(ContainerTemplate::new(["/pk"]));
    let resolver =
        run(SpilloverPartitionResolver::open(fake.clone(), options, env.clone())).unwrap();
    let scheme = Scheme::new(Arc::new(resolver)).partition(KeySource::path("/pk").unwrap());
    let database = PartitionedDatabase::new(fake.clone(), scheme);
    run(database.create(&json!({"id": "1", "pk": "a"}))).unwrap();
    fake.fills.lock().insert("Collection.0".to_owned(), 100);
    env.advance(std::time::Duration::from_secs(3600));
    run(database.create(&json!({"id": "2", "pk": "a"}))).unwrap();
    assert_eq!(fake.containers.lock().len(), 2);
    run(database.upsert(&json!({"id": "1", "pk": "a", "n": 1}))).unwrap();
    assert_eq!(fake.dump().len(), 2, "an upsert finds the item in the older container");
    for id in ["1", "2"] {
        assert!(run(database.read(&Address::new(id, "a"))).unwrap().is_some());
        let body = json!({"id": id, "pk": "a", "n": 2});
        run(database.replace(&Address::new(id, "a"), &body, None)).unwrap();
        assert!(run(database.delete(&Address::new(id, "a"), None)).unwrap());
    }
    assert!(fake.dump().is_empty());
}

#[test]
fn schemes_of_one_database_live_side_by_side() {
    let schemes = Schemes::default();
    schemes.register("dbs/app/", "users", scheme());
    schemes.register("app", "orders", scheme());
    for database in ["app", "dbs/app", "/dbs/app/"] {
        for name in ["users", "orders"] {
            assert!(schemes.open(Fake::new(&CONTAINERS), database, name).is_ok());
        }
    }
    assert!(matches!(schemes.get("app", "other"), Err(Error::NotRegistered { .. })));
}

#[test]
fn a_backfill_writes_each_item_once_and_can_be_repeated() {
    let fake = Fake::new(&["c"]);
    for number in 0..10 {
        let item = json!({"id": number.to_string(), "pk": "a", "date": number});
        run(ItemStore::create(&*fake, &"c".into(), &"a".into(), &item)).unwrap();
    }
    let bare = json!({"id": "bare", "pk": "a"});
    run(ItemStore::create(&*fake, &"c".into(), &"a".into(), &bare)).unwrap();
    let scheme = Concat::new("/key", ["/pk", "/date"]).unwrap();
    let inner = fake.clone();
    // Somebody changes an item after the page was read: the change must survive.
    fake.interrupt_at(3, move || {
        let changed = json!({"id": "2", "pk": "a", "date": 2, "changed": true});
        run(inner.upsert(&"c".into(), &"a".into(), &changed)).unwrap();
    });
    let source = KeySource::path("/pk").unwrap();
    let first = run(backfill(&*fake, &"c".into(), &source, &scheme, &mut |_| {})).unwrap();
    assert_eq!(first, Backfill { n_scanned: 11, n_written: 10, n_skipped: 1 });
    let again = run(backfill(&*fake, &"c".into(), &source, &scheme, &mut |_| {})).unwrap();
    assert_eq!(again, Backfill { n_scanned: 11, n_written: 0, n_skipped: 1 });
    let items: Vec<Value> = fake.dump().into_iter().map(|(_, it)| it).collect();
    let changed = items.iter().find(|it| it["id"] == "2").unwrap();
    assert_eq!(*changed, json!({"id": "2", "pk": "a", "date": 2, "changed": true, "key": "a-2"}));
}

#[test]
fn an_item_with_an_unknown_suffix_is_found_by_its_id() {
    let fake = Fake::new(&["c"]);
    let scheme = RandomSuffix::new("/pk", "/date").unwrap().count(9).unwrap();
    let link = "c".into();
    for number in 0..20 {
        let mut item = json!({"id": number.to_string(), "date": "d"});
        let key = scheme.apply(&mut item).unwrap();
        run(fake.create(&link, &key.into(), &item)).unwrap();
    }
    let plan = scheme.plan(&"d".into()).unwrap();
    for parallelism in [0, 1, 4, 100] {
        let found = run(plan.read(&*fake, &link, "7", parallelism)).unwrap().unwrap();
        assert_eq!(found.item["id"], "7");
    }
    assert!(run(plan.read(&*fake, &link, "no", 4)).unwrap().is_none());
    assert!(run(scheme.plan(&"e".into()).unwrap().read(&*fake, &link, "7", 4)).unwrap().is_none());
}
