//! The power fails at every write and sync: what was acknowledged stays, nothing is half there, and the store opens.
//!
//! The embedded store runs in a process of its own with a recorder under it (`recorder.c`, preloaded). From the record the
//! images of cuts are made (`disk.rs`), and each is opened and compared. Workloads have creation, flushes, loads, discards,
//! compactions, orderly stops and restarts; with `ORRERY_POWER_CUTS` of 500 or more also a log that is full and rotated.
//! `cargo xtask power-cut` makes long runs. Skipped, and said, without a C compiler.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod disk;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use model::Env;
use store::{Batch, CACHE_BYTES_DEFAULT, Direction, Durability, EmbeddedOptions, KeyRange, Store};

use disk::{Disk, Event, Luck};

const CHILD: &str = "ORRERY_POWER_CUT_DIR";
const SEED: &str = "ORRERY_POWER_CUT_SEED";
const ROTATES: &str = "ORRERY_POWER_CUT_ROTATES";

const N_LOAD: usize = 60;

type Content = BTreeMap<Bytes, Bytes>;

fn open(dir: &Path) -> Result<Arc<dyn Store>, store::Error> {
    let options = EmbeddedOptions {
        durability: Durability::Fsync,
        cache_bytes: CACHE_BYTES_DEFAULT,
        direct_reads: store::DirectReads::Compared,
        env: Env::system(),
    };
    store::open_embedded(dir, &options)
}

/// The batch with this number: some keys set, some deleted, and its number.
fn batch(number: u64, value_bytes: usize) -> Batch {
    let mut batch = Batch::new();
    let key = |n: u64| format!("k{:03}", (number * 31 + n * 17) % 200);
    for n in 0..6 {
        if (number + n).is_multiple_of(4) {
            batch.delete(key(n));
        } else {
            batch.put(key(n), format!("{number}.{n}.").repeat(value_bytes / 8));
        }
    }
    batch.put("number", number.to_string());
    batch
}

fn apply(content: &mut Content, batch: &Batch) {
    for write in batch.writes() {
        match &write.value {
            Some(value) => content.insert(write.key.clone(), value.clone()),
            None => content.remove(&write.key),
        };
    }
}

/// What the child does, from the seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Commit(usize),
    Flush,
    Load,
    DiscardLoad,
    Restart,
    Abandon,
    Idle,
}

fn steps(seed: u64, rotates: bool) -> Vec<Step> {
    let env = Env::fixed(seed, 0);
    let random = |n: u64| env.random_u64() % n;
    let mut steps = Vec::new();
    for _ in 0..70 {
        steps.push(match random(24) {
            0..=2 => Step::Flush,
            3 => Step::Load,
            4 => Step::DiscardLoad,
            5 => Step::Restart,
            6 => Step::Abandon,
            _ => Step::Commit([40, 300, 3_000, 20_000][usize::try_from(random(4)).unwrap()]),
        });
    }
    steps.push(Step::Idle);
    steps.extend([Step::Commit(300); 5]);
    if rotates {
        for _ in 0..40 {
            steps.extend([Step::Commit(450_000); 2]);
            steps.push(Step::Commit(3_000));
        }
        steps.extend([Step::Flush, Step::Commit(300), Step::Flush, Step::Commit(300), Step::Load]);
    }
    steps
}

