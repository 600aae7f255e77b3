//! The directory of a store: who owns it, and which format it has.
//!
//! ```text
//! DIR/LOCK     locked by the owning process; holds its process id
//! DIR/FORMAT   the format version, or a note that creation has not finished
//! DIR/engine/  files of the engine
//! ```
//!
//! Invariant: while `FORMAT` says "being created", nothing was ever acknowledged, so a creation
//! that a crash cut short is started over. In every other state engine files are never removed.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// The version this code reads and writes. Raise it when files of the engine, or their meaning to
/// the store, change.
const FORMAT_VERSION: u32 = 1;
const FORMAT_HEAD: &str = "orrery store format ";
const BEING_CREATED: &str = "orrery store being created\n";

/// Directories within directories that are looked at when bytes are counted.
// Limit: the engine nests three deep; this only keeps a strange link from being followed for ever.
const DEPTH_MAX: u32 = 8;

/// Bytes of `LOCK` and `FORMAT` that are read.
// Limit: both are one short line.
const LINE_BYTES_MAX: u64 = 256;

/// A directory that this process has locked.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    lock: File,
}

impl Drop for Directory {
    /// Unlocks by name: closing the file alone leaves the lock to a child process that was just
    /// forked and has not dropped its copies of our files yet.
    fn drop(&mut self) {
        if let Err(error) = self.lock.unlock() {
            tracing::warn!(path = %self.path.display(), %error, "cannot unlock the directory");
        }
    }
}

/// What the directory holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Nothing: the engine is to be created, then [`Directory::finish_creation`] called.
    Nothing,
    /// A store of our format.
    Store,
}

impl Directory {
    /// Creates the directory if need be and locks it for this process.
    pub(super) fn lock(path: &Path) -> Result<Directory> {
        fs::create_dir_all(path).map_err(|error| failed("create", path, &error))?;
        let lock_path = path.join("LOCK");
        let mut lock = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&lock_path)
            .map_err(|error| failed("open", &lock_path, &error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use(path, &mut lock)),
            Err(TryLockError::Error(error)) => return Err(failed("lock", &lock_path, &error)),
        }
        note_owner(&mut lock).map_err(|error| failed("write", &lock_path, &error))?;
        Ok(Directory { path: path.to_owned(), lock })
    }

    /// Reads the format, and makes the directory ready for a creation if there is no store yet.
    pub(super) fn prepare(&self) -> Result<Content> {
        let engine = self.engine_path();
        match self.read_format()? {
            None if engine.exists() => Err(Error::Corrupt(format!(
                "directory {} holds data but no FORMAT file; restore that file or choose another \
                 directory",
                self.path.display()
            ))),
            None => {
                self.write_format(BEING_CREATED)?;
                Ok(Content::Nothing)
            }
            Some(text) if text == BEING_CREATED => {
                if engine.exists() {
                    fs::remove_dir_all(&engine)
                        .map_err(|error| failed("remove", &engine, &error))?;
                }
                Ok(Content::Nothing)
            }
            Some(text) if text == format_text() => Ok(Content::Store),
            Some(text) => Err(self.wrong_format(&text)),
        }
    }

    /// Says that the engine's files are complete. From now on they are never removed.
    pub(super) fn finish_creation(&self) -> Result<()> {
        self.write_format(&format_text())
    }

    pub(super) fn engine_path(&self) -> PathBuf {
        self.path.join("engine")
    }

    /// Returns the bytes that the store occupies; holes in files do not count.
    pub(super) fn disk_bytes(&self) -> u64 {
        occupied_bytes(&self.path, DEPTH_MAX)
    }

    fn read_format(&self) -> Result<Option<String>> {
        let path = self.path.join("FORMAT");
        match File::open(&path) {
            Ok(mut file) => {
                read_line(&mut file).map(Some).map_err(|error| failed("read", &path, &error))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("read", &path, &error)),
        }
    }

    /// Replaces `FORMAT` whole: after a crash it has the old text or the new one.
    fn write_format(&self, text: &str) -> Result<()> {
        let replace = || {
            let new = self.path.join("FORMAT.new");
            let mut file = File::create(&new)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, self.path.join("FORMAT"))?;
            sync_directory(&self.path)
        };
        replace().map_err(|error| failed("write FORMAT in", &self.path, &error))
    }

    fn wrong_format(&self, text: &str) -> Error {
        let dir = self.path.display();
        let found = text.strip_prefix(FORMAT_HEAD).map(str::trim);
        match found.and_then(|version| version.parse::<u32>().ok()) {
            Some(version) => Error::Corrupt(format!(
                "directory {dir} has store format {version}, this version of Orrery reads format \
                 {FORMAT_VERSION}; start the version that wrote it, or choose another directory"
            )),
            None => Error::Corrupt(format!("file FORMAT in {dir} is not one that Orrery wrote")),
        }
    }
}

