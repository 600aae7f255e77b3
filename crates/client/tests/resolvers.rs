//! What each resolver promises beyond the recorded vectors.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may")]

mod support;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use orrery_client::{
    ChainedPartitionResolver, CompositePartitionResolver, ContainerLink, ContainerTemplate, Env,
    Error, FileStateStore, HashPartitionResolver, Key, KeySource, LookupPartitionResolver,
    ManagedPartitionResolver, Naming, PartitionResolver, Range, RangePartitionResolver, ReadMode,
    ReadScope, Registry, ResolverState, SharedPartitionResolver, SpilloverOptions,
    SpilloverPartitionResolver, TransitionPartitionResolver, load_state,
};
use serde_json::json;
use support::{Fake, run};

fn source(path: &str) -> KeySource {
    KeySource::path(path).unwrap()
}

fn hash(prefix: &str, n: usize) -> Arc<dyn PartitionResolver> {
    let names = (0..n).map(|it| format!("{prefix}{it}"));
    Arc::new(HashPartitionResolver::builder(source("/id")).containers(names).build().unwrap())
}

fn lookup(entries: &[(&str, &str)]) -> Arc<dyn PartitionResolver> {
    Arc::new(LookupPartitionResolver::new(source("/id"), entries.iter().copied()).unwrap())
}

fn names(links: &[ContainerLink]) -> Vec<&str> {
    links.iter().map(ContainerLink::as_str).collect()
}

fn template() -> ContainerTemplate {
    ContainerTemplate::new(["/pk"])
}

#[test]
fn rings_refuse_nothing_and_twice() {
    let build = |links: &[&str], n| {
        let builder = HashPartitionResolver::builder(source("/id"));
        builder.containers(links.iter().copied()).virtual_nodes(n).build()
    };
    assert!(matches!(build(&[], 16), Err(Error::NoContainers)));
    assert!(matches!(build(&["a", "b", "a"], 16), Err(Error::ContainerRepeated(_))));
    assert!(matches!(build(&["a"], 0), Err(Error::RingSize { .. })));
    assert!(matches!(build(&["a"], usize::MAX), Err(Error::RingSize { .. })));
}

/// Pinned: a change of the default ring would hide every item placed before.
#[test]
fn the_default_ring_never_changes() {
    let ring = hash("users-", 4);
    let owners: Vec<_> = ["anna", "bert", "carl", "dora", "emil", ""]
        .map(|it| ring.container_for_create(&Key::from(it)).unwrap().to_string())
        .into();
    assert_eq!(owners.join(" "), "users-0 users-3 users-0 users-2 users-2 users-3");
}

#[test]
fn a_range_of_months_reads_only_its_containers() {
    let month = |low: &str, high: &str| Range::half_open(low.to_owned(), high.to_owned()).unwrap();
    let entries = [
        (month("2024-01", "2024-02"), "jan"),
        (month("2024-02", "2024-03"), "feb"),
        (month("2024-03", "2024-04"), "mar"),
    ];
    let resolver = RangePartitionResolver::new(source("/at"), entries).unwrap();
    let scope =
        ReadScope::Range(Range::new(Key::from("2024-02-10"), Key::from("2024-03-01")).unwrap());
    assert_eq!(names(&resolver.containers_for_read(&scope).unwrap()), ["feb", "mar"]);
    let key = resolver.key_of(&json!({"at": "2024-01-31T23:59:59Z"})).unwrap();
    assert_eq!(resolver.container_for_create(&key).unwrap().as_str(), "jan");
    assert!(resolver.container_for_create(&Key::from("2025")).is_err());
}

#[test]
fn a_chain_asks_the_next_resolver() {
    let chain =
        ChainedPartitionResolver::new([lookup(&[("big", "big-tenant")]), hash("c", 3)]).unwrap();
    assert_eq!(chain.container_for_create(&Key::from("big")).unwrap().as_str(), "big-tenant");
    assert!(chain.container_for_create(&Key::from("small")).unwrap().as_str().starts_with('c'));
    let all = chain.containers_for_read(&ReadScope::All).unwrap();
    assert_eq!(names(&all), ["big-tenant", "c0", "c1", "c2"]);
    assert_eq!(chain.containers_for_read(&ReadScope::key("big")).unwrap().len(), 1);
}

fn composite() -> CompositePartitionResolver {
    let outer = lookup(&[("eu", "europe"), ("us", "america")]);
    let branches = [("europe", hash("eu-", 2)), ("america", hash("us-", 3))];
    CompositePartitionResolver::new(
        KeySource::paths(["/region", "/user"]).unwrap(),
        outer,
        branches,
    )
    .unwrap()
}

