//! Synthetic partition keys: written into items, and read by plan.
//!
//! `cargo run --release` in one terminal, then
//! `cargo run -p orrery-client --features rest --example synthetic` in another.

#![allow(clippy::print_stdout, unreachable_pub, reason = "an example talks to a person")]

mod support;

use std::error::Error;

use orrery_client::{
    Concat, ContainerHost, ContainerLink, ContainerTemplate, HashedSuffix, ItemStore, Key,
    Partitioned, RandomSuffix, SyntheticKey,
};
use serde::Serialize;
use serde_json::json;

/// The same as the joined key below, from annotated fields.
#[derive(Serialize, Partitioned)]
#[serde(rename_all = "camelCase")]
#[partition(property = "partitionKey")]
struct Reading {
    id: String,
    #[partition(part)]
    device_id: String,
    #[partition(part)]
    year: u32,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let service = support::database("synthetic").await?;
    let link = ContainerLink::from("readings");
    ContainerHost::create(&service, "readings", &ContainerTemplate::new(["/partitionKey"])).await?;

    let concat = Concat::new("/partitionKey", ["/deviceId", "/year"])?;
    let reading = Reading { id: "r".into(), device_id: "abc-123".into(), year: 2018 };
    let key = concat.make(&reading.to_item()?)?;
    service.upsert(&link, &Key::from(key.as_str()), &reading.to_item()?).await?;
    let plan = concat.plan(&["abc-123".into(), 2018.into()])?;
    let found = plan.read(&service, &link, "r", 1).await?;
    println!("joined: {key}, found by a point read: {}", found.is_some());

    let hashed = HashedSuffix::new("/partitionKey", "/date", "/vin")?;
    let random = RandomSuffix::new("/partitionKey", "/day")?.count(20)?;
    for number in 0..100 {
        let mut trip =
            json!({"id": format!("t{number}"), "date": "2018-08-09", "vin": format!("V{number}")});
        let key = hashed.apply(&mut trip)?;
        service.upsert(&link, &key.into(), &trip).await?;
        let mut click = json!({"id": format!("c{number}"), "day": "2018-08-10"});
        let key = random.apply(&mut click)?;
        service.upsert(&link, &key.into(), &click).await?;
    }
    let plan = hashed.plan(&"2018-08-09".into(), &"V42".into())?;
    let found = plan.read(&service, &link, "t42", 1).await?;
    println!("hashed suffix: {:?}, found by a point read: {}", plan.keys(), found.is_some());

    let plan = random.plan(&"2018-08-10".into())?;
    let found = plan.read(&service, &link, "c42", 10).await?;
    println!(
        "random suffix: found by {} parallel point reads: {}",
        plan.keys().len(),
        found.is_some()
    );
    let all = plan.rows(&service, &link, random.property(), None).await?;
    println!("all of the day by one query: {}", all.len());
    Ok(())
}
