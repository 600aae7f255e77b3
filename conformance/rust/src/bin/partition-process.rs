//! A process of its own for the tests of the client library: a writer, a manager, or a copier that may die.
//!
//! `partition-process writer DATABASE PREFIX SECONDS [FOLDER]` writes through the shared state until the time is
//! over, and prints what was acknowledged: an id and its last version in each line.
//! `partition-process manager DATABASE CALLS [FOLDER]` runs the repartitioning job and dies at the given call.
//! `partition-process rekey DATABASE CALLS` copies "old" to "new" by the key `/other` and dies at the given call.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use conformance_rust::mortal::Mortal;
use conformance_rust::partitioned::{self, GRACE, item};
use conformance_rust::{Result, run};
use orrery_client::rekey::{Rekey, Spec};
use orrery_client::{Address, PartitionedDatabase};

fn main() -> Result {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    run(async {
        match arguments[..] {
            ["writer", database, prefix, seconds, ref rest @ ..] => {
                writer(database, prefix, seconds.parse()?, rest.first().map(Path::new)).await
            }
            ["manager", database, n_calls, ref rest @ ..] => {
                manager(database, n_calls.parse()?, rest.first().map(Path::new)).await
            }
            ["rekey", database, n_calls] => rekey(database, n_calls.parse()?).await,
            _ => Err("unknown arguments".into()),
        }
    })
}

async fn writer(database: &str, prefix: &str, seconds: u64, folder: Option<&Path>) -> Result {
    let items = Arc::new(partitioned::open(database).await);
    let states = partitioned::document(items.clone(), folder, "ring");
    let database = partitioned::follower(items, states).await;
    let mut acknowledged = BTreeMap::new();
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut number = 0;
    while Instant::now() < end {
        write(&database, &mut acknowledged, prefix, number).await?;
        number += 1;
    }
    for (id, version) in acknowledged {
        println!("{id} {version}");
    }
    Ok(())
}

/// Creates an item; every third is replaced later, every fifth deleted.
async fn write(
    database: &PartitionedDatabase,
    acknowledged: &mut BTreeMap<String, u64>,
    prefix: &str,
    number: u64,
) -> Result {
    let name = |number: u64| (format!("{prefix}{number}"), format!("{prefix}-k{number}"));
    let (id, pk) = name(number);
    database.create(&item(&id, &pk, 1)).await?;
    acknowledged.insert(id, 1);
    if number >= 10 {
        let (id, pk) = name(number - 10);
        let at = Address::new(id.as_str(), pk.as_str());
        if number % 3 == 0 {
            database.replace(&at, &item(&id, &pk, 2), None).await?;
            acknowledged.insert(id, 2);
        } else if number % 5 == 0 {
            assert!(database.delete(&at, None).await?, "{id} was there");
            acknowledged.remove(&id);
        }
    }
    Ok(())
}

async fn manager(database: &str, n_calls: i64, folder: Option<&Path>) -> Result {
    let service = Mortal::new(partitioned::rest(database), n_calls);
    let document = |name| partitioned::document(service.clone(), folder, name);
    let grace = if n_calls < 0 { GRACE } else { Duration::ZERO };
    let manager = partitioned::manager(service.clone(), document("ring"), document("job"), grace);
    manager.run(&mut |_, _| {}).await?;
    Ok(())
}

async fn rekey(database: &str, n_calls: i64) -> Result {
    let service = Mortal::new(partitioned::rest(database), n_calls);
    let job = partitioned::document(service.clone(), None, "rekey");
    let spec = Spec::plain("old", "new", ["/other"]);
    let copy = Rekey::new(service, job, spec, Default::default());
    copy.run(&mut || false, &mut |_, _| {}).await?;
    Ok(())
}