/// Not a test by itself: the process whose power is cut.
#[test]
fn child_process() {
    let Some(dir) = std::env::var_os(CHILD) else { return };
    let dir = PathBuf::from(dir);
    let seed = std::env::var(SEED).unwrap().parse().unwrap();
    let acks = File::create(dir.join("ACKS")).unwrap();
    let mut store = open(&dir).unwrap();
    let (mut number, mut n_loads) = (0, 0);
    for step in steps(seed, std::env::var_os(ROTATES).is_some()) {
        match step {
            Step::Commit(value_bytes) => {
                number += 1;
                store.commit(batch(number, value_bytes)).wait().unwrap();
                disk::append(&acks, &format!("batch {number}\n"));
            }
            Step::Flush => store.prepare_bulk_scan().wait().unwrap(),
            Step::Load => {
                let mut ingest = Arc::clone(&store).ingest().unwrap();
                for entry in 0..N_LOAD {
                    let mut batch = Batch::new();
                    batch.put(load_key(n_loads, entry), load_value(n_loads));
                    ingest.write(batch).wait().unwrap();
                }
                ingest.finish().wait().unwrap();
                disk::append(&acks, &format!("load {n_loads}\n"));
                n_loads += 1;
            }
            Step::DiscardLoad if n_loads > 0 => {
                disk::append(&acks, &format!("discard {}\n", n_loads - 1));
                let range = KeyRange::prefix(format!("load/{:03}/", n_loads - 1).as_bytes());
                store.discard(range).wait().unwrap();
            }
            Step::DiscardLoad => {}
            Step::Restart | Step::Abandon => {
                if step == Step::Restart {
                    store.close().unwrap();
                }
                drop(store);
                store = open(&dir).unwrap();
            }
            // Long enough for an idle compaction and for the manifest.
            Step::Idle => thread::sleep(Duration::from_millis(4_500)),
        }
    }
    store.close().unwrap();
}

fn load_key(load: usize, entry: usize) -> String {
    format!("load/{load:03}/{entry:03}")
}

fn load_value(load: usize) -> String {
    format!("load {load} ").repeat(1_200)
}

/// What was acknowledged at a moment.
#[derive(Debug, Default)]
struct Acknowledged {
    n_batches: u64,
    loads: Vec<usize>,
}

impl Acknowledged {
    fn parse(text: &str) -> Acknowledged {
        let mut acknowledged = Acknowledged::default();
        for line in text.lines() {
            let (what, number) = line.split_once(' ').unwrap();
            match what {
                "batch" => acknowledged.n_batches = number.parse().unwrap(),
                "load" => acknowledged.loads.push(number.parse().unwrap()),
                _ => acknowledged.loads.retain(|load| load.to_string() != number),
            }
        }
        acknowledged
    }
}

/// Opens an image and compares it with what was acknowledged.
fn check(dir: &Path, acknowledged: &Acknowledged, sizes: &[usize]) -> Result<(), String> {
    let store = open(dir).map_err(|error| format!("it does not open: {error}"))?;
    let mut found = Content::new();
    let mut loaded: BTreeMap<usize, usize> = BTreeMap::new();
    for entry in store.snapshot().scan(KeyRange::all(), Direction::Forward) {
        let (key, value) = entry.map_err(|error| format!("it cannot be read: {error}"))?;
        match std::str::from_utf8(&key).unwrap().strip_prefix("load/") {
            Some(rest) => {
                let load = rest[..3].parse().unwrap();
                if value != load_value(load) {
                    return Err(format!("{rest} has another value"));
                }
                *loaded.entry(load).or_default() += 1;
            }
            None => drop(found.insert(key, value)),
        }
    }
    for load in &acknowledged.loads {
        if loaded.get(load) != Some(&N_LOAD) {
            return Err(format!("load {load} is lost: {:?}", loaded.get(load)));
        }
    }
    let number = found
        .get(&b"number"[..])
        .map_or(0, |text| std::str::from_utf8(text).unwrap().parse::<u64>().unwrap());
    let n = acknowledged.n_batches;
    if number != n && number != n + 1 {
        return Err(format!("batch {number} is the last, and {n} was acknowledged"));
    }
    let mut expected = Content::new();
    for at in 1..=number {
        apply(&mut expected, &batch(at, sizes[usize::try_from(at - 1).unwrap()]));
    }
    if found != expected {
        return Err(format!("batch {number} or one before it is torn"));
    }
    store.commit(batch(number + 1, 300)).wait().map_err(|error| error.to_string())
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

fn say(line: &str) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// Runs a workload under the recorder.
fn record(folder: &Path, recorder: &Path, seed: u64, rotates: bool) -> Vec<Event> {
    let dir = folder.join("disk");
    fs::create_dir(&dir).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "child_process", "--nocapture"])
        .env(CHILD, &dir)
        .env(SEED, seed.to_string())
        .env("ORRERY_RECORD_ROOT", &dir)
        .env("ORRERY_RECORD_LOG", folder.join("record"))
        .env("LD_PRELOAD", recorder);
    if rotates {
        command.env(ROTATES, "1");
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let events = disk::read_record(&folder.join("record"));
    fs::remove_file(folder.join("record")).unwrap();
    fs::remove_dir_all(&dir).unwrap();
    events
}

