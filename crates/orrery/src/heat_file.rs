//! The history of heat in the data folder: read at start, written every few minutes and at the end.
//!
//! It is for people to look at. A file that cannot be read or written is said, and costs nothing but the history.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use account::Account;

/// How much of the history a crash may cost.
const INTERVAL: Duration = Duration::from_secs(5 * 60);

// Limit: bytes of the file; the account keeps less.
const BYTES_MAX: u64 = 64 << 20;

/// The file of one data folder.
#[derive(Debug, Clone)]
pub(crate) struct HeatFile(PathBuf);

impl HeatFile {
    pub(crate) fn in_folder(folder: &Path) -> HeatFile {
        HeatFile(folder.join("heat"))
    }

    pub(crate) fn load(&self, account: &Account) {
        let read = || -> std::io::Result<Vec<u8>> {
            let mut bytes = Vec::new();
            fs::File::open(&self.0)?.take(BYTES_MAX).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        match read() {
            Ok(bytes) if account.load_heat(&bytes) => {}
            Ok(_) => tracing::warn!(file = %self.0.display(), "the history of heat is unreadable"),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(%error, "cannot read the history of heat"),
        }
    }

    /// Replaces the file whole, so that a crash leaves the old one or the new one.
    pub(crate) fn save(&self, account: &Account) {
        let new = self.0.with_extension("new");
        let write = || -> std::io::Result<()> {
            let mut options = fs::OpenOptions::new();
            options.write(true).create(true).truncate(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            options.open(&new)?.write_all(&account.save_heat())?;
            fs::rename(&new, &self.0)
        };
        if let Err(error) = write() {
            tracing::warn!(%error, "cannot keep the history of heat");
        }
    }

    /// Runs until it is dropped.
    pub(crate) async fn save_at_times(self, account: Arc<Account>) {
        loop {
            tokio::time::sleep(INTERVAL).await;
            let (file, account) = (self.clone(), Arc::clone(&account));
            // A task that panics was told of already.
            let _ = tokio::task::spawn_blocking(move || file.save(&account)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use account::AccountOptions;
    use model::Env;

    #[tokio::test]
    async fn what_is_saved_can_be_loaded_and_rubbish_does_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        let env = Env::fixed(1, 0);
        let account = Account::open(store::open_memory(), AccountOptions::default(), env);
        let account = account.await.unwrap();
        let file = HeatFile::in_folder(folder.path());
        file.load(&account);
        file.save(&account);
        assert!(account.load_heat(&fs::read(&file.0).unwrap()));
        assert!(!file.0.with_extension("new").exists());
        fs::write(&file.0, b"rubbish").unwrap();
        file.load(&account);
        file.save(&account);
        assert!(account.load_heat(&fs::read(&file.0).unwrap()));
    }
}
