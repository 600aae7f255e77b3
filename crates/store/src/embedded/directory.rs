//! The directory of a store: who owns it, and which format it has.
//!
//! ```text
//! DIR/LOCK     locked by the owning process; holds its process id
//! DIR/FORMAT   the format version, or a note that creation has not finished
//! DIR/MANIFEST what the store had, to be compared at the next start (since format 2)
//! DIR/RESERVE  space that is given up when the disk is full, so that deletes go on
//! DIR/engine/  files of the engine
//! ```
//!
//! Invariant: while `FORMAT` says "being created", nothing was ever acknowledged, so a creation
//! that a crash cut short is started over. In every other state engine files are never removed,
//! and in this one only if they hold nothing: `FORMAT` may be an old copy.
//!
//! Folders are the owner's alone (0700), and so are files (0600).

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::space;
use crate::{Error, Result};

/// The version this code reads and writes. Raise it when files of the engine, or their meaning to
/// the store, change.
const FORMAT_VERSION: u32 = 2;
/// The last version without a manifest. It is read, and becomes the current one.
const FORMAT_WITHOUT_MANIFEST: u32 = 1;
const FORMAT_HEAD: &str = "orrery store format ";
const BEING_CREATED: &str = "orrery store being created\n";

/// Directories within directories that are looked at when bytes are counted.
// Limit: the engine nests three deep; this only keeps a strange link from being followed for ever.
const DEPTH_MAX: u32 = 8;

#[cfg(unix)]
const FOLDER_MODE: u32 = 0o700;
#[cfg(unix)]
const FILE_MODE: u32 = 0o600;

/// Bytes of `LOCK`, `FORMAT` and `MANIFEST` that are read.
// Limit: the manifest has a short line for each log, of which there are a handful.
const TEXT_BYTES_MAX: u64 = 1 << 20;

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
pub(super) enum DirectoryContent {
    /// Nothing: the engine is to be created, then [`Directory::finish_creation`] called.
    Nothing,
    /// A store of our format.
    Store,
    /// A store of the format before; [`Directory::finish_creation`] makes it ours.
    StoreWithoutManifest,
}

impl Directory {
    /// Creates the directory if need be and locks it for this process.
    pub(super) fn lock(path: &Path) -> Result<Directory> {
        create_private(path).map_err(|error| failed("create", path, &error))?;
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
        if let Err(error) = tighten(path, DEPTH_MAX) {
            // The folder of a mounted volume may be another's, who has chosen its mode.
            tracing::warn!(path = %path.display(), %error, "cannot close the folder to other users");
        }
        Ok(Directory { path: path.to_owned(), lock })
    }

    /// Reads the format, and makes the directory ready for a creation if there is no store yet. `is_blank` tells whether the
    /// engine's folder holds nothing that was ever committed.
    pub(super) fn prepare(
        &self,
        is_blank: fn(&Path) -> io::Result<bool>,
    ) -> Result<DirectoryContent> {
        let engine = self.engine_path();
        match self.read("FORMAT")? {
            None if engine.exists() => Err(Error::Corrupt(format!(
                "directory {} holds data but no FORMAT file; restore that file or choose another \
                 directory",
                self.path.display()
            ))),
            None => {
                self.write_format(BEING_CREATED)?;
                Ok(DirectoryContent::Nothing)
            }
            Some(text) if text == BEING_CREATED => {
                if engine.exists() {
                    if !is_blank(&engine).map_err(|error| failed("read", &engine, &error))? {
                        return Err(self.finished_after_all());
                    }
                    fs::remove_dir_all(&engine)
                        .map_err(|error| failed("remove", &engine, &error))?;
                }
                Ok(DirectoryContent::Nothing)
            }
            Some(text) if text == format_text(FORMAT_VERSION) => Ok(DirectoryContent::Store),
            Some(text) if text == format_text(FORMAT_WITHOUT_MANIFEST) => {
                Ok(DirectoryContent::StoreWithoutManifest)
            }
            Some(text) => Err(self.wrong_format(&text)),
        }
    }

    /// Says that the engine's files are complete. From now on they are never removed.
    pub(super) fn finish_creation(&self) -> Result<()> {
        // The engine does not sync the folder in which it makes those of its keyspaces: a power cut could take them.
        let engine = self.engine_path();
        sync_folders(&engine, DEPTH_MAX).map_err(|error| failed("sync", &engine, &error))?;
        if let Some(parent) = self.path.canonicalize().ok().as_deref().and_then(Path::parent) {
            // Another's folder may not be ours to open.
            let _ = sync_directory(parent);
        }
        self.write_format(&format_text(FORMAT_VERSION))
    }

    pub(super) fn engine_path(&self) -> PathBuf {
        self.path.join("engine")
    }

    /// Returns the bytes that the store occupies; holes in files do not count, nor does the reserve.
    pub(super) fn disk_bytes(&self) -> u64 {
        occupied_bytes(&self.path, DEPTH_MAX).saturating_sub(space::reserve_bytes(&self.path))
    }

    /// Returns the text of a file of ours, if it exists.
    pub(super) fn read(&self, name: &str) -> Result<Option<String>> {
        let path = self.path.join(name);
        match File::open(&path).and_then(|mut file| read_text(&mut file)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(Some(String::new())),
            Err(error) => Err(failed("read", &path, &error)),
        }
    }

