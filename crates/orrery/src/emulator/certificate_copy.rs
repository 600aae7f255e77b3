//! The certificate in the place where the classic image has it: Testcontainers for Python copies it out of the container.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

const CLASSIC_FILE: &str =
    "/tmp/cosmos/appdata/.system/profiles/Client/AppData/Local/CosmosDBEmulator/emulator.pem";

/// The topmost folder of it that others could have made.
const CLASSIC_TOP: &str = "/tmp/cosmos";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CertificateCopy {
    /// Where the operator wants it.
    Asked(PathBuf),
    /// Where the classic image has it.
    Classic,
}

impl CertificateCopy {
    /// A copy that was asked for must succeed. The one in the classic place is of use to one framework only, so that a
    /// server that cannot write there starts all the same.
    pub(crate) fn write(&self, pem: &str) -> Result<()> {
        match self {
            CertificateCopy::Asked(file) => write(file, pem),
            CertificateCopy::Classic => {
                let written = check_owner(Path::new(CLASSIC_TOP))
                    .and_then(|()| write(Path::new(CLASSIC_FILE), pem));
                if let Err(error) = written {
                    tracing::warn!("no copy of the certificate in {CLASSIC_FILE}: {error:#}");
                }
                Ok(())
            }
        }
    }
}

fn write(file: &Path, pem: &str) -> Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    fs::write(file, pem).with_context(|| format!("cannot write {}", file.display()))
}

/// Everybody may write to /tmp: a folder, or a link, that another user put there is not followed.
#[cfg(target_os = "linux")]
fn check_owner(folder: &Path) -> Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(found) = fs::symlink_metadata(folder) else { return Ok(()) };
    let is_ours = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
    ensure!(is_ours, "{} is another user's", folder.display());
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn check_owner(folder: &Path) -> Result<()> {
    ensure!(!folder.exists(), "{} exists", folder.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_was_asked_for_is_written_or_it_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a/b.pem");
        CertificateCopy::Asked(file.clone()).write("PEM").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "PEM");
        let below_a_file = CertificateCopy::Asked(file.join("c.pem"));
        assert!(below_a_file.write("PEM").is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn links_of_others_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        assert!(check_owner(folder.path()).is_ok());
        assert!(check_owner(&folder.path().join("missing")).is_ok());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        assert!(check_owner(&link).is_err());
    }
}
