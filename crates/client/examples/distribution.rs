//! Prints how evenly keys spread: over containers for each number of virtual nodes, and over suffixes.
//!
//! `cargo run --release -p orrery-client --no-default-features --example distribution [KEYS]`, one million
//! keys unless said otherwise. Each figure is the share of the fullest container in percent of an even share.

use std::error::Error;
use std::io::Write;

use orrery_client::{
    Env, HashGenerator, HashPartitionResolver, HashedSuffix, Key, KeySource, Md5, Murmur3,
    PartitionResolver, RandomSuffix, SyntheticKey, XxHash,
};
use serde_json::json;

const CONTAINERS: [usize; 5] = [4, 8, 16, 32, 64];
const VIRTUAL_NODES: [usize; 6] = [1, 4, 16, 64, 128, 512];

fn main() -> Result<(), Box<dyn Error>> {
    let n_keys: usize = std::env::args().nth(1).map_or(Ok(1_000_000), |it| it.parse())?;
    let keys: Vec<Key> = (0..n_keys).map(|it| Key::from(format!("user-{it}"))).collect();
    let mut out = std::io::stdout();
    table(&mut out, &keys, Md5)?;
    table(&mut out, &keys, Murmur3)?;
    table(&mut out, &keys, XxHash)?;
    suffixes(&mut out, n_keys)?;
    speed(&mut out, &keys)
}

/// How fast keys are resolved: 64 containers with 16 virtual nodes.
fn speed(out: &mut impl Write, keys: &[Key]) -> Result<(), Box<dyn Error>> {
    let env = Env::system();
    writeln!(out, "\nresolutions per second, 64 containers, 16 virtual nodes\n")?;
    let hashes: [std::sync::Arc<dyn HashGenerator>; 3] =
        [std::sync::Arc::new(Md5), std::sync::Arc::new(Murmur3), std::sync::Arc::new(XxHash)];
    for hash in hashes {
        let name = hash.name().to_owned();
        let resolver = HashPartitionResolver::builder(KeySource::path("/id")?)
            .containers((0..64).map(|it| format!("container-{it}")))
            .shared_hash(hash)
            .build()?;
        let start = env.monotonic();
        let mut n_bytes = 0;
        for key in keys {
            n_bytes += resolver.container_for_create(key)?.as_str().len();
        }
        let seconds = env.monotonic().saturating_sub(start).as_secs_f64();
        std::hint::black_box(n_bytes);
        #[expect(clippy::cast_precision_loss, reason = "a rate is not a matter of single keys")]
        let rate = keys.len() as f64 / seconds / 1e6;
        writeln!(out, "- {name}: {rate:.1} million")?;
    }
    Ok(())
}

fn table(
    out: &mut impl Write,
    keys: &[Key],
    hash: impl HashGenerator + Copy + 'static,
) -> Result<(), Box<dyn Error>> {
    writeln!(out, "\n{}: fullest container, in percent of an even share\n", hash.name())?;
    write!(out, "| containers |")?;
    VIRTUAL_NODES.iter().try_for_each(|it| write!(out, " {it} nodes |"))?;
    writeln!(out, "\n|---|{}", "---|".repeat(VIRTUAL_NODES.len()))?;
    for n_containers in CONTAINERS {
        write!(out, "| {n_containers} |")?;
        for n_nodes in VIRTUAL_NODES {
            let resolver = HashPartitionResolver::builder(KeySource::path("/id")?)
                .containers((0..n_containers).map(|it| format!("container-{it}")))
                .virtual_nodes(n_nodes)
                .hash(hash)
                .build()?;
            let ring = resolver.ring();
            let mut counts = std::collections::HashMap::new();
            for key in keys {
                *counts.entry(ring.owner(key).clone()).or_insert(0_usize) += 1;
            }
            let most = counts.into_values().max().unwrap_or(0);
            write!(out, " {} |", most * 100 * n_containers / keys.len().max(1))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn suffixes(out: &mut impl Write, n_keys: usize) -> Result<(), Box<dyn Error>> {
    let hashed = HashedSuffix::new("/pk", "/date", "/vin")?;
    let random = RandomSuffix::new("/pk", "/date")?;
    writeln!(out, "\nsuffixes: fullest of 400, in percent of an even share\n")?;
    spread(out, "HashedSuffix", n_keys, |it| hashed.make(it))?;
    spread(out, "RandomSuffix", n_keys, |it| random.make(it))
}

fn spread(
    out: &mut impl Write,
    name: &str,
    n_keys: usize,
    make: impl Fn(&serde_json::Value) -> orrery_client::Result<String>,
) -> Result<(), Box<dyn Error>> {
    let mut counts = std::collections::HashMap::new();
    for number in 0..n_keys {
        let item = json!({"date": "2018-08-09", "vin": format!("VIN{number:08}")});
        *counts.entry(make(&item)?).or_insert(0_usize) += 1;
    }
    let most = counts.values().max().copied().unwrap_or(0);
    writeln!(out, "- {name}: {} keys, fullest {}", counts.len(), most * 100 * 400 / n_keys.max(1))?;
    Ok(())
}