    /// Replaces a file of ours whole: after a crash it has the old text or the new one.
    pub(super) fn replace(&self, name: &str, text: &str) -> Result<()> {
        let replace = || {
            let new = self.path.join(format!("{name}.new"));
            let mut file = create_file(&new)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, self.path.join(name))?;
            sync_directory(&self.path)
        };
        let path = || self.path.join(name);
        replace().map_err(|error| failed("write", &path(), &error))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file of ours, for messages.
    pub(super) fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn write_format(&self, text: &str) -> Result<()> {
        self.replace("FORMAT", text)
    }

    fn finished_after_all(&self) -> Error {
        Error::Corrupt(format!(
            "file FORMAT in {} says that the store was never finished, but it holds data; nothing was changed; put that \
             file back, or restore a backup of the whole folder",
            self.path.display()
        ))
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

fn format_text(version: u32) -> String {
    format!("{FORMAT_HEAD}{version}\n")
}

#[cfg(unix)]
fn create_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(path)
}

#[cfg(not(unix))]
fn create_private(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

fn create_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, FILE_MODE);
    options.open(path)
}

/// Takes from others what they may do with a folder and all in it.
#[cfg(unix)]
fn tighten(path: &Path, depth: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = fs::symlink_metadata(path)?;
    let mode = match (metadata.is_dir(), metadata.is_file()) {
        (true, _) => FOLDER_MODE,
        (_, true) => FILE_MODE,
        // The mode of what a link names is not ours.
        (false, false) => return Ok(()),
    };
    if metadata.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    }
    if metadata.is_dir() && depth > 0 {
        for entry in fs::read_dir(path)? {
            tighten(&entry?.path(), depth - 1)?;
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn tighten(_path: &Path, _depth: u32) -> io::Result<()> {
    Ok(())
}

fn note_owner(lock: &mut File) -> io::Result<()> {
    lock.set_len(0)?;
    writeln!(lock, "{}", std::process::id())
}

fn in_use(path: &Path, lock: &mut File) -> Error {
    let owner = read_text(lock).unwrap_or_default();
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

fn read_text(file: &mut File) -> io::Result<String> {
    let mut text = String::new();
    file.take(TEXT_BYTES_MAX).read_to_string(&mut text)?;
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

/// Makes the names in a folder and in those below it durable.
fn sync_folders(path: &Path, depth: u32) -> io::Result<()> {
    if depth > 0 {
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                sync_folders(&entry.path(), depth - 1)?;
            }
        }
    }
    sync_directory(path)
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
        assert_eq!(directory.prepare(|_| Ok(true)), Ok(DirectoryContent::Nothing));
        fs::create_dir(directory.engine_path()).unwrap();
        assert_eq!(directory.prepare(|_| Ok(true)), Ok(DirectoryContent::Nothing));
        assert!(!directory.engine_path().exists());

        fs::create_dir(directory.engine_path()).unwrap();
        directory.finish_creation().unwrap();
        assert_eq!(directory.prepare(|_| Ok(true)), Ok(DirectoryContent::Store));
        assert!(directory.engine_path().exists());
    }

    #[test]
    fn another_format_is_refused_in_words_and_left_alone() {
        #[rustfmt::skip]
        let table = [
            (Some("orrery store format 3\n"), "has store format 3, this version of Orrery reads format 2"),
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
            let Err(Error::Corrupt(text)) = directory.prepare(|_| Ok(true)) else {
                panic!("{format:?}")
            };
            assert!(text.contains(expected), "{text}");
            assert!(directory.engine_path().exists());
        }
    }

    /// An old copy of `FORMAT` must not take the data with it.
    #[test]
    fn a_creation_that_holds_data_is_not_started_over() {
        let dir = tempfile::tempdir().unwrap();
        let directory = Directory::lock(dir.path()).unwrap();
        assert_eq!(directory.prepare(|_| Ok(true)), Ok(DirectoryContent::Nothing));
        fs::create_dir(directory.engine_path()).unwrap();
        let Err(Error::Corrupt(text)) = directory.prepare(|_| Ok(false)) else {
            panic!("accepted")
        };
        assert!(text.contains("FORMAT"), "{text}");
        assert!(directory.engine_path().exists());
    }

    #[cfg(unix)]
    #[test]
    fn folders_and_files_are_closed_to_others() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("a/store");
        drop(Directory::lock(&store).unwrap());
        fs::create_dir(store.join("engine")).unwrap();
        fs::write(store.join("engine/0.jnl"), "x").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        for (path, open) in [("", 0o755), ("engine", 0o777), ("engine/0.jnl", 0o644)] {
            fs::set_permissions(store.join(path), fs::Permissions::from_mode(open)).unwrap();
        }
        let directory = Directory::lock(&store).unwrap();
        directory.replace("MANIFEST", "x").unwrap();
        for path in ["", "engine"] {
            assert_eq!(mode(&store.join(path)), FOLDER_MODE, "{path}");
        }
        for path in ["LOCK", "MANIFEST", "engine/0.jnl"] {
            assert_eq!(mode(&store.join(path)), FILE_MODE, "{path}");
        }
    }
}
