//! What the tests of the client library share: a service, a ring that processes share, and what is really stored.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use orrery_client::repartition::{Options, Repartitioner};
use orrery_client::rest::{Account, RestDatabase};
use orrery_client::sdk::SdkDatabase;
use orrery_client::{
    ContainerHost, ContainerLink, ContainerStateStore, ContainerTemplate, Env, FileStateStore,
    HashPartitionResolver, ItemStore, KeySource, ManagedPartitionResolver, Naming, PageRequest,
    PartitionResolver, PartitionedDatabase, Registry, Scheme, SharedPartitionResolver, StateStore,
    Statement,
};
use serde_json::{Value, json};

use crate::{Scratch, client, key, setting};

/// How often clients look at the shared state.
pub const INTERVAL: Duration = Duration::from_millis(100);

/// How long the manager waits until all have looked, and their calls under way have ended.
pub const GRACE: Duration = Duration::from_millis(700);

/// The container of states and jobs.
pub const STATES: &str = "states";

/// A database of one test, and its name for other processes.
pub async fn service() -> (SdkDatabase, String) {
    let scratch = Scratch::new().await;
    let name = scratch.database.name().expect("made by name").to_owned();
    (open(&name).await, name)
}

/// A database that another process made.
pub async fn open(name: &str) -> SdkDatabase {
    let database = client(&key()).await.unwrap().database_client(name.to_owned());
    SdkDatabase::new(database).with_rest(rest(name))
}

pub fn rest(name: &str) -> RestDatabase {
    let account = Account::new(&setting("ORRERY_ENDPOINT"), &key(), Env::system()).unwrap();
    RestDatabase::new(account, name)
}

pub fn source() -> KeySource {
    KeySource::path("/pk").unwrap()
}

/// Makes a ring "ring.0", "ring.1" … and saves its state.
pub async fn make_ring(service: &SdkDatabase, n_containers: u64, states: &dyn StateStore) {
    let ring = ManagedPartitionResolver::create(
        service,
        HashPartitionResolver::builder(source()),
        Naming::new("ring."),
        ContainerTemplate::new(["/pk"]),
        n_containers,
    );
    let state = ring.await.unwrap().state();
    orrery_client::save_state(states, &state, None).await.unwrap();
}

/// Opens the document `name`: in a folder, or in the container of states.
pub fn document(
    items: Arc<dyn ItemStore>,
    folder: Option<&Path>,
    name: &str,
) -> Arc<dyn StateStore> {
    match folder {
        Some(folder) => Arc::new(FileStateStore::new(folder.join(format!("{name}.json")))),
        None => Arc::new(ContainerStateStore::new(items, STATES, name)),
    }
}

pub async fn make_states(service: &SdkDatabase) {
    ContainerHost::create(service, STATES, &ContainerTemplate::new(["/id"])).await.unwrap();
}

/// A client that follows the shared state.
pub async fn follower(
    items: Arc<dyn ItemStore>,
    states: Arc<dyn StateStore>,
) -> PartitionedDatabase {
    let shared =
        SharedPartitionResolver::open(states, None, Registry::new(), INTERVAL, Env::system());
    PartitionedDatabase::new(items, Scheme::new(Arc::new(shared.await.unwrap())))
}

pub fn manager<S: ItemStore + ContainerHost + 'static>(
    service: Arc<S>,
    states: Arc<dyn StateStore>,
    jobs: Arc<dyn StateStore>,
    grace: Duration,
) -> Repartitioner {
    let options = Options { grace, page_items: 5, partition: None };
    Repartitioner::new(service.clone(), service, states, jobs, Registry::new(), options)
}

pub fn item(id: &str, pk: &str, version: u64) -> Value {
    json!({"id": id, "pk": pk, "version": version})
}

/// Everything that is stored in some containers, read from each of them without a resolver.
pub async fn stored(items: &dyn ItemStore, names: &[String]) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for name in names {
        let link = ContainerLink::from(name.as_str());
        let statement = Statement::new("SELECT * FROM c");
        let mut at: Option<String> = None;
        loop {
            let request = PageRequest {
                container: &link,
                statement: &statement,
                partition: None,
                continuation: at.as_deref(),
                rows_max: None,
            };
            let page = items.page(request).await.unwrap();
            all.extend(page.rows.into_iter().map(|it| (name.clone(), it)));
            at = page.continuation;
            if at.is_none() {
                break;
            }
        }
    }
    all
}

/// Checks that each item is stored once, where the resolver wants it, in the version that is expected.
#[track_caller]
pub fn check_stored(
    stored: &[(String, Value)],
    resolver: &dyn PartitionResolver,
    expected: &BTreeMap<String, u64>,
) {
    let mut found = BTreeMap::new();
    for (container, item) in stored {
        let place = resolver.container_for_create(&resolver.key_of(item).unwrap()).unwrap();
        assert_eq!(place.name(), container, "{item}");
        let id = item["id"].as_str().unwrap().to_owned();
        let version = item["version"].as_u64().unwrap();
        assert!(found.insert(id, version).is_none(), "stored twice: {item}");
    }
    assert_eq!(found, *expected);
}
