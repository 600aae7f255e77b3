//! Each resolver creates, reads, replaces, deletes and queries, and puts items where it says.

use std::collections::BTreeSet;
use std::sync::Arc;

use conformance_rust::partitioned::{item, service, source, stored};
use conformance_rust::run;
use orrery_client::sdk::SdkDatabase;
use orrery_client::{
    Address, ChainedPartitionResolver, CompositePartitionResolver, ContainerHost,
    ContainerTemplate, Env, HashPartitionResolver, Key, KeySource, LookupPartitionResolver,
    ManagedPartitionResolver, Murmur3, Naming, PartitionResolver, PartitionedDatabase, Range,
    RangePartitionResolver, ReadMode, ReadScope, Scheme, SpilloverOptions,
    SpilloverPartitionResolver, Statement, TransitionPartitionResolver, XxHash,
};
use serde_json::{Value, json};

async fn make(service: &SdkDatabase, names: &[&str]) {
    for name in names {
        service.create(name, &ContainerTemplate::new(["/pk"])).await.unwrap();
    }
}

fn ids(rows: &[Value]) -> BTreeSet<&str> {
    let ids: BTreeSet<&str> = rows.iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), rows.len(), "a row is doubled");
    ids
}

/// Everything one can do through a resolver, with one item for each key.
async fn exercise(
    service: &SdkDatabase,
    scheme: Scheme,
    keys: &[Key],
    make_item: fn(&Key) -> Value,
) {
    let items = Arc::new(service.clone());
    let database = PartitionedDatabase::new(items.clone(), scheme.clone());
    for key in keys {
        let first = make_item(key);
        let id = first["id"].as_str().unwrap();
        let etag = database.create(&first).await.unwrap();
        assert!(database.create(&first).await.is_err_and(|it| it.is_service(409)), "{id}");
        let at = Address::new(id, key.clone()).partition(first["pk"].as_str().unwrap());
        assert_eq!(database.read(&at).await.unwrap().unwrap().etag, etag);
        let mut second = first.clone();
        second["version"] = json!(2);
        let new = database.replace(&at, &second, Some(&etag)).await.unwrap();
        let stale = database.replace(&at, &first, Some(&etag)).await;
        assert!(stale.is_err_and(|it| it.is_service(412)), "{id}");
        second["version"] = json!(3);
        database.upsert(&second).await.unwrap();
        let stale = database.delete(&at, Some(&new)).await;
        assert!(stale.is_err_and(|it| it.is_service(412)), "{id}");
        assert_eq!(database.read(&at).await.unwrap().unwrap().item["version"], 3);
        let resolver = database.resolver();
        let place = resolver.container_for_create(&resolver.key_of(&first).unwrap()).unwrap();
        let there = stored(&*items, &[place.name().to_owned()]).await;
        assert!(there.iter().any(|(_, it)| it["id"] == id), "{id} is not in {place}");
    }
    let statement = Statement::new("SELECT * FROM c");
    for parallelism in [1, 3] {
        let query = database.query(statement.clone(), &ReadScope::All).await.unwrap();
        let rows = query.parallelism(parallelism).rows_max(2).collect().await.unwrap();
        assert_eq!(ids(&rows).len(), keys.len());
    }
    resumed(&database, &statement, keys.len()).await;
    let narrow = database.query(statement, &ReadScope::key(keys[0].clone())).await.unwrap();
    let rows = narrow.collect().await.unwrap();
    assert!(rows.iter().any(|it| it["id"] == make_item(&keys[0])["id"]));
    for key in keys {
        let first = make_item(key);
        let at = Address::new(first["id"].as_str().unwrap(), key.clone())
            .partition(first["pk"].as_str().unwrap());
        assert!(database.delete(&at, None).await.unwrap());
        assert!(!database.delete(&at, None).await.unwrap());
        assert!(database.read(&at).await.unwrap().is_none());
    }
}

/// Reads page by page, each time with a new query from the continuation of the last.
async fn resumed(database: &PartitionedDatabase, statement: &Statement, n_items: usize) {
    let mut query = database.query(statement.clone(), &ReadScope::All).await.unwrap().rows_max(1);
    let mut rows = Vec::new();
    while let Some(page) = query.next_page().await.unwrap() {
        rows.extend(page.rows);
        let Some(at) = page.continuation else { break };
        let next = database.resume(statement.clone(), &ReadScope::All, &at).await.unwrap();
        query = next.rows_max(1);
    }
    assert_eq!(ids(&rows).len(), n_items);
}

