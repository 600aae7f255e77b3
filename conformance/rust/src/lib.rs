//! What all tests share: a client for the server that the `ORRERY_…` variables name, and scratch containers.
//!
//! `cargo xtask conformance rust` starts the server and sets `ORRERY_ENDPOINT`, `ORRERY_KEY`,
//! `ORRERY_READ_ONLY_KEY` and `ORRERY_MIN_PARTITIONS`.

pub mod mortal;
pub mod partitioned;
pub mod wire;

use std::sync::LazyLock;

use azure_data_cosmos::clients::{ContainerClient, CosmosClient, DatabaseClient};
use azure_data_cosmos::models::{ContainerProperties, PartitionKeyDefinition};
use azure_data_cosmos::options::{
    ConnectionPoolOptions, ContentResponseOnWrite, ItemWriteOptions, OperationOptionsBuilder,
    ServerCertificateValidation,
};
use azure_data_cosmos::{
    AccountEndpoint, AccountReference, CosmosError, CosmosRuntime, RoutingStrategy,
};
use tokio::runtime::Runtime;

pub type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

pub fn setting(name: &str) -> String {
    std::env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set: run `cargo xtask conformance rust`"))
}

pub fn min_partitions() -> usize {
    setting("ORRERY_MIN_PARTITIONS").parse().expect("a number of partitions")
}

pub fn key() -> String {
    setting("ORRERY_KEY")
}

pub async fn client(key: &str) -> std::result::Result<CosmosClient, CosmosError> {
    let endpoint: AccountEndpoint = setting("ORRERY_ENDPOINT").parse()?;
    let account = AccountReference::with_authentication_key(endpoint, key.to_owned());
    // The certificate of a local server is self-signed.
    let pool = ConnectionPoolOptions::builder()
        .with_server_certificate_validation(ServerCertificateValidation::RequiredUnlessEmulator)
        .build()?;
    let runtime = CosmosRuntime::builder().with_connection_pool(pool).build().await?;
    let strategy = RoutingStrategy::ProximityTo("South Central US".into());
    CosmosClient::builder().with_runtime(runtime).build(account, strategy).await
}

pub fn unique(prefix: &str) -> String {
    format!("{prefix}-{}", uuid::Uuid::new_v4().simple())
}

/// Runs a test on the one runtime of this process. The SDK shares connections between clients, and a
/// connection dies with the runtime that opened it, so a runtime for each test would break the others.
pub fn run<T>(test: impl Future<Output = T>) -> T {
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("threads"));
    RUNTIME.block_on(test)
}

/// A database of one test. A failed test leaves it behind, which a server in memory forgives.
pub struct Scratch {
    pub client: CosmosClient,
    pub database: DatabaseClient,
    /// The name of the database.
    pub name: String,
}

impl Scratch {
    pub async fn new() -> Scratch {
        let client = client(&key()).await.unwrap();
        let name = unique("rust");
        client.create_database(&name, None).await.unwrap();
        let database = client.database_client(name.as_str());
        Scratch { client, database, name }
    }

    pub async fn container(&self, path: &str) -> ContainerClient {
        self.container_with(properties(&[path])).await
    }

    pub async fn container_with(&self, properties: ContainerProperties) -> ContainerClient {
        let name = properties.id.to_string();
        self.database.create_container(properties, None).await.unwrap();
        self.database.container_client(name, None).await.unwrap()
    }

    pub async fn finish(self) {
        self.database.delete(None).await.unwrap();
    }
}

pub fn properties(paths: &[&str]) -> ContainerProperties {
    let paths = paths.iter().map(|it| it.to_string().into()).collect();
    ContainerProperties::new(unique("items"), PartitionKeyDefinition::new(paths))
}

pub fn item(id: &str, pk: &str) -> serde_json::Value {
    serde_json::json!({"id": id, "pk": pk})
}

/// Checks that a call fails with `status`.
#[track_caller]
pub fn failed_with<T>(status: u16, result: std::result::Result<T, CosmosError>) {
    assert_eq!(failure(result).0, status);
}

/// Asks the service to send written items back; without it the SDK asks for none.
pub fn with_body() -> Option<ItemWriteOptions> {
    let options = OperationOptionsBuilder::new()
        .with_content_response_on_write(ContentResponseOnWrite::Enabled)
        .build();
    Some(ItemWriteOptions::default().with_operation_options(options))
}

/// The status, and substatus if any, of a call that must fail.
#[track_caller]
pub fn failure<T>(result: std::result::Result<T, CosmosError>) -> (u16, u16) {
    match result {
        Ok(_) => panic!("the call succeeded"),
        Err(error) => {
            let status = error.status();
            let sub = status.sub_status().map_or(0, |it| it.value());
            (u16::from(status.status_code()), sub)
        }
    }
}
