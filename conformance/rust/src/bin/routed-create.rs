//! What a create through a resolver costs over a plain one of the SDK; `cargo xtask bench resolvers` runs it.
//!
//! Both write items of the same size into the containers of one ring, in turns, one at a time. Prints the median
//! nanoseconds of a plain and of a routed create.

use std::sync::Arc;
use std::time::Instant;

use conformance_rust::partitioned::{service, source};
use conformance_rust::{Result, run};
use orrery_client::{
    ContainerLink, ContainerTemplate, HashPartitionResolver, ManagedPartitionResolver, Naming,
    PartitionResolver, PartitionedDatabase, Scheme,
};
use serde_json::{Value, json};

const N_ROUNDS: usize = 3000;

fn item(kind: &str, number: usize) -> (String, String, Value) {
    let (id, pk) = (format!("{kind}{number}"), format!("key-{number}"));
    let body = json!({"id": id, "pk": pk, "note": "x".repeat(900)});
    (id, pk, body)
}

fn main() -> Result {
    run(async {
        let (service, _) = service().await;
        let ring = ManagedPartitionResolver::create(
            &service,
            HashPartitionResolver::builder(source()),
            Naming::new("ring."),
            ContainerTemplate::new(["/pk"]),
            4,
        );
        let ring = Arc::new(ring.await?);
        let database =
            PartitionedDatabase::new(Arc::new(service.clone()), Scheme::new(ring.clone()));
        let (mut plain, mut routed) = (Vec::new(), Vec::new());
        for number in 0..N_ROUNDS {
            // The plain side gets the same container, found before the clock starts.
            let (id, pk, body) = item("plain", number);
            let link: ContainerLink = ring.container_for_create(&pk.as_str().into())?;
            let client = service.container(&link).await?;
            let start = Instant::now();
            client.create_item(pk, &id, &body, None).await?;
            plain.push(start.elapsed().as_nanos());

            let (_, _, body) = item("routed", number);
            let start = Instant::now();
            database.create(&body).await?;
            routed.push(start.elapsed().as_nanos());
        }
        println!("{} {}", median(plain), median(routed));
        Ok(())
    })
}

fn median(mut times: Vec<u128>) -> u128 {
    // The first requests open connections and fill caches.
    times.drain(..N_ROUNDS / 10);
    times.sort_unstable();
    times[times.len() / 2]
}
