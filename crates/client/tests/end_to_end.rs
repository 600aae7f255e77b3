//! Against a running account: every strategy, a ring that grows under writers, state shared by two clients.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use azure_data_cosmos::clients::CosmosClient;
use azure_data_cosmos::options::{ConnectionPoolOptions, ServerCertificateValidation};
use azure_data_cosmos::{AccountEndpoint, AccountReference, CosmosRuntime, RoutingStrategy};
use futures::TryStreamExt as _;
use orrery_client::repartition::{Options, Repartitioner};
use orrery_client::sdk::{ContainerJobStore, ContainerStateStore, SdkDatabase};
use orrery_client::{
    Address, ContainerHost as _, ContainerTemplate, Env, HashPartitionResolver, HashedSuffix, Key,
    KeySource, ManagedPartitionResolver, Naming, PartitionResolver as _, PartitionedDatabase,
    Range, RangePartitionResolver, ReadScope, Registry, Scheme, SharedPartitionResolver, Statement,
    SyntheticKey as _,
};
use serde_json::{Value, json};

fn setting(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

async fn database() -> SdkDatabase {
    let endpoint: AccountEndpoint = setting("ORRERY_ENDPOINT").parse().unwrap();
    let account = AccountReference::with_authentication_key(endpoint, setting("ORRERY_KEY"));
    let pool = ConnectionPoolOptions::builder()
        .with_server_certificate_validation(ServerCertificateValidation::RequiredUnlessEmulator)
        .build()
        .unwrap();
    let runtime = CosmosRuntime::builder().with_connection_pool(pool).build().await.unwrap();
    let strategy = RoutingStrategy::ProximityTo("South Central US".into());
    let client =
        CosmosClient::builder().with_runtime(runtime).build(account, strategy).await.unwrap();
    let name = format!("client-{}", Env::system().uuid());
    client.create_database(&name, None).await.unwrap();
    SdkDatabase::new(client.database_client(name))
}

fn source() -> KeySource {
    KeySource::path("/pk").unwrap()
}

async fn all(database: &PartitionedDatabase) -> Vec<Value> {
    let statement = Statement::new("SELECT * FROM c");
    let query = database.query(statement, &ReadScope::All).await.unwrap();
    query.parallelism(4).rows_max(7).into_stream().try_collect().await.unwrap()
}

fn ids(rows: &[Value]) -> BTreeSet<String> {
    let ids: BTreeSet<String> =
        rows.iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), rows.len(), "an item is doubled");
    ids
}

/// One runtime for all, since the SDK shares connections between clients of a process.
#[tokio::test(flavor = "multi_thread")]
async fn a_running_account_is_partitioned_by_its_client() {
    ranges_and_synthetic_keys().await;
    a_ring_grows_under_writers().await;
}

async fn ranges_and_synthetic_keys() {
    let service = database().await;
    let template = ContainerTemplate::new(["/pk"]);
    for name in ["a-m", "n-z"] {
        service.create(name, &template).await.unwrap();
    }
    let range = |low: &str, high: &str| Range::new(low.to_owned(), high.to_owned()).unwrap();
    let entries = [(range("a", "m\u{ffff}"), "a-m"), (range("n", "z\u{ffff}"), "n-z")];
    let resolver = RangePartitionResolver::new(source(), entries).unwrap();
    let database =
        PartitionedDatabase::new(Arc::new(service.clone()), Scheme::new(Arc::new(resolver)));
    for name in ["anna", "bert", "nora", "zoe"] {
        let etag = database.create(&json!({"id": name, "pk": name})).await.unwrap();
        let at = Address::new(name, name);
        let changed = json!({"id": name, "pk": name, "n": 1});
        let etag = database.replace(&at, &changed, Some(&etag)).await.unwrap();
        let stale = database.replace(&at, &changed, Some("\"other\"")).await;
        assert!(stale.is_err_and(|it| it.is_service(412)));
        assert_eq!(database.read(&at).await.unwrap().unwrap().etag, etag);
    }
    let scope = ReadScope::Range(Range::new(Key::from("b"), Key::from("c")).unwrap());
    let query = database.query(Statement::new("SELECT * FROM c"), &scope).await.unwrap();
    assert_eq!(query.collect().await.unwrap().len(), 2, "both of the one container");
    assert!(database.delete(&Address::new("zoe", "zoe"), None).await.unwrap());
    assert_eq!(ids(&all(&database).await).len(), 3);

    let suffix = HashedSuffix::new("/pk", "/date", "/vin").unwrap();
    let items: Arc<dyn orrery_client::ItemStore> = Arc::new(service.clone());
    let mut item = json!({"id": "1", "date": "2018-08-09", "vin": "V1"});
    let key = suffix.apply(&mut item).unwrap();
    items.create(&"a-m".into(), &key.into(), &item).await.unwrap();
    let plan = suffix.plan(&"2018-08-09".into(), &"V1".into()).unwrap();
    let found = items.read(&"a-m".into(), &plan.keys()[0].as_str().into(), "1").await.unwrap();
    assert!(found.is_some());
    let statement =
        suffix.plan_all(&"2018-08-09".into()).unwrap().query("c", suffix.property(), None);
    let request = orrery_client::PageRequest {
        container: &"a-m".into(),
        statement: &statement,
        partition: None,
        continuation: None,
        rows_max: None,
    };
    assert_eq!(items.page(request).await.unwrap().rows.len(), 1);
}

