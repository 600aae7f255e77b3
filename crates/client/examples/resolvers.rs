//! One scheme after the other: where does an item go, and what does a query read?
//!
//! `cargo run --release` in one terminal, then
//! `cargo run -p orrery-client --features rest --example resolvers` in another.

#![allow(clippy::print_stdout, unreachable_pub, reason = "an example talks to a person")]

mod support;

use std::error::Error;
use std::sync::Arc;

use orrery_client::rest::RestDatabase;
use orrery_client::{
    ChainedPartitionResolver, CompositePartitionResolver, ContainerHost, ContainerTemplate, Env,
    HashPartitionResolver, Key, KeySource, LookupPartitionResolver, ManagedPartitionResolver,
    Naming, PartitionResolver, PartitionedDatabase, Range, RangePartitionResolver, ReadMode,
    ReadScope, Scheme, SpilloverOptions, SpilloverPartitionResolver, Statement,
    TransitionPartitionResolver,
};
use serde_json::{Value, json};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

#[tokio::main]
async fn main() -> Outcome {
    let service = support::database("resolvers").await?;
    hash(&service).await?;
    range(&service).await?;
    chain(&service).await?;
    composite(&service).await?;
    spillover(&service).await?;
    transition(&service).await
}

/// Creates items, then says how many containers a query reads and how many rows it finds.
async fn show(
    service: &RestDatabase,
    name: &str,
    scheme: Scheme,
    items: &[Value],
    scope: ReadScope,
) -> Outcome {
    let database = PartitionedDatabase::new(Arc::new(service.clone()), scheme);
    for item in items {
        database.create(item).await?;
    }
    let n_containers = database.resolver().containers_for_read(&scope)?.len();
    let query = database.query(Statement::new("SELECT * FROM c"), &scope).await?;
    let rows = query.parallelism(4).collect().await?;
    println!("{name}: {} rows from {n_containers} containers", rows.len());
    Ok(())
}

async fn containers(service: &RestDatabase, names: &[&str], path: &str) -> Outcome {
    for name in names {
        service.create(name, &ContainerTemplate::new([path])).await?;
    }
    Ok(())
}

/// Even spread; the containers are made for you.
async fn hash(service: &RestDatabase) -> Outcome {
    let ring = ManagedPartitionResolver::create(
        service,
        HashPartitionResolver::builder(KeySource::path("/customer")?).virtual_nodes(64),
        Naming::new("orders-"),
        ContainerTemplate::new(["/customer"]),
        4,
    );
    let items: Vec<Value> = (0..40)
        .map(|it| json!({"id": it.to_string(), "customer": format!("customer-{}", it % 10)}))
        .collect();
    show(service, "hash", Scheme::new(ring.await?.shared()), &items, ReadScope::key("customer-3"))
        .await
}

/// A container for each quarter: last quarter's may have less throughput.
async fn range(service: &RestDatabase) -> Outcome {
    containers(service, &["2024-q1", "2024-q2"], "/month").await?;
    let quarter = |low: &str, high: &str| Range::half_open(low.to_owned(), high.to_owned());
    let entries =
        [(quarter("2024-01", "2024-04")?, "2024-q1"), (quarter("2024-04", "2024-07")?, "2024-q2")];
    let resolver = RangePartitionResolver::new(KeySource::path("/month")?, entries)?;
    let items: Vec<Value> =
        (1..7).map(|it| json!({"id": it.to_string(), "month": format!("2024-{it:02}")})).collect();
    let spring = Range::new(Key::from("2024-02"), Key::from("2024-03"))?;
    show(service, "range", Scheme::new(Arc::new(resolver)), &items, spring.into()).await
}

/// A large tenant has a container of its own, all others share a ring.
async fn chain(service: &RestDatabase) -> Outcome {
    containers(service, &["acme", "tenants-0", "tenants-1"], "/tenant").await?;
    let source = KeySource::path("/tenant")?;
    let lookup = LookupPartitionResolver::new(source.clone(), [("acme", "acme")])?;
    let ring = HashPartitionResolver::builder(source).containers(["tenants-0", "tenants-1"]);
    let links: [Arc<dyn PartitionResolver>; 2] = [Arc::new(lookup), Arc::new(ring.build()?)];
    let resolver = ChainedPartitionResolver::new(links)?;
    let items: Vec<Value> = ["acme", "small", "tiny"]
        .iter()
        .map(|it| json!({"id": format!("1 of {it}"), "tenant": it}))
        .collect();
    show(
        service,
        "lookup, then hash",
        Scheme::new(Arc::new(resolver)),
        &items,
        ReadScope::key("acme"),
    )
    .await
}

/// A ring of its own for each region.
async fn composite(service: &RestDatabase) -> Outcome {
    containers(service, &["eu-0", "eu-1", "us-0"], "/user").await?;
    let ring = |names: &[&str]| -> Outcome<Arc<dyn PartitionResolver>> {
        let builder = HashPartitionResolver::builder(KeySource::path("/user")?);
        Ok(Arc::new(builder.containers(names.iter().copied()).build()?))
    };
    let regions = [("eu", "europe"), ("us", "america")];
    let resolver = CompositePartitionResolver::new(
        KeySource::paths(["/region", "/user"])?,
        Arc::new(LookupPartitionResolver::new(KeySource::path("/region")?, regions)?),
        [("europe", ring(&["eu-0", "eu-1"])?), ("america", ring(&["us-0"])?)],
    )?;
    let scheme = Scheme::new(Arc::new(resolver)).partition(KeySource::path("/user")?);
    let items = [
        json!({"id": "1", "region": "eu", "user": "anna"}),
        json!({"id": "2", "region": "us", "user": "bob"}),
    ];
    show(service, "composite", scheme, &items, ReadScope::key(("eu", "anna"))).await
}

/// No scheme: the next container is made when the last is nearly full.
async fn spillover(service: &RestDatabase) -> Outcome {
    let mut options = SpilloverOptions::new(ContainerTemplate::new(["/id"]));
    options.naming = Naming::new("log-");
    let resolver =
        SpilloverPartitionResolver::open(Arc::new(service.clone()), options, Env::system()).await?;
    let scheme = Scheme::new(Arc::new(resolver)).partition(KeySource::path("/id")?);
    show(service, "spillover", scheme, &[json!({"id": "first"})], ReadScope::All).await
}

/// Two schemes at once. `Repartitioner` does this for you; see the example `grow`.
async fn transition(service: &RestDatabase) -> Outcome {
    containers(service, &["before", "after"], "/id").await?;
    let ring = |name: &str| -> Outcome<Arc<dyn PartitionResolver>> {
        let builder = HashPartitionResolver::builder(KeySource::path("/id")?);
        Ok(Arc::new(builder.containers([name]).build()?))
    };
    let old = Scheme::new(ring("before")?);
    show(service, "before a transition", old, &[json!({"id": "old"})], ReadScope::All).await?;
    let resolver =
        TransitionPartitionResolver::new(ring("before")?, ring("after")?, ReadMode::ReadBoth);
    let both = Scheme::new(Arc::new(resolver));
    show(service, "during a transition", both, &[json!({"id": "new"})], ReadScope::All).await
}
