//! Every file of a data folder, damaged in every way: a start refuses, or a read says so, or nothing is different.
//!
//! Never silently wrong, and a refused start removes nothing. A run takes `ORRERY_DAMAGE_INPUTS` inputs (100 unless told) from
//! the seed in `ORRERY_DAMAGE_SEED`; `cargo xtask damage` makes long ones.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::cast_possible_truncation, reason = "all of it is small")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use model::Env;
use store::{
    Batch, CACHE_BYTES_DEFAULT, Direction, Durability, EmbeddedOptions, Error, KeyRange, Store,
};

type Content = BTreeMap<Bytes, Bytes>;

fn open(dir: &Path) -> Result<Arc<dyn Store>, Error> {
    let options = EmbeddedOptions {
        durability: Durability::Fsync,
        cache_bytes: CACHE_BYTES_DEFAULT,
        direct_reads: store::DirectReads::On,
        env: Env::system(),
    };
    store::open_embedded(dir, &options)
}

/// A folder, what it holds, and copies of it from earlier.
struct Base {
    name: &'static str,
    folder: tempfile::TempDir,
    content: Content,
    earlier: Vec<tempfile::TempDir>,
}

/// How a base ends: in order, by a crash some time after the last write, or right after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Closed,
    Idle,
    Abrupt,
}

/// Writes, overwrites and deletes keys, with flushes and loads between them.
fn build(name: &'static str, end: End, seed: u64) -> Base {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("store");
    let env = Env::fixed(seed, 0);
    let random = |n: u64| env.random_u64() % n;
    let mut content = Content::new();
    let mut earlier = Vec::new();
    for session in 0..3_u32 {
        let store = open(&dir).unwrap();
        for round in 0..40_u32 {
            let mut batch = Batch::new();
            for _ in 0..=random(12) {
                let key = Bytes::from(format!("k{:03}", random(300)));
                if random(5) == 0 {
                    content.remove(&key);
                    batch.delete(key);
                } else {
                    let text = format!("{session}.{round}.{}", random(1 << 40));
                    let value = Bytes::from(text.repeat(1 + random(60) as usize));
                    content.insert(key.clone(), value.clone());
                    batch.put(key, value);
                }
            }
            store.commit(batch).wait().unwrap();
            if random(15) == 0 {
                store.prepare_bulk_scan().wait().unwrap();
            }
        }
        load(&store, session, &mut content);
        if session == 1 {
            let gone = KeyRange::prefix(b"load/0/");
            store.discard(gone.clone()).wait().unwrap();
            let mut rest = Batch::new();
            for entry in store.snapshot().scan(gone.clone(), Direction::Forward) {
                rest.delete(entry.unwrap().0);
            }
            store.commit(rest).wait().unwrap();
            content.retain(|key, _| !gone.contains(key));
        }
        if session < 2 {
            earlier.push(copy(&dir));
            if session == 0 {
                store.close().unwrap();
            }
            continue;
        }
        store.commit(tail(0, &mut content)).wait().unwrap();
        match end {
            End::Closed => store.close().unwrap(),
            // The store writes down what it has when nothing was written for two seconds.
            End::Idle => thread::sleep(Duration::from_millis(2_600)),
            End::Abrupt => {
                for index in 1..5 {
                    store.commit(tail(index, &mut content)).wait().unwrap();
                }
            }
        }
    }
    Base { name, folder, content, earlier }
}

/// More than fits one commit, so it goes to tables beside the log.
fn load(store: &Arc<dyn Store>, session: u32, content: &mut Content) {
    let mut ingest = Arc::clone(store).ingest().unwrap();
    for number in 0..80 {
        let mut batch = Batch::new();
        let key = Bytes::from(format!("load/{session}/{number:03}"));
        let value = Bytes::from(format!("{session}-{number}-").repeat(1_500));
        batch.put(key.clone(), value.clone());
        content.insert(key, value);
        ingest.write(batch).wait().unwrap();
    }
    ingest.finish().wait().unwrap();
}

fn tail(index: u32, content: &mut Content) -> Batch {
    let mut batch = Batch::new();
    for part in ["a", "b"] {
        let (key, value) =
            (Bytes::from(format!("tail/{index}/{part}")), Bytes::from("x".repeat(700)));
        content.insert(key.clone(), value.clone());
        batch.put(key, value);
    }
    batch
}

fn copy(dir: &Path) -> tempfile::TempDir {
    let target = tempfile::tempdir().unwrap();
    for file in files_of(dir) {
        let to = target.path().join(&file);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        let mut bytes = fs::read(dir.join(&file)).unwrap_or_default();
        let length = bytes.len() as u64;
        bytes.truncate(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1));
        fs::write(&to, bytes).unwrap();
        fs::File::options().write(true).open(&to).unwrap().set_len(length).unwrap();
    }
    fs::create_dir_all(target.path().join("engine/keyspaces/1/tables")).unwrap();
    target
}