async fn a_ring_grows_under_writers() {
    let service = database().await;
    service.create("states", &ContainerTemplate::new(["/id"])).await.unwrap();
    let states = service.container(&"states".into()).await.unwrap();
    let template = ContainerTemplate::new(["/pk"]);
    let builder = HashPartitionResolver::builder(source());
    let ring =
        ManagedPartitionResolver::create(&service, builder, Naming::new("ring."), template, 2);
    let first = ring.await.unwrap().state();
    let interval = Duration::from_millis(100);
    let open = |first| {
        let store = Arc::new(ContainerStateStore::new(states.clone(), "ring"));
        SharedPartitionResolver::open(store, first, Registry::new(), interval, Env::system())
    };
    let client = |resolver| {
        PartitionedDatabase::new(Arc::new(service.clone()), Scheme::new(Arc::new(resolver)))
    };
    let one = client(open(Some(first)).await.unwrap());
    let two = client(open(None).await.unwrap());
    for number in 0..60 {
        one.create(&json!({"id": format!("a{number}"), "pk": format!("k{number}")})).await.unwrap();
    }
    let store = Arc::new(ContainerStateStore::new(states.clone(), "ring"));
    let manager = Repartitioner::new(
        Arc::new(service.clone()),
        Arc::new(service.clone()),
        store,
        Arc::new(ContainerJobStore::new(states.clone(), "job")),
        Registry::new(),
        Options { grace: interval * 3, page_items: 10, partition: None },
    );
    let plan = manager.begin(&manager.resized(1).await.unwrap()).await.unwrap();
    assert!(plan.n_moving() > 0 && plan.n_moving() < 60);
    let writer = async {
        for number in 0..60 {
            let key = format!("k{number}");
            two.upsert(&json!({"id": format!("b{number}"), "pk": key})).await.unwrap();
            two.upsert(&json!({"id": format!("a{number}"), "pk": key, "n": 2})).await.unwrap();
            if number % 10 == 0 {
                assert!(two.delete(&Address::new(format!("a{number}"), key), None).await.unwrap());
                let seen = ids(&all(&two).await);
                assert!(seen.len() > 50, "{}", seen.len());
            }
            service.pause(Duration::from_millis(10)).await;
        }
    };
    let mut report = |_, _| {};
    let (progress, ()) = futures::join!(manager.run(&mut report), writer);
    progress.unwrap();
    service.pause(interval * 2).await;
    let rows = all(&one).await;
    let expected: BTreeSet<String> = (0..60)
        .flat_map(|it| [Some(format!("b{it}")), (it % 10 != 0).then(|| format!("a{it}"))])
        .flatten()
        .collect();
    assert_eq!(ids(&rows), expected);
    let is_old = |it: &&Value| it["id"].as_str().unwrap().starts_with('a') && it["n"] != 2;
    assert_eq!(rows.iter().filter(is_old).count(), 0, "the writer's version counts");
    assert_eq!(service.list().await.unwrap().len(), 4);
}
