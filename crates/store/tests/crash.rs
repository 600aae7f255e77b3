//! Kill the process and cut the log: what was acknowledged stays, nothing is half there.
//!
//! The writing process is this test binary, started again with an environment variable. It prints
//! each acknowledgement, and is killed without warning by its process id.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use model::Env;
use store::{
    Batch, CACHE_BYTES_DEFAULT, Direction, Durability, EmbeddedOptions, Error, KeyRange, Snapshot,
    Store,
};

const CHILD_DIR: &str = "ORRERY_CRASH_DIR";
const LOADING_DIR: &str = "ORRERY_CRASH_LOADING_DIR";
const CHILD_DURABILITY: &str = "ORRERY_CRASH_DURABILITY";
const N_WRITERS: u32 = 16;
const N_PARTS: u32 = 5;

/// Kills in a row on one directory, and directories.
const N_CYCLES: usize = 5;
#[cfg(not(feature = "slow"))]
const N_DIRECTORIES: usize = 1;
#[cfg(feature = "slow")]
const N_DIRECTORIES: usize = 20;

#[cfg(not(feature = "slow"))]
const N_CREATIONS: u64 = 12;
#[cfg(feature = "slow")]
const N_CREATIONS: u64 = 300;

/// Log positions between two cuts.
#[cfg(not(feature = "slow"))]
const CUT_STEP: usize = 1_013;
#[cfg(feature = "slow")]
const CUT_STEP: usize = 17;

fn open(dir: &Path, durability: Durability) -> Arc<dyn Store> {
    let options = EmbeddedOptions {
        durability,
        cache_bytes: CACHE_BYTES_DEFAULT,
        direct_reads: store::DirectReads::Compared,
        env: Env::system(),
    };
    store::open_embedded(dir, &options).unwrap()
}

/// Parts of different sizes, whose content follows from their names.
fn content(writer: u32, index: u32, part: u32) -> Bytes {
    let seed = writer.wrapping_mul(31).wrapping_add(index).wrapping_mul(7).wrapping_add(part);
    let byte = u8::try_from(seed % 251).unwrap();
    Bytes::from(vec![byte; (seed as usize * 37) % 3_000])
}

fn part_key(writer: u32, index: u32, part: u32) -> String {
    format!("{writer:02}/{index:08}/{part}")
}

fn batch(writer: u32, index: u32) -> Batch {
    let mut batch = Batch::new();
    for part in 0..N_PARTS {
        batch.put(part_key(writer, index, part), content(writer, index, part));
    }
    batch
}

/// Checks that every batch there is whole, and returns how many each writer has, without gaps.
#[track_caller]
fn check_whole(snapshot: &dyn Snapshot) -> BTreeMap<u32, u32> {
    let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
    let mut entries = snapshot.scan(KeyRange::all(), Direction::Forward);
    while let Some(first) = entries.next() {
        let mut entry = first.unwrap();
        let writer: u32 = std::str::from_utf8(&entry.0[..2]).unwrap().parse().unwrap();
        let index = counts.entry(writer).or_default();
        for part in 0..N_PARTS {
            if part > 0 {
                entry = entries.next().unwrap().unwrap();
            }
            assert_eq!(entry.0, part_key(writer, *index, part), "no part and no batch is missing");
            assert_eq!(entry.1, content(writer, *index, part), "{:?}", entry.0);
        }
        *index += 1;
    }
    counts
}

