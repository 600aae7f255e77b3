//! A ring grows from two to three containers while the application writes.
//!
//! `cargo run --release` in one terminal, then
//! `cargo run -p orrery-client --features rest --example grow` in another.

#![allow(clippy::print_stdout, unreachable_pub, reason = "an example talks to a person")]

mod support;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use orrery_client::repartition::{Options, Repartitioner};
use orrery_client::{
    ContainerHost as _, ContainerStateStore, ContainerTemplate, Env, HashPartitionResolver,
    KeySource, ManagedPartitionResolver, Naming, PartitionResolver as _, PartitionedDatabase,
    ReadScope, Registry, Scheme, SharedPartitionResolver, Statement,
};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let service = Arc::new(support::database("grow").await?);
    service.create("states", &ContainerTemplate::new(["/id"])).await?;
    let ring = ManagedPartitionResolver::create(
        &*service,
        HashPartitionResolver::builder(KeySource::path("/customer")?),
        Naming::new("orders-"),
        ContainerTemplate::new(["/customer"]),
        2,
    );
    // Every process that writes follows the state in this item.
    let states = Arc::new(ContainerStateStore::new(service.clone(), "states", "orders"));
    let first = Some(ring.await?.state());
    let look = Duration::from_millis(200);
    let shared =
        SharedPartitionResolver::open(states.clone(), first, Registry::new(), look, Env::system());
    let database = PartitionedDatabase::new(service.clone(), Scheme::new(Arc::new(shared.await?)));
    for number in 0..200 {
        let customer = format!("customer-{}", number % 50);
        database.create(&json!({"id": number.to_string(), "customer": customer})).await?;
    }

    let jobs = Arc::new(ContainerStateStore::new(service.clone(), "states", "orders.job"));
    let options = Options { grace: Duration::from_secs(1), ..Options::default() };
    let manager =
        Repartitioner::new(service.clone(), service, states, jobs, Registry::new(), options);
    let plan = manager.begin(&manager.resized(1).await?).await?;
    println!("{} of 200 items will move, {:.0} %", plan.n_moving(), plan.share() * 100.0);
    let application = async {
        for number in 200..300 {
            let customer = format!("customer-{}", number % 50);
            database.create(&json!({"id": number.to_string(), "customer": customer})).await?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok::<_, orrery_client::Error>(())
    };
    let mut report = |phase, progress| println!("{phase:?} {progress:?}");
    let (moved, written) = tokio::join!(manager.run(&mut report), application);
    written?;
    println!("moved {} items", moved?.n_deleted);
    let query = database.query(Statement::new("SELECT * FROM c"), &ReadScope::All).await?;
    println!("there are {} items", query.collect().await?.len());
    Ok(())
}