#[test]
fn a_composite_key_is_resolved_in_two_steps() {
    let resolver = composite();
    let key = resolver.key_of(&json!({"region": "eu", "user": "u1"})).unwrap();
    assert!(resolver.container_for_create(&key).unwrap().as_str().starts_with("eu-"));
    assert_eq!(resolver.containers_for_read(&ReadScope::Key(key)).unwrap().len(), 1);
    let prefix = resolver.containers_for_read(&ReadScope::key("us")).unwrap();
    assert_eq!(names(&prefix), ["us-0", "us-1", "us-2"]);
    assert_eq!(resolver.containers_for_read(&ReadScope::All).unwrap().len(), 5);
    assert!(resolver.container_for_create(&Key::from("eu")).is_err());
    let missing = CompositePartitionResolver::new(
        source("/id"),
        lookup(&[("a", "x")]),
        [("y", hash("c", 1))],
    );
    assert!(matches!(missing, Err(Error::NoBranch(_))));
}

#[test]
fn each_read_mode_reads_what_it_says() {
    let (current, next) = (hash("c", 2), hash("c", 3));
    let all = |mode| {
        let transition = TransitionPartitionResolver::new(current.clone(), next.clone(), mode);
        transition.containers_for_read(&ReadScope::All)
    };
    assert_eq!(names(&all(ReadMode::ReadCurrent).unwrap()), ["c0", "c1"]);
    assert_eq!(names(&all(ReadMode::ReadNext).unwrap()), ["c0", "c1", "c2"]);
    assert_eq!(names(&all(ReadMode::ReadBoth).unwrap()), ["c0", "c1", "c2"]);
    let paused = all(ReadMode::None).unwrap_err();
    assert!(paused.is_retryable() && matches!(paused, Error::Migrating));
}

#[test]
fn a_managed_ring_waits_for_a_busy_service() {
    let fake = Fake::new(&["ManagedHashCollection.1"]);
    fake.n_busy.store(3, Ordering::SeqCst);
    let naming = Naming::new("ManagedHashCollection.");
    let builder = HashPartitionResolver::builder(source("/id"));
    let resolver =
        run(ManagedPartitionResolver::create(&*fake, builder, naming, template(), 3)).unwrap();
    assert_eq!(fake.containers.lock().len(), 3);
    assert_eq!(fake.paused.lock().len(), 3);
    assert_eq!(resolver.n_containers(), 3);
    assert_eq!(resolver.with_count(4).unwrap().n_containers(), 4);
    assert!(resolver.with_count(0).is_err());
}

fn spillover(fake: &Arc<Fake>, env: &Env) -> SpilloverPartitionResolver {
    let options = SpilloverOptions::new(template());
    run(SpilloverPartitionResolver::open(fake.clone(), options, env.clone())).unwrap()
}

fn prepare(resolver: &SpilloverPartitionResolver) -> bool {
    resolver.prepare().map(|work| run(work).unwrap()).is_some()
}

#[test]
fn spillover_makes_the_next_container_only_when_the_last_is_full() {
    let (fake, env) = (Fake::new(&["Collection.x", "other"]), Env::fixed(1, 0));
    let resolver = spillover(&fake, &env);
    let last = || resolver.container_for_create(&Key::Null).unwrap().to_string();
    assert_eq!(last(), "Collection.0");
    fake.fills.lock().insert("Collection.0".to_owned(), 95);
    assert!(!prepare(&resolver), "the last look is still believed");
    env.advance(Duration::from_secs(3600));
    assert!(prepare(&resolver));
    assert_eq!(last(), "Collection.1");
    env.advance(Duration::from_secs(3600));
    assert!(prepare(&resolver));
    assert_eq!(last(), "Collection.1", "the new one is empty");
    fake.fills.lock().insert("Collection.1".to_owned(), 90);
    env.advance(Duration::from_secs(3600));
    prepare(&resolver);
    let all = resolver.containers_for_read(&ReadScope::All).unwrap();
    assert_eq!(names(&all), ["Collection.0", "Collection.1", "Collection.2"]);
}

#[test]
fn two_spillover_clients_agree() {
    let (fake, env) = (Fake::new(&[]), Env::fixed(1, 0));
    let (one, two) = (spillover(&fake, &env), spillover(&fake, &env));
    fake.fills.lock().insert("Collection.0".to_owned(), 100);
    env.advance(Duration::from_secs(3600));
    assert!(prepare(&one) && prepare(&two));
    let read = |it: &SpilloverPartitionResolver| it.containers_for_read(&ReadScope::All).unwrap();
    assert_eq!(read(&one), read(&two));
    assert_eq!(names(&read(&one)), ["Collection.0", "Collection.1"]);
}

