//! How much room the disk has, and what may still be written when there is little.
//!
//! An engine that runs out of space in the middle of a flush or a compaction is poisoned. So commits are refused before that,
//! while what frees space goes on: first with the space that is left, then with that of a file which is kept for it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

/// The file that is kept in reserve.
const RESERVE: &str = "RESERVE";

/// Its bytes: some hundred thousand deletes in the log and in tables.
const RESERVE_BYTES: u64 = 32 << 20;

/// The disk must have so many times the reserve free before the first is made.
const RESERVE_PARTS: u64 = 8;

/// Bytes that may be written between two looks: a group of commits, a manifest, lists of tables.
const MARGIN_BYTES: u64 = 16 << 20;

/// Bytes without which nothing is written at all.
const LAST_BYTES: u64 = 6 << 20;

/// Room that compactions are given.
// Limit: a compaction merges some tables of 64 MB of neighbouring levels; more than all tables it never needs.
const COMPACTION_BYTES_MAX: u64 = 512 << 20;

/// What may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// Everything.
    Enough,
    /// What frees space.
    Little,
    /// Nothing.
    Nothing,
}

impl Room {
    fn of(free: u64, wanted: u64) -> Room {
        match free {
            _ if free >= wanted => Room::Enough,
            _ if free >= LAST_BYTES => Room::Little,
            _ => Room::Nothing,
        }
    }
}

/// Watches the disk of a directory.
#[derive(Debug)]
pub(super) struct Space {
    folder: PathBuf,
    reserve: Mutex<Reserve>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reserve {
    /// There was never room for one.
    None,
    Kept,
    /// What it had is for what frees space, until there is room to make it again.
    GivenUp,
}

impl Space {
    pub(super) fn watch(folder: &Path) -> Space {
        let reserve = if folder.join(RESERVE).exists() { Reserve::Kept } else { Reserve::None };
        let space = Space { folder: folder.to_path_buf(), reserve: Mutex::new(reserve) };
        space.restore(0);
        space
    }

    /// Tells what may be written by an engine with so many bytes in memory and in tables. Gives up the reserve when there is
    /// little room.
    pub(super) fn room(&self, in_memory: u64, in_tables: u64) -> Room {
        let mut reserve = self.reserve.lock();
        let in_reserve = if *reserve == Reserve::GivenUp { RESERVE_BYTES } else { 0 };
        let wanted = wanted(in_memory, in_tables) + in_reserve;
        let room = Room::of(free_bytes(&self.folder), wanted);
        if room == Room::Enough || *reserve != Reserve::Kept {
            return room;
        }
        *reserve = Reserve::GivenUp;
        if let Err(error) = fs::remove_file(self.folder.join(RESERVE)) {
            tracing::warn!(%error, "cannot give up the reserve");
        }
        tracing::warn!(wanted, "the disk is nearly full: only what frees space is committed");
        Room::of(free_bytes(&self.folder), wanted + RESERVE_BYTES)
    }

    /// Makes the reserve when there is room for it.
    pub(super) fn restore(&self, wanted: u64) {
        let mut reserve = self.reserve.lock();
        let n_parts = match *reserve {
            Reserve::Kept => return,
            Reserve::GivenUp => 2,
            Reserve::None => RESERVE_PARTS,
        };
        if free_bytes(&self.folder) < wanted + n_parts * RESERVE_BYTES {
            return;
        }
        let path = self.folder.join(RESERVE);
        match allocate(&path) {
            Ok(()) => *reserve = Reserve::Kept,
            Err(error) => {
                tracing::debug!(%error, "cannot make a reserve");
                let _ = fs::remove_file(path);
            }
        }
    }

    /// Whether a compaction of so many bytes fits beside what else is wanted.
    pub(super) fn has_room_for(&self, n_bytes: u64, in_memory: u64) -> bool {
        free_bytes(&self.folder) >= n_bytes + wanted(in_memory, n_bytes)
    }
}

/// Bytes that the engine may need before it can free any.
pub(super) fn wanted(in_memory: u64, in_tables: u64) -> u64 {
    in_memory + in_tables.min(COMPACTION_BYTES_MAX) + MARGIN_BYTES
}

/// Bytes of the reserve in a directory, which hold no data.
pub(super) fn reserve_bytes(folder: &Path) -> u64 {
    fs::metadata(folder.join(RESERVE)).map_or(0, |metadata| metadata.len())
}

#[cfg(target_os = "linux")]
fn allocate(path: &Path) -> io::Result<()> {
    use rustix::fs::FallocateFlags;
    let file = File::create(path)?;
    rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, RESERVE_BYTES)?;
    file.sync_all()
}

#[cfg(not(target_os = "linux"))]
fn allocate(path: &Path) -> io::Result<()> {
    let _ = File::options().write(true).open(path);
    Err(io::ErrorKind::Unsupported.into())
}

/// Bytes that this process may still write to the disk of `folder`.
#[cfg(target_os = "linux")]
fn free_bytes(folder: &Path) -> u64 {
    // A disk that does not tell is taken for one with room: a write says otherwise.
    rustix::fs::statvfs(folder)
        .map_or(u64::MAX, |found| found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(not(target_os = "linux"))]
fn free_bytes(_folder: &Path) -> u64 {
    u64::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_room_is_for_what_frees_space() {
        const MB: u64 = 1 << 20;
        #[rustfmt::skip]
        let table = [
            // free, in memory, in tables
            (1000 * MB,  64 * MB, 4000 * MB, Room::Enough),
            (500 * MB,   64 * MB, 4000 * MB, Room::Little),
            (500 * MB,   64 * MB, 100 * MB,  Room::Enough),
            (17 * MB,    0,       0,         Room::Enough),
            (15 * MB,    0,       0,         Room::Little),
            (5 * MB,     0,       0,         Room::Nothing),
        ];
        for (free, in_memory, in_tables, expected) in table {
            assert_eq!(Room::of(free, wanted(in_memory, in_tables)), expected, "{free}");
        }
    }
}