fn by_pk(key: &Key) -> Value {
    let Key::Text(pk) = key else { panic!("{key} is not a text") };
    item(&format!("id-{pk}"), pk, 1)
}

fn texts(prefix: &str, n: usize) -> Vec<Key> {
    (0..n).map(|it| Key::from(format!("{prefix}{it}"))).collect()
}

#[test]
fn hash_rings_of_every_hash() {
    run(async {
        let (service, _) = service().await;
        make(&service, &["h0", "h1", "h2"]).await;
        let builder = || HashPartitionResolver::builder(source()).containers(["h0", "h1", "h2"]);
        for builder in [
            builder(),
            builder().hash(XxHash).virtual_nodes(64),
            builder().hash(Murmur3).node_python_java(),
        ] {
            let scheme = Scheme::new(Arc::new(builder.build().unwrap()));
            exercise(&service, scheme, &texts("k", 12), by_pk).await;
        }
    });
}

#[test]
fn ranges_of_time() {
    run(async {
        let (service, _) = service().await;
        make(&service, &["q1", "q2"]).await;
        let range =
            |low: &str, high: &str| Range::half_open(low.to_owned(), high.to_owned()).unwrap();
        let entries = [(range("2024-01", "2024-04"), "q1"), (range("2024-04", "2024-07"), "q2")];
        let resolver = Arc::new(RangePartitionResolver::new(source(), entries).unwrap());
        let keys: Vec<Key> = (1..7).map(|it| Key::from(format!("2024-{it:02}"))).collect();
        exercise(&service, Scheme::new(resolver.clone()), &keys, by_pk).await;
        let database = PartitionedDatabase::new(Arc::new(service), Scheme::new(resolver));
        let outside = database.create(&by_pk(&"2025-01".into())).await;
        assert!(matches!(outside, Err(orrery_client::Error::NoContainer { .. })));
        let spring = Range::new(Key::from("2024-02"), Key::from("2024-03")).unwrap();
        let links = database.resolver().containers_for_read(&spring.into()).unwrap();
        assert_eq!(links.len(), 1, "only the first quarter is read");
    });
}

#[test]
fn lookups_by_tenant_and_chains_of_resolvers() {
    run(async {
        let (service, _) = service().await;
        make(&service, &["big", "rest-0", "rest-1"]).await;
        let lookup = LookupPartitionResolver::new(source(), [("acme", "big")]).unwrap();
        let keys = [Key::from("acme"), Key::from("other")];
        let all = lookup.clone().otherwise("rest-0");
        exercise(&service, Scheme::new(Arc::new(all)), &keys, by_pk).await;
        let hash = HashPartitionResolver::builder(source())
            .containers(["rest-0", "rest-1"])
            .build()
            .unwrap();
        let chain: [Arc<dyn PartitionResolver>; 2] = [Arc::new(lookup), Arc::new(hash)];
        let chain = Arc::new(ChainedPartitionResolver::new(chain).unwrap());
        let link = chain.container_for_create(&"acme".into()).unwrap();
        assert_eq!(link.as_str(), "big");
        let mut keys = texts("tenant-", 8);
        keys.push("acme".into());
        exercise(&service, Scheme::new(chain), &keys, by_pk).await;
    });
}

#[test]
fn composites_choose_a_ring_by_region() {
    run(async {
        let (service, _) = service().await;
        make(&service, &["eu-0", "eu-1", "us-0"]).await;
        let region = KeySource::path("/region").unwrap();
        let outer = LookupPartitionResolver::new(region, [("eu", "europe"), ("us", "america")]);
        let ring = |names: &[&str]| -> Arc<dyn PartitionResolver> {
            let builder = HashPartitionResolver::builder(source());
            Arc::new(builder.containers(names.iter().copied()).build().unwrap())
        };
        let composite = CompositePartitionResolver::new(
            KeySource::paths(["/region", "/pk"]).unwrap(),
            Arc::new(outer.unwrap()),
            [("europe", ring(&["eu-0", "eu-1"])), ("america", ring(&["us-0"]))],
        );
        let scheme = Scheme::new(Arc::new(composite.unwrap())).partition(source());
        let keys: Vec<Key> = ["eu", "us"]
            .iter()
            .flat_map(|region| (0..4).map(move |it| Key::from((*region, format!("k{it}")))))
            .collect();
        exercise(&service, scheme, &keys, |key| {
            let [Key::Text(region), Key::Text(pk)] = key.components() else { panic!("{key}") };
            json!({"id": format!("{region}-{pk}"), "region": region, "pk": pk, "version": 1})
        })
        .await;
    });
}

