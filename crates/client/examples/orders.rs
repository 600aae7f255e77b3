//! Spreads orders over three containers of a running account, and reads them back.
//!
//! `cargo run --release` in one terminal, then `cargo run -p orrery-client --features sdk --example orders` in
//! another. `ORRERY_ENDPOINT` and `ORRERY_KEY` name another account.

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;

use azure_data_cosmos::clients::CosmosClient;
use azure_data_cosmos::options::{ConnectionPoolOptions, ServerCertificateValidation};
use azure_data_cosmos::{AccountEndpoint, AccountReference, CosmosRuntime, RoutingStrategy};
use futures::TryStreamExt as _;
use orrery_client::sdk::SdkDatabase;
use orrery_client::{
    Address, ContainerTemplate, HashPartitionResolver, KeySource, ManagedPartitionResolver, Naming,
    PartitionedDatabase, ReadScope, Scheme, Statement,
};
use serde_json::{Value, json};

// Wire: the key of all official emulators, which a server on this machine uses unless told otherwise.
const WELL_KNOWN_KEY: &str =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let service = connect().await?;
    // Three containers "orders.0" to "orders.2", made if they are missing, and a ring over them.
    let ring = ManagedPartitionResolver::create(
        &service,
        HashPartitionResolver::builder(KeySource::path("/customer")?),
        Naming::new("orders."),
        ContainerTemplate::new(["/customer"]),
        3,
    );
    let scheme = Scheme::new(Arc::new(ring.await?));
    let database = PartitionedDatabase::new(Arc::new(service), scheme);

    for number in 0..30 {
        let customer = format!("customer-{}", number % 10);
        database.upsert(&json!({"id": number.to_string(), "customer": customer})).await?;
    }
    let found = database.read(&Address::new("7", "customer-7")).await?;
    let mut out = std::io::stdout();
    writeln!(out, "order 7: {}", found.map_or(Value::Null, |it| it.item))?;

    // One container and one logical partition.
    let query = Statement::new("SELECT * FROM c");
    let rows =
        database.query(query.clone(), &ReadScope::key("customer-3")).await?.collect().await?;
    writeln!(out, "customer-3 has {} orders", rows.len())?;

    // All containers, three at a time, as one stream.
    let query = database.query(query, &ReadScope::All).await?.parallelism(3);
    let rows: Vec<Value> = query.into_stream().try_collect().await?;
    writeln!(out, "there are {} orders", rows.len())?;
    Ok(())
}

async fn connect() -> Result<SdkDatabase, Box<dyn Error>> {
    let variable =
        |name: &str, otherwise: &str| std::env::var(name).unwrap_or_else(|_| otherwise.to_owned());
    let endpoint = variable("ORRERY_ENDPOINT", "https://localhost:8081/");
    let endpoint: AccountEndpoint = endpoint.parse()?;
    let key = variable("ORRERY_KEY", WELL_KNOWN_KEY);
    let account = AccountReference::with_authentication_key(endpoint, key);
    // The certificate of a local server is self-signed.
    let pool = ConnectionPoolOptions::builder()
        .with_server_certificate_validation(ServerCertificateValidation::RequiredUnlessEmulator)
        .build()?;
    let runtime = CosmosRuntime::builder().with_connection_pool(pool).build().await?;
    let strategy = RoutingStrategy::ProximityTo("South Central US".into());
    let client = CosmosClient::builder().with_runtime(runtime).build(account, strategy).await?;
    // There already: as good.
    let _ = client.create_database("shop", None).await;
    Ok(SdkDatabase::new(client.database_client("shop")))
}
