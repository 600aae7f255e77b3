//! Split, merge and move of partitions under random writes: the targets are what the sources were, byte by byte.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may fail loudly")]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{Env, Epk, EpkRange, Lsn, RangeId, Value};
use partition::relocate::{Pace, Relocation, SplitPoint, Target};
use partition::{Error, ItemOp, Partition, Scope, Settings};
use store::{Batch, Store};

use support::*;

fn rich() -> Settings {
    Settings {
        default_ttl: Some(-1),
        version_retention: with_versions().version_retention,
        ..with_unique_keys(&[&["/u"]])
    }
}

/// A partition of a container with several.
fn part(store: &Arc<dyn Store>, env: &Env, incarnation: u64, epks: EpkRange, lsn: u64) -> World {
    let mut batch = Batch::new();
    let prefix = u16::try_from(incarnation).unwrap();
    Partition::initialise(&mut batch, incarnation, prefix, Lsn(lsn));
    store.commit(batch).wait().unwrap();
    open(store, env, incarnation, epks)
}

fn open(store: &Arc<dyn Store>, env: &Env, incarnation: u64, epks: EpkRange) -> World {
    let (range, settings) = (RangeId(u32::try_from(incarnation).unwrap()), Arc::new(rich()));
    let partition =
        Partition::open(Arc::clone(store), incarnation, range, epks, settings, env.clone())
            .unwrap();
    World { partition, store: Arc::clone(store), env: env.clone() }
}

fn target(store: &Arc<dyn Store>, incarnation: u64, epks: EpkRange, continues: bool) -> Target {
    let mut batch = Batch::new();
    let prefix = u16::try_from(incarnation).unwrap();
    Partition::initialise(&mut batch, incarnation, prefix, Lsn(1));
    store.commit(batch).wait().unwrap();
    Target { incarnation, epks, continues }
}

fn halves() -> [EpkRange; 2] {
    let middle = Epk::parse("1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF").unwrap();
    EpkRange::full().split_at(&middle).unwrap()
}

