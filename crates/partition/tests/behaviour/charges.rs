//! Charges as operations report them; the model itself is tested in `charge.rs`.

use partition::{Error, Scope, Settings};

use crate::support::*;

/// An item of exactly one KiB with ten scalars.
fn kibibyte() -> String {
    let numbers: Vec<String> = (0..7).map(|n| format!(r#""n{n}":{n}"#)).collect();
    let start = format!(r#"{{"id":"a","pk":1,{},"fill":""#, numbers.join(","));
    let fill = "x".repeat(1024 - start.len() - 2);
    format!("{start}{fill}\"}}")
}

#[tokio::test]
async fn a_kibibyte_costs_what_is_published() {
    let world = World::new();
    let body = kibibyte();
    assert_eq!((body.len(), item(&body).n_terms()), (1024, 10));
    let created = world.create(&body).await.unwrap().outcome.charge;
    assert_eq!(created.to_string(), "6.95");
    let read = world.partition.read(&world.at("[1]"), "a", None).unwrap().charge;
    assert_eq!(read.to_string(), "1");
    let same = world.upsert(&body).await.unwrap().outcome.charge;
    assert_eq!(same.to_string(), "9.9", "nothing changed: no term is touched");
    let change = body.replace("\"n3\":3", "\"n3\":4");
    let replaced = world.upsert(&change).await.unwrap().outcome.charge;
    assert_eq!(replaced.to_string(), "10.3", "one term out, one term in");
    let patch = r#"[{"op":"set","path":"/n3","value":5}]"#;
    let patched = world.patch("[1]", "a", patch).await.unwrap().outcome.charge;
    assert_eq!(patched.to_string(), "10.7");
    let page = world.partition.page(&Scope::All, None, limits(10)).unwrap();
    assert_eq!(page.charge.to_string(), "1");
    let deleted = world.delete("[1]", "a").await.unwrap().outcome.charge;
    assert_eq!(deleted, created);
}

#[tokio::test]
async fn a_container_without_index_pays_no_terms() {
    let world = World::with(Settings { is_indexed: false, ..settings() });
    assert_eq!(world.create(&kibibyte()).await.unwrap().outcome.charge.to_string(), "4.95");
}

#[tokio::test]
async fn failures_have_a_price_too() {
    let world = World::new();
    let missing = world.partition.read(&world.at("[1]"), "a", None).unwrap_err();
    assert_eq!(missing.charge().to_string(), "1");
    assert_eq!(Error::BatchEmpty.charge().to_string(), "0");
}
