//! A container gets another partition key while it is written to.
//!
//! `cargo run --release` in one terminal, then
//! `cargo run -p orrery-client --features rest --example rekey` in another.

#![allow(clippy::print_stdout, unreachable_pub, reason = "an example talks to a person")]

mod support;

use std::error::Error;
use std::sync::Arc;

use orrery_client::rekey::{Options, Rekey, Spec, SyntheticScheme};
use orrery_client::{
    ContainerHost, ContainerLink, ContainerStateStore, ContainerTemplate, HashedSuffix, ItemStore,
};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let service = Arc::new(support::database("rekey").await?);
    ContainerHost::create(&*service, "trips", &ContainerTemplate::new(["/date"])).await?;
    ContainerHost::create(&*service, "states", &ContainerTemplate::new(["/id"])).await?;
    let trips = ContainerLink::from("trips");
    let write = |number: u32| {
        let item = json!({"id": number.to_string(), "date": "2018-08-09", "vin": format!("V{}", number % 90)});
        let (service, trips) = (service.clone(), trips.clone());
        async move { service.upsert(&trips, &"2018-08-09".into(), &item).await }
    };
    for number in 0..300 {
        write(number).await?;
    }
    // All of a day were one logical partition; now a day is spread over 400.
    let scheme =
        SyntheticScheme::HashedSuffix(HashedSuffix::new("/partitionKey", "/date", "/vin")?);
    let spec = Spec::synthetic("trips", "trips-2", scheme);
    let job = Arc::new(ContainerStateStore::new(service.clone(), "states", "rekey"));
    let copy = Rekey::new(service.clone(), job, spec, Options::default());
    println!("{:?}", copy.plan().await?);

    let mut n_pages = 0;
    let mut follow = || {
        n_pages += 1;
        n_pages < 5
    };
    let mut report = |phase, progress| println!("{phase:?} {progress:?}");
    let application = async {
        for number in 300..350 {
            write(number).await?;
        }
        Ok::<_, orrery_client::Error>(())
    };
    let (copied, written) = tokio::join!(copy.run(&mut follow, &mut report), application);
    written?;
    println!("verified {} items", copied?.n_verified);
    Ok(())
}