#[test]
fn a_failed_check_is_repeated() {
    let (fake, env) = (Fake::new(&[]), Env::fixed(1, 0));
    let resolver = spillover(&fake, &env);
    env.advance(Duration::from_secs(3600));
    fake.kill_after(0);
    assert!(run(resolver.prepare().unwrap()).is_err());
    fake.revive();
    assert!(prepare(&resolver));
}

#[test]
fn every_state_comes_back() {
    let (fake, env) = (Fake::new(&[]), Env::fixed(1, 0));
    let naming = Naming::new("m.").digits(2);
    let builder = HashPartitionResolver::builder(KeySource::closure("vin", |_| Some(Key::Null)));
    let managed =
        run(ManagedPartitionResolver::create(&*fake, builder, naming, template(), 2)).unwrap();
    let transition =
        TransitionPartitionResolver::new(hash("c", 2), hash("c", 3), ReadMode::ReadNext);
    let all: Vec<Arc<dyn PartitionResolver>> = vec![
        hash("c", 3),
        lookup(&[("a", "x"), ("b", "y")]),
        Arc::new(LookupPartitionResolver::new(source("/a"), [(1, "x")]).unwrap().otherwise("z")),
        managed.shared(),
        Arc::new(spillover(&fake, &env)),
        Arc::new(transition),
        Arc::new(ChainedPartitionResolver::new([hash("c", 1), lookup(&[("a", "x")])]).unwrap()),
        Arc::new(composite()),
    ];
    let registry =
        Registry::new().container_host(fake.clone()).extractor("vin", |_| Some(Key::from("v")));
    for resolver in all {
        let text = resolver.state().to_json().unwrap();
        let state = ResolverState::from_json(&text).unwrap();
        let restored = state.build(&registry).unwrap();
        assert_eq!(restored.state(), resolver.state(), "{text}");
        let read = |it: &dyn PartitionResolver| it.containers_for_read(&ReadScope::All).unwrap();
        assert_eq!(read(&*restored), read(&*resolver), "{text}");
    }
}

#[test]
fn a_state_names_what_it_lacks() {
    let closure = KeySource::closure("vin", |_| None);
    let resolver = HashPartitionResolver::builder(closure).containers(["c"]).build().unwrap();
    let state = ResolverState::from_json(&resolver.state().to_json().unwrap()).unwrap();
    assert!(
        matches!(state.build(&Registry::new()), Err(Error::UnknownExtractor(name)) if name == "vin")
    );
    let text = hash("c", 1).state().to_json().unwrap();
    let newer = text.replace("\"version\": 1", "\"version\": 2");
    assert!(matches!(ResolverState::from_json(&newer), Err(Error::StateVersion { found: 2, .. })));
    let other = text.replace("md5", "sha1");
    let other = ResolverState::from_json(&other).unwrap().build(&Registry::new());
    assert!(matches!(other, Err(Error::UnknownHash(_))));
}

#[test]
fn processes_that_share_a_file_pick_up_a_change() {
    let folder = tempfile::tempdir().unwrap();
    let env = Env::fixed(1, 0);
    let open = |first: Option<ResolverState>| {
        let store = Arc::new(FileStateStore::new(folder.path().join("state.json")));
        let interval = Duration::from_secs(5);
        run(SharedPartitionResolver::open(store, first, Registry::new(), interval, env.clone()))
    };
    assert!(open(None).is_err());
    let one = open(Some(hash("c", 2).state())).unwrap();
    let two = open(Some(hash("c", 9).state())).unwrap();
    assert_eq!(two.state(), one.state(), "the first state counts");
    run(one.publish(&hash("c", 3).state())).unwrap();
    assert!(two.prepare().is_none(), "its last look is still believed");
    env.advance(Duration::from_secs(5));
    run(two.prepare().unwrap()).unwrap();
    assert_eq!(two.state(), one.state());
    run(two.publish(&hash("c", 4).state())).unwrap();
    let stale = run(one.publish(&hash("c", 5).state()));
    assert!(matches!(stale, Err(Error::StateChanged)));
    assert!(run(one.refresh()).unwrap() && !run(one.refresh()).unwrap());
    let store = FileStateStore::new(folder.path().join("state.json"));
    assert_eq!(run(load_state(&store)).unwrap().unwrap().0, hash("c", 4).state());
}
