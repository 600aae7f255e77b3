//! The binary of a release: built, stripped, and asked what it needs to run.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::{process, workspace};

const STATIC_TARGET: &str = "x86_64-unknown-linux-musl";

/// The C compiler for that target: the script engine and the allocator are written in C.
const STATIC_COMPILER: &str = "musl-gcc";

/// What a machine must have to run a binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    Nothing,
    /// At least this version of the GNU C library: major, minor.
    Glibc(u32, u32),
}

impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Needs::Nothing => f.write_str("nothing: it is static"),
            Needs::Glibc(major, minor) => write!(f, "glibc {major}.{minor} or newer"),
        }
    }
}

/// Builds a static binary where the toolchain can, else one for this machine's C library.
pub(crate) fn build() -> Result<PathBuf> {
    if !can_link_static() {
        println!("no {STATIC_TARGET} with {STATIC_COMPILER} here: building for glibc");
        return workspace::release_binary();
    }
    let words = ["build", "--release", "--package", "orrery", "--target", STATIC_TARGET];
    process::run(workspace::cargo(&words))?;
    let path = workspace::target().join(STATIC_TARGET).join("release/orrery");
    ensure!(path.exists(), "the build made no {}", path.display());
    Ok(path)
}

fn can_link_static() -> bool {
    let installed = Command::new("rustup").args(["target", "list", "--installed"]).output();
    let has_target = installed.is_ok_and(|output| {
        String::from_utf8_lossy(&output.stdout).lines().any(|line| line == STATIC_TARGET)
    });
    has_target && process::exists(STATIC_COMPILER, "--version")
}

/// Takes the symbols out of a binary. Where no `strip` is installed it stays as it is, which is said.
pub(crate) fn strip(file: &Path) -> Result<()> {
    if !process::exists("strip", "--version") {
        println!("no strip here: the binary keeps its symbols");
        return Ok(());
    }
    let mut command = Command::new("strip");
    command.arg(file);
    process::run(command)
}

pub(crate) fn needs(file: &Path) -> Result<Needs> {
    let bytes = std::fs::read(file).with_context(|| file.display().to_string())?;
    Ok(newest_glibc(&bytes).map_or(Needs::Nothing, |(major, minor)| Needs::Glibc(major, minor)))
}

/// The names of symbol versions stand in a binary as text, each with a zero behind it.
fn newest_glibc(bytes: &[u8]) -> Option<(u32, u32)> {
    let mark = b"GLIBC_";
    let starts = bytes.windows(mark.len()).enumerate().filter(|(_, it)| it == mark);
    let versions = starts.filter_map(|(at, _)| {
        let rest = bytes.get(at + mark.len()..)?;
        let end = rest.iter().take(12).position(|&byte| byte == 0)?;
        let mut parts = std::str::from_utf8(rest.get(..end)?).ok()?.split('.');
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    });
    versions.max()
}

/// What the binary prints when run with these words.
pub(crate) fn ask(file: &Path, words: &[&str]) -> Result<Vec<u8>> {
    let mut command = Command::new(file);
    let output = command.args(words).stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot run {}", file.display()))?;
    ensure!(
        output.status.success(),
        "{} {} failed: {}",
        file.display(),
        words.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_of_the_c_library_is_found() {
        let text = b"x\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_PRIVATE\0GLIBC_2.9\0GLIBC_2.";
        assert_eq!(newest_glibc(text), Some((2, 34)));
        assert_eq!(newest_glibc(b"static"), None);
        assert_eq!(Needs::Glibc(2, 34).to_string(), "glibc 2.34 or newer");
    }
}
