//! Where things lie in the work tree, and how to call cargo in it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::process;

/// The root of the work tree.
pub(crate) fn root() -> PathBuf {
    // Cargo sets the variable at run time too; the compiled-in path covers a bare call of the binary.
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// The target folder, which the caller may have moved.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// A fresh folder under the target folder that removes itself: same disk as real data, never committed.
pub(crate) fn scratch(name: &str) -> Result<tempfile::TempDir> {
    tempfile::Builder::new()
        .prefix(name)
        .tempdir_in(scratch_parent()?)
        .context("cannot make a scratch folder")
}

/// Where such folders are.
pub(crate) fn scratch_parent() -> Result<PathBuf> {
    let parent = target().join("xtask");
    std::fs::create_dir_all(&parent).with_context(|| parent.display().to_string())?;
    Ok(parent)
}

/// `cargo`, in the root, by the same toolchain that runs us.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root()).args(arguments);
    command
}

/// Builds the release binary and returns its path.
pub(crate) fn release_binary() -> Result<PathBuf> {
    process::run(cargo(&["build", "--release", "--package", "orrery"]))?;
    let path = target().join("release/orrery");
    ensure!(path.exists(), "the build made no {}", path.display());
    Ok(path)
}
