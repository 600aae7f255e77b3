//! The data folder: what lies where, and one server per folder.
//!
//! ```text
//! DIR/orrery.lock        held while a server or `orrery reset` runs; names the process
//! DIR/store/             the embedded store
//! DIR/certificate.pem    the self-signed certificate, kept so that clients trust it once
//! DIR/certificate.key    its private key, readable by the owner only
//! ```

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
        fs::create_dir_all(path)
            .with_context(|| format!("cannot make the data folder {}", path.display()))?;
        let path = fs::canonicalize(path)
            .with_context(|| format!("cannot open the data folder {}", path.display()))?;
        let lock = lock(&path)?;
        Ok(DataFolder { path, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.path.join("store")
    }
}

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