/// Cuts the power at some events of a workload and checks what is left.
fn cut(events: &[Event], n_cuts: u64, seed: u64, rotates: bool) -> Vec<String> {
    let env = Env::fixed(seed, 1);
    let random = |n: u64| env.random_u64() % n;
    let sizes: Vec<usize> = steps(seed, rotates)
        .into_iter()
        .filter_map(|step| if let Step::Commit(bytes) = step { Some(bytes) } else { None })
        .collect();
    // A workload that fills a log is about its end.
    let from = if rotates { events.len() * 3 / 4 } else { 1 };
    let n_events = (events.len() - from) as u64;
    let mut failures = Vec::new();
    let mut disk = Disk::default();
    let mut n_done = 0;
    for (at, event) in events.iter().enumerate() {
        disk.apply(event);
        // As many cuts as fall to this event.
        while at >= from && n_done < n_cuts * ((at - from) as u64 + 1) / n_events {
            n_done += 1;
            let luck = [Luck::Nothing, Luck::Everything, Luck::Some, Luck::Some];
            let luck = luck[usize::try_from(random(4)).unwrap()];
            let image = tempfile::tempdir().unwrap();
            disk.image(image.path(), luck, &random);
            let acks = disk.inode_of("ACKS").map(|inode| disk.written(inode)).unwrap_or_default();
            let acknowledged = Acknowledged::parse(std::str::from_utf8(&acks).unwrap());
            if let Err(why) = check(image.path(), &acknowledged, &sizes) {
                let failure =
                    format!("seed {seed}, event {at} of {}, {luck:?}: {why}", events.len());
                say(&failure);
                failures.push(failure);
                if std::env::var_os("ORRERY_POWER_CUT_KEEP").is_some() {
                    say(&format!("kept in {}", image.keep().display()));
                }
            }
        }
    }
    failures
}

#[test]
fn no_power_cut_loses_or_tears_an_acknowledged_write() {
    let folder = tempfile::tempdir().unwrap();
    let recorder = folder.path().join("recorder.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/power_cut/recorder.c");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&recorder)
        .arg(source)
        .arg("-ldl")
        .status();
    if !compiled.is_ok_and(|status| status.success()) {
        say("SKIPPED: no C compiler, so no power is cut");
        return;
    }
    let n_cuts = number("ORRERY_POWER_CUTS", 36);
    let first = number("ORRERY_POWER_CUT_FIRST", 1);
    // Limit: one workload has some thousand events; more cuts take more workloads.
    let n_workloads = n_cuts.div_ceil(400);
    let mut failures = Vec::new();
    let mut n_events = 0;
    for seed in first..first + n_workloads {
        let work = tempfile::tempdir_in(folder.path()).unwrap();
        let events = record(work.path(), &recorder, seed, false);
        n_events += events.len();
        failures.extend(cut(&events, n_cuts / n_workloads, seed, false));
    }
    let mut n_rotated = 0;
    if n_cuts >= 500 {
        n_rotated = n_cuts / 20;
        let work = tempfile::tempdir_in(folder.path()).unwrap();
        let events = record(work.path(), &recorder, first, true);
        n_events += events.len();
        failures.extend(cut(&events, n_rotated, first, true));
    }
    let n = n_cuts / n_workloads * n_workloads + n_rotated;
    say(&format!("power cut: {n} cuts in {n_events} events, {} lost or torn", failures.len()));
    assert_eq!(failures, [""; 0]);
}