/// All files below a folder, in order.
fn files_of(dir: &Path) -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    let mut folders = vec![dir.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.insert(path.strip_prefix(dir).unwrap().to_path_buf());
            }
        }
    }
    files
}

#[derive(Debug, Clone)]
enum Damage {
    Flip(u64),
    Zeros(u64, usize),
    Truncate(u64),
    Remove,
    /// The file as it was in one of the earlier copies.
    Old(usize),
}

impl Damage {
    fn any(random: &impl Fn(u64) -> u64, length: u64) -> Damage {
        match random(10) {
            0..=4 => Damage::Flip(random(length.max(1) * 8)),
            5 => Damage::Zeros(random(length.max(1)) / 512 * 512, 512),
            6 => Damage::Zeros(random(length.max(1)), 1),
            7 => Damage::Truncate(random(length.max(1))),
            8 => Damage::Remove,
            _ => Damage::Old(random(2) as usize),
        }
    }

    /// Returns false if the file is as before.
    fn apply(&self, dir: &Path, file: &Path, base: &Base) -> bool {
        let path = dir.join(file);
        let mut bytes = fs::read(&path).unwrap();
        let before = bytes.clone();
        match *self {
            Damage::Remove => {
                fs::remove_file(&path).unwrap();
                return true;
            }
            Damage::Flip(bit) => {
                if let Some(byte) = bytes.get_mut((bit / 8) as usize) {
                    *byte ^= 1 << (bit % 8);
                }
            }
            Damage::Zeros(at, n) => {
                let at = (at as usize).min(bytes.len());
                let end = (at + n).min(bytes.len());
                bytes[at..end].fill(0);
            }
            Damage::Truncate(length) => bytes.truncate(length as usize),
            Damage::Old(which) => match fs::read(base.earlier[which].path().join(file)) {
                Ok(old) => bytes = old,
                Err(_) => return false,
            },
        }
        fs::write(&path, &bytes).unwrap();
        bytes != before
    }
}

/// What came of one input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Refused,
    /// A read answered with an error.
    Reported,
    Harmless,
    /// The last writes, which no sync of the manifest covers, were taken for unfinished.
    Cut,
}

/// Opens the folder and reads everything, both ways.
fn look(dir: &Path, base: &Base, is_newest_log: bool) -> Outcome {
    let before = files_of(dir);
    let store = match open(dir) {
        Ok(store) => store,
        Err(Error::Corrupt(_) | Error::Unavailable(_)) => {
            let vanished: Vec<_> = before.difference(&files_of(dir)).cloned().collect();
            assert!(vanished.iter().all(|file| !file.starts_with("engine")), "{vanished:?}");
            return Outcome::Refused;
        }
        Err(error) => panic!("{error}"),
    };
    let snapshot = store.snapshot();
    let read = || -> Result<Content, Error> {
        let mut found = Content::new();
        for entry in snapshot.scan(KeyRange::all(), Direction::Backward) {
            let (key, value) = entry?;
            found.insert(key, value);
        }
        for (key, value) in &base.content {
            if let Some(one) = snapshot.get(key)? {
                assert!(found.get(key) == Some(&one), "a scan and a read differ at {key:?}");
                let _ = value;
            } else {
                assert!(!found.contains_key(key), "a scan and a read differ at {key:?}");
            }
        }
        Ok(found)
    };
    // The engine panics at some damage; the server turns that into an answer.
    let Ok(Ok(found)) = catch_unwind(AssertUnwindSafe(read)) else { return Outcome::Reported };
    if found == base.content {
        return Outcome::Harmless;
    }
    let without_tail = |n: usize| {
        let mut content = base.content.clone();
        content.retain(|key, _| {
            let index = key.strip_prefix(b"tail/").map(|rest| rest[0] - b'0');
            index.is_none_or(|index| usize::from(index) < n)
        });
        content
    };
    let is_cut = base.name == "abrupt" && is_newest_log && (0..5).any(|n| found == without_tail(n));
    assert!(is_cut, "silently wrong: {} entries instead of {}", found.len(), base.content.len());
    Outcome::Cut
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

#[test]
fn no_damage_to_any_file_is_silently_wrong() {
    let n_inputs = number("ORRERY_DAMAGE_INPUTS", 100);
    let seed = number("ORRERY_DAMAGE_SEED", 1);
    let bases = [("closed", End::Closed), ("idle", End::Idle), ("abrupt", End::Abrupt)];
    let bases = bases.map(|(name, end)| build(name, end, seed));
    let env = Env::fixed(seed, 0);
    let random = |n: u64| env.random_u64() % n;
    let mut outcomes: BTreeMap<Outcome, u64> = BTreeMap::new();
    let mut n_done = 0;
    for (base, share) in bases.iter().zip(1..) {
        let dir = base.folder.path().join("store");
        let files: Vec<PathBuf> = files_of(&dir).into_iter().collect();
        for at in 0.. {
            if n_done >= n_inputs * share / 3 {
                break;
            }
            let file = &files[at % files.len()];
            let damaged = copy(&dir);
            let damage = Damage::any(&random, fs::metadata(dir.join(file)).unwrap().len());
            if !damage.apply(damaged.path(), file, base) {
                continue;
            }
            n_done += 1;
            let is_newest_log = file.extension().is_some_and(|extension| extension == "jnl");
            let looked =
                catch_unwind(AssertUnwindSafe(|| look(damaged.path(), base, is_newest_log)));
            let Ok(outcome) = looked else {
                panic!("seed {seed}, {}: {} with {damage:?}", base.name, file.display());
            };
            *outcomes.entry(outcome).or_default() += 1;
        }
    }
    let line = format!("damage: {n_done} inputs, 0 silently wrong, {outcomes:?}\n");
    std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes()).unwrap();
    assert!(n_done >= n_inputs);
    assert!(outcomes[&Outcome::Refused] > 0);
}

