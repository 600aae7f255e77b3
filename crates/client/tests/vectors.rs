//! The rings and ranges of the old SDKs, as recorded by running them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may")]

use std::sync::Arc;

use orrery_client::{
    ContainerLink, HashGenerator as _, HashPartitionResolver, Key, KeySource,
    LookupPartitionResolver, Md5, Murmur3, PartitionResolver, Range, RangePartitionResolver,
    ReadScope, Ring, RingRule,
};
use serde_json::Value;

fn vectors() -> Value {
    serde_json::from_str(include_str!("data/hash-ring-vectors.json")).unwrap()
}

fn links(vectors: &Value, row: &Value) -> Vec<ContainerLink> {
    let name = row["collection_set"].as_str().unwrap();
    texts(&vectors["collection_sets"][name]).into_iter().map(ContainerLink::from).collect()
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect()
}

fn virtual_nodes(row: &Value) -> usize {
    row["virtual_nodes_per_collection"].as_u64().unwrap().try_into().unwrap()
}

/// Compares the owner of every key; returns how many there were.
fn check_owners(ring: &Ring, keys: &[&str], row: &Value) -> usize {
    let owners = row["key_to_collection"].as_array().unwrap();
    assert_eq!(owners.len(), keys.len());
    for (key, owner) in keys.iter().zip(owners) {
        let owner = &ring.links()[usize::try_from(owner.as_u64().unwrap()).unwrap()];
        assert_eq!(ring.owner(&Key::from(*key)), owner, "{key:?}");
    }
    keys.len()
}

#[test]
fn murmur_hashes_agree() {
    let vectors = vectors();
    for (key, hash) in texts(&vectors["keys"]).iter().zip(vectors["key_hashes"].as_array().unwrap())
    {
        assert_eq!(Murmur3.hash(key.as_bytes()), u128::from(hash.as_u64().unwrap()), "{key:?}");
    }
}

#[test]
fn node_python_and_java_rings_agree() {
    let vectors = vectors();
    let keys = texts(&vectors["keys"]);
    let mut n_owners = 0;
    for row in vectors["rings"].as_array().unwrap() {
        let links = links(&vectors, row);
        let hash = Arc::new(Murmur3);
        let ring = Ring::new(links, virtual_nodes(row), hash, RingRule::NodePythonJava).unwrap();
        let points: Vec<(u128, usize)> = ring.points().collect();
        let expected: Vec<(u128, usize)> =
            serde_json::from_value::<Vec<(u32, usize)>>(row["ring"].clone())
                .unwrap()
                .into_iter()
                .map(|(point, owner)| (point.into(), owner))
                .collect();
        assert_eq!(points, expected, "{}", row["collection_set"]);
        n_owners += check_owners(&ring, &keys, row);
    }
    assert_eq!(n_owners, 2025);
}

#[test]
fn dotnet_rings_agree() {
    let vectors = vectors();
    let keys = texts(&vectors["keys"]);
    let rows = vectors["dotnet_framework_rings"].as_array().unwrap();
    assert_eq!(rows.len(), 12);
    for row in rows {
        let ring = dotnet_ring(links(&vectors, row), virtual_nodes(row), row);
        let first: Vec<(String, usize)> =
            serde_json::from_value(row["first_points"].clone()).unwrap();
        let points = ring.points().map(|(point, owner)| (format!("{point:032x}"), owner));
        assert_eq!(points.take(first.len()).collect::<Vec<_>>(), first);
        check_owners(&ring, &keys, row);
    }
}

#[test]
fn the_dotnet_observation_holds() {
    let vectors = vectors();
    for row in vectors["dotnet_framework_observed"].as_array().unwrap() {
        let links: Vec<ContainerLink> =
            texts(&row["collections"]).into_iter().map(ContainerLink::from).collect();
        for n_nodes in [16, 128] {
            let ring = dotnet_ring(links.clone(), n_nodes, row);
            let owner = usize::try_from(row["observed_collection"].as_u64().unwrap()).unwrap();
            assert_eq!(*ring.owner(&Key::from(row["key"].as_str().unwrap())), links[owner]);
        }
    }
}

