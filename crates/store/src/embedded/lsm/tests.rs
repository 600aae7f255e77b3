//! Snapshots while the engine moves and merges what they show: here a merge can be asked for.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use model::Env;

use super::engine::LsmEngine;
use super::idle_compaction;
use crate::embedded::directory::Directory;
use crate::embedded::engine::{Engine, Writes};
use crate::embedded::store::EmbeddedStore;
use crate::{
    CACHE_BYTES_DEFAULT, DirectReads, Direction, Durability, EmbeddedOptions, KeyRange, Snapshot,
    Store as _,
};

fn options() -> EmbeddedOptions {
    EmbeddedOptions {
        durability: Durability::Fsync,
        cache_bytes: CACHE_BYTES_DEFAULT,
        direct_reads: DirectReads::Compared,
        env: Env::system(),
    }
}

fn open(folder: &tempfile::TempDir) -> LsmEngine {
    let directory = Directory::lock(folder.path()).unwrap();
    LsmEngine::open(directory, &options()).unwrap()
}

fn write(engine: &LsmEngine, writes: &[(&'static str, Option<&'static str>)]) {
    let writes = writes.iter().map(|(key, value)| ((*key).into(), value.map(Bytes::from)));
    engine.write(writes.collect()).unwrap();
}

/// The engine looks after every 10,000 of them which versions of a key nobody needs any more.
fn let_go_of_snapshots(engine: &LsmEngine) {
    for _ in 0..10_000 {
        engine.snapshot();
    }
}

fn all(snapshot: &dyn Snapshot, direction: Direction) -> Vec<(Bytes, Bytes)> {
    snapshot.scan(KeyRange::all(), direction).map(Result::unwrap).collect()
}

/// The merged table has neither the key nor the delete: nothing in it is younger than the snapshot.
#[test]
fn a_snapshot_shows_what_was_deleted_and_merged_away_since() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(&folder);
    write(&engine, &[("gone", Some("1")), ("stays", Some("1"))]);
    write(&engine, &[("later", Some("1"))]);
    let_go_of_snapshots(&engine);
    let snapshot = engine.snapshot();
    write(&engine, &[("gone", None)]);
    idle_compaction::major_compact(&engine.keyspace).unwrap();
    assert_eq!(all(&*engine.snapshot(), Direction::Forward).len(), 2);
    for direction in [Direction::Forward, Direction::Backward] {
        assert_eq!(all(&*snapshot, direction).len(), 3);
    }
}

#[test]
fn tables_are_those_of_the_snapshots_that_were_taken_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(&folder);
    let is_found = |seqno| engine.direct_reader.can_read(&engine.keyspace, seqno);
    let look = || {
        engine.snapshot();
        engine.database.visible_seqno()
    };
    write(&engine, &[("k", Some("1"))]);
    let first = look();
    write(&engine, &[("k", Some("2"))]);
    assert!(is_found(first), "a write moves nothing");
    idle_compaction::major_compact(&engine.keyspace).unwrap();
    assert!(!is_found(first), "these tables came later, and nobody has seen them");
    let second = look();
    assert_eq!([first, second].map(is_found), [false, true]);
}