/// What the engine itself would take for a store that never was, and clean up.
#[test]
fn a_missing_file_is_named_and_nothing_is_deleted() {
    let base = build("idle", End::Idle, 7);
    let dir = base.folder.path().join("store");
    let table = || {
        let mut tables =
            files_of(&dir).into_iter().filter(|file| file.starts_with("engine/keyspaces/1/tables"));
        tables.next_back().unwrap().display().to_string()
    };
    let log = files_of(&dir).into_iter().find(|file| file.extension().is_some_and(|e| e == "jnl"));
    let removed = [
        "engine/keyspaces/1/current".to_owned(),
        "engine/keyspaces/0/current".to_owned(),
        "engine/keyspaces/0".to_owned(),
        "engine/keyspaces/1".to_owned(),
        "engine/keyspaces".to_owned(),
        "engine/version".to_owned(),
        "engine".to_owned(),
        table(),
        log.unwrap().display().to_string(),
        "MANIFEST".to_owned(),
    ];
    for removed in removed {
        let damaged = copy(&dir);
        let path = damaged.path().join(&removed);
        if path.is_dir() {
            fs::remove_dir_all(&path).unwrap();
        } else {
            fs::remove_file(&path).unwrap();
        }
        let before = files_of(damaged.path());
        let Err(Error::Corrupt(text)) = open(damaged.path()) else {
            panic!("{removed} is not missed")
        };
        assert!(text.contains(&removed) && text.contains("is missing"), "{removed}: {text}");
        let mut after = files_of(damaged.path());
        after.insert("LOCK".into());
        let before: BTreeSet<_> = before.into_iter().chain(["LOCK".into()]).collect();
        assert_eq!(after, before, "{removed}: nothing came and nothing went");
    }
}

/// Folders of before the manifest open, and have one afterwards.
#[test]
fn a_folder_of_the_format_before_opens_and_gets_a_manifest() {
    let base = build("idle", End::Idle, 9);
    let old = copy(&base.folder.path().join("store"));
    fs::remove_file(old.path().join("MANIFEST")).unwrap();
    fs::write(old.path().join("FORMAT"), "orrery store format 1\n").unwrap();
    let store = open(old.path()).unwrap();
    let found = store.snapshot().scan(KeyRange::all(), Direction::Forward).count();
    assert_eq!(found, base.content.len());
    drop(store);
    assert_eq!(fs::read_to_string(old.path().join("FORMAT")).unwrap(), "orrery store format 2\n");
    let manifest = fs::read_to_string(old.path().join("MANIFEST")).unwrap();
    assert!(manifest.starts_with("orrery manifest 1\nkeyspace 0 version "), "{manifest}");
    assert_eq!(look(old.path(), &base, false), Outcome::Harmless);
}

/// A bit in a list of tables changed what a store served.
#[test]
fn no_bit_of_a_list_of_tables_can_change() {
    let base = build("closed", End::Closed, 11);
    let dir = base.folder.path().join("store");
    let lists = [0, 1].into_iter().flat_map(|keyspace| {
        let folder = Path::new("engine/keyspaces").join(keyspace.to_string());
        let current = fs::read(dir.join(&folder).join("current")).unwrap();
        let number = u64::from_le_bytes(current[..8].try_into().unwrap());
        [folder.join("current"), folder.join(format!("v{number}"))]
    });
    for list in lists {
        let damaged = copy(&dir);
        let whole = fs::read(dir.join(&list)).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            fs::write(damaged.path().join(&list), &bytes).unwrap();
            let Err(Error::Corrupt(text)) = open(damaged.path()) else {
                panic!("{} with another byte {at} is served", list.display());
            };
            assert!(text.contains("engine/keyspaces"), "{text}");
        }
        fs::write(damaged.path().join(&list), &whole).unwrap();
        assert!(open(damaged.path()).is_ok());
    }
}