fn format_text() -> String {
    format!("{FORMAT_HEAD}{FORMAT_VERSION}\n")
}

fn note_owner(lock: &mut File) -> io::Result<()> {
    lock.set_len(0)?;
    writeln!(lock, "{}", std::process::id())
}

fn in_use(path: &Path, lock: &mut File) -> Error {
    let owner = read_line(lock).unwrap_or_default();
    let owner = match owner.trim() {
        "" => "another process".to_owned(),
        id if id == std::process::id().to_string() => format!("this process ({id})"),
        id => format!("process {id}"),
    };
    Error::Unavailable(format!(
        "directory {} is in use by {owner}; stop it first, or choose another directory",
        path.display()
    ))
}

fn read_line(file: &mut File) -> io::Result<String> {
    let mut text = String::new();
    file.take(LINE_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}

fn failed(what: &str, path: &Path, error: &io::Error) -> Error {
    Error::Unavailable(format!("cannot {what} {}: {error}", path.display()))
}

/// Makes a rename in the directory durable.
fn sync_directory(path: &Path) -> io::Result<()> {
    // Elsewhere directories cannot be opened as files, and renames are durable by themselves.
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

/// Files that vanish meanwhile (compaction removes them) count nothing.
fn occupied_bytes(path: &Path, depth: u32) -> u64 {
    let Ok(entries) = fs::read_dir(path) else { return 0 };
    let bytes_of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() && depth > 0 => occupied_bytes(&entry.path(), depth - 1),
        Ok(metadata) if metadata.is_file() => file_bytes(&metadata),
        Ok(_) | Err(_) => 0,
    };
    entries.flatten().map(bytes_of).sum()
}

/// The engine sets logs to 64 MiB before it fills them; only filled blocks are counted.
#[cfg(unix)]
fn file_bytes(metadata: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    metadata.len().min(metadata.blocks() * 512)
}

#[cfg(not(unix))]
fn file_bytes(metadata: &fs::Metadata) -> u64 {
    metadata.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locked_directory_says_who_has_it() {
        let dir = tempfile::tempdir().unwrap();
        let first = Directory::lock(dir.path()).unwrap();
        let Err(Error::Unavailable(text)) = Directory::lock(dir.path()) else { panic!("locked") };
        assert!(text.contains(&format!("in use by this process ({})", std::process::id())));
        drop(first);
        Directory::lock(dir.path()).unwrap();
    }

    #[test]
    fn a_copy_of_the_file_in_a_forked_child_does_not_keep_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let directory = Directory::lock(dir.path()).unwrap();
        let inherited = directory.lock.try_clone().unwrap();
        drop(directory);
        Directory::lock(dir.path()).unwrap();
        drop(inherited);
    }

    #[test]
    fn a_creation_cut_short_starts_over_and_a_finished_one_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let directory = Directory::lock(dir.path()).unwrap();
        assert_eq!(directory.prepare(), Ok(Content::Nothing));
        fs::create_dir(directory.engine_path()).unwrap();
        assert_eq!(directory.prepare(), Ok(Content::Nothing));
        assert!(!directory.engine_path().exists());

        fs::create_dir(directory.engine_path()).unwrap();
        directory.finish_creation().unwrap();
        assert_eq!(directory.prepare(), Ok(Content::Store));
        assert!(directory.engine_path().exists());
    }

    #[test]
    fn another_format_is_refused_in_words_and_left_alone() {
        #[rustfmt::skip]
        let table = [
            (Some("orrery store format 2\n"), "has store format 2, this version of Orrery reads format 1"),
            (Some("something else\n"),        "is not one that Orrery wrote"),
            (Some(""),                        "is not one that Orrery wrote"),
            (None,                            "holds data but no FORMAT file"),
        ];
        for (format, expected) in table {
            let dir = tempfile::tempdir().unwrap();
            let directory = Directory::lock(dir.path()).unwrap();
            fs::create_dir(directory.engine_path()).unwrap();
            if let Some(text) = format {
                fs::write(dir.path().join("FORMAT"), text).unwrap();
            }
            let Err(Error::Corrupt(text)) = directory.prepare() else { panic!("{format:?}") };
            assert!(text.contains(expected), "{text}");
            assert!(directory.engine_path().exists());
        }
    }
}
