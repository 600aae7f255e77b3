//! State in a file: replaced whole, under a lock, and only if nobody else changed it.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{StateStore, StateVersion, invalid};
use crate::{BoxFuture, Error, Result};

// Limit: a ring of a thousand containers is below 100 KB; beyond this it is not a state of ours.
const STATE_BYTES_MAX: u64 = 16 << 20;

/// Keeps a state in a file. Several processes of one machine may share it.
///
/// The calls block for the time of a small file access.
#[derive(Clone, Debug)]
pub struct FileStateStore {
    path: PathBuf,
}

impl FileStateStore {
    /// Uses a file; beside it a lock file with `.lock` appended is made.
    pub fn new(path: impl Into<PathBuf>) -> FileStateStore {
        FileStateStore { path: path.into() }
    }

    fn read(&self) -> Result<Option<(String, StateVersion)>> {
        match fs::metadata(&self.path) {
            Ok(it) if it.len() > STATE_BYTES_MAX => {
                return Err(Error::StateInvalid(format!("file has {} bytes", it.len())));
            }
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let text = fs::read_to_string(&self.path)?;
        let version = version(&text);
        Ok(Some((text, version)))
    }

    fn replace(&self, text: &str, expected: Option<&StateVersion>) -> Result<StateVersion> {
        let lock = File::create(suffixed(&self.path, ".lock"))?;
        // Released when the file is closed, also by a crash.
        lock.lock()?;
        let found = self.read()?.map(|(_, version)| version);
        if found.as_ref() != expected {
            return Err(Error::StateChanged);
        }
        let draft = suffixed(&self.path, ".new");
        let mut file = File::create(&draft)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, &self.path)?;
        Ok(version(text))
    }
}

fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn version(text: &str) -> StateVersion {
    StateVersion(format!("{:032x}", xxhash_rust::xxh3::xxh3_128(text.as_bytes())))
}

impl StateStore for FileStateStore {
    fn load(&self) -> BoxFuture<'_, Result<Option<(Value, StateVersion)>>> {
        Box::pin(async move {
            let Some((text, version)) = self.read()? else { return Ok(None) };
            Ok(Some((serde_json::from_str(&text).map_err(invalid)?, version)))
        })
    }

    fn save<'a>(
        &'a self,
        document: &'a Value,
        expected: Option<&'a StateVersion>,
    ) -> BoxFuture<'a, Result<StateVersion>> {
        Box::pin(async move {
            let text = serde_json::to_string_pretty(document).map_err(invalid)?;
            self.replace(&text, expected)
        })
    }
}