fn start_child(dir: &Path, durability: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_process", "--nocapture"])
        .env(CHILD_DIR, dir)
        .env(CHILD_DURABILITY, durability)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Not a test by itself: the process that gets killed.
#[test]
fn child_process() {
    let Some(dir) = std::env::var_os(CHILD_DIR) else { return };
    let durability = match std::env::var(CHILD_DURABILITY).unwrap().as_str() {
        "fsync" => Durability::Fsync,
        _ => Durability::Relaxed { interval: Duration::from_millis(20) },
    };
    let store = open(dir.as_ref(), durability);
    let counts = check_whole(&*store.snapshot());
    thread::scope(|scope| {
        for writer in 0..N_WRITERS {
            let first = counts.get(&writer).copied().unwrap_or(0);
            let store = &store;
            scope.spawn(move || {
                for index in first.. {
                    store.commit(batch(writer, index)).wait().unwrap();
                    // One write call per line; beyond the test harness, which captures `print`.
                    let line = format!("ack {writer} {index}\n");
                    if std::io::stdout().write_all(line.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
}

/// Kills the child after `n_lines` acknowledgements and returns the highest one of each writer.
fn kill_after(mut child: Child, n_lines: usize) -> BTreeMap<u32, u32> {
    let mut acknowledged = BTreeMap::new();
    let mut n_seen = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        // The last line may be cut in the middle: then the writer was not told.
        let Ok(line) = line else { break };
        // The harness writes "test child_process ... " without a line end before our first line.
        let Some((_, numbers)) = line.split_once("ack ") else { continue };
        if let Some((writer, index)) = numbers.split_once(' ')
            && let (Ok(writer), Ok(index)) = (writer.parse::<u32>(), index.parse::<u32>())
        {
            acknowledged.insert(writer, index);
        }
        n_seen += 1;
        if n_seen == n_lines {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(n_seen >= n_lines, "the child wrote until it was killed");
    acknowledged
}

fn check_kills(durability: &str) {
    for directory in 0..N_DIRECTORIES {
        check_kills_in_a_row(durability, directory);
    }
}

#[track_caller]
fn check_kills_in_a_row(durability: &str, directory: usize) {
    let dir = tempfile::tempdir().unwrap();
    let mut n_batches = 0;
    for cycle in 0..N_CYCLES {
        let n_lines = 1 + (cycle * 397 + directory * 131) % 1_500;
        let acknowledged = kill_after(start_child(dir.path(), durability), n_lines);
        let store = open(dir.path(), Durability::Fsync);
        let counts = check_whole(&*store.snapshot());
        for (writer, index) in &acknowledged {
            let count = counts.get(writer).copied().unwrap_or(0);
            assert!(count > *index, "cycle {cycle}: writer {writer} was told {index}, has {count}");
        }
        let n_now: u32 = counts.values().sum();
        assert!(n_now as usize >= n_batches + n_lines, "cycle {cycle}: nothing is forgotten");
        n_batches = n_now as usize;
        // Sometimes in an orderly way, so that logs and tables are both read back.
        if cycle % 2 == 0 {
            store.close().unwrap();
        }
    }
}

#[test]
fn a_killed_process_loses_nothing_acknowledged() {
    check_kills("fsync");
}

/// Relaxed gives up nothing when only the process ends: the writes are with the operating system.
#[test]
fn a_killed_process_loses_nothing_acknowledged_when_relaxed() {
    check_kills("relaxed");
}

/// The keys of loads stand above those of writers.
fn load_key(load: u32, number: u32) -> String {
    format!("load/{load:04}/{number:06}")
}

const LOAD_ENTRIES: u32 = 1_500;

/// Not a test by itself: the process that gets killed while it loads.
#[test]
fn loading_process() {
    let Some(dir) = std::env::var_os(LOADING_DIR) else { return };
    let store = open(dir.as_ref(), Durability::Fsync);
    let first = n_loads(&*store.snapshot());
    // What a crash left of the load that was under way.
    delete_load(&*store, first);
    let mut next = store.snapshot().scan(KeyRange::new("00", "99"), Direction::Forward).count();
    for load in first.. {
        let mut ingest = Arc::clone(&store).ingest().unwrap();
        for number in (0..LOAD_ENTRIES).step_by(100) {
            let mut entries = Batch::new();
            for number in number..number + 100 {
                entries.put(load_key(load, number), content(load, number, 0));
            }
            ingest.write(entries).wait().unwrap();
            let index = u32::try_from(next).unwrap() / N_PARTS;
            store.commit(batch(0, index)).wait().unwrap();
            next += N_PARTS as usize;
            std::io::stdout().write_all(format!("ack 0 {index}\n").as_bytes()).unwrap();
        }
        ingest.finish().wait().unwrap();
        std::io::stdout().write_all(format!("ack 1 {load}\n").as_bytes()).unwrap();
    }
}

/// Loads that are there without a gap from the first; of the one after them any part may be.
#[track_caller]
fn n_loads(snapshot: &dyn Snapshot) -> u32 {
    for load in 0.. {
        for number in 0..LOAD_ENTRIES {
            match snapshot.get(load_key(load, number).as_bytes()).unwrap() {
                Some(found) => assert_eq!(found, content(load, number, 0)),
                None => return load,
            }
        }
    }
    0
}

fn delete_load(store: &dyn Store, load: u32) {
    let mut batch = Batch::new();
    let range = KeyRange::prefix(format!("load/{load:04}/").as_bytes());
    for entry in store.snapshot().scan(range, Direction::Forward) {
        batch.delete(entry.unwrap().0);
    }
    store.commit(batch).wait().unwrap();
}

#[test]
fn a_process_killed_in_a_load_loses_nothing_that_was_finished() {
    let dir = tempfile::tempdir().unwrap();
    for cycle in 0..N_CYCLES * N_DIRECTORIES {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "loading_process", "--nocapture"])
            .env(LOADING_DIR, dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let acknowledged = kill_after(child, 1 + (cycle * 29) % 60);
        let store = open(dir.path(), Durability::Fsync);
        let snapshot = store.snapshot();
        let (told, found) = (acknowledged.get(&1).map_or(0, |load| load + 1), n_loads(&*snapshot));
        assert!(found >= told, "cycle {cycle}: {told} loads were finished, {found} are there");
        let writes = snapshot.scan(KeyRange::new("00", "99"), Direction::Forward).count();
        let told = acknowledged.get(&0).map_or(0, |index| index + 1) * N_PARTS;
        assert!(writes >= told as usize, "cycle {cycle}: {told} were told, {writes} are there");
    }
}

#[test]
fn a_second_process_is_told_whom_to_stop() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = start_child(dir.path(), "fsync");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("ack ")), "the child has the directory");
    let options = EmbeddedOptions {
        durability: Durability::Fsync,
        cache_bytes: CACHE_BYTES_DEFAULT,
        direct_reads: store::DirectReads::Compared,
        env: Env::system(),
    };
    let error = store::open_embedded(dir.path(), &options).unwrap_err();
    let owner = format!("in use by process {}; stop it first", child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(matches!(error, Error::Unavailable(_)), "{error}");
    assert!(error.to_string().contains(&owner), "{error}");
}

/// A kill within the first milliseconds: the directory is new, half made, or just made.
#[test]
fn a_creation_that_was_killed_can_be_started_over() {
    for round in 0..N_CREATIONS {
        let dir = tempfile::tempdir().unwrap();
        let mut child = start_child(dir.path(), "fsync");
        thread::sleep(Duration::from_micros(round * 2_500 % 40_000));
        child.kill().unwrap();
        child.wait().unwrap();
        let store = open(dir.path(), Durability::Fsync);
        let counts = check_whole(&*store.snapshot());
        let next = counts.get(&0).copied().unwrap_or(0);
        store.commit(batch(0, next)).wait().unwrap();
    }
}

/// The log of one store, filled with batches that were acknowledged one after the other.
struct Log {
    dir: tempfile::TempDir,
    content: Vec<u8>,
    /// Where each batch ends in the log.
    ends: Vec<usize>,
}

fn log_path(dir: &Path) -> PathBuf {
    let mut logs: Vec<PathBuf> = fs::read_dir(dir.join("engine"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jnl"))
        .collect();
    assert_eq!(logs.len(), 1, "one log");
    logs.remove(0)
}

/// The filled part of the log: it is set to its full length in advance.
fn filled(path: &Path) -> Vec<u8> {
    let mut content = Vec::new();
    File::open(path).unwrap().take(1 << 20).read_to_end(&mut content).unwrap();
    let end = content.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    content.truncate(end);
    content
}

fn write_log() -> Log {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), Durability::Fsync);
    let mut ends = Vec::new();
    for index in 0..8 {
        store.commit(batch(0, index)).wait().unwrap();
        ends.push(filled(&log_path(dir.path())).len());
    }
    drop(store);
    let content = filled(&log_path(dir.path()));
    Log { dir, content, ends }
}

/// A directory like the log's own, with another content of the log.
fn copy_with_log(log: &Log, write: impl FnOnce(&mut File)) -> tempfile::TempDir {
    let target = tempfile::tempdir().unwrap();
    let path = log_path(log.dir.path());
    copy_except(log.dir.path(), target.path(), &path);
    let name = path.strip_prefix(log.dir.path()).unwrap();
    write(&mut File::create(target.path().join(name)).unwrap());
    target
}

fn copy_except(from: &Path, to: &Path, except: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_except(&path, &target, except);
        } else if path != except {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// The log ends anywhere, short or followed by zeros: the batches that end before are there.
#[test]
fn a_log_cut_anywhere_keeps_every_whole_batch() {
    let log = write_log();
    for (round, cut) in (0..=log.content.len()).step_by(CUT_STEP).enumerate() {
        let dir = copy_with_log(&log, |file| {
            file.write_all(&log.content[..cut]).unwrap();
            if round % 2 == 0 {
                file.set_len(64 << 20).unwrap();
            }
        });
        let store = open(dir.path(), Durability::Fsync);
        let found = check_whole(&*store.snapshot()).get(&0).copied().unwrap_or(0) as usize;
        let expected = log.ends.iter().filter(|end| **end <= cut).count();
        assert_eq!(found, expected, "cut at {cut} of {}", log.content.len());
        let next = u32::try_from(found).unwrap();
        store.commit(batch(0, next)).wait().unwrap();
        drop(store);

        let store = open(dir.path(), Durability::Fsync);
        let again = check_whole(&*store.snapshot()).get(&0).copied();
        assert_eq!(again, Some(next + 1), "cut at {cut}: what came after the cut stays");
    }
}

/// A hole anywhere in the last batch, as when the kernel wrote its last page first.
#[test]
fn a_last_batch_with_a_hole_is_cut_off() {
    let log = write_log();
    let last = log.ends[log.ends.len() - 2]..log.content.len();
    for start in last.clone().step_by(CUT_STEP / 2) {
        let mut content = log.content.clone();
        let end = (start + 512).min(last.end - 8);
        content[start.min(end)..end].fill(0);
        if content == log.content {
            continue;
        }
        let dir = copy_with_log(&log, |file| file.write_all(&content).unwrap());
        let store = open(dir.path(), Durability::Fsync);
        let found = check_whole(&*store.snapshot()).get(&0).copied().unwrap_or(0) as usize;
        assert_eq!(found, log.ends.len() - 1, "hole at {start}");
    }
}

/// Damage to acknowledged batches is reported, never served and never silently cut off.
#[test]
fn a_damaged_log_is_reported() {
    let log = write_log();
    let last = log.ends[log.ends.len() - 2];
    for position in (0..last).step_by(CUT_STEP / 2) {
        let dir = copy_with_log(&log, |file| {
            file.write_all(&log.content).unwrap();
            file.seek(SeekFrom::Start(position as u64)).unwrap();
            file.write_all(&[log.content[position] ^ 0x55]).unwrap();
        });
        let options = EmbeddedOptions {
            durability: Durability::Fsync,
            cache_bytes: CACHE_BYTES_DEFAULT,
            direct_reads: store::DirectReads::Compared,
            env: Env::system(),
        };
        let error = store::open_embedded(dir.path(), &options).unwrap_err();
        assert!(matches!(error, Error::Corrupt(_)), "{position}: {error}");
    }
}