fn dotnet_ring(links: Vec<ContainerLink>, n_nodes: usize, row: &Value) -> Ring {
    let rule = match row["process_bits"].as_u64() {
        Some(64) => RingRule::DotNetFramework64,
        _ => RingRule::DotNetFramework32,
    };
    Ring::new(links, n_nodes, Arc::new(Md5), rule).unwrap()
}

#[test]
fn growing_moves_what_the_old_sdks_moved() {
    let vectors = vectors();
    let keys = texts(&vectors["keys"]);
    for row in vectors["repartition_movement"].as_array().unwrap() {
        let resolver = |set: &str| {
            HashPartitionResolver::builder(KeySource::path("/id").unwrap())
                .containers(texts(&vectors["collection_sets"][set]))
                .node_python_java()
                .virtual_nodes(virtual_nodes(row))
                .build()
                .unwrap()
        };
        let (from, to) =
            (resolver(row["from"].as_str().unwrap()), resolver(row["to"].as_str().unwrap()));
        let moved = keys.iter().map(|it| Key::from(*it)).filter(|key| {
            from.container_for_create(key).unwrap() != to.container_for_create(key).unwrap()
        });
        assert_eq!(moved.count() as u64, row["moved"].as_u64().unwrap());
    }
}

/// Ranges are compared by value, so the rows in which Node compared numbers as texts are left out, and so
/// are those of the map that overlaps, which is refused here.
#[test]
fn range_cases_agree() {
    let vectors = vectors();
    let mut n_cases = 0;
    for case in vectors["range_cases"].as_array().unwrap() {
        let map = case["map"].as_str().unwrap();
        if map == "overlap" {
            continue;
        }
        let resolver = range_resolver(&vectors["range_maps"][map]).unwrap();
        let mut read: Vec<String> = resolver
            .containers_for_read(&scope(&case["key"]))
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect();
        read.sort();
        assert_eq!(read, texts(&case["read_pydocumentdb_2_3_5_sorted"]), "{case}");
        match case["create_pydocumentdb_2_3_5"].as_str().unwrap() {
            "n/a" => {}
            "ERROR" => assert!(resolver.container_for_create(&key(&case["key"])).is_err()),
            link => {
                assert_eq!(
                    resolver.container_for_create(&key(&case["key"])).unwrap().as_str(),
                    link
                );
            }
        }
        n_cases += 1;
    }
    assert!(n_cases > 25, "{n_cases}");
    assert!(range_resolver(&vectors["range_maps"]["overlap"]).is_err());
}

fn range_resolver(map: &Value) -> orrery_client::Result<RangePartitionResolver> {
    let entries = map.as_array().unwrap().iter().map(|it| {
        let range = Range::new(key(&it[0]), key(&it[1])).unwrap();
        (range, it[2].as_str().unwrap())
    });
    RangePartitionResolver::new(KeySource::path("/key").unwrap(), entries)
}

fn key(value: &Value) -> Key {
    Key::from_value(value).unwrap()
}

fn scope(value: &Value) -> ReadScope {
    match value {
        Value::Null => ReadScope::All,
        Value::Object(range) => {
            ReadScope::Range(Range::new(key(&range["low"]), key(&range["high"])).unwrap())
        }
        Value::Array(keys) => ReadScope::keys(keys.iter().map(key)),
        _ => ReadScope::Key(key(value)),
    }
}

#[test]
fn lookup_cases_agree() {
    let vectors = vectors();
    let entries = vectors["range_maps"]["lookup"].as_array().unwrap();
    let entries = entries.iter().map(|it| (key(&it[0]), it[2].as_str().unwrap()));
    let resolver = LookupPartitionResolver::new(KeySource::path("/key").unwrap(), entries).unwrap();
    let cases = vectors["range_cases"].as_array().unwrap().iter();
    for case in cases.filter(|it| it["map"] == "lookup") {
        let read = resolver.containers_for_read(&scope(&case["key"])).unwrap();
        let read: Vec<_> = read.iter().map(ContainerLink::as_str).collect();
        // Node gives them in the order of the map or of the question, as this resolver does.
        assert_eq!(read, texts(&case["read_npm_documentdb_1_15_3"]), "{case}");
    }
}
