//! The data folder: what lies where, and one server per folder.
//!
//! ```text
//! DIR/orrery.lock        held while a server or `orrery reset` runs; names the process
//! DIR/store/             the embedded store
//! DIR/certificate.pem    the self-signed certificate, kept so that clients trust it once
//! DIR/certificate.key    its private key
//! ```
//!
//! The folder and all in it are the owner's alone: 0700 and 0600. What was made more open before is tightened at start.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

/// A data folder that this process holds: nobody else opens its store until this value is dropped.
#[derive(Debug)]
pub(crate) struct DataFolder {
    path: PathBuf,
    // The lock lives as long as the file is open; the kernel releases it even after `kill -9`.
    _lock: File,
}

impl DataFolder {
    /// Makes the folder if it is missing, and takes its lock.
    pub(crate) fn open(path: &Path) -> Result<DataFolder> {
        // From here on whatever this process makes is its owner's alone.
        #[cfg(target_os = "linux")]
        rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
        fs::create_dir_all(path)
            .with_context(|| format!("cannot make the data folder {}", path.display()))?;
        let path = fs::canonicalize(path)
            .with_context(|| format!("cannot open the data folder {}", path.display()))?;
        let lock = lock(&path)?;
        close_to_others(&path);
        Ok(DataFolder { path, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.path.join("store")
    }
}

/// Takes from others what they may do with the folder and the files right in it; the store does the same with its own.
#[cfg(unix)]
fn close_to_others(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for path in files.chain([folder.to_path_buf()]) {
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        let mode = metadata.permissions().mode();
        if metadata.is_symlink() || mode & 0o777 == mode & 0o700 {
            continue;
        }
        let closed = fs::set_permissions(&path, fs::Permissions::from_mode(mode & 0o700));
        if let Err(error) = closed {
            // The folder of a mounted volume may be another's, who has chosen its mode.
            tracing::warn!(path = %path.display(), %error, "cannot close to other users");
        }
    }
}

#[cfg(not(unix))]
fn close_to_others(_folder: &Path) {}

fn lock(folder: &Path) -> Result<File> {
    let path = folder.join("orrery.lock");
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .with_context(|| format!("cannot write to the data folder {}", folder.display()))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            bail!(
                "the data folder {} is in use by another orrery (process {}); stop it, or choose another \
                 folder with --data",
                folder.display(),
                holder.trim()
            );
        }
        Err(TryLockError::Error(error)) => {
            return Err(error).with_context(|| format!("cannot lock {}", path.display()));
        }
    }
    // The number is for the message above only; the lock itself does not depend on it.
    file.set_len(0).and_then(|()| file.rewind()).with_context(|| path.display().to_string())?;
    writeln!(file, "{}", std::process::id()).with_context(|| path.display().to_string())?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_folder_and_its_files_are_closed_to_others() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("certificate.pem"), "x").unwrap();
        for (path, mode) in [("", 0o755), ("certificate.pem", 0o644)] {
            fs::set_permissions(dir.path().join(path), fs::Permissions::from_mode(mode)).unwrap();
        }
        let folder = DataFolder::open(dir.path()).unwrap();
        fs::write(folder.path().join("later"), "x").unwrap();
        for (path, mode) in
            [("", 0o700), ("certificate.pem", 0o600), ("orrery.lock", 0o600), ("later", 0o600)]
        {
            let found = fs::metadata(dir.path().join(path)).unwrap().permissions().mode() & 0o777;
            assert_eq!(found, mode, "{path}");
        }
    }

    #[test]
    fn a_folder_is_held_by_one_at_a_time() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("new/folder");
        let held = DataFolder::open(&path).unwrap();
        let message = format!("{:#}", DataFolder::open(&path).unwrap_err());
        assert!(message.contains(&format!("process {}", std::process::id())), "{message}");
        assert!(message.contains("--data"), "{message}");
        drop(held);
        DataFolder::open(&path).unwrap();
    }

    #[test]
    fn a_file_in_the_way_is_named() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("file");
        fs::write(&path, "").unwrap();
        let message = format!("{:#}", DataFolder::open(&path).unwrap_err());
        assert!(message.contains("file"), "{message}");
    }
}