/// One random write to whichever of the partitions owns its key.
async fn write(worlds: &[&World], env: &Env) {
    let pick = |n: u64| env.random_u64() % n;
    let (pk, id, unique) = (pick(12), pick(30), pick(40));
    let pad = "x".repeat(usize::try_from(pick(200)).unwrap());
    let ttl = [String::new(), r#","ttl":-1"#.into(), format!(r#","ttl":{}"#, 5 + pick(50))];
    let ttl = &ttl[usize::try_from(pick(3)).unwrap()];
    let body =
        format!(r#"{{"id":"{id}","pk":{pk},"u":{unique},"pad":"{pad}","p{}":1{ttl}}}"#, pick(9));
    let at = worlds[0].home(&body);
    let world = worlds.iter().find(|world| world.partition.epks().contains(&at.epk)).unwrap();
    let id = id.to_string();
    // Conflicts are part of the game.
    match pick(16) {
        12 => drop(world.attach(&format!("[{pk}]"), &id, delete_attachment("0")).await),
        13 => {
            let media = bytes(usize::try_from(pick(150_000)).unwrap(), 1);
            let op = upload(&pick(3).to_string(), "a/b", &media);
            drop(world.attach(&format!("[{pk}]"), &id, op).await);
        }
        14..=15 => {
            let name = pick(3);
            let body = format!(r#"{{"id":"{name}","contentType":"a/b","media":"x{pad}"}}"#);
            // A rename, if there is such a one and the name is free.
            let old = pick(3).to_string();
            let op = if pick(2) == 0 {
                upsert_attachment(&body)
            } else {
                replace_attachment(&old, &body)
            };
            drop(world.attach(&format!("[{pk}]"), &id, op).await);
        }
        0..=5 => drop(world.apply(&at, ItemOp::Upsert(item(&body))).await),
        6 => drop(
            world
                .apply(
                    &at,
                    ItemOp::Replace { id, body: item(&body.replace("\"id\":\"", "\"id\":\"r")) },
                )
                .await,
        ),
        7..=8 => drop(world.apply(&at, ItemOp::Delete { id }).await),
        9 if pick(6) == 0 => drop(world.partition.delete_logical(&at).await.unwrap()),
        10 => {
            env.advance(std::time::Duration::from_secs(1));
            for world in worlds {
                world.partition.expire(3).await.unwrap();
            }
        }
        _ => {
            let more = body.replace("\"id\":\"", "\"id\":\"b").replace("\"u\":", "\"u\":1");
            let ops = vec![upsert(&body), upsert(&more)];
            drop(world.batch(&format!("[{pk}]"), ops).await);
        }
    }
}

/// All that a reader can see, from all partitions together, by scope.
fn seen(worlds: &[&World], scope: &Scope) -> BTreeMap<&'static str, Vec<String>> {
    let mut seen: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for world in worlds {
        let page = world.partition.page(scope, None, limits(100_000)).unwrap();
        let texts = |items: &[bytes::Bytes]| -> Vec<String> {
            items.iter().map(|item| String::from_utf8(item.to_vec()).unwrap()).collect()
        };
        seen.entry("items").or_default().extend(texts(&page.items));
        seen.entry("attachments").or_default().extend(attached(world, &page.items));
        let feed = world.partition.changes(scope, None, None, limits(100_000)).unwrap();
        // The items of one commit may change places in a merge; commits may not.
        let lsn = |text: &String| json(text.as_bytes()).get("_lsn").unwrap().as_i64().unwrap();
        let mut feed = texts(&feed.items);
        assert!(feed.is_sorted_by_key(lsn));
        feed.sort_by_key(|text| (lsn(text), text.clone()));
        seen.entry("feed").or_default().extend(feed);
        let versions = world.partition.versions(scope, Lsn(0), limits(100_000)).unwrap();
        seen.entry("versions").or_default().extend(texts(&versions.items));
        for logical in world.partition.logical_partitions(None, 1000).unwrap() {
            let line = format!("{:?} {} {}", logical.key, logical.n_items, logical.bytes);
            if let Scope::Epks(epks) = scope {
                let at = world.at(&logical.key.to_header());
                if !epks.contains(&at.epk) {
                    continue;
                }
            }
            seen.entry("logical").or_default().push(line);
        }
    }
    seen
}

/// The attachments of items, with what their media is.
fn attached(world: &World, items: &[bytes::Bytes]) -> Vec<String> {
    let mut lines = Vec::new();
    for item in items {
        let (item, at) = (json(item), world.home(std::str::from_utf8(item).unwrap()));
        let id = text(&item, "id");
        let page = world.partition.attachments(&at, &id, None, limits(100)).unwrap();
        for attachment in &page.attachments {
            let name = text(&json(attachment), "id");
            let media = world.partition.read_media(&at, &id, &name).ok();
            let media = media.map(|media| (media.bytes.len(), media.bytes.first().copied()));
            lines.push(format!("{} {media:?}", String::from_utf8_lossy(attachment)));
        }
    }
    lines
}

async fn run(relocation: &mut Relocation, worlds: &[&World], env: &Env) {
    relocation.pace = Pace { items_max: 9, bytes_max: 1000 };
    while !relocation.copy_step().await.unwrap().is_done {
        for _ in 0..7 {
            write(worlds, env).await;
        }
    }
    for _ in 0..3 {
        for _ in 0..40 {
            write(worlds, env).await;
        }
        relocation.replay_step().await.unwrap();
    }
    for _ in 0..20 {
        write(worlds, env).await;
    }
    relocation.fence().await.unwrap();
    for world in worlds {
        let at = world.at("[1]");
        let refused = world.apply(&at, upsert(r#"{"id":"late","pk":1}"#)).await;
        assert!(matches!(refused, Err(Error::Relocating)), "{refused:?}");
    }
    relocation.finish().await.unwrap();
}

#[tokio::test]
async fn a_split_and_a_merge_lose_nothing_and_change_nothing() {
    for seed in 0..12 {
        let env = Env::fixed(seed, START_MS);
        let store = store::open_memory();
        let world = part(&store, &env, 1, EpkRange::full(), 10);
        for _ in 0..300 {
            write(&[&world], &env).await;
        }
        let spans = halves();
        let targets = vec![
            target(&store, 2, spans[0].clone(), false),
            target(&store, 3, spans[1].clone(), false),
        ];
        let sources = [world.partition.clone()];
        let mut relocation =
            Relocation::begin(&sources, Arc::clone(&store), targets).await.unwrap();
        run(&mut relocation, &[&world], &env).await;
        let children =
            [open(&store, &env, 2, spans[0].clone()), open(&store, &env, 3, spans[1].clone())];
        for (child, span) in children.iter().zip(&spans) {
            child.check();
            let scope = Scope::Epks(span.clone());
            assert_eq!(seen(&[child], &scope), seen(&[&world], &scope), "seed {seed}");
            assert_eq!(child.partition.lsn(), Lsn(world.partition.lsn().0 + 1));
        }
        relocation.retire();
        let refused = world.upsert(r#"{"id":"late","pk":1}"#).await;
        assert!(matches!(refused, Err(Error::Relocating)));

        // And back again, after a life of their own.
        let both: Vec<&World> = children.iter().collect();
        for _ in 0..200 {
            write(&both, &env).await;
        }
        let sources = [children[0].partition.clone(), children[1].partition.clone()];
        let targets = vec![target(&store, 4, EpkRange::full(), false)];
        let mut relocation =
            Relocation::begin(&sources, Arc::clone(&store), targets).await.unwrap();
        run(&mut relocation, &both, &env).await;
        let merged = open(&store, &env, 4, EpkRange::full());
        merged.check();
        for (child, span) in children.iter().zip(&spans) {
            let scope = Scope::Epks(span.clone());
            assert_eq!(seen(&[&merged], &scope), seen(&[child], &scope), "seed {seed}");
            assert!(merged.partition.lsn() > child.partition.lsn());
        }
        relocation.retire();
        for _ in 0..50 {
            write(&[&merged], &env).await;
        }
        merged.check();
    }
}

/// Both sources of a merge go over as entries: places in the feeds that both have, and path numbers that mean another
/// path in each, are brought together.
#[tokio::test]
async fn both_sources_of_a_merge_are_carried() {
    let env = Env::fixed(7, START_MS);
    let store = store::open_memory();
    let spans = halves();
    let worlds =
        [part(&store, &env, 2, spans[0].clone(), 10), part(&store, &env, 3, spans[1].clone(), 10)];
    let both: Vec<&World> = worlds.iter().collect();
    // Different paths first, in another order; then commits with the same numbers on both sides.
    for (n, world) in worlds.iter().enumerate() {
        let key = (0..100_u32).find(|key| {
            let at = world.at(&format!("[{key}]"));
            world.partition.epks().contains(&at.epk)
        });
        let key = key.unwrap();
        for names in [["a", "b", "c"], ["c", "a", "d"]][n].iter().zip(1..) {
            let (name, value) = names;
            let body =
                format!(r#"{{"id":"{name}","pk":{key},"{name}":{value},"own{n}":1,"u":"{name}"}}"#);
            world.create(&body).await.unwrap();
        }
        let ops = (0..5).map(|id| upsert(&format!(r#"{{"id":"t{id}","pk":{key},"u":{id}}}"#)));
        world.batch(&format!("[{key}]"), ops.collect()).await.unwrap();
    }
    for _ in 0..200 {
        write(&both, &env).await;
    }
    let sources = [worlds[0].partition.clone(), worlds[1].partition.clone()];
    let targets = vec![target(&store, 4, EpkRange::full(), false)];
    let mut relocation = Relocation::begin(&sources, Arc::clone(&store), targets).await.unwrap();
    relocation.pace = Pace { items_max: 1, bytes_max: 500 };
    let mut n_items = 0;
    loop {
        let reading = relocation.begin_reading().await.unwrap().expect("nothing is left to derive");
        let step = relocation.hand_over(reading.read().unwrap()).await.unwrap();
        n_items += step.n_items;
        if step.is_done {
            break;
        }
        write(&both, &env).await;
    }
    let n_both: u64 = worlds.iter().map(|world| world.partition.statistics().n_items).sum();
    assert!(n_items > 20 && n_both > 20, "{n_items} {n_both}");
    relocation.fence().await.unwrap();
    relocation.finish().await.unwrap();
    let merged = open(&store, &env, 4, EpkRange::full());
    merged.check();
    for (world, span) in worlds.iter().zip(&spans) {
        let scope = Scope::Epks(span.clone());
        assert_eq!(seen(&[&merged], &scope), seen(&[world], &scope));
    }
    relocation.retire();
    for _ in 0..100 {
        write(&[&merged], &env).await;
    }
    merged.check();
}

/// Gives the last item of a partition's feed another sequence number within its commit.
fn renumber_last(store: &Arc<dyn Store>, incarnation: u64, seq: u16) {
    let start = |family: u8| [&incarnation.to_be_bytes()[..], &[family]].concat();
    let snapshot = store.snapshot();
    let changes = store::KeyRange::prefix(&start(5));
    let last = snapshot.scan(changes, store::Direction::Backward).next();
    let (key, change) = last.unwrap().unwrap();
    let item_key = [&start(4)[..], &change[1..9]].concat();
    let mut item = snapshot.get(&item_key).unwrap().unwrap().to_vec();
    item[9..11].copy_from_slice(&seq.to_be_bytes());
    let mut moved = key.to_vec();
    moved.splice(17.., seq.to_be_bytes());
    let mut batch = Batch::new();
    batch.delete(key);
    batch.put(moved, change);
    batch.put(item_key, item);
    store.commit(batch).wait().unwrap();
}

#[tokio::test]
async fn feeds_that_do_not_fit_beside_each_other_are_merged_item_by_item() {
    let env = Env::fixed(8, START_MS);
    let store = store::open_memory();
    let spans = halves();
    let worlds =
        [part(&store, &env, 2, spans[0].clone(), 10), part(&store, &env, 3, spans[1].clone(), 10)];
    let both: Vec<&World> = worlds.iter().collect();
    for _ in 0..150 {
        write(&both, &env).await;
    }
    for incarnation in [2, 3] {
        renumber_last(&store, incarnation, 40_000);
    }
    let sources = [worlds[0].partition.clone(), worlds[1].partition.clone()];
    let targets = vec![target(&store, 4, EpkRange::full(), false)];
    let mut relocation = Relocation::begin(&sources, Arc::clone(&store), targets).await.unwrap();
    run(&mut relocation, &both, &env).await;
    let merged = open(&store, &env, 4, EpkRange::full());
    merged.check();
    for (world, span) in worlds.iter().zip(&spans) {
        let scope = Scope::Epks(span.clone());
        assert_eq!(seen(&[&merged], &scope), seen(&[world], &scope));
    }
}

/// Enough for tables of their own in the embedded store, with writes and a restart in between.
#[tokio::test]
async fn entries_go_over_as_tables_and_survive_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let options = store::EmbeddedOptions {
        durability: store::Durability::Relaxed { interval: std::time::Duration::from_millis(50) },
        cache_bytes: store::CACHE_BYTES_DEFAULT,
        direct_reads: store::DirectReads::Compared,
        env: Env::system(),
    };
    let store = store::open_embedded(dir.path(), &options).unwrap();
    let env = Env::fixed(5, START_MS);
    let world = part(&store, &env, 1, EpkRange::full(), 10);
    let pad = "x".repeat(900);
    for n in 0..1_500 {
        let body = format!(r#"{{"id":"n{n}","pk":{},"u":"{n}","pad":"{pad}"}}"#, n % 50);
        world.create(&body).await.unwrap();
    }
    let spans = halves();
    let targets = vec![
        target(&store, 2, spans[0].clone(), false),
        target(&store, 3, spans[1].clone(), false),
    ];
    let sources = [world.partition.clone()];
    let mut relocation = Relocation::begin(&sources, Arc::clone(&store), targets).await.unwrap();
    let reading =
        relocation.begin_reading().await.unwrap().expect("the index is as the container wants it");
    relocation.hand_over(reading.read().unwrap()).await.unwrap();
    relocation.pace = Pace::default();
    while !relocation.copy_step().await.unwrap().is_done {
        for _ in 0..20 {
            write(&[&world], &env).await;
        }
    }
    relocation.fence().await.unwrap();
    relocation.finish().await.unwrap();
    let scopes = spans.clone().map(Scope::Epks);
    let before = scopes.each_ref().map(|scope| seen(&[&world], scope));
    relocation.retire();
    drop((sources, world));
    store.close().unwrap();
    drop(store);

    let store = store::open_embedded(dir.path(), &options).unwrap();
    for (index, incarnation) in [2, 3].into_iter().enumerate() {
        let child = open(&store, &env, incarnation, spans[index].clone());
        child.check();
        assert_eq!(seen(&[&child], &scopes[index]), before[index]);
    }
    Partition::destroy(&store, 1, 100, async || ()).await.unwrap();
    let gone = store.snapshot();
    let keys = store::KeyRange::prefix(&1_u64.to_be_bytes());
    assert_eq!(gone.scan(keys, store::Direction::Forward).count(), 0, "the parent is reclaimed");
    for (index, incarnation) in [2, 3].into_iter().enumerate() {
        open(&store, &env, incarnation, spans[index].clone()).check();
    }
}

/// A copy builds the index that the container asks for, whatever the source has.
#[tokio::test]
async fn an_index_under_another_policy_does_not_go_over() {
    let env = Env::fixed(3, START_MS);
    let store = store::open_memory();
    let world = part(&store, &env, 1, EpkRange::full(), 10);
    for _ in 0..60 {
        write(&[&world], &env).await;
    }
    let policy = query::index::IndexPolicy::none();
    let settings = Arc::new(Settings { index_policy: policy, ..rich() });
    world.partition.set_settings(Arc::clone(&settings));
    let sources = [world.partition.clone()];
    let targets = vec![target(&store, 2, EpkRange::full(), true)];
    let mut relocation = Relocation::begin(&sources, Arc::clone(&store), targets).await.unwrap();
    assert!(relocation.begin_reading().await.unwrap().is_none());
    run(&mut relocation, &[&world], &env).await;
    let moved = relocation.open(0, RangeId(1), settings).unwrap();
    relocation.retire();
    let moved = World { partition: moved, store, env };
    moved.check();
    assert_eq!(seen(&[&moved], &Scope::All), seen(&[&world], &Scope::All));
    assert_eq!(moved.partition.check_consistency().unwrap().n_terms, 0);
}

#[tokio::test]
async fn an_abandoned_relocation_leaves_the_source_as_it_was() {
    let env = Env::fixed(3, START_MS);
    let store = store::open_memory();
    let world = part(&store, &env, 1, EpkRange::full(), 10);
    for _ in 0..50 {
        write(&[&world], &env).await;
    }
    let targets = vec![target(&store, 2, EpkRange::full(), true)];
    let sources = [world.partition.clone()];
    let mut relocation = Relocation::begin(&sources, Arc::clone(&store), targets).await.unwrap();
    let second = vec![target(&store, 3, EpkRange::full(), true)];
    assert!(
        Relocation::begin(&sources, Arc::clone(&store), second).await.is_err(),
        "one at a time"
    );
    run(&mut relocation, &[&world], &env).await;
    drop(relocation);
    world.upsert(r#"{"id":"again","pk":1}"#).await.unwrap();
    world.check();
}

#[tokio::test]
async fn a_move_goes_on_with_the_numbers_of_its_source() {
    let env = Env::fixed(3, START_MS);
    let store = store::open_memory();
    let world = part(&store, &env, 1, EpkRange::full(), 10);
    world.create(r#"{"id":"a","pk":1}"#).await.unwrap();
    let targets = vec![target(&store, 2, EpkRange::full(), true)];
    let sources = [world.partition.clone()];
    let mut relocation = Relocation::begin(&sources, Arc::clone(&store), targets).await.unwrap();
    while !relocation.copy_step().await.unwrap().is_done {}
    relocation.fence().await.unwrap();
    relocation.finish().await.unwrap();
    let moved = relocation.open(0, RangeId(1), Arc::new(rich())).unwrap();
    relocation.retire();
    let world = World { partition: moved, store, env };
    let created = world.create(r#"{"id":"b","pk":1,"u":1}"#).await.unwrap();
    let rid = text(&json(created.outcome.body.as_ref().unwrap()), "_rid");
    assert_eq!(model::Rid::parse(&rid).unwrap().ordinal(), Some((1 << 40) + 2));
    world.check();
}

#[tokio::test]
async fn a_start_time_in_a_merged_feed_leaves_out_what_is_older() {
    let env = Env::fixed(3, START_MS);
    let store = store::open_memory();
    let spans = halves();
    let (low, high) =
        (part(&store, &env, 1, spans[0].clone(), 10), part(&store, &env, 2, spans[1].clone(), 10));
    let second = START_MS / 1000;
    // The high half writes early and gets high numbers, the low half late with low ones.
    let mut created = 0;
    for n in 0..40 {
        let body = format!(r#"{{"id":"{n}","pk":{n},"u":{n}}}"#);
        if high.partition.epks().contains(&high.home(&body).epk) {
            high.create(&body).await.unwrap();
        }
    }
    env.advance(std::time::Duration::from_secs(100));
    for n in 0..40 {
        let body = format!(r#"{{"id":"{n}","pk":{n},"u":{n}}}"#);
        if low.partition.epks().contains(&low.home(&body).epk) {
            low.create(&body).await.unwrap();
            created += 1;
        }
    }
    let sources = [low.partition.clone(), high.partition.clone()];
    let targets = vec![target(&store, 3, EpkRange::full(), false)];
    let mut relocation = Relocation::begin(&sources, Arc::clone(&store), targets).await.unwrap();
    while !relocation.copy_step().await.unwrap().is_done {}
    relocation.fence().await.unwrap();
    relocation.finish().await.unwrap();
    let merged = open(&store, &env, 3, EpkRange::full());
    relocation.retire();
    let since = |seconds: u64| {
        let page =
            merged.partition.changes(&Scope::All, None, Some(seconds), limits(1000)).unwrap();
        page.items.iter().map(|item| json(item)).collect::<Vec<Value>>()
    };
    assert_eq!(since(second - 1).len(), 40);
    let late = since(second + 50);
    assert_eq!(late.len(), created);
    let (mut n_paged, mut after) = (0, None);
    loop {
        let seconds = Some(second + 50);
        let page = merged.partition.changes(&Scope::All, after, seconds, limits(3)).unwrap();
        n_paged += page.items.len();
        after = Some(page.lsn);
        if !page.has_more {
            break;
        }
    }
    assert_eq!(n_paged, created, "a position in the merged part does not forget the time");
    assert!(late.iter().all(|item| item.get("_ts").unwrap().as_i64().unwrap() > i64::try_from(second).unwrap()));
    env.advance(std::time::Duration::from_secs(100));
    merged.create(r#"{"id":"new","pk":"new"}"#).await.unwrap();
    assert_eq!(since(second + 150).len(), 1);
    merged.check();
}

#[tokio::test]
async fn the_cut_is_in_the_middle_unless_the_bytes_are_skewed() {
    let world = World::new();
    let middle = halves()[1].min().clone();
    assert_eq!(world.partition.split_point().unwrap(), SplitPoint::Middle(middle.clone()));
    world.create(r#"{"id":"1","pk":1}"#).await.unwrap();
    world.create(r#"{"id":"2","pk":1}"#).await.unwrap();
    assert_eq!(world.partition.split_point().unwrap(), SplitPoint::OneLogical);
    for n in 0..100 {
        world.create(&format!(r#"{{"id":"x","pk":"{n}"}}"#)).await.unwrap();
    }
    assert_eq!(world.partition.split_point().unwrap(), SplitPoint::Middle(middle));
    // One logical partition far heavier than all others together, and the next one half of it.
    for (n, pad) in [(0, 90_000), (1, 40_000)] {
        let body = format!(r#"{{"id":"big","pk":"{n}","pad":"{}"}}"#, "x".repeat(pad));
        world.create(&body).await.unwrap();
    }
    let SplitPoint::Balanced(cut) = world.partition.split_point().unwrap() else { panic!() };
    let [left, right] = EpkRange::full().split_at(&cut).unwrap();
    let bytes = |span: EpkRange| {
        let logical = world.partition.logical_partitions(None, 1000).unwrap();
        let inside = logical.iter().filter(|it| span.contains(&world.at(&it.key.to_header()).epk));
        inside.map(|it| it.bytes).sum::<u64>()
    };
    let (left, right) = (bytes(left), bytes(right));
    assert!(left.min(right) >= 40_000 && left.max(right) < 95_000, "{left} {right}");
}