#[test]
fn a_store_that_is_only_read_shows_the_tables_of_now() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Arc::new(open(&folder));
    write(&engine, &[("k", Some("1"))]);
    let store = EmbeddedStore::start(Arc::clone(&engine) as Arc<dyn Engine>, &options()).unwrap();
    let before = store.snapshot();
    assert!(!engine.has_new_tables());
    idle_compaction::major_compact(&engine.keyspace).unwrap();
    engine.snapshot_for_bulk_scan(&KeyRange::all());
    assert!(engine.has_new_tables(), "a bulk scan has a snapshot of its own");
    for _ in 0..600 {
        if !engine.has_new_tables() {
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    let after = store.snapshot();
    assert!(!Arc::ptr_eq(&before, &after));
    for snapshot in [before, after] {
        assert_eq!(all(&*snapshot, Direction::Forward), [("k".into(), "1".into())]);
    }
}

#[test]
fn every_snapshot_agrees_with_its_map_across_merges() {
    const N_KEYS: u64 = 40;
    let folder = tempfile::tempdir().unwrap();
    let engine = open(&folder);
    let env = Env::fixed(12, 0);
    let random = |n: u64| env.random_u64() % n;
    let mut map: BTreeMap<Bytes, Bytes> = BTreeMap::new();
    let mut ages = VecDeque::new();
    for round in 0..600_u32 {
        let mut writes = Writes::new();
        for _ in 0..random(5) {
            let key = Bytes::from(format!("{:02}", random(N_KEYS)));
            let value = (random(2) == 0).then(|| Bytes::from(format!("round {round}")));
            match &value {
                Some(value) => drop(map.insert(key.clone(), value.clone())),
                None => drop(map.remove(&key)),
            }
            writes.insert(key, value);
        }
        engine.write(writes).unwrap();
        ages.push_back((engine.snapshot(), map.clone()));
        match random(20) {
            0 => idle_compaction::major_compact(&engine.keyspace).unwrap(),
            1 => engine.flush().unwrap(),
            2 => let_go_of_snapshots(&engine),
            _ => {}
        }
        if ages.len() > 6 {
            ages.remove(usize::try_from(random(7)).unwrap());
        }
        // Every other round leaves old snapshots unread until after the next change of tables.
        for (snapshot, map) in ages.iter().step_by(1 + usize::try_from(random(3)).unwrap()) {
            let [start, end] = [random(N_KEYS), random(N_KEYS)].map(|n| format!("{n:02}"));
            let some = KeyRange::new(start.min(end.clone()), end);
            for range in [KeyRange::all(), some] {
                assert_both_ways(&**snapshot, map, &range);
            }
        }
    }
}

/// Compares what a snapshot shows of a range, from both ends, with a map.
fn assert_both_ways(snapshot: &dyn Snapshot, map: &BTreeMap<Bytes, Bytes>, range: &KeyRange) {
    let expected = map.iter().filter(|(key, _)| range.contains(key));
    let mut expected: Vec<_> = expected.map(|(k, v)| (k.clone(), v.clone())).collect();
    for direction in [Direction::Forward, Direction::Backward] {
        let found: Vec<_> = snapshot.scan(range.clone(), direction).map(Result::unwrap).collect();
        assert_eq!(found, expected, "{range:?} {direction:?}");
        expected.reverse();
    }
}

#[test]
fn runs_of_several_tables_are_read_from_both_ends() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(&folder);
    let mut map = BTreeMap::new();
    for keys in [["a", "b", "c"], ["k", "l", "m"], ["s", "t", "u"]] {
        write(&engine, &keys.map(|key| (key, Some("1"))));
        engine.flush().unwrap();
        map.extend(keys.map(|key| (Bytes::from(key), Bytes::from("1"))));
    }
    // Younger versions, in memory.
    write(&engine, &[("b", Some("2")), ("l", None), ("z", Some("2"))]);
    map.extend([("b", "2"), ("z", "2")].map(|(key, value)| (key.into(), value.into())));
    map.remove("l".as_bytes());
    let snapshot = engine.snapshot();
    let n_tables =
        engine.direct_reader.run_lengths(&engine.keyspace, engine.database.visible_seqno());
    // The engine may have moved the first two down a level meanwhile.
    assert!(
        n_tables == [3] || n_tables == [1, 2],
        "tables that do not overlap are one run: {n_tables:?}"
    );
    let ends = ["", "a", "b", "d", "l", "m", "t", "v", "zz"];
    for (at, start) in ends.iter().enumerate() {
        for end in ends.iter().skip(at + 1) {
            assert_both_ways(&*snapshot, &map, &KeyRange::new(*start, *end));
        }
    }
    assert_both_ways(&*snapshot, &map, &KeyRange::all());
}

/// Nothing is written afterwards, so the engine itself would keep the files until the next start.
#[test]
fn files_of_dropped_tables_go_when_no_snapshot_shows_them() {
    const MB: u64 = 1 << 20;
    let folder = tempfile::tempdir().unwrap();
    let engine = Arc::new(open(&folder));
    for n in 0..40_u8 {
        let value = Bytes::from(vec![n; 256 << 10]);
        engine.write(Writes::from([(Bytes::from(vec![b'k', n]), Some(value))])).unwrap();
    }
    engine.flush().unwrap();
    let tables = || engine.keyspace.path().join("tables");
    let size = || -> u64 {
        let files = std::fs::read_dir(tables()).unwrap();
        files.map(|file| file.unwrap().metadata().map_or(0, |it| it.len())).sum()
    };
    let snapshot = engine.snapshot();
    let before = size();
    engine.discard(&KeyRange::prefix(b"k")).unwrap();
    write(&engine, &[("z", Some("1"))]);
    idle_compaction::release_versions(&engine.database, &engine.keyspace);
    assert_eq!(size(), before, "a snapshot shows them");
    assert_eq!(all(&*snapshot, Direction::Forward).len(), 40);
    drop(snapshot);
    idle_compaction::release_versions(&engine.database, &engine.keyspace);
    assert!(before > 0 && size() < before / 2 && size() < MB, "{before} {}", size());
}
