//! How long the hot paths of an item take: `cargo bench -p orrery-model`.
//!
//! The bar: less than 2 µs to check an item of 1 KiB. The best of many rounds is printed, because
//! a busy machine can only make a round slower.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints its results")]

use std::{hint::black_box, time::Duration};

use model::{ETag, Env, ItemBody, Lsn, PartitionKeyDefinition, Rid, json, with_system_properties};

const N_ROUNDS: u32 = 200;
const N_CALLS: u32 = 500;

fn measure<T>(env: &Env, name: &str, mut call: impl FnMut() -> T) {
    let mut best = Duration::MAX;
    for _ in 0..N_ROUNDS {
        let start = env.monotonic();
        for _ in 0..N_CALLS {
            black_box(call());
        }
        best = best.min(env.monotonic().saturating_sub(start));
    }
    println!("{name:<40} {:>8.0} ns", best.as_secs_f64() * 1e9 / f64::from(N_CALLS));
}

/// An order with nested objects, an array and every scalar type: 1 KiB.
fn order_item() -> String {
    let line = |n: u32| {
        format!(
            r#"{{"sku":"SKU-{n:05}","name":"Copper orrery gear, {n} teeth","price":{n}.95,"count":2}}"#
        )
    };
    let lines: Vec<String> = (10..19).map(line).collect();
    let head = r#"{"id":"9f0c7d1e-5b1c-4c8e-8f6b-0a2f6f3d7c11","customerId":"customer-000417","status":"shipped","total":1249.5,"paid":true,"coupon":null,"createdAt":"2024-05-17T09:31:22.1234567Z","address":{"street":"12 Meridian Way","city":"Greenwich","zip":"SE10 8XJ","geo":{"type":"Point","coordinates":[-0.0014,51.4779]}},"tags":["gift","priority","insured"],"lines":["#;
    format!("{head}{}]}}", lines.join(","))
}

/// A document that is mostly one long text: 1 KiB.
fn note_item() -> String {
    let text = "The planets move in circles, said the clockmaker. ".repeat(19);
    format!(r#"{{"id":"note-1","pk":"notes","text":"{text}"}}"#)
}

fn main() {
    let env = Env::system();
    let definition = PartitionKeyDefinition::new(&["/customerId"]).unwrap();
    for (name, item) in [("order", order_item()), ("note", note_item())] {
        let bytes = item.as_bytes();
        println!("{name}: {} bytes", bytes.len());
        measure(&env, "  ItemBody::parse", || ItemBody::parse(black_box(bytes)).unwrap());
        measure(&env, "  json::parse", || json::parse(black_box(bytes)).unwrap());
        let body = ItemBody::parse(bytes).unwrap();
        measure(&env, "  ItemBody::partition_key", || body.partition_key(&definition));
        let rid = Rid::item(&Rid::container(1, 2), 3);
        let link = format!("dbs/{}/colls/{}/", rid.database_rid(), rid.container_rid().unwrap());
        let splice = || {
            let etag = ETag::from_lsn(Lsn(7), 1_700_000_000);
            with_system_properties(black_box(body.text()), &rid, &link, &etag, 1_700_000_000, None)
        };
        measure(&env, "  with_system_properties", splice);
        let sent_back = splice();
        measure(&env, "  ItemBody::parse, sent back", || ItemBody::parse(&sent_back).unwrap());
        let tree = json::parse(bytes).unwrap();
        measure(&env, "  Value::to_text", || tree.to_text());
    }
    let key = json::parse(br#"{"customerId":"customer-000417"}"#).unwrap();
    let key = definition.extract(&key);
    measure(&env, "epk", || definition.epk(black_box(&key)));
    measure(&env, "PartitionKey::encode", || key.encode(&definition));
    measure(&env, "uuid", || env.uuid());
}