#[test]
fn managed_rings_make_their_containers() {
    run(async {
        let (service, _) = service().await;
        let make = || {
            ManagedPartitionResolver::create(
                &service,
                HashPartitionResolver::builder(source()),
                Naming::new("managed-").digits(2),
                ContainerTemplate::new(["/pk"]),
                3,
            )
        };
        // Two clients at once: whoever is slower takes what is there.
        let (one, two) = futures::join!(make(), make());
        let (one, two) = (one.unwrap(), two.unwrap());
        assert_eq!(one.state(), two.state());
        let mut names = service.list().await.unwrap();
        names.sort();
        assert_eq!(names, ["managed-00", "managed-01", "managed-02"]);
        exercise(&service, Scheme::new(one.shared()), &texts("k", 9), by_pk).await;
    });
}

#[test]
fn spillover_follows_what_the_server_says_about_its_fill() {
    run(async {
        let (service, _) = service().await;
        let mut options = SpilloverOptions::new(ContainerTemplate::new(["/pk"]));
        options.check_interval_ms = 0;
        // Full at once as soon as something is stored, so that the test need not write gigabytes.
        options.fill_factor = 1e-9;
        let open = || {
            SpilloverPartitionResolver::open(
                Arc::new(service.clone()),
                options.clone(),
                Env::system(),
            )
        };
        let client = |resolver| {
            let scheme = Scheme::new(Arc::new(resolver)).partition(source());
            PartitionedDatabase::new(Arc::new(service.clone()), scheme)
        };
        let (one, two) = (client(open().await.unwrap()), client(open().await.unwrap()));
        let text = "x".repeat(1000);
        for number in 0..40 {
            let mut item = item(&format!("i{number}"), &format!("k{}", number % 4), 1);
            item["text"] = json!(text);
            let database = if number % 2 == 0 { &one } else { &two };
            database.create(&item).await.unwrap();
        }
        let names = service.list().await.unwrap();
        assert!(names.len() > 1 && names.contains(&"Collection.1".to_owned()), "{names:?}");
        let query = one.query(Statement::new("SELECT * FROM c"), &ReadScope::All).await.unwrap();
        let rows = query.parallelism(2).collect().await.unwrap();
        assert_eq!(ids(&rows).len(), 40);
        let at = Address::new("i0", Key::Null).partition("k0");
        assert!(two.read(&at).await.unwrap().is_some(), "found in an older container");
        assert!(two.delete(&at, None).await.unwrap());
    });
}

#[test]
fn transitions_read_as_their_mode_says() {
    run(async {
        let (service, _) = service().await;
        make(&service, &["old", "new"]).await;
        let ring = |name: &str| -> Arc<dyn PartitionResolver> {
            let builder = HashPartitionResolver::builder(source());
            Arc::new(builder.containers([name]).build().unwrap())
        };
        let items = Arc::new(service.clone());
        let before = PartitionedDatabase::new(items.clone(), Scheme::new(ring("old")));
        before.create(&item("before", "a", 1)).await.unwrap();
        let open = |mode| {
            let resolver = TransitionPartitionResolver::new(ring("old"), ring("new"), mode);
            PartitionedDatabase::new(items.clone(), Scheme::new(Arc::new(resolver)))
        };
        open(ReadMode::ReadBoth).create(&item("since", "b", 1)).await.unwrap();
        for (mode, expected) in [
            (ReadMode::ReadCurrent, &["before"][..]),
            (ReadMode::ReadNext, &["since"]),
            (ReadMode::ReadBoth, &["before", "since"]),
        ] {
            let database = open(mode);
            let query = database.query(Statement::new("SELECT * FROM c"), &ReadScope::All);
            let rows = query.await.unwrap().collect().await.unwrap();
            assert_eq!(ids(&rows), expected.iter().copied().collect(), "{mode:?}");
            let found = database.read(&Address::new("before", "a")).await.unwrap();
            assert_eq!(found.is_some(), expected.contains(&"before"), "{mode:?}");
        }
        let closed = open(ReadMode::None);
        let refused = closed.query(Statement::new("SELECT * FROM c"), &ReadScope::All).await;
        assert!(refused.is_err_and(|it| it.is_retryable()));
        closed.create(&item("later", "c", 1)).await.unwrap();
    });
}
