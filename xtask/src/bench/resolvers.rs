//! How fast the client library finds a container, and what a routed create costs over a plain one.

use std::hint::black_box;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use client::{
    ChainedPartitionResolver, CompositePartitionResolver, HashGenerator, HashPartitionResolver,
    Key, KeySource, LookupPartitionResolver, Md5, Murmur3, PartitionResolver, RangeMap,
    RangePartitionResolver, ReadMode, TransitionPartitionResolver, XxHash,
};

use super::Bench;
use super::table::Table;
use crate::server::{Server, WELL_KNOWN_KEY};
use crate::workspace;

const N_CONTAINERS: usize = 64;
const VIRTUAL_NODES: usize = 16;
const N_KEYS: usize = 200_000;

/// The goal for rings, in million resolutions a second.
const GOAL_MILLIONS: f64 = 5.0;

pub(crate) fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let keys: Vec<Key> = (0..N_KEYS).map(|it| Key::from(format!("customer-{it}"))).collect();
    for (name, resolver, goal) in resolvers()? {
        let rate = rate(bench, &*resolver, &keys)?;
        let goal = goal.map_or("–".to_owned(), |it: f64| format!("≥ {it:.0} M/s"));
        table.add(format!("resolve, {name}"), format!("{rate:.1} M/s"), "–", "–", goal);
    }
    let pairs: Vec<Key> =
        (0..N_KEYS).map(|it| Key::from(("eu", format!("customer-{it}")))).collect();
    let rate = rate(bench, &*composite()?, &pairs)?;
    table.add("resolve, composite of lookup and hash", format!("{rate:.1} M/s"), "–", "–", "–");
    routed_create(bench, table)
}

/// Million resolutions a second, on one thread, for as long as the other measurements take.
#[expect(clippy::cast_precision_loss, reason = "a rate is not a matter of single keys")]
fn rate(bench: &Bench, resolver: &dyn PartitionResolver, keys: &[Key]) -> Result<f64> {
    let start = bench.env.monotonic();
    let mut n_rounds = 0;
    loop {
        for key in keys {
            black_box(resolver.container_for_create(black_box(key))?);
        }
        n_rounds += 1;
        let time = bench.env.monotonic().saturating_sub(start);
        if time >= bench.duration / 5 {
            return Ok((n_rounds * keys.len()) as f64 / time.as_secs_f64() / 1e6);
        }
    }
}

type Measured = (&'static str, Arc<dyn PartitionResolver>, Option<f64>);

fn source() -> Result<KeySource> {
    Ok(KeySource::path("/pk")?)
}

fn ring(n_containers: usize, hash: Arc<dyn HashGenerator>) -> Result<HashPartitionResolver> {
    let builder = HashPartitionResolver::builder(source()?)
        .containers((0..n_containers).map(|it| format!("container-{it}")))
        .virtual_nodes(VIRTUAL_NODES)
        .shared_hash(hash);
    Ok(builder.build()?)
}

fn resolvers() -> Result<Vec<Measured>> {
    let md5 = Arc::new(ring(N_CONTAINERS, Arc::new(Md5))?);
    let names: Vec<_> = (0..N_CONTAINERS).map(|it| format!("container-{it}").into()).collect();
    let cuts = (1..N_CONTAINERS).map(|it| Key::from(format!("customer-{}", it * 1500)));
    let mut cuts: Vec<Key> = cuts.collect();
    cuts.sort();
    let range = RangePartitionResolver::from_map(source()?, RangeMap::from_cuts(cuts, names)?)?;
    let entries =
        (0..N_KEYS).map(|it| (format!("customer-{it}"), format!("container-{}", it % 64)));
    let lookup = LookupPartitionResolver::new(source()?, entries)?;
    let few = LookupPartitionResolver::new(source()?, [("acme", "large")])?;
    let chain: [Arc<dyn PartitionResolver>; 2] = [Arc::new(few), md5.clone()];
    let next = Arc::new(ring(N_CONTAINERS + 1, Arc::new(Md5))?);
    let transition = TransitionPartitionResolver::new(md5.clone(), next, ReadMode::ReadBoth);
    let goal = Some(GOAL_MILLIONS);
    Ok(vec![
        ("hash md5, 64 × 16", md5, goal),
        ("hash murmur3, 64 × 16", Arc::new(ring(N_CONTAINERS, Arc::new(Murmur3))?), goal),
        ("hash xxh64, 64 × 16", Arc::new(ring(N_CONTAINERS, Arc::new(XxHash))?), goal),
        ("range, 64 ranges", Arc::new(range), None),
        ("lookup, 200 000 keys", Arc::new(lookup), None),
        ("chain of lookup and hash", Arc::new(ChainedPartitionResolver::new(chain)?), None),
        ("transition of two rings", Arc::new(transition), None),
    ])
}

fn composite() -> Result<Arc<CompositePartitionResolver>> {
    let outer = LookupPartitionResolver::new(KeySource::path("/region")?, [("eu", "europe")])?;
    let branch: Arc<dyn PartitionResolver> = Arc::new(ring(N_CONTAINERS, Arc::new(Md5))?);
    let source = KeySource::paths(["/region", "/pk"])?;
    Ok(Arc::new(CompositePartitionResolver::new(source, Arc::new(outer), [("europe", branch)])?))
}

/// Runs the comparison in the workspace that has the SDK, against a server in memory.
fn routed_create(bench: &Bench, table: &mut Table) -> Result<()> {
    let folder = workspace::scratch("bench")?;
    let log = folder.path().join("server.log");
    let server = Server::start(&bench.binary, &["--in-memory"], &log, &bench.env)?;
    let output =
        workspace::cargo(&["run", "--release", "--locked", "--quiet", "--bin", "routed-create"])
            .current_dir(workspace::root().join("conformance/rust"))
            .env("CARGO_TARGET_DIR", workspace::target().join("conformance/rust"))
            .env("ORRERY_ENDPOINT", format!("http://{}/", server.authority))
            .env("ORRERY_KEY", WELL_KNOWN_KEY)
            .stderr(std::process::Stdio::inherit())
            .output()
            .context("cannot run the comparison")?;
    ensure!(output.status.success(), "the comparison failed: {}", output.status);
    let text = String::from_utf8(output.stdout)?;
    let (plain, routed) = text.trim().split_once(' ').context("two numbers were expected")?;
    let (plain, routed): (f64, f64) = (plain.parse()?, routed.parse()?);
    table.add(
        "routed create against a plain one of the SDK",
        format!("{:.0} µs", routed / 1000.0),
        format!("{:.0} µs", plain / 1000.0),
        format!("{:.3}", routed / plain),
        "≤ 1.05",
    );
    server.stop(&bench.env)?;
    Ok(())
}
