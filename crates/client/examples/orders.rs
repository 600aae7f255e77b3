//! Spreads orders over three containers of a running account, and reads them back.
//!
//! Start a server with `cargo run --release`, then, with its address and key:
//! `ORRERY_ENDPOINT=https://localhost:8081 ORRERY_KEY=… cargo run -p orrery-client --example orders`

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
    let endpoint: AccountEndpoint = std::env::var("ORRERY_ENDPOINT")?.parse()?;
    let account = AccountReference::with_authentication_key(endpoint, std::env::var("ORRERY_KEY")?);
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
