//! The engine's files before the engine opens them: all that its lists name is there, and the lists are what was written.
//!
//! ```text
//! version                  "FJL" 03
//! N.jnl                    logs, see log_repair.rs
//! keyspaces/K/current      number u64 · xxh3 of the list u128 · 00   (little-endian)
//! keyspaces/K/vNUMBER      an archive; its part "tables" lists the tables of every run of every level
//! keyspaces/K/tables/ID    an archive
//! ```
//!
//! Without `current`, or without keyspace 0, the engine would start empty and delete every table.
#![deny(clippy::indexing_slicing)]

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_128;

use super::log_repair;
use super::manifest::{KeyspaceNote, Manifest};
use crate::{Error, Result};

/// The keyspaces of a store: the engine's own list of keyspaces, and ours.
pub(super) const KEYSPACES: [u64; 2] = [0, DATA];
/// The keyspace with the data: the first that the engine gave a number to.
pub(super) const DATA: u64 = 1;

const VERSION: &[u8] = b"FJL\x03";

/// Bytes of a list of tables that are read.
// Limit: a table has 33 bytes in it and 64 MB of its own; this is 120 TB of tables.
const LIST_BYTES_MAX: u64 = 64 << 20;

/// Checks every file that the engine needs and returns which lists of tables are current.
pub(super) fn check(engine: &Path, manifest: Option<&Manifest>) -> Result<Vec<KeyspaceNote>> {
    let path = engine.join("version");
    if read(&path, 16)? != VERSION {
        return Err(damaged(&path, "is not what the engine wrote"));
    }
    KEYSPACES.into_iter().map(|id| check_keyspace(engine, id, manifest)).collect()
}

fn check_keyspace(engine: &Path, id: u64, manifest: Option<&Manifest>) -> Result<KeyspaceNote> {
    let folder = folder_of(engine, id);
    let (version, checksum) = read_current(&folder)?;
    if let Some(noted) = manifest.and_then(|manifest| manifest.version_of(id))
        && version < noted
    {
        let why = format!("is an old one: it names list {version}, and there was list {noted}");
        return Err(damaged(&folder.join("current"), &why));
    }
    let path = folder.join(format!("v{version}"));
    let list = read(&path, LIST_BYTES_MAX)?;
    if xxh3_128(&list) != checksum {
        return Err(damaged(&path, "does not have the checksum that is in `current`"));
    }
    let tables = tables_of(&list).ok_or_else(|| damaged(&path, "is not a list of tables"))?;
    for table in tables {
        let path = folder.join("tables").join(table.to_string());
        if let Err(error) = sfa::Reader::new(&path) {
            return Err(match error {
                sfa::Error::Io(error) => unreadable(&path, &error),
                _ => damaged(&path, "has no whole table of contents"),
            });
        }
    }
    Ok(KeyspaceNote { id, version })
}

fn folder_of(engine: &Path, keyspace: u64) -> PathBuf {
    engine.join("keyspaces").join(keyspace.to_string())
}

/// Returns the number of the current list of tables and its checksum.
fn read_current(folder: &Path) -> Result<(u64, u128)> {
    let path = folder.join("current");
    let content = read(&path, 64)?;
    let parse = || {
        let (number, rest) = content.split_first_chunk::<8>()?;
        let (checksum, kind) = rest.split_first_chunk::<16>()?;
        (kind == [0]).then(|| (u64::from_le_bytes(*number), u128::from_le_bytes(*checksum)))
    };
    parse().ok_or_else(|| damaged(&path, "is not what the engine wrote"))
}

/// The numbers of all tables in a list.
fn tables_of(list: &[u8]) -> Option<Vec<u64>> {
    let archive = sfa::Reader::from_reader(&mut io::Cursor::new(list)).ok()?;
    let section = archive.toc().section(b"tables")?;
    let start = usize::try_from(section.pos()).ok()?;
    let end = start.checked_add(usize::try_from(section.len()).ok()?)?;
    let mut rest = list.get(start..end)?;
    let mut tables = Vec::new();
    for _ in 0..take::<1>(&mut rest)?[0] {
        for _ in 0..take::<1>(&mut rest)?[0] {
            for _ in 0..u32::from_le_bytes(take(&mut rest)?) {
                tables.push(u64::from_le_bytes(take(&mut rest)?));
                // Kind of checksum, checksum, sequence number.
                take::<{ 1 + 16 + 8 }>(&mut rest)?;
            }
        }
    }
    Some(tables)
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*taken)
}

/// Whether nothing was ever committed to the engine in this folder, whole or in part.
pub(super) fn is_blank(engine: &Path) -> io::Result<bool> {
    let has_tables = match fs::read_dir(folder_of(engine, DATA).join("tables")) {
        Ok(mut tables) => tables.next().is_some(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(error),
    };
    Ok(!has_tables && log_repair::are_blank(engine)?)
}

fn read(path: &Path, max: u64) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(max).read_to_end(&mut content));
    read.map(|_| content).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound => damaged(path, "is missing"),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput => damaged(path, "is too short"),
        _ => Error::Unavailable(format!("cannot read {}: {error}", path.display())),
    }
}

/// What every refusal says: which file, and that nothing was touched.
pub(super) fn damaged(path: &Path, why: &str) -> Error {
    Error::Corrupt(format!(
        "file {} {why}; nothing was changed; put that file back, or restore a backup of the whole \
         folder",
        path.display()
    ))
}
