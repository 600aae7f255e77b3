//! A full disk and no descriptors: commits are refused, what frees space goes on, and the store recovers by itself.
//!
//! The disk is a small tmpfs. Where none can be mounted (no root), these tests are skipped and say so.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use model::Env;
use store::{
    Batch, CACHE_BYTES_DEFAULT, Direction, Durability, EmbeddedOptions, Error, KeyRange, Store,
};

/// A small disk, gone when dropped.
struct Disk {
    folder: tempfile::TempDir,
}

impl Disk {
    fn mount(megabytes: u32) -> Option<Disk> {
        let folder = tempfile::tempdir().unwrap();
        let size = format!("size={megabytes}m");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(folder.path())
            .status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(Disk { folder });
        }
        let line = b"SKIPPED: no tmpfs can be mounted here, so no disk gets full\n";
        std::io::stderr().write_all(line).unwrap();
        None
    }

    fn resize(&self, megabytes: u32) {
        let option = format!("remount,size={megabytes}m");
        let resized = Command::new("mount").args(["-o", &option]).arg(self.folder.path()).status();
        assert!(resized.unwrap().success());
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.folder.path()).status();
    }
}

fn open(dir: &Path) -> Arc<dyn Store> {
    let options = EmbeddedOptions {
        durability: Durability::Fsync,
        cache_bytes: CACHE_BYTES_DEFAULT,
        direct_reads: store::DirectReads::On,
        env: Env::system(),
    };
    store::open_embedded(dir, &options).unwrap()
}

fn put(number: usize) -> Batch {
    let mut batch = Batch::new();
    batch.put(format!("{number:06}"), format!("{number}").repeat(40_000));
    batch
}

/// Commits until one is refused; returns how many were not, and the refusal.
fn fill(store: &dyn Store, from: usize) -> (usize, Error) {
    for number in from..from + 100_000 {
        if let Err(error) = store.commit(put(number)).wait() {
            return (number, error);
        }
    }
    unreachable!("the disk is never full");
}

fn count(store: &dyn Store) -> usize {
    let snapshot = store.snapshot();
    let entries = snapshot.scan(KeyRange::all(), Direction::Forward);
    entries.fold(0, |n, entry| entry.map(|_| n + 1).unwrap())
}

#[track_caller]
fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..600 {
        if is_so() {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    unreachable!("never: {what}");
}

#[test]
fn a_full_disk_refuses_data_and_takes_deletes_and_recovers() {
    let Some(disk) = Disk::mount(320) else { return };
    let store = open(&disk.path().join("store"));
    assert_eq!(store.check_writable(), Ok(()));
    let (n_written, refusal) = fill(&*store, 0);
    assert!(matches!(refusal, Error::Exhausted(_)), "{refusal}");
    assert!(matches!(store.check_writable(), Err(Error::Exhausted(_))));
    assert_eq!(count(&*store), n_written, "reads go on");

    // Deletes go on.
    for number in 0..n_written {
        let mut batch = Batch::new();
        batch.delete(format!("{number:06}"));
        store.commit(batch).wait().unwrap();
    }
    store.discard(KeyRange::new("000000", "999999")).wait().unwrap();
    assert_eq!(count(&*store), 0);
    assert_eq!(store.statistics().reopened, 0, "it was never poisoned");

    // The space of its logs comes back when they are rotated, which nothing bounds: more room is what helps at once.
    disk.resize(900);
    eventually("there is room", || store.commit(put(888_888)).wait().is_ok());
    assert_eq!(store.check_writable(), Ok(()));
    let n = count(&*store);
    drop(store);
    assert_eq!(count(&*open(&disk.path().join("store"))), n);
}

/// Others take the space that the store has counted on, so its engine fails in the middle of a flush.
#[test]
fn a_disk_that_others_fill_stops_writes_until_there_is_room_again() {
    let Some(disk) = Disk::mount(400) else { return };
    let store = open(&disk.path().join("store"));
    for number in 0..100 {
        store.commit(put(number)).wait().unwrap();
    }
    let filler = disk.path().join("filler");
    let mut file = File::create(&filler).unwrap();
    while file.write_all(&[7; 1 << 13]).is_ok() {}
    drop(file);
    // The memtable has 20 MB, and the reserve is smaller than what others have taken by then.
    let mut refusals = 0;
    for number in 100..140 {
        refusals += usize::from(store.commit(put(number)).wait().is_err());
    }
    assert_eq!(refusals, 40);
    let flushed = store.prepare_bulk_scan().wait();
    assert!(store.check_writable().is_err(), "{flushed:?}");
    assert_eq!(count(&*store), 100, "reads go on");

    fs::remove_file(&filler).unwrap();
    eventually("it recovers", || store.commit(put(140)).wait().is_ok());
    assert_eq!(store.check_writable(), Ok(()));
    assert_eq!(count(&*store), 101);
    drop(store);
    assert_eq!(count(&*open(&disk.path().join("store"))), 101);
}

/// In a process of its own, for the limit is the process's.
#[test]
fn without_descriptors_writes_stop_until_there_are_some_again() {
    const CHILD: &str = "ORRERY_NO_DESCRIPTORS_DIR";
    if let Some(dir) = std::env::var_os(CHILD) {
        let store = open(dir.as_ref());
        for number in 0..100 {
            store.commit(put(number)).wait().unwrap();
        }
        let mut held = Vec::new();
        while let Ok(file) = File::open("/dev/null") {
            held.push(file);
        }
        // The engine cannot open the file of a table.
        store.prepare_bulk_scan().wait().unwrap_err();
        store.commit(put(100)).wait().unwrap_err();
        assert!(store.check_writable().is_err());
        drop(held);
        eventually("it recovers", || store.commit(put(101)).wait().is_ok());
        assert_eq!(store.check_writable(), Ok(()));
        assert_eq!(store.statistics().reopened, 1);
        let n = count(&*store);
        assert!((101..=102).contains(&n), "{n}: one is unknown");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new("sh")
        .args(["-c", "ulimit -n 200; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "without_descriptors_writes_stop_until_there_are_some_again"])
        .arg("--nocapture")
        .env(CHILD, dir.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let n = count(&*open(dir.path()));
    assert!((101..=102).contains(&n), "{n}");
}
